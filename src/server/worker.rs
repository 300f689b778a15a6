//! A worker: it runs debates that servers have taken, and nothing else.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::cluster::Work;
use super::scheduler::{Limits, Scheduler};
use super::{GRACE, allow_many_files, log};
use crate::app_context::AppContext;
use crate::failure::Failure;

pub(crate) struct Working {
    /// How many debates at once.
    pub concurrency: usize,
    /// How long debates may take to come to their end once it is told to end; the others are handed over.
    pub grace: Duration,
}

/// Works until it is told to end; told so once more, it hands everything over at once.
pub(crate) async fn work<E: Future<Output = ()>>(
    context: Arc<AppContext>,
    working: Working,
    end: impl Fn() -> E,
) -> Result<(), Failure> {
    allow_many_files();
    let store = context.store().await?;
    if !store.is_shared() {
        return Err(Failure::usage(
            "workers share a PostgreSQL database: name it with --database or under [data] in roundtable.toml. \
             On a data folder `roundtable serve` runs the debates itself",
        ));
    }
    store.set_up_queue().await?;
    let limits = Limits {
        running: working.concurrency,
        queued: 0,
    };
    let scheduler = Scheduler::open(context, store.clone(), limits, Work::Here);
    announce(&store.location(), working.concurrency);
    scheduler.join_others();
    end().await;
    log::note("ending: no more is taken; what does not end soon is handed over");
    tokio::select! {
        () = scheduler.drain(working.grace) => {}
        () = end() => {}
    }
    scheduler.close(GRACE).await;
    store.close().await;
    Ok(())
}

/// On standard output, for people and for programs that started it.
fn announce(place: &str, concurrency: usize) {
    let mut out = anstream::stdout().lock();
    let _ = writeln!(
        out,
        "Working for {place}, up to {concurrency} debates at once"
    );
    let _ = out.flush();
}
