//! The prompts of a stored debate, rendered again (`recorded_prompt` of the engine).

use std::sync::Arc;

use roundtable_engine::event::Entry;
use roundtable_engine::journal::MemoryJournal;
use roundtable_engine::protocol::SeatModels;
use roundtable_engine::protocols;
use roundtable_engine::recorded_prompt::{NoPrompt, RecordedPrompt, recorded_prompt};
use roundtable_engine::table::TableDeps;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

use crate::app_context::AppContext;
use crate::clock::SystemClock;
use crate::failure::Failure;

/// The prompt that a seat received in this step. No model is called.
pub(crate) async fn prompt_of(
    app: &AppContext,
    entries: &[Entry],
    step: &str,
) -> Result<Result<RecordedPrompt, NoPrompt>, Failure> {
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let protocol = protocols::of_journal(entries);
    let (Some(setup), Some(protocol)) = (setup, protocol) else {
        let step = step.to_owned();
        return Ok(Err(NoPrompt::UnknownStep { step }));
    };
    let library = if protocol.needs().library {
        app.library()?
    } else {
        Arc::default()
    };
    let deps = TableDeps {
        seat_models: SeatModels::new(),
        fast_model: None,
        embedder: None,
        scale: app.scale(setup.embedder.as_deref().unwrap_or_default())?,
        prompts: app.prompts()?,
        library,
        journal: Arc::new(MemoryJournal::default()),
        clock: Arc::new(SystemClock),
        cancel: CancellationToken::new(),
    };
    let rendering = recorded_prompt(protocol, entries, step, deps);
    // Rendering every prompt up to this one takes long; the other tasks of this thread move to another one meanwhile.
    Ok(
        if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
            tokio::task::block_in_place(|| Handle::current().block_on(rendering))
        } else {
            rendering.await
        },
    )
}
