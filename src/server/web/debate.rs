//! The page of a debate: rendered whole at one entry of its journal, followed live from there.

use askama::Template;
use roundtable_engine::event::State;
use roundtable_engine::protocols::modes::ANOTHER_ROUND;
use roundtable_engine::report::Report;
use roundtable_engine::table::{CONTINUE, STOP};
use roundtable_engine::transcript::Transcript;

use super::{Choice, Frame};
use crate::format::{grouped, money};
use crate::render::{self, Roles};

pub(crate) struct DebateView {
    /// The last entry of the journal that is on the page; the stream goes on after it.
    pub seq: u64,
    pub problems: Vec<String>,
    status: String,
    tokens: String,
    cost: String,
    seats: Vec<SeatView>,
    can_act: bool,
    can_pause: bool,
    query: Option<QueryView>,
    /// What the button says by which it goes on, where it can.
    resume: Option<&'static str>,
    marks: Vec<Choice>,
    comment: String,
}

struct SeatView {
    name: String,
    title: String,
    model: String,
    class: String,
}

struct QueryView {
    question: String,
    options: Vec<Choice>,
}

/// What the visitor may do with a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    Read,
    Run,
}

#[derive(Template)]
#[template(path = "debate.html")]
struct Page {
    frame: Frame,
    debate: render::Debate,
    view: DebateView,
}

/// The parts of the page that change while a debate runs; each has its id.
#[derive(Template)]
#[template(path = "panels.html")]
pub(crate) struct Panels {
    debate: render::Debate,
    view: DebateView,
}

impl DebateView {
    pub(crate) fn new(transcript: &Transcript, right: Right) -> Self {
        let roles = Roles::of(transcript);
        let sum = &transcript.totals.debate;
        let seats = transcript.seats.iter().map(|place| SeatView {
            name: place.seat.clone(),
            title: place.title.clone(),
            model: place.model.clone(),
            class: roles.class(&place.seat),
        });
        let rated = transcript.rating.as_ref();
        Self {
            seq: transcript.seq,
            problems: Vec::new(),
            status: status(transcript),
            tokens: grouped(sum.usage.total()),
            cost: money(sum.cost),
            seats: seats.collect(),
            can_act: right == Right::Run,
            can_pause: transcript.state == State::Running,
            query: transcript.waiting_for.as_ref().map(|query| QueryView {
                question: query.question.clone(),
                options: query.options.iter().map(|option| offer(option)).collect(),
            }),
            resume: match transcript.state {
                State::Cancelled => Some("Go on with it"),
                State::Partial | State::Failed => Some("Try again what is missing"),
                State::Queued | State::Running | State::Waiting | State::Complete => None,
            },
            marks: (1..=10)
                .map(|mark| Choice {
                    value: mark.to_string(),
                    label: String::new(),
                    is_chosen: rated.is_some_and(|rated| rated.rating == mark),
                })
                .collect(),
            comment: rated
                .and_then(|rated| rated.comment.clone())
                .unwrap_or_default(),
        }
    }

    fn is_rated(&self) -> bool {
        self.marks.iter().any(|mark| mark.is_chosen)
    }

    /// Seats that speak right now.
    pub(crate) fn speaking(mut self, transcript: &Transcript, seats: &[String]) -> Self {
        let mut titles: Vec<String> = seats.iter().map(|seat| transcript.title_of(seat)).collect();
        titles.dedup();
        match titles.as_slice() {
            [] => {}
            [one] => self.status = format!("{one} is thinking"),
            few @ ([_, _] | [_, _, _]) => self.status = format!("{} are thinking", few.join(", ")),
            many => self.status = format!("{} seats are thinking", many.len()),
        }
        self
    }

    /// It is to stop before its next round already.
    pub(crate) fn pausing(mut self, is_pausing: bool) -> Self {
        if is_pausing {
            self.can_pause = false;
            self.status = "Pausing after this round".into();
        }
        self
    }

    pub(crate) fn page(self, frame: Frame, transcript: &Transcript, report: &Report) -> String {
        let page = Page {
            frame,
            debate: render::Debate::new(transcript, report),
            view: self,
        };
        page.render().unwrap_or_default()
    }

    pub(crate) fn panels(self, transcript: &Transcript, report: &Report) -> String {
        let panels = Panels {
            debate: render::Debate::new(transcript, report),
            view: self,
        };
        panels.render().unwrap_or_default()
    }
}

fn status(transcript: &Transcript) -> String {
    match transcript.state {
        State::Queued => "Waiting for a place".into(),
        State::Running => transcript
            .rounds
            .last()
            .map_or_else(|| "Getting ready".into(), render::title_of_round),
        State::Waiting => "Waiting for you".into(),
        State::Complete => "Complete".into(),
        State::Partial => "Partial".into(),
        State::Failed => "Failed".into(),
        State::Cancelled => "Cancelled".into(),
    }
}

fn offer(option: &str) -> Choice {
    let label = match option {
        CONTINUE => "Go on".to_owned(),
        STOP => "End it here".to_owned(),
        ANOTHER_ROUND => "Another round".to_owned(),
        other => roundtable_engine::transcript::capital(other),
    };
    Choice {
        value: option.to_owned(),
        label,
        is_chosen: false,
    }
}
