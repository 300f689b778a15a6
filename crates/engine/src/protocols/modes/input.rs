//! The input of a request and its validation: mode, seats, rounds, focus, stakes, evidence.

use std::collections::{BTreeMap, BTreeSet};

use roundtable_core::convergence::Thresholds;
use roundtable_core::format::counted;
use roundtable_core::learning::Domain;
use roundtable_core::sources::Sources;
use roundtable_core::verification::Stakes;
use roundtable_core::votes::ROUND_CAP;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::enhanced::{DebatePolicy, policy};
use super::rules::{EscalationPolicy, MAX_ROUNDS};
use super::{Modes, Rules};
use crate::algorithm::{self, Algorithm};
use crate::cast::{Cast, CastChoice, Part, Seat, Team};
use crate::data::{Data, DataError};
use crate::depth::Depth;
use crate::form::{FieldKind, FormChoice, FormField};
use crate::mode::{Mode, SpeakingOrder};
use crate::protocol::{
    Context, Conversation, EmbedderUse, Fault, Plan, Protocol, Request, SeatModels, Variant,
    check_question, no_images,
};
use crate::round_value::ValueRules;
use crate::tokens;

/// The mode of a request that names none.
pub const DEFAULT_MODE: &str = "collaborative";
const MIN_SEATS: usize = 3;
const DEFAULT_SEATS: usize = 4;
/// The question is in every prompt, and a prompt has at most 10,000 tokens.
const MAX_QUESTION_TOKENS: u64 = 2500;

/// The rules of a debate in one of the modes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ModesInput")]
pub struct Input {
    /// The mode: how the panel debates.
    #[schemars(schema_with = "mode_names")]
    pub mode: Option<String>,
    /// The last round.
    pub max_rounds: Option<u32>,
    /// A question for round 1, or questions by round: `{"2": "What does it cost?"}`.
    pub focus: Option<Focus>,
    /// With high stakes every reply is checked once more.
    #[schemars(schema_with = "stakes")]
    pub stakes: Option<Stakes>,
    /// The number of seats of the cast that take part, at least 3.
    pub seats: Option<u32>,
    /// Whether claims carry evidence and measured convergence ends the debate. The default comes from the project's
    /// constitution and the configuration.
    pub enhanced: Option<bool>,
    /// How an enhanced debate decides. Naming one makes the debate an enhanced one.
    #[schemars(schema_with = "algorithm_names")]
    pub algorithm: Option<String>,
    /// Whether the debate waits for a person's decision if the panel cannot settle it: no majority, no progress, or agreement
    /// that no objection could move. The default is true. An open security objection always waits.
    pub escalation: Option<bool>,
    /// Keeps rounds short: all seats speak at once in every mode, no objection round is added, and the program searches the
    /// sources instead of the seats. Defaults to false.
    pub brief: Option<bool>,
    /// Stop when another round costs more than this for each change that it is expected to bring, in US dollars.
    #[schemars(range(min = 0))]
    pub stop_by_value: Option<f64>,
    /// The kind of question. An enhanced debate uses what post-mortems of its domain have taught.
    #[schemars(length(min = 1, max = 80), example = "api design")]
    pub domain: Option<String>,
}

/// `quick` is one round and the conclusion.
pub(super) fn at_depth(input: Input, depth: Depth) -> Input {
    let (max_rounds, brief, escalation) = match depth {
        Depth::Normal => return input,
        Depth::Quick => (1, Some(true), Some(false)),
        Depth::Deep => (8, None, None),
    };
    Input {
        max_rounds: input.max_rounds.or(Some(max_rounds)),
        brief: input.brief.or(brief),
        escalation: input.escalation.or(escalation),
        ..input
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Focus {
    FirstRound(String),
    ByRound(BTreeMap<String, String>),
}

/// The protocol's part of the configuration and of the project's constitution.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub algorithm: Option<String>,
    pub thresholds: Thresholds,
    pub policy: DebatePolicy,
    /// Why the constitution could not be read. An error only for debates that use it.
    pub policy_error: Option<String>,
}

fn mode_names(_: &mut SchemaGenerator) -> Schema {
    let names = Mode::names(&Data::built_in()).unwrap_or_default();
    json_schema!({ "type": "string", "examples": names })
}

fn algorithm_names(_: &mut SchemaGenerator) -> Schema {
    let names = Algorithm::names(&Data::built_in()).unwrap_or_default();
    json_schema!({ "type": "string", "examples": names })
}

fn stakes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["high", "ordinary"] })
}

pub(super) fn form(data: &Data) -> Vec<FormField> {
    let choice = |value: String, summary: Option<String>| FormChoice {
        value,
        summary: summary.unwrap_or_default(),
    };
    let mut modes = Mode::names(data).unwrap_or_default();
    modes.sort_by_key(|name| name != DEFAULT_MODE);
    let modes = modes.into_iter().map(|name| {
        let summary = Mode::load(data, &name).ok().map(|mode| mode.summary);
        choice(name, summary)
    });
    let configured = choice(String::new(), Some("Default".into()));
    let algorithms = Algorithm::names(data).unwrap_or_default().into_iter();
    let algorithms = algorithms.map(|name| {
        let algorithm = Algorithm::load(data, &name).ok();
        choice(name, algorithm.map(|algorithm| algorithm.summary))
    });
    let decides = std::iter::once(configured).chain(algorithms).collect();
    vec![
        FormField::new("mode", "How they debate", FieldKind::Choice(modes.collect())),
        FormField::new(
            "max_rounds",
            "Rounds at most",
            FieldKind::Number {
                least: 1,
                most: MAX_ROUNDS,
            },
        ),
        FormField::new("seats", "Seats", FieldKind::Number { least: 3, most: 8 }),
        FormField::new("enhanced", "Require evidence", FieldKind::Checkbox).hint(
            "Every claim needs a source, the debate stops when positions converge, and lessons from earlier decisions are used.",
        ),
        FormField::new("algorithm", "Decision rule", FieldKind::Choice(decides)),
        FormField::new("domain", "Field", FieldKind::Text)
            .hint("Debates that require evidence use what was learned in this field.")
            .placeholder("api design"),
    ]
}

/// A caller that only waits for an answer cannot decide, so the panel does without a person where it may.
pub(super) fn converse(input: Input, said: Conversation) -> Result<(String, Input), Vec<Fault>> {
    if let Some(image) = said.images.first() {
        return Err(vec![no_images(&image.name)]);
    }
    let escalation = input.escalation.or(Some(false));
    Ok((
        said.with_context(),
        Input {
            escalation,
            ..input
        },
    ))
}

/// One per mode.
pub(super) fn variants(data: &Data) -> Vec<Variant<Input>> {
    let modes = Mode::names(data).unwrap_or_default().into_iter();
    let modes = modes.filter_map(|name| Mode::load(data, &name).ok());
    modes
        .map(|mode| Variant {
            name: format!("{}-{}", Modes::COMMAND, mode.name),
            summary: mode.summary,
            input: Input {
                mode: Some(mode.name),
                ..Input::default()
            },
        })
        .collect()
}

pub(super) fn validate(
    input: Input,
    request: Request,
    context: Context<'_>,
) -> Result<Plan<Rules>, Vec<Fault>> {
    // Tokens are counted from round 2 on. The vocabulary is loaded in the background until then.
    tokens::load_in_background();
    let mut faults = Vec::new();
    let question = request.question.trim().to_owned();
    let limit = context.max_question_tokens.min(MAX_QUESTION_TOKENS);
    faults.extend(check_question(&question, limit).err());
    let mode = input.mode.as_deref().unwrap_or(DEFAULT_MODE);
    let mode = ok_or_fault("/rules/mode", Mode::load(context.data, mode), &mut faults);
    let brief = input.brief.unwrap_or(false);
    let cast = ok_or_fault(
        "/cast",
        load_cast(context.data, request.cast.as_ref()),
        &mut faults,
    );
    let cast = cast.and_then(|cast| limit_seats(cast, input.seats, mode.as_ref(), &mut faults));
    let domain = read_domain(&input, &mut faults);
    let focus = read_focus(input.focus, &mut faults);
    let settings: Settings = context.settings();
    let (wanted, algorithm) = (input.enhanced, input.algorithm.as_deref());
    let enhanced = policy::enhanced(wanted, algorithm, &settings, context.data, &mut faults);
    if wanted == Some(false) && algorithm.is_some() {
        faults.push(Fault::new(
            "/rules/algorithm",
            "only enhanced debates have an algorithm, but 'enhanced' is false: remove one of the two",
        ));
    }
    if enhanced.is_none() && domain.is_some() && faults.is_empty() {
        faults.push(Fault::new(
            "/rules/domain",
            "only enhanced debates have a domain: set 'enhanced' too",
        ));
    }
    let enhanced = enhanced.map(|enhanced| enhanced.in_domain(domain.as_ref(), context.learned));
    let embedder = match &enhanced {
        Some(enhanced) if enhanced.is_measured() => EmbedderUse::Measures,
        Some(_) | None => EmbedderUse::Optional,
    };
    let default = Algorithm::load(context.data, algorithm::DEFAULT);
    let majority = ok_or_fault("/rules", default, &mut faults).and_then(|default| default.majority);
    let escalation = match input.escalation {
        Some(false) => EscalationPolicy::Never,
        Some(true) | None => EscalationPolicy::Ask,
    };
    let value = ValueRules::new(input.stop_by_value, context.value)
        .map_err(|message| faults.push(Fault::new("/rules/stop_by_value", message)))
        .ok();
    let by_policy =
        policy::why_enhanced(wanted, algorithm, &settings).filter(|_| enhanced.is_some());
    let rules = mode.and_then(|mode| {
        let max_rounds = input.max_rounds.unwrap_or(ROUND_CAP);
        let rules = Rules::new(mode, max_rounds, focus, input.stakes.unwrap_or_default());
        rules
            .map(|rules| Rules {
                enhanced,
                brief,
                value,
                ..rules
            })
            .map(|rules| rules.deciding_by(majority).with_escalation(escalation))
            .map_err(|error| faults.push(Fault::new("/rules", error.to_string())))
            .ok()
    });
    match (cast, rules) {
        (Some(cast), Some(rules)) if faults.is_empty() => {
            let rules = rules.with_sources(Sources::new(request.sources));
            let panel: Vec<String> = panelists(&cast).map(|seat| seat.name.clone()).collect();
            Ok(Plan::depending_on_models(
                question,
                cast,
                embedder,
                move |models, notes| {
                    notes.extend(by_policy);
                    Ok(with_tool_seats(rules, &panel, models, notes))
                },
            ))
        }
        _ => Err(faults),
    }
}

pub(super) fn domain_of(input: &Input) -> Option<Domain> {
    Domain::new(input.domain.as_deref()?).ok()
}

fn read_domain(input: &Input, faults: &mut Vec<Fault>) -> Option<Domain> {
    Domain::new(input.domain.as_deref()?)
        .map_err(|error| faults.push(Fault::new("/rules/domain", error.to_string())))
        .ok()
}

fn read_focus(focus: Option<Focus>, faults: &mut Vec<Fault>) -> BTreeMap<u32, String> {
    match focus {
        None => BTreeMap::new(),
        Some(Focus::FirstRound(question)) => BTreeMap::from([(1, question)]),
        Some(Focus::ByRound(questions)) => {
            let mut rounds = BTreeMap::new();
            for (round, question) in questions {
                match round.parse() {
                    Ok(number) => drop(rounds.insert(number, question)),
                    Err(_) => faults.push(Fault::new(
                        "/rules/focus",
                        format!("'{round}' is not the number of a round, as in {{\"2\": \"What does it cost?\"}}"),
                    )),
                }
            }
            rounds
        }
    }
}

/// With sources, seats whose model can call tools search for themselves; the program searches for the others.
fn with_tool_seats(
    rules: Rules,
    panel: &[String],
    models: &SeatModels,
    notes: &mut Vec<String>,
) -> Rules {
    if rules.sources.is_empty() {
        return rules;
    }
    let calls_tools = |seat: &&String| {
        let seat = models.get(*seat);
        !rules.brief && seat.is_some_and(|seat| seat.model.calls_tools())
    };
    let tool_seats: BTreeSet<String> = panel.iter().filter(calls_tools).cloned().collect();
    let how = if tool_seats.len() == panel.len() {
        "the seats search them with tools"
    } else if rules.brief {
        "the program searches for the seats"
    } else if tool_seats.is_empty() {
        "these models do not call tools, so the program searches for them"
    } else {
        "seats whose model calls tools search them; the program searches for the others"
    };
    let sources = rules.sources.list().iter();
    let names: Vec<String> = sources
        .map(|source| {
            format!(
                "{} ({})",
                source.name,
                counted(source.passages.len(), "passage")
            )
        })
        .collect();
    notes.push(format!("Sources: {}; {how}", names.join(", ")));
    rules.with_tool_seats(tool_seats)
}

fn ok_or_fault<T>(at: &str, loaded: Result<T, DataError>, faults: &mut Vec<Fault>) -> Option<T> {
    loaded
        .map_err(|error| faults.push(Fault::new(at, error.to_string())))
        .ok()
}

/// A cast by name or file. Chair and safety evaluator come from the built-in cast if it has none.
fn load_cast(data: &Data, choice: Option<&CastChoice>) -> Result<Cast, DataError> {
    let text = Cast::find(data, choice, Modes::CAST)?;
    let mut cast = Cast::of(&text)?;
    cast.check_protocol(&text, Modes::NAME)?;
    for part in [Part::Chair, Part::SafetyEvaluator] {
        if cast.seats.iter().all(|seat| seat.part != part) {
            let built_in = Cast::load(&Data::built_in(), Modes::CAST)?;
            cast.seats
                .extend(built_in.seats.into_iter().filter(|seat| seat.part == part));
        }
    }
    Ok(cast)
}

fn panelists(cast: &Cast) -> impl Iterator<Item = &Seat> {
    cast.seats.iter().filter(|seat| seat.part == Part::Panel)
}

/// Keeps the first seats of the panel, as many as wanted, and all seats outside the panel.
fn limit_seats(
    cast: Cast,
    wanted: Option<u32>,
    mode: Option<&Mode>,
    faults: &mut Vec<Fault>,
) -> Option<Cast> {
    let available = panelists(&cast).count();
    let is_built_in = cast.name == Modes::CAST;
    let default = if is_built_in {
        DEFAULT_SEATS
    } else {
        available
    };
    let wanted = wanted.map_or(default, |seats| {
        usize::try_from(seats).unwrap_or(usize::MAX)
    });
    if wanted < MIN_SEATS || wanted > available {
        let message = format!(
            "{wanted} seats are not possible: a debate has at least {MIN_SEATS}, and the cast '{}' has {available}",
            cast.name,
        );
        faults.push(Fault::new("/rules/seats", message));
        return None;
    }
    let panel: Vec<Seat> = panelists(&cast).take(wanted).cloned().collect();
    let one_sided = |team: Team| panel.iter().all(|seat| seat.team == Some(team));
    let needs_teams = mode.is_some_and(|mode| mode.order == SpeakingOrder::RedThenBlue);
    if needs_teams && (one_sided(Team::Red) || one_sided(Team::Blue)) {
        faults.push(Fault::new(
            "/cast",
            "all seats of this cast are on one team; this mode needs a red and a blue team",
        ));
        return None;
    }
    let others = cast.seats.iter().filter(|seat| seat.part != Part::Panel);
    Some(Cast {
        seats: panel.into_iter().chain(others.cloned()).collect(),
        ..cast
    })
}
