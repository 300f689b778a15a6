//! How a debate in one of the modes is ordered: which mode, how many seats, what to look at in which round.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use roundtable_core::learning::Domain;
use roundtable_core::sources::Sources;
use roundtable_core::verification::Stakes;
use roundtable_core::votes::ROUND_CAP;
use roundtable_engine::cast::{Cast, Part, Seat, Team};
use roundtable_engine::data::{Data, DataError};
use roundtable_engine::mode::{Mode, SpeakingOrder};
use roundtable_engine::protocols::Protocol;
use roundtable_engine::protocols::modes::Rules;
use roundtable_engine::table::SeatModel;
use roundtable_engine::tokens;
use serde_json::{Map, Value, json};

use super::policy;
use super::{DebateSpec, Embedding, ProgressSink, ValidatedSpec, check_question};
use crate::app_context::AppContext;
use crate::failure::{Failure, Fault};

const CAST: &str = "panel";
/// The mode where none is named.
pub(crate) const MODE: &str = "collaborative";
const LEAST_SEATS: usize = 3;
/// Who is asked for no number gets this many.
const SEATS: usize = 4;
/// The question comes back in every prompt, and a prompt has at most 10,000 tokens.
const MOST_QUESTION: u64 = 2500;
const RULES: [&str; 8] = [
    "mode",
    "max_rounds",
    "focus",
    "stakes",
    "seats",
    "enhanced",
    "algorithm",
    "domain",
];

pub(super) fn validate(app: &AppContext, spec: DebateSpec) -> Result<ValidatedSpec, Failure> {
    // Tokens are counted from round 2 on, and the first may not last as long as it takes to get ready for that.
    tokens::load_meanwhile();
    let mut faults = Vec::new();
    let question = spec.question.trim().to_owned();
    let limit = app.config.limits.max_question_tokens.min(MOST_QUESTION);
    faults.extend(check_question(&question, limit).err());
    let given = Given::read(&spec.rules, &mut faults);
    let mode = Mode::load(&app.data, &given.mode);
    let mode = taken("/rules/mode", mode, &mut faults);
    let cast = load_cast(&app.data, spec.cast.as_deref().unwrap_or(CAST));
    let cast = taken("/cast", cast, &mut faults);
    let cast = cast.and_then(|cast| seated(cast, &given, mode.as_ref(), &mut faults));
    let enhanced = policy::enhanced(app, given.enhanced, given.algorithm.as_deref(), &mut faults);
    if given.enhanced == Some(false) && given.algorithm.is_some() {
        faults.push(Fault::new(
            "/rules/algorithm",
            "only an enhanced debate has an algorithm, and 'enhanced' is false: leave one of the two out",
        ));
    }
    if enhanced.is_none() && given.domain.is_some() && faults.is_empty() {
        faults.push(Fault::new(
            "/rules/domain",
            "only an enhanced debate learns and is learned from: a domain needs 'enhanced' too",
        ));
    }
    let enhanced = enhanced.map(|it| it.in_domain(given.domain.as_ref(), spec.learned));
    let embedding = match &enhanced {
        Some(it) if it.is_measured() => Embedding::Measures,
        Some(_) | None => Embedding::Welcome,
    };
    let rules = mode.and_then(|mode| {
        let rules = Rules::new(mode, given.max_rounds, given.focus, given.stakes);
        rules
            .map(|rules| match enhanced {
                Some(enhanced) => rules.enhanced(enhanced),
                None => rules,
            })
            .map_err(|error| faults.push(Fault::new("/rules", error.to_string())))
            .ok()
    });
    let panel = cast.iter().flat_map(|cast| &cast.seats);
    let panel = panel
        .filter(|seat| seat.part == Part::Panel)
        .map(|seat| seat.name.clone())
        .collect();
    match (cast, rules) {
        (Some(cast), Some(rules)) if faults.is_empty() => Ok(ValidatedSpec {
            protocol: Protocol::Modes,
            question,
            cast,
            models: spec.models,
            configured: BTreeMap::new(),
            terms: super::Terms::Modes(Box::new(Terms {
                rules: rules.with_sources(Sources::new(spec.sources)),
                panel,
            })),
            budget: spec.budget,
            seed: spec.seed,
            embedding,
        }),
        _ => Err(Failure::refused(faults)),
    }
}

/// The rules as far as they are known before the models are.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    rules: Rules,
    panel: Vec<String>,
}

impl Terms {
    /// With sources, seats whose model can call tools search for themselves.
    pub(super) fn rules(
        self,
        seat_models: &HashMap<String, SeatModel>,
        progress: &ProgressSink,
    ) -> Value {
        let Self { rules, panel } = self;
        if rules.sources.is_empty() {
            return json!(rules);
        }
        let calls_tools = |seat: &&String| {
            let chair = seat_models.get(*seat);
            chair.is_some_and(|chair| chair.model.calls_tools())
        };
        let tool_seats: BTreeSet<String> = panel.iter().filter(calls_tools).cloned().collect();
        (progress.say)(&told(&rules.sources, tool_seats.len(), panel.len()));
        json!(rules.with_tool_seats(tool_seats))
    }
}

fn told(sources: &Sources, searching: usize, seats: usize) -> String {
    let names: Vec<String> = sources
        .list()
        .iter()
        .map(|it| format!("{} ({} passages)", it.name, it.passages.len()))
        .collect();
    let how = if searching == seats {
        "the seats search them with tools"
    } else if searching == 0 {
        "these models call no tools, so the program searches for them"
    } else {
        "seats whose model calls tools search them, for the others the program does"
    };
    format!("Sources: {}; {how}", names.join(", "))
}

fn taken<T>(at: &str, found: Result<T, DataError>, faults: &mut Vec<Fault>) -> Option<T> {
    found
        .map_err(|error| faults.push(Fault::new(at, error.to_string())))
        .ok()
}

struct Given {
    mode: String,
    max_rounds: u32,
    focus: BTreeMap<u32, String>,
    stakes: Stakes,
    /// `None`: as many as a cast of the user's has, or a few of the built-in one.
    seats: Option<usize>,
    /// `None`: as the configuration and the constitution say.
    enhanced: Option<bool>,
    algorithm: Option<String>,
    domain: Option<Domain>,
}

impl Given {
    fn read(rules: &Map<String, Value>, faults: &mut Vec<Fault>) -> Self {
        let mut given = Self {
            mode: MODE.into(),
            max_rounds: ROUND_CAP,
            focus: BTreeMap::new(),
            stakes: Stakes::Ordinary,
            seats: None,
            enhanced: None,
            algorithm: None,
            domain: None,
        };
        for (key, value) in rules {
            let whole = value.as_u64().and_then(|number| u32::try_from(number).ok());
            let expected = match (key.as_str(), value, whole) {
                ("mode", Value::String(name), _) => {
                    given.mode.clone_from(name);
                    continue;
                }
                ("max_rounds", _, Some(rounds)) => {
                    given.max_rounds = rounds;
                    continue;
                }
                ("seats", _, Some(seats)) => {
                    given.seats = usize::try_from(seats).ok();
                    continue;
                }
                ("stakes", Value::String(stakes), _)
                    if stakes == "high" || stakes == "ordinary" =>
                {
                    given.stakes = if stakes == "high" {
                        Stakes::High
                    } else {
                        Stakes::Ordinary
                    };
                    continue;
                }
                ("focus", _, _) => match focus(value) {
                    Some(focus) => {
                        given.focus = focus;
                        continue;
                    }
                    None => {
                        "a question for round 1, or an object of rounds and questions such as {\"2\": \"What does it cost?\"}"
                    }
                },
                ("enhanced", Value::Bool(wanted), _) => {
                    given.enhanced = Some(*wanted);
                    continue;
                }
                ("algorithm", Value::String(name), _) => {
                    given.algorithm = Some(name.clone());
                    continue;
                }
                ("domain", Value::String(name), _) => match Domain::new(name) {
                    Ok(domain) => {
                        given.domain = Some(domain);
                        continue;
                    }
                    Err(error) => {
                        faults.push(Fault::new("/rules/domain", error.to_string()));
                        continue;
                    }
                },
                ("domain", ..) => "the name of a domain",
                ("enhanced", ..) => "true or false",
                ("algorithm", ..) => "the name of an algorithm",
                ("mode", ..) => "the name of a mode",
                ("max_rounds" | "seats", ..) => "a whole number",
                ("stakes", ..) => "\"high\" or \"ordinary\"",
                _ => {
                    let message =
                        format!("a debate has no rule '{key}'; it has {}", RULES.join(", "));
                    faults.push(Fault::new(format!("/rules/{key}"), message));
                    continue;
                }
            };
            let message = format!("'{key}' must be {expected}, not {value}");
            faults.push(Fault::new(format!("/rules/{key}"), message));
        }
        given
    }
}

fn focus(value: &Value) -> Option<BTreeMap<u32, String>> {
    if let Some(text) = value.as_str() {
        return Some(BTreeMap::from([(1, text.to_owned())]));
    }
    let rounds = value.as_object()?;
    let each = rounds
        .iter()
        .map(|(round, text)| Some((round.parse().ok()?, text.as_str()?.to_owned())));
    each.collect()
}

/// A cast by name or file, with the chair and the safety evaluator of the built-in one where it has none of its own.
fn load_cast(data: &Data, name: &str) -> Result<Cast, DataError> {
    let mut cast = Cast::named_or_file(data, name)?;
    if cast.protocol != Protocol::Modes.name() {
        return Err(DataError::Broken {
            file: format!("cast '{name}'"),
            line: 1,
            message: format!(
                "it is made for '{}', not for debates in modes",
                cast.protocol
            ),
        });
    }
    for part in [Part::Chair, Part::SafetyEvaluator] {
        if cast.seats.iter().all(|seat| seat.part != part) {
            let built_in = Cast::load(&Data::built_in(), CAST)?;
            cast.seats
                .extend(built_in.seats.into_iter().filter(|seat| seat.part == part));
        }
    }
    Ok(cast)
}

/// The first so many seats of the panel, and who is there beside it.
fn seated(cast: Cast, given: &Given, mode: Option<&Mode>, faults: &mut Vec<Fault>) -> Option<Cast> {
    let is_own = cast.name != CAST;
    let (panel, others): (Vec<Seat>, Vec<Seat>) = cast
        .seats
        .iter()
        .cloned()
        .partition(|seat| seat.part == Part::Panel);
    let wanted = given
        .seats
        .unwrap_or(if is_own { panel.len() } else { SEATS });
    if wanted < LEAST_SEATS || wanted > panel.len() {
        let message = format!(
            "{wanted} seats are not possible: a debate has at least {LEAST_SEATS}, and the cast '{}' has {}",
            cast.name,
            panel.len()
        );
        faults.push(Fault::new("/rules/seats", message));
        return None;
    }
    let panel: Vec<Seat> = panel.into_iter().take(wanted).collect();
    let one_sided = |team: Team| panel.iter().all(|seat| seat.team == Some(team));
    let needs_teams = mode.is_some_and(|mode| mode.order == SpeakingOrder::RedThenBlue);
    if needs_teams && (one_sided(Team::Red) || one_sided(Team::Blue)) {
        faults.push(Fault::new(
            "/cast",
            "all seats of this cast are on one team; there must be red and blue",
        ));
        return None;
    }
    Some(Cast {
        seats: panel.into_iter().chain(others).collect(),
        ..cast
    })
}
