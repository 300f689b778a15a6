//! What the protocols of a single call share: `call` and `grade`.

use roundtable_core::estimate::{Outline, PlannedCall};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::record_header::RecordHeader;
use crate::cast::Cast;
use crate::data::{Origin, Text};
use crate::event::{End, Entry, Setup, State};
use crate::protocol::{Context, EmbedderUse, Fault, Plan, Request, end_of};
use crate::table::{Halt, Table, Turn};

/// The plan of a call with the cast of this file.
pub(super) fn plan<R: Send + 'static>(
    cast: &str,
    request: &Request,
    context: &Context<'_>,
    rules: R,
) -> Result<Plan<R>, Vec<Fault>> {
    let question = request.question.trim().to_owned();
    let checked = context.check_question(&question);
    checked.map_err(|fault| vec![fault])?;
    let text = Text {
        name: "call.toml".into(),
        origin: Origin::BuiltIn,
        content: cast.to_owned(),
    };
    let cast = Cast::of(&text).map_err(|error| vec![Fault::new("/cast", error.to_string())])?;
    Ok(Plan::new(question, cast, EmbedderUse::None, rules))
}

pub(super) fn outline(setup: &Setup) -> Outline {
    let seats = setup.seats.iter();
    let calls = seats.map(|seated| PlannedCall::new(&seated.seat.name, 0));
    Outline::fixed(vec![calls.collect()])
}

/// The end of a debate whose only call had this result.
pub(super) fn end<R: Serialize>(
    table: &Table,
    turn: Result<Option<Turn<R>>, Halt>,
) -> Result<End, Halt> {
    let ended = |state: State, reason: String| End {
        state,
        reason: Some(reason),
        result: None,
    };
    match turn {
        Ok(Some(turn)) => end_of(State::Complete, None, &turn.reply),
        Ok(None) => {
            let missing = table.missing();
            let reasons: Vec<&str> = missing.iter().map(|one| one.reason.as_str()).collect();
            Ok(ended(State::Failed, reasons.join("; ")))
        }
        Err(Halt::Budget(limit)) => Ok(ended(State::Partial, limit.to_string())),
        Err(halt) => Err(halt),
    }
}

/// The record of a call with replies of the type `R`.
pub(super) fn record<R: Serialize + DeserializeOwned>(
    id: &str,
    timestamp: String,
    entries: &[Entry],
) -> Option<Value> {
    let header = RecordHeader::of(id, timestamp, entries)?;
    let result: Option<R> = header.status.verdict();
    Some(json!({
        "id": header.id,
        "timestamp": header.timestamp,
        "protocol": header.setup.protocol,
        "question": header.setup.question,
        "state": header.status.state,
        "models": header.models,
        "result": result,
    }))
}
