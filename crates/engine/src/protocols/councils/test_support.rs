//! Test support: every seat has a scripted model of its own, with an optional delay.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use roundtable_core::usage::{Price, Usage};
use serde_json::{Value, json};

use super::package::{Given, Kind, Package};
use super::record::Record;
use super::rules::{Mode, Rules};
use crate::cast::Cast;
use crate::data::Data;
use crate::event::{Seated, Setup};
use crate::journal::{Journal, MemoryJournal};
use crate::model::{Ability, Delta, Deltas, Finish, Model, ModelError, Request};
use crate::protocols::{Councils, play};
use crate::scripted::{Scripted, deps, entries, name, sent_back};
use crate::table::{Budget, SeatModel, Table, TableDeps};

/// Seat, request, and the number of earlier calls of this seat for the same kind of reply.
type Script = dyn Fn(&str, &Request, usize) -> Result<String, ModelError> + Send + Sync;

pub(super) struct ScriptedModels {
    script: Box<Script>,
    delay: fn(&str, &str) -> Duration,
    heard: Mutex<Vec<(String, Request)>>,
}

impl ScriptedModels {
    pub(super) fn new(
        script: impl Fn(&str, &Request, usize) -> Result<String, ModelError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::delayed(|_, _| Duration::ZERO, script)
    }

    /// `delay` is the time that a seat takes for a kind of reply.
    pub(super) fn delayed(
        delay: fn(&str, &str) -> Duration,
        script: impl Fn(&str, &Request, usize) -> Result<String, ModelError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            delay,
            heard: Mutex::default(),
        })
    }

    pub(super) fn good() -> Arc<Self> {
        Self::new(|seat, request, _| Ok(good(seat, request).to_string()))
    }

    pub(super) fn heard(&self) -> Vec<(String, Request)> {
        self.heard.lock().unwrap().clone()
    }

    /// `seat kind` of every call.
    pub(super) fn asked(&self) -> Vec<String> {
        let heard = self.heard();
        heard
            .iter()
            .map(|(seat, request)| format!("{seat} {}", name(request)))
            .collect()
    }

    pub(super) fn asked_of(&self, seat: &str, kind: &str) -> Vec<Request> {
        let heard = self.heard().into_iter();
        heard
            .filter(|(who, request)| who == seat && name(request) == kind)
            .map(|(_, request)| request)
            .collect()
    }

    /// The faults listed in the request that sent the reply back.
    pub(super) fn sent_back_to(&self, seat: &str, kind: &str) -> String {
        sent_back(&self.asked_of(seat, kind)).to_owned()
    }
}

struct ScriptedSeat {
    models: Arc<ScriptedModels>,
    name: String,
}

impl Model for ScriptedSeat {
    fn stream(&self, request: Request) -> Deltas {
        let kind = name(&request);
        let mut heard = self.models.heard.lock().unwrap();
        let before = heard
            .iter()
            .filter(|(seat, earlier)| *seat == self.name && name(earlier) == kind)
            .count();
        let answer = (self.models.script)(&self.name, &request, before);
        heard.push((self.name.clone(), request));
        let delay = (self.models.delay)(&self.name, &kind);
        let deltas = match answer {
            Err(error) => vec![Err(error)],
            Ok(text) => {
                let usage = Usage {
                    input: 100,
                    output: 20,
                    cached: 10,
                };
                vec![
                    Ok(Delta::Text(text)),
                    Ok(Delta::Usage(usage)),
                    Ok(Delta::Finish(Finish::Stop)),
                ]
            }
        };
        let waiting = stream::once(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            stream::iter(deltas)
        });
        Box::pin(waiting.flatten())
    }
}

pub(super) const TEXT: &str = "Nobody told me that bread could sing. I put my ear to the crust as it cooled, and there it was: a crackle, \
    like a small fire. My grandmother laughed at me for a week.\n\nHere is how to hear it yourself. Bake it hot, take it out while the \
    kitchen is quiet, and wait. It lasts four minutes. Then it is only bread again, and you will want to bake another one.";

pub(super) fn cast(name: &str) -> Cast {
    Cast::load(&Data::built_in(), name).unwrap()
}

pub(super) fn setup(cast: &Cast, mode: Mode, ability: Ability) -> Setup {
    let given = vec![
        Given {
            kind: Kind::Text,
            name: "bread.md".into(),
            text: TEXT.into(),
        },
        Given {
            kind: Kind::Metadata,
            name: "bread.json".into(),
            text: "{\"platform\": \"video\"}".into(),
        },
    ];
    let package = Package::new("bread.md".into(), &given, 10_000);
    let cast = match mode {
        Mode::Full => cast.clone(),
        Mode::Fast | Mode::Quick => cast.clone().on_the_fast_tier(),
    };
    let rules = Rules::new(mode, &cast, package).unwrap();
    Setup {
        protocol: "councils".into(),
        question: "bread.md".into(),
        seed: 7,
        seats: cast
            .seats
            .into_iter()
            .map(|seat| Seated::new(seat, "test:scripted", ability))
            .collect(),
        rules: json!(rules),
        budget: Budget::default(),
        embedder: None,
        program: "test".into(),
        notices: Vec::new(),
        depth: crate::depth::Depth::Normal,
        estimate: None,
        parent: None,
    }
}

pub(super) fn deps_of(
    models: &Arc<ScriptedModels>,
    setup: &Setup,
    journal: Arc<dyn Journal>,
) -> TableDeps {
    let nobody = Scripted::new(|_, _| panic!("every seat has its own model"));
    let price = Some(Price {
        input: 1.0,
        output: 2.0,
        cached: None,
    });
    let seats = setup.seats.iter().map(|seated| {
        let name = seated.seat.name.clone();
        let model = Arc::new(ScriptedSeat {
            models: Arc::clone(models),
            name: name.clone(),
        });
        (name, SeatModel { model, price })
    });
    TableDeps {
        seat_models: seats.collect::<HashMap<_, _>>(),
        embedder: None,
        ..deps(&nobody, journal)
    }
}

pub(super) async fn open_table(
    models: &Arc<ScriptedModels>,
    setup: Setup,
    budget: Budget,
    journal: Arc<dyn Journal>,
) -> Table {
    let deps = deps_of(models, &setup, journal);
    Table::open(setup, budget, deps).await.unwrap()
}

pub(super) async fn run_with(
    models: &Arc<ScriptedModels>,
    setup: Setup,
    budget: Budget,
    journal: &Arc<MemoryJournal>,
) -> Record {
    let table = open_table(
        models,
        setup,
        budget,
        Arc::clone(journal) as Arc<dyn Journal>,
    )
    .await;
    play(&table, &Councils).await.unwrap();
    Record::of("id", "then".into(), &entries(journal)).unwrap()
}

pub(super) async fn run(models: &Arc<ScriptedModels>, cast: &Cast, mode: Mode) -> Record {
    run_with(
        models,
        setup(cast, mode, Ability::Full),
        Budget::default(),
        &Arc::default(),
    )
    .await
}

/// The values that the schema of this call allows for a property, at any depth.
pub(super) fn allowed(request: &Request, property: &str) -> Vec<String> {
    fn find(schema: &Value, property: &str) -> Option<Vec<String>> {
        if let Some(properties) = schema["properties"].as_object() {
            if let Some(values) = properties
                .get(property)
                .and_then(|schema| schema["enum"].as_array())
            {
                return Some(
                    values
                        .iter()
                        .filter_map(|value| value.as_str().map(str::to_owned))
                        .collect(),
                );
            }
            return properties
                .values()
                .find_map(|schema| find(schema, property));
        }
        find(schema.get("items")?, property)
    }
    find(&request.schema.as_ref().unwrap().json, property).unwrap_or_default()
}

/// The scores of the judges of `themis` by round; others give 60.
fn points(seat: &str, dimension: &str, round: u32) -> f64 {
    match (seat, dimension, round) {
        ("hook", "content_assessment", 1) => 40.0,
        ("hook", "content_assessment", _) => 44.0,
        ("emotion", "content_assessment", _) => 75.0,
        ("production", "content_assessment", _) => 62.0,
        ("trend", "trend_alignment", 1) => 70.0,
        ("trend", "trend_alignment", _) => 68.0,
        ("subject", "trend_alignment", _) => 45.0,
        ("trend", "shareability", _) => 55.0,
        ("hook", "hook_effectiveness", _) | ("audience", "shareability", _) => 72.0,
        ("authenticity", ..) => 81.0,
        _ => 60.0,
    }
}

fn confidence(seat: &str) -> f64 {
    match seat {
        "hook" => 0.85,
        "emotion" => 0.7,
        _ => 0.8,
    }
}

fn scores(seat: &str, request: &Request, round: u32) -> Value {
    let score = |dimension: &String| {
        json!({
            "dimension": dimension,
            "evidence": format!("The crust, says {seat}."),
            "reasoning": format!("{seat} on {dimension}."),
            "score": points(seat, dimension, round),
            "confidence": confidence(seat),
        })
    };
    allowed(request, "dimension").iter().map(score).collect()
}

/// The replies of a debate without faults, for any cast.
pub(super) fn good(seat: &str, request: &Request) -> Value {
    match name(request).as_str() {
        "evaluation" => json!({
            "assessment": format!("The first word of {seat}."),
            "scores": scores(seat, request, 1),
            "sub_scores": allowed(request, "name").iter().map(|value| json!({ "name": value, "score": 66 })).collect::<Vec<_>>(),
            "key_observations": [format!("{seat} saw the crust.")],
        }),
        "judge_revision" => revision(seat, request),
        "narrative" => json!({
            "narrative": format!("{seat} tells what all saw."),
            "merged": allowed(request, "judge").iter().map(|value| json!({ "judge": value, "observation": "the crust" })).collect::<Vec<_>>(),
        }),
        "response" => json!({
            "view": format!("{seat}: a little."),
            "tensions": "Quiet things travel slowly.",
            "missed": "Who would pass it on.",
            "changes": if seat == "content-lead" {
                json!([{ "dimension": "hook_effectiveness", "reason": "The market sees more in the opening.", "to": 75 }])
            } else {
                json!([])
            },
        }),
        "council_critique" => json!({
            "review": "Judged with care, but for two things.",
            "findings": [
                finding("logical_flaw", "high", "hook", "A promise is taken for its keeping."),
                finding("missing_consideration", "low", "audience", "Nobody thought of the deaf."),
            ],
            "checked": ["every score against its evidence"],
            "disagreements": allowed(request, "disagreement").iter().map(|value| json!({ "disagreement": value, "answer": "Emotion has the better reasons." })).collect::<Vec<_>>(),
            "confidence_adjustment": -0.1,
            "adjustment_reason": "One flaw in a component.",
        }),
        "orchestration" => synthesis(request),
        other => panic!("nobody should ask for '{other}'"),
    }
}

fn revision(seat: &str, request: &Request) -> Value {
    let peers = allowed(request, "peer");
    let moved: Vec<&str> = match seat {
        "hook" => vec!["content_assessment"],
        "trend" => vec!["trend_alignment"],
        _ => Vec::new(),
    };
    let dimensions = allowed(request, "dimension");
    let moved = moved
        .into_iter()
        .filter(|name| dimensions.iter().any(|own| own == name));
    let changes: Vec<Value> = moved
        .map(
            |name| json!({ "dimension": name, "peer": peers[0], "reason": "The evidence of the end." }),
        )
        .collect();
    json!({
        "assessment": format!("The second word of {seat}."),
        "scores": scores(seat, request, 2),
        "sub_scores": [],
        "stands_because": if changes.is_empty() { "I read the same words." } else { "" },
        "changes": changes,
        "disputes": peers.iter().map(|peer| json!({ "peer": peer, "about": "the opening", "reason": "It weighs more." })).collect::<Vec<_>>(),
        "key_observations": [format!("{seat} still sees the crust.")],
    })
}

pub(super) fn finding(category: &str, severity: &str, about: &str, what: &str) -> Value {
    json!({ "category": category, "severity": severity, "about": about, "problem": what, "evidence": "Line 1." })
}

fn synthesis(request: &Request) -> Value {
    let is_themis = allowed(request, "dimension").contains(&"hook_effectiveness".to_owned());
    let answer = |id: &String| {
        if is_themis && id == "K1" {
            let moves = json!([{ "dimension": "hook_effectiveness", "to": 69 }]);
            json!({ "finding": id, "decision": "accepted", "reason": "It is so.", "moves": moves })
        } else {
            json!({ "finding": id, "decision": "rejected", "reason": "It is out of scope.", "moves": [] })
        }
    };
    json!({
        "executive_summary": "A quiet piece that will find its audience.",
        "answers": allowed(request, "finding").iter().map(answer).collect::<Vec<_>>(),
        "extras": allowed(request, "name").iter().map(|value| json!({ "name": value, "values": ["one", "two"] })).collect::<Vec<_>>(),
    })
}
