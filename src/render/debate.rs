//! A debate as HTML: the parts shared by the exported file and the debate page.

use askama::Template;
use roundtable_core::excerpt::excerpt;
use roundtable_core::usage::Usage;
use roundtable_engine::event::{Millis, Spent, State};
use roundtable_engine::protocols;
use roundtable_engine::remarks::plain_reason;
use roundtable_engine::report::{Place, Report};
use roundtable_engine::transcript::{Item, Outcome, Round, Transcript, Turn, Voice};

use super::argument::ArgumentView;
use super::blocks::{Panel, panel, panels, tone_class};
use super::card::CardView;
use super::html::Html;
use super::markdown;
use super::roles::Roles;
use crate::clock;
use crate::format::{self, counted, duration, grouped, money, one_line, short};

/// Longer questions are cut to this many characters for the headline.
const MAX_HEADLINE: usize = 180;

pub(crate) struct Debate {
    pub id: String,
    pub headline: String,
    /// The full question, if the headline was cut.
    pub question: Option<Html>,
    pub state: &'static str,
    pub tone: &'static str,
    pub is_over: bool,
    pub meta: Vec<String>,
    pub facts: Vec<Figure>,
    pub card: Option<CardView>,
    /// Whether there is a final answer.
    pub has_answer: bool,
    pub reason: Option<String>,
    pub argument: ArgumentView,
    pub main: Vec<Panel>,
    pub side: Vec<Panel>,
    pub rounds: Vec<RoundView>,
    pub upcoming: Vec<UpcomingRound>,
    pub usage: Vec<Figure>,
}

/// A value with its name.
pub(crate) struct Figure {
    pub name: String,
    pub value: String,
    pub tone: &'static str,
}

/// A round in the timeline and in the transcript.
pub(crate) struct RoundView {
    pub key: String,
    pub title: String,
    pub epithet: Option<String>,
    pub focus: Option<String>,
    pub summary: String,
    /// `done` or `current`
    pub progress: &'static str,
    /// Whether seats spoke at the same time: they are shown side by side.
    pub is_parallel: bool,
    pub turns: Vec<Html>,
}

pub(crate) struct UpcomingRound {
    pub title: String,
    pub summary: String,
}

/// Whether the turns of a round are rendered: their Markdown is most of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turns {
    Rendered,
    /// With links to the prompts of the debate, for a reader who may see them.
    WithPrompts,
    Omitted,
}

impl Debate {
    pub(crate) fn new(transcript: &Transcript, report: &Report) -> Self {
        Self::with(transcript, report, Turns::Rendered)
    }

    /// For the page of the debate, whose readers may see its prompts.
    pub(crate) fn with_prompts(transcript: &Transcript, report: &Report) -> Self {
        Self::with(transcript, report, Turns::WithPrompts)
    }

    /// For pages that show no turns.
    pub(crate) fn without_turns(transcript: &Transcript, report: &Report) -> Self {
        Self::with(transcript, report, Turns::Omitted)
    }

    fn with(transcript: &Transcript, report: &Report, turns: Turns) -> Self {
        let roles = Roles::of(transcript);
        let headline = short(&transcript.question, MAX_HEADLINE);
        let is_whole = headline == one_line(&transcript.question);
        let last = transcript.rounds.len().saturating_sub(1);
        let prompts_of = (turns == Turns::WithPrompts).then_some(transcript.id.as_str());
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
            has_answer: report.answer.is_some(),
            card: report.verdict.as_ref().map(CardView::new),
            reason: reason(transcript, report),
            argument: ArgumentView::new(&report.argument, transcript, &roles),
            main: record(transcript, report, &roles),
            side: panels(report, Place::Side, &roles),
            rounds: rounds
                .map(|(index, round)| {
                    let is_current = index == last && !transcript.is_over();
                    let progress = if is_current { "current" } else { "done" };
                    RoundView::new(round, progress, &roles, (turns, prompts_of))
                })
                .collect(),
            upcoming: upcoming(transcript),
            usage: usage(transcript),
        }
    }

    /// Whether the headline is set in a smaller font.
    pub(crate) fn is_long(&self) -> bool {
        self.headline.chars().count() > 110
    }
}

impl RoundView {
    fn new(
        round: &Round,
        progress: &'static str,
        roles: &Roles,
        (turns, prompts_of): (Turns, Option<&str>),
    ) -> Self {
        let summary = if round.turns.is_empty() {
            String::new()
        } else {
            let turns = counted(round.turns.len(), "turn");
            format!("{turns} · {}", duration(round.busy_ms))
        };
        let items = match turns {
            Turns::Rendered | Turns::WithPrompts => round.items(),
            Turns::Omitted => Vec::new(),
        };
        Self {
            key: round.key.clone(),
            title: round.title(),
            epithet: round.epithet().map(str::to_owned),
            focus: round.focus.clone(),
            summary,
            progress,
            is_parallel: is_parallel(round),
            turns: items
                .into_iter()
                .map(|item| match item {
                    // In the round that is being played, texts stay where they streamed in.
                    Item::Turn(item) if progress == "current" => {
                        turn(item, roles, Fold::Open, prompts_of)
                    }
                    Item::Turn(item) => turn(item, roles, Fold::Closed, prompts_of),
                    Item::Voice(item) => user_turn(item),
                })
                .collect(),
        }
    }
}

#[derive(Template)]
#[template(path = "turn.html")]
struct TurnView<'a> {
    step: &'a str,
    began: Millis,
    class: String,
    title: &'a str,
    action: Option<String>,
    /// The turn in one line.
    gist: String,
    is_open: bool,
    usage: String,
    text: Option<Html>,
    absent: Option<String>,
    remarks: &'a [String],
    /// The address of its prompt.
    prompt: Option<String>,
}

/// Whether a turn shows its whole text or one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Open,
    Closed,
}

/// Length of a turn's line, in characters.
const MAX_GIST: usize = 140;

/// A turn of this debate that has just ended.
pub(crate) fn open_turn(item: &Turn, roles: &Roles, debate: &str) -> Html {
    turn(item, roles, Fold::Open, Some(debate))
}

/// A turn of the transcript.
fn turn(turn: &Turn, roles: &Roles, fold: Fold, prompts_of: Option<&str>) -> Html {
    let (text, absent, remarks) = match &turn.outcome {
        Outcome::Said { text, remarks } => (Some(markdown::html(text)), None, remarks.as_slice()),
        Outcome::Absent { reason } => (None, Some(plain_reason(reason)), &[][..]),
    };
    Html::of(&TurnView {
        step: &turn.step,
        began: turn.started_at,
        class: roles.class(&turn.seat),
        title: &turn.title,
        action: action(&turn.step, &turn.seat, roles),
        gist: turn
            .text()
            .map_or_else(String::new, |text| excerpt(text, MAX_GIST)),
        is_open: fold == Fold::Open,
        usage: turn_usage(turn.answered_by(), &turn.spent),
        text,
        absent,
        remarks,
        prompt: prompts_of.map(|debate| format!("/debates/{debate}/prompts/{}", turn.step)),
    })
}

#[derive(Template)]
#[template(path = "user_turn.html")]
struct UserTurnView<'a> {
    seq: u64,
    at: Millis,
    name: &'a str,
    /// The question that the user decided.
    decides: Option<&'a str>,
    text: Html,
}

/// A message or decision of a user.
fn user_turn(voice: &Voice) -> Html {
    Html::of(&UserTurnView {
        seq: voice.seq,
        at: voice.at,
        name: voice.by.as_deref().unwrap_or("User"),
        decides: voice.decides.as_deref(),
        text: markdown::html(&voice.text),
    })
}

/// The purpose of the step, unless it is obvious.
fn action(step: &str, seat: &str, roles: &Roles) -> Option<String> {
    let action = step.rsplit('/').next().filter(|action| *action != seat)?;
    if let Some(scored) = action.strip_prefix("score-") {
        return Some(format!("score of the {}", roles.title(scored)));
    }
    let noun = match action {
        "speak" | "argue" | "answer" => return None,
        "propose" => "first answer",
        "revise" => "revision",
        "criticise" => "critique",
        "synthesise" | "conclude" => "conclusion",
        "mark" => "score",
        "rank" => "ranking",
        "vote" | "ballot" => "blind vote",
        "evaluate" => "evaluation",
        "narrate" => "summary",
        "respond" => "answer to the other council",
        other => other,
    };
    Some(noun.to_owned())
}

/// Whether two turns overlap in time.
fn is_parallel(round: &Round) -> bool {
    round.turns.windows(2).any(|pair| match pair {
        [first, second] => second.started_at < first.started_at + first.spent.latency_ms.max(1),
        _ => false,
    })
}

/// `lab:x · 412 tokens · 6.1 s`
fn turn_usage(model: String, spent: &Spent) -> String {
    let mut parts = vec![model];
    if spent.usage != Usage::default() {
        parts.push(format!("{} tokens", grouped(spent.usage.total())));
    }
    parts.push(duration(spent.latency_ms));
    match spent.retries {
        0 => {}
        1 => parts.push("1 retry".into()),
        several => parts.push(format!("{several} retries")),
    }
    parts.join(" · ")
}

/// The sections of the report, and usage by seat and round.
fn record(transcript: &Transcript, report: &Report, roles: &Roles) -> Vec<Panel> {
    let mut all = panels(report, Place::Main, roles);
    all.push(panel(&format::usage(transcript), roles));
    all
}

fn facts(report: &Report) -> Vec<Figure> {
    let facts = report.facts.iter().map(|fact| Figure {
        name: fact.name.clone(),
        value: fact.value.clone(),
        tone: tone_class(fact.tone),
    });
    facts.collect()
}

fn usage(transcript: &Transcript) -> Vec<Figure> {
    let sum = &transcript.totals.debate;
    let figure = |name: &str, value: String| Figure {
        name: name.to_owned(),
        value,
        tone: "plain",
    };
    vec![
        figure("Input tokens", grouped(sum.usage.input)),
        figure("Cached input tokens", grouped(sum.usage.cached)),
        figure("Output tokens", grouped(sum.usage.output)),
        figure("Calls", sum.calls.to_string()),
        figure("Cost", money(sum.cost, sum.usage.total())),
        figure("Time", duration(transcript.busy_ms)),
    ]
}

/// 0 before the first one.
fn last_numbered_round(transcript: &Transcript) -> u32 {
    let numbers = transcript.rounds.iter().filter_map(|round| round.number);
    numbers.max().unwrap_or(0)
}

fn meta(transcript: &Transcript) -> Vec<String> {
    let played = last_numbered_round(transcript);
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

/// Why there is no complete result, if the verdict does not say it.
fn reason(transcript: &Transcript, report: &Report) -> Option<String> {
    let verdict = report.verdict.as_ref();
    if verdict.is_some_and(|verdict| !verdict.failures.is_empty()) {
        return None;
    }
    let label = match transcript.state {
        State::Partial => "Partial result",
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
        State::Interrupted => "Interrupted; everything so far is saved",
        State::Waiting => "Decision needed",
        State::Queued | State::Running | State::Complete => return None,
    };
    Some(match &transcript.reason {
        Some(reason) if !names_a_state(reason) => format!("{label}: {reason}"),
        Some(_) | None => label.to_owned(),
    })
}

/// The reason of a debate that a person stopped only repeats its state.
pub(crate) fn names_a_state(reason: &str) -> bool {
    State::ALL.iter().any(|state| state.name() == reason)
}

/// Planned rounds that have not started: the certain ones one by one, the optional ones as a range.
fn upcoming(transcript: &Transcript) -> Vec<UpcomingRound> {
    let Some(planned) = transcript.planned.filter(|_| !transcript.is_over()) else {
        return Vec::new();
    };
    let is_past_numbered_rounds = transcript.rounds.iter().any(|round| round.number.is_none());
    if is_past_numbered_rounds {
        return Vec::new();
    }
    let next = last_numbered_round(transcript) + 1;
    let mut upcoming: Vec<UpcomingRound> = (next..=planned.least)
        .map(|number| UpcomingRound {
            title: format!("Round {number}"),
            summary: String::new(),
        })
        .collect();
    let after = next.max(planned.least + 1);
    if after <= planned.most {
        let left = planned.most - after + 1;
        upcoming.push(UpcomingRound {
            title: if left == 1 {
                format!("Round {after}")
            } else {
                format!("Rounds {after}–{}", planned.most)
            },
            summary: "if needed".into(),
        });
    }
    upcoming
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
        State::Queued => "Queued",
        State::Running => "Running",
        State::Waiting => "Decision needed",
        State::Complete => "Complete",
        State::Partial => "Partial",
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
        State::Interrupted => "Interrupted",
    }
}

pub(crate) fn state_tone(state: State) -> &'static str {
    match state {
        State::Running => "live",
        State::Waiting | State::Partial | State::Failed | State::Interrupted => "mid",
        State::Complete => "good",
        State::Queued | State::Cancelled => "soft",
    }
}
