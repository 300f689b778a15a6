//! A worker process: runs debates from the shared queue, without an HTTP server.

use std::sync::Arc;
use std::time::Duration;

use super::scheduler::{Limits, Scheduler, Work};
use super::{SHUTDOWN_TIMEOUT, announce, log, raise_open_file_limit};
use crate::app_context::AppContext;
use crate::failure::Failure;

pub(crate) struct WorkerOptions {
    /// The maximum number of running debates.
    pub concurrency: usize,
    /// How long running debates may take to finish at shutdown. The rest is handed over to other processes.
    pub grace: Duration,
}

/// Runs debates until the first shutdown signal, then drains. A second signal hands everything over at once.
pub(crate) async fn work<E: Future<Output = ()>>(
    context: Arc<AppContext>,
    options: WorkerOptions,
    shutdown: impl Fn() -> E,
) -> Result<(), Failure> {
    raise_open_file_limit();
    let store = context.store().await?;
    if !store.is_shared() {
        return Err(Failure::usage(
            "a worker needs a PostgreSQL database: set --database, or [data] in roundtable.toml. \
             With a data folder, `roundtable serve` runs the debates itself",
        ));
    }
    store.set_up_queue().await?;
    let limits = Limits {
        running: options.concurrency,
        queued: 0,
    };
    let scheduler = Scheduler::open(context, store.clone(), limits, Work::Here);
    let (place, most) = (store.location(), options.concurrency);
    announce(&format!(
        "Working for {place}, up to {most} debates at once"
    ));
    scheduler.fetch_embedder();
    scheduler.join_cluster();
    shutdown().await;
    log::note("shutting down: taking no more debates; unfinished ones are handed over");
    tokio::select! {
        () = scheduler.drain(options.grace) => {}
        () = shutdown() => {}
    }
    // Their time to finish was the grace period.
    scheduler
        .close(SHUTDOWN_TIMEOUT, std::future::ready(()))
        .await;
    store.close().await;
    Ok(())
}
