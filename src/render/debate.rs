//! A debate written out: the parts that the file and the page share.

use askama::Template;
use roundtable_core::usage::Usage;
use roundtable_engine::event::{Millis, Spent, State};
use roundtable_engine::protocols;
use roundtable_engine::report::{Place, Report};
use roundtable_engine::transcript::{Item, Outcome, Round, Transcript, Turn, Voice};

use super::blocks::{Panel, panels, tone_class};
use super::html::Html;
use super::markdown;
use super::roles::Roles;
use crate::clock;
use crate::format::{counted, duration, grouped, money, one_line, short};

/// A question longer than this is a text with a question in it; its beginning is the headline.
const HEADLINE: usize = 180;

pub(crate) struct Debate {
    pub id: String,
    pub headline: String,
    /// Where the headline is not all of it.
    pub question: Option<Html>,
    pub state: &'static str,
    pub tone: &'static str,
    pub is_over: bool,
    pub meta: Vec<String>,
    pub facts: Vec<Named>,
    pub answer: Option<Html>,
    pub reason: Option<String>,
    pub main: Vec<Panel>,
    pub side: Vec<Panel>,
    pub rounds: Vec<Stage>,
    pub to_come: Vec<ToCome>,
    pub used: Vec<Named>,
}

/// A figure with its name.
pub(crate) struct Named {
    pub name: String,
    pub value: String,
    pub tone: &'static str,
    /// By which a page finds it while the debate runs.
    pub mark: &'static str,
}

/// A round in the timeline and in the transcript.
pub(crate) struct Stage {
    pub key: String,
    pub title: String,
    pub epithet: Option<String>,
    pub summary: String,
    /// `past` or `now`
    pub when: &'static str,
    pub turns: Vec<Html>,
}

pub(crate) struct ToCome {
    pub title: String,
    pub summary: String,
}

impl Debate {
    pub(crate) fn new(transcript: &Transcript, report: &Report) -> Self {
        let roles = Roles::of(transcript);
        let headline = short(&transcript.question, HEADLINE);
        let is_whole = headline == one_line(&transcript.question);
        let last = transcript.rounds.len().saturating_sub(1);
        let rounds = transcript.rounds.iter().enumerate();
        Self {
            id: transcript.id.clone(),
            question: (!is_whole).then(|| markdown::html(&transcript.question)),
            headline,
            state: state_word(transcript.state),
            tone: state_tone(transcript.state),
            is_over: transcript.is_over(),
            meta: meta(transcript),
            facts: facts(report),
            answer: report.answer.as_deref().map(markdown::html),
            reason: reason(transcript),
            main: panels(report, Place::Main, &roles),
            side: panels(report, Place::Side, &roles),
            rounds: rounds
                .map(|(index, round)| {
                    let is_now = index == last && !transcript.is_over();
                    Stage::new(round, if is_now { "now" } else { "past" }, &roles)
                })
                .collect(),
            to_come: to_come(transcript),
            used: used(transcript),
        }
    }
}

impl Debate {
    /// Whether the headline needs smaller letters.
    pub(crate) fn is_long(&self) -> bool {
        self.headline.chars().count() > 110
    }
}

impl Stage {
    fn new(round: &Round, when: &'static str, roles: &Roles) -> Self {
        let summary = if round.turns.is_empty() {
            String::new()
        } else {
            let turns = counted(round.turns.len(), "turn");
            format!("{turns} · {}", duration(round.busy_ms))
        };
        Self {
            key: round.key.clone(),
            title: round.title(),
            epithet: round.epithet().map(str::to_owned),
            summary,
            when,
            turns: round
                .items()
                .into_iter()
                .map(|item| match item {
                    Item::Turn(it) => turn(it, roles),
                    Item::Voice(it) => voice(it),
                })
                .collect(),
        }
    }
}

#[derive(Template)]
#[template(path = "turn.html")]
struct Shown<'a> {
    step: &'a str,
    began: Millis,
    class: String,
    title: &'a str,
    verb: Option<&'a str>,
    spent: String,
    text: Option<Html>,
    absent: Option<&'a str>,
    remarks: &'a [String],
}

/// One turn, as it stands in the transcript.
pub(crate) fn turn(turn: &Turn, roles: &Roles) -> Html {
    let (text, absent, remarks) = match &turn.outcome {
        Outcome::Said { text, remarks } => (Some(markdown::html(text)), None, remarks.as_slice()),
        Outcome::Absent { reason } => (None, Some(reason.as_str()), &[][..]),
    };
    Html::of(&Shown {
        step: &turn.step,
        began: turn.started_at,
        class: roles.class(&turn.seat),
        title: &turn.title,
        verb: verb(&turn.step, &turn.seat),
        spent: spent(turn.answered_by(), &turn.spent),
        text,
        absent,
        remarks,
    })
}

#[derive(Template)]
#[template(path = "voice.html")]
struct Heard<'a> {
    seq: u64,
    at: Millis,
    who: &'a str,
    decides: Option<&'a str>,
    text: Html,
}

/// What a person said or decided.
pub(crate) fn voice(voice: &Voice) -> Html {
    Html::of(&Heard {
        seq: voice.seq,
        at: voice.at,
        who: voice.by.as_deref().unwrap_or("A person"),
        decides: voice.decides.as_deref(),
        text: markdown::html(&voice.text),
    })
}

/// What the seat was asked for, where its step says more than the seat.
pub(crate) fn verb<'a>(step: &'a str, seat: &str) -> Option<&'a str> {
    step.rsplit('/').next().filter(|verb| *verb != seat)
}

/// `lab:x · 412 tokens · 6.1 s`
fn spent(who: String, spent: &Spent) -> String {
    let mut parts = vec![who];
    if spent.usage != Usage::default() {
        parts.push(format!("{} tokens", grouped(spent.usage.total())));
    }
    parts.push(duration(spent.latency_ms));
    if spent.retries > 0 {
        let word = if spent.retries == 1 {
            "retry"
        } else {
            "retries"
        };
        parts.push(format!("{} {word}", spent.retries));
    }
    parts.join(" · ")
}

fn facts(report: &Report) -> Vec<Named> {
    let facts = report.facts.iter().map(|fact| Named {
        name: fact.name.clone(),
        value: fact.value.clone(),
        tone: tone_class(fact.tone),
        mark: "",
    });
    facts.collect()
}

fn used(transcript: &Transcript) -> Vec<Named> {
    let sum = &transcript.totals.debate;
    let named = |name: &str, value: String, mark: &'static str| Named {
        name: name.to_owned(),
        value,
        tone: "plain",
        mark,
    };
    vec![
        named("Tokens in", grouped(sum.usage.input), ""),
        named("of them cached", grouped(sum.usage.cached), ""),
        named("Tokens out", grouped(sum.usage.output), ""),
        named("Calls", sum.calls.to_string(), ""),
        named("Cost", money(sum.cost), "cost"),
        named("Time", duration(transcript.busy_ms), ""),
    ]
}

fn meta(transcript: &Transcript) -> Vec<String> {
    let played = transcript
        .rounds
        .iter()
        .filter_map(|round| round.number)
        .max()
        .unwrap_or(0);
    let protocol = protocols::title(&transcript.protocol);
    let rounds = counted(usize::try_from(played).unwrap_or(usize::MAX), "round");
    let mut parts = vec![
        if transcript.is_over() {
            format!("{protocol} · {rounds}")
        } else {
            protocol
        },
        clock::day_and_time(transcript.opened_at),
    ];
    if let Some(rating) = &transcript.rating {
        parts.push(format!("rated {} of 10", rating.rating));
    }
    parts
}

/// Why it is not what was asked for.
fn reason(transcript: &Transcript) -> Option<String> {
    let what = match transcript.state {
        State::Partial => "Partial result",
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
        State::Waiting => "Waiting for a decision",
        State::Queued | State::Running | State::Complete => return None,
    };
    Some(match &transcript.reason {
        Some(reason) => format!("{what}: {reason}"),
        None => what.to_owned(),
    })
}

/// Rounds that are certain to come, and the one that may be the last.
fn to_come(transcript: &Transcript) -> Vec<ToCome> {
    let Some(planned) = transcript.planned.filter(|_| !transcript.is_over()) else {
        return Vec::new();
    };
    let played = transcript
        .rounds
        .iter()
        .filter_map(|round| round.number)
        .max();
    let is_past_rounds = transcript.rounds.iter().any(|round| round.number.is_none());
    if is_past_rounds {
        return Vec::new();
    }
    let next = played.unwrap_or(0) + 1;
    let mut coming: Vec<ToCome> = (next..=planned.least)
        .map(|number| ToCome {
            title: format!("Round {number}"),
            summary: String::new(),
        })
        .collect();
    let after = next.max(planned.least + 1);
    if after <= planned.most {
        let left = planned.most - after + 1;
        coming.push(ToCome {
            title: if left == 1 {
                format!("Round {after}")
            } else {
                format!("Rounds {after}–{}", planned.most)
            },
            summary: "if needed".into(),
        });
    }
    coming
}

/// `Round 2, refinement`
pub(crate) fn title_of_round(round: &Round) -> String {
    match round.epithet() {
        Some(epithet) => format!("{}, {epithet}", round.title()),
        None => round.title(),
    }
}

pub(crate) fn state_word(state: State) -> &'static str {
    match state {
        State::Queued => "Waiting for a place",
        State::Running => "Running",
        State::Waiting => "Waiting for you",
        State::Complete => "Complete",
        State::Partial => "Partial",
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
    }
}

pub(crate) fn state_tone(state: State) -> &'static str {
    match state {
        State::Running => "live",
        State::Waiting | State::Partial | State::Failed => "mid",
        State::Complete => "good",
        State::Queued | State::Cancelled => "soft",
    }
}
