//! Debates from end to end, against scripted seats. This file has the scripts and helpers; the tests are in files by topic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use roundtable_core::verification::Stakes;
use serde_json::json;

use super::*;
use crate::algorithm::{self, Algorithm};
use crate::cast::{Cast, Part};
use crate::data::Data;
use crate::event::{End, Event, Seated, Setup, State};
use crate::journal::{Journal, MemoryJournal};
use crate::mode::Mode;
use crate::model::{Ability, Deltas, Model, ModelError, Request};
use crate::protocols::{self, play};
use crate::scripted::{Dying, Scripted, assert_all_rebuilt, deps, entries, name, timeless};
use crate::table::{Budget, SeatModel, TableDeps, decide, say_offline};
use crate::tokens;

mod agreement;
mod card;
mod endings;
mod enhanced;
mod hearing;
mod prompts;
mod reply_checks;
mod resume;
mod safety;
mod speaking;
mod tools;

type Script = fn(&Request, usize) -> Result<String, ModelError>;

const QUESTION: &str = "Should we put a queue in front of the database?";

const MODES: [&str; 7] = [
    "collaborative",
    "adversarial",
    "socratic",
    "expert-panel",
    "devils-advocate",
    "delphi",
    "red-team-blue-team",
];

fn rules(mode: &str, max_rounds: u32) -> Rules {
    let mode = Mode::load(&Data::built_in(), mode).unwrap();
    let default = Algorithm::load(&Data::built_in(), algorithm::DEFAULT).unwrap();
    Rules::new(mode, max_rounds, BTreeMap::new(), Stakes::Ordinary)
        .unwrap()
        .deciding_by(default.majority)
}

fn setup_of(rules: &Rules, seats: usize, ability: Ability) -> Setup {
    let cast = Cast::load(&Data::built_in(), "modes").unwrap();
    let (panel, others): (Vec<_>, Vec<_>) = cast
        .seats
        .into_iter()
        .partition(|seat| seat.part == Part::Panel);
    let seated = |seat| Seated::new(seat, "test:scripted", ability);
    Setup {
        protocol: "modes".into(),
        question: QUESTION.into(),
        seed: 7,
        seats: panel
            .into_iter()
            .take(seats)
            .chain(others)
            .map(seated)
            .collect(),
        rules: json!(rules),
        budget: Budget::default(),
        embedder: Some("test:words".into()),
        program: "test".into(),
        notices: Vec::new(),
        depth: crate::depth::Depth::Normal,
        estimate: None,
        parent: None,
    }
}

fn setup(mode: &str, seats: usize, max_rounds: u32) -> Setup {
    setup_of(&rules(mode, max_rounds), seats, Ability::Full)
}

fn deps_for(setup: &Setup, model: &Arc<Scripted>, journal: Arc<dyn Journal>) -> TableDeps {
    let mut deps = deps(model, journal);
    let seat_model = deps.seat_models.values().next().unwrap().clone();
    deps.seat_models = setup
        .seats
        .iter()
        .map(|seated| (seated.seat.name.clone(), seat_model.clone()))
        .collect();
    deps
}

async fn open_table(setup: Setup, model: &Arc<Scripted>, journal: &Arc<MemoryJournal>) -> Table {
    let deps = deps_for(&setup, model, Arc::clone(journal) as Arc<dyn Journal>);
    Table::open(setup, Budget::default(), deps).await.unwrap()
}

async fn play_to_end(setup: Setup, model: &Arc<Scripted>, journal: &Arc<MemoryJournal>) -> Verdict {
    let table = open_table(setup, model, journal).await;
    let end = play(&table, &Modes).await.unwrap();
    verdict_of(&end)
}

fn verdict_of(end: &End) -> Verdict {
    serde_json::from_value(end.result.clone().unwrap()).unwrap()
}

fn text_of(request: &Request) -> String {
    let own: Vec<_> = request
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    own.join("\n\n")
}

/// The seat that a request is for.
fn seat_of(request: &Request) -> String {
    let text = text_of(request);
    let at = text.rfind("You are the ").unwrap();
    let rest = &text[at + 12..];
    rest[..rest.find('.').unwrap()].to_lowercase()
}

fn round_of(request: &Request) -> u32 {
    let text = text_of(request);
    if is_small(request) {
        // A small model is not told the number of the round; from the second on it is told its last position.
        return if text.contains("Your own position in the last round") {
            2
        } else {
            1
        };
    }
    let at = text
        .rfind("is round ")
        .map(|at| at + 9)
        .or_else(|| text.rfind("Round ").map(|at| at + 6))
        .unwrap();
    text[at..]
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// Whether the prompt is the one for small models.
fn is_small(request: &Request) -> bool {
    text_of(request).starts_with("Question: Is it better to drink tea or coffee")
}

/// The reply of a small model, with the properties that it is asked for and no others.
fn small_reply(request: &Request, vote: &str, confidence: f64) -> Value {
    let seat = seat_of(request);
    let reply = json!({
        "argument": format!("The {seat} says so."), "position": format!("The {seat} would try it."), "confidence": confidence,
        "vote": vote, "claims": [{ "text": format!("The {seat} has seen bursts."), "label": "ASSUME" }],
        "supports": [], "opposes": [], "debate_alignment": format!("What the {seat} wants"),
    });
    let asked = &request.schema.as_ref().unwrap().json["properties"];
    let Value::Object(reply) = reply else {
        unreachable!("it is an object")
    };
    let reply = reply.into_iter();
    reply
        .filter(|(name, _)| asked.get(name).is_some())
        .collect()
}

/// The headings that are asked for.
fn headings(request: &Request) -> Vec<String> {
    let text = text_of(request);
    let list = text.rsplit("under these headings:").next().unwrap();
    let lines = list
        .lines()
        .skip_while(|line| line.is_empty())
        .take_while(|line| line.starts_with("- "));
    lines
        .map(|line| line[2..].split(':').next().unwrap().to_owned())
        .collect()
}

/// A reply that breaks no rule.
fn valid_reply(request: &Request, vote: &str, confidence: f64) -> Value {
    let (seat, round) = (seat_of(request), round_of(request));
    let argument: Vec<String> = headings(request)
        .iter()
        .map(|heading| format!("## {heading}\n\nThe {seat} says {seat} of round {round}: {heading} of the {seat} counts.[INFER]"))
        .collect();
    let text = text_of(request);
    let stance = ["YES", "NO", "NEUTRAL"]
        .into_iter()
        .find(|stance| text.contains(&format!("Your stance is {stance}.")));
    let objects = text.contains("critical-objection round");
    let mut reply = json!({
        "argument": argument.join("\n\n"),
        "position": format!("The {seat} would try it {}.", ["at once", "on one queue", "with limits"][round as usize % 3]),
        "debate_alignment": if vote == "BLOCKER" { "Wait and measure" } else { "Use a queue" },
        "confidence": confidence,
        "vote": vote,
        "blocker": if vote == "BLOCKER" { Some(format!("The {seat} wants a measurement first.")) } else { None },
        "claims": [
            { "text": format!("The {seat} has seen bursts in month {round}."), "label": "FACT", "citations": "[1]" },
            { "text": format!("So a queue helps the {seat} in month {round}."), "label": "INFER", "citations": "" },
        ],
        "references": [{ "number": 1, "title": format!("Log {round} of the {seat}"), "url": null, "gist": "Bursts at nine.", "kind": "citation" }],
        "supports": if round > 1 { vec!["C1"] } else { vec![] },
        "opposes": if objects { vec![json!({ "claim": "C1", "ground": "fact_conflict", "because": "another log says ten", "counter": null })] } else { vec![] },
        "retracts": [], "decisions": [], "moved_by": [],
        "steelman": "It would smooth the load.",
        "concern": format!("The {seat} fears outage number {round}."),
        "alternatives": [
            { "option": "A larger machine", "rejected_because": "It costs more." },
            { "option": "Nothing", "rejected_because": "It fails every Monday." },
        ],
        "risks": [
            { "failure": "The queue fills.", "mitigation": "Limit it." },
            { "failure": "Messages get lost.", "mitigation": "Write them to disk." },
            { "failure": "Nobody watches it.", "mitigation": "Set an alarm." },
        ],
        "uncertainty": "How high the bursts are; a week of measuring settles it.",
        "verification": { "clarity": true, "grounding": true, "alternatives": true, "risks": true, "uncertainty": true,
            "consistency": true, "safety": true, "mode_first": true, "mode_second": true, "high_stakes": true },
    });
    if let Some(stance) = stance {
        reply["stance"] = json!(stance);
    }
    reply
}

/// Replies other than contributions.
fn other_reply(request: &Request) -> Option<String> {
    let reply = match name(request).as_str() {
        "ballot" => {
            let mut ballot =
                json!({ "position": "Rather not.", "confidence": 0.5, "vote": "BLOCKER" });
            let asked = &request.schema.as_ref()?.json["properties"];
            if asked.get("debate_alignment").is_some() {
                ballot["debate_alignment"] = json!("Wait and measure");
            }
            ballot
        }
        "conclusion" => {
            json!({ "answer": "Use a queue, and measure.", "dissent": ["It may not be needed."], "open_points": [] })
        }
        "evaluation" => json!({ "assessment": "Nothing could.", "risk": "clear", "withhold": [] }),
        _ => return None,
    };
    Some(reply.to_string())
}

/// The sentinel blocks in round 1; in round 2 all agree with enough confidence for a consensus.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a script may fail; this one does not"
)]
fn story(request: &Request, _: usize) -> Result<String, ModelError> {
    if let Some(reply) = other_reply(request) {
        return Ok(reply);
    }
    let reply = match (seat_of(request).as_str(), round_of(request)) {
        ("sentinel", 1) => valid_reply(request, "BLOCKER", 0.6),
        (_, 1) => valid_reply(request, "MINOR", 0.7),
        (_, _) => valid_reply(request, "ACCEPT", 0.8),
    };
    Ok(reply.to_string())
}

/// A debate that only the round limit ends: new facts each round, one seat blocks, confidences vary, arguments are long.
fn stubborn(request: &Request, before: usize) -> Result<String, ModelError> {
    if name(request) != "contribution" {
        return story(request, before);
    }
    let (seat, round) = (seat_of(request), round_of(request));
    let vote = if seat == "sentinel" {
        "BLOCKER"
    } else {
        "MINOR"
    };
    let mut reply = valid_reply(request, vote, if round % 2 == 0 { 0.75 } else { 0.6 });
    let filler: Vec<String> = (0..85)
        .map(|n| format!("{seat} {round}-{n} adds to the load"))
        .collect();
    reply["argument"] = json!(format!(
        "{}\n\n{}.",
        reply["argument"].as_str().unwrap(),
        filler.join(", ")
    ));
    if round > 2 && seat != "sentinel" {
        let claim = format!("C{}", (round - 2) * 7);
        reply["opposes"] = json!([{ "claim": claim, "ground": "inference_gap", "because": "it was another month", "counter": null }]);
    }
    Ok(reply.to_string())
}

/// All seats agree with high confidence in round 1, for the same reason.
fn herd(request: &Request, before: usize) -> Result<String, ModelError> {
    if name(request) != "contribution" {
        return story(request, before);
    }
    let mut reply = valid_reply(request, "ACCEPT", 0.9);
    reply["claims"] = json!([{ "text": "Everybody does it.", "label": "ASSUME", "citations": "" }]);
    reply["references"] = json!([]);
    Ok(reply.to_string())
}

/// A model that follows a script, with changes to the contributions.
fn changed(
    script: Script,
    change: impl Fn(&Request, usize, &mut Value) + Send + Sync + 'static,
) -> Arc<Scripted> {
    Scripted::new(move |request: &Request, before| {
        let reply = script(request, before)?;
        if name(request) != "contribution" {
            return Ok(reply);
        }
        let mut reply: Value = serde_json::from_str(&reply).unwrap();
        change(request, before, &mut reply);
        Ok(reply.to_string())
    })
}

/// The journal in short: keys with texts, notes and the end.
fn log(journal: &MemoryJournal) -> Vec<Value> {
    let mut log = Vec::new();
    for keyed in journal.keyed() {
        let event = &keyed.entry.event;
        let entry = if let Event::StepFinished(step) = event {
            json!({ "text": step.text, "remarks": step.remarks })
        } else if let Event::Noted { value, .. } = event {
            value.clone()
        } else if let Event::RoundStarted { name, .. } = event {
            json!(name)
        } else if let Event::Ended(end) = event {
            json!({ "state": end.state, "stop": end.stop_reason() })
        } else if event.setup().is_some() {
            Value::Null
        } else {
            serde_json::to_value(event).unwrap()
        };
        log.push(json!([keyed.key, entry]));
    }
    log
}

/// The requests for contributions.
fn contributions(model: &Scripted) -> Vec<Request> {
    let requests = model.heard().into_iter();
    requests
        .filter(|request| name(request) == "contribution")
        .collect()
}

fn contributions_in(model: &Scripted, round: u32) -> Vec<Request> {
    let requests = contributions(model).into_iter();
    requests
        .filter(|request| round_of(request) == round)
        .collect()
}

fn report_json(journal: &MemoryJournal) -> String {
    serde_json::to_string(&protocols::report(&entries(journal))).unwrap()
}

/// The journal by key: the order within a parallel round does not matter.
fn by_key(journal: &MemoryJournal) -> BTreeMap<String, Value> {
    timeless(journal)
        .into_iter()
        .map(|entry| (entry["key"].as_str().unwrap().to_owned(), entry))
        .collect()
}

fn prompt(request: &Request) -> String {
    let parts: Vec<_> = request
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    format!(
        "# system\n{}\n\n# shared\n{}",
        request.system,
        parts.join("\n\n# own\n")
    )
}

/// The journal of a debate whose process dies after this many entries.
async fn killed_after(setup: Setup, script: Script, after: usize) -> Arc<MemoryJournal> {
    let model = Scripted::new(script);
    let journal = Arc::<MemoryJournal>::default();
    let (dying, dead) = Dying::after(after, &journal);
    let run = async {
        let deps = deps_for(&setup, &model, Arc::new(dying));
        let table = Table::open(setup, Budget::default(), deps).await.unwrap();
        play(&table, &Modes).await.unwrap();
    };
    tokio::select! {
        () = run => {}
        () = dead.notified() => {}
    }
    journal
}

/// Kills a debate after every single entry and resumes it: the journal is the same, and no entry that `is_paid` is paid twice.
async fn assert_resumes_after_every_entry(
    setup: impl Fn() -> Setup,
    script: Script,
    is_paid: fn(&Event) -> bool,
) {
    let (whole, model) = (Arc::<MemoryJournal>::default(), Scripted::new(script));
    play_to_end(setup(), &model, &whole).await;
    let (length, calls) = (whole.keyed().len(), model.asked().len());
    assert!(length > 8, "{length}");
    for after in 1..length {
        let journal = killed_after(setup(), script, after).await;
        let kept = entries(&journal);
        if matches!(kept.last().map(|entry| &entry.event), Some(Event::Ended(_))) {
            // The last step and the end are written together.
            assert_eq!(by_key(&journal), by_key(&whole), "killed after {after}");
            continue;
        }
        let kept = kept.iter().filter(|entry| is_paid(&entry.event)).count();
        let again = Scripted::new(script);
        play_to_end(setup(), &again, &journal).await;
        assert_eq!(by_key(&journal), by_key(&whole), "killed after {after}");
        assert_eq!(again.asked().len(), calls - kept, "killed after {after}");
    }
}

fn is_finished_step(event: &Event) -> bool {
    matches!(event, Event::StepFinished(_))
}
