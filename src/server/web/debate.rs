//! The debate page: rendered from the journal up to one entry, then updated live by `live.js`.

use askama::Template;
use roundtable_engine::event::State;
use roundtable_engine::report::Report;
use roundtable_engine::transcript::{Transcript, option_label};

use super::shares::{NewShare, ShareView};
use super::thread::ThreadView;
use super::{Choice, Frame};
use crate::format::{cost, grouped};
use crate::render::{self, Roles};
use crate::setup::limits::UsedUp;
use crate::store::{Filing, ShareRow};

#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about what the page shows"
)]
pub(crate) struct DebateView {
    /// Number of the last journal entry on the page; the event stream continues after it.
    pub seq: u64,
    pub problems: Vec<String>,
    status: String,
    /// The debate pauses when the current round ends.
    is_pausing: bool,
    tokens: String,
    cost: String,
    seats: Vec<SeatView>,
    can_act: bool,
    can_pause: bool,
    query: Option<QueryView>,
    /// Label of the resume button, if the debate can be resumed.
    resume: Option<&'static str>,
    /// Limits that have to be raised to resume it.
    budget: Option<BudgetForm>,
    ratings: Vec<Choice>,
    comment: String,
    shares: Vec<ShareView>,
    is_pinned: bool,
    /// Separated by commas.
    tags: String,
    /// The link that the visitor has just made.
    pub new_share: Option<NewShare>,
    thread: ThreadView,
}

struct BudgetForm {
    why: String,
    /// Empty if the server's configuration has to allow more first.
    fields: Vec<BudgetField>,
}

struct BudgetField {
    name: &'static str,
    label: &'static str,
    /// A value that is enough.
    suggestion: String,
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

/// Permission of the visitor.
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

/// The parts of the page that change while a debate runs, each with an id by which `live.js` replaces it.
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
        let seats = transcript.seats.iter().map(|seat| SeatView {
            name: seat.seat.clone(),
            title: seat.title.clone(),
            model: seat.model.clone(),
            class: roles.class(&seat.seat),
        });
        let rated = transcript.rating.as_ref();
        Self {
            seq: transcript.seq,
            problems: Vec::new(),
            status: status(transcript),
            is_pausing: false,
            tokens: grouped(sum.usage.total()),
            cost: cost(sum.cost, sum.usage.total()).unwrap_or_default(),
            seats: seats.collect(),
            can_act: right == Right::Run,
            can_pause: transcript.state == State::Running,
            query: transcript.waiting_for.as_ref().map(|query| QueryView {
                question: query.question.clone(),
                options: query.options.iter().map(|option| choice(option)).collect(),
            }),
            resume: match transcript.state {
                State::Cancelled | State::Interrupted => Some("Resume"),
                State::Partial | State::Failed => Some("Retry missing turns"),
                State::Queued | State::Running | State::Waiting | State::Complete => None,
            },
            budget: None,
            ratings: (1..=10)
                .map(|rating| Choice {
                    value: rating.to_string(),
                    label: String::new(),
                    is_chosen: rated.is_some_and(|rated| rated.rating == rating),
                })
                .collect(),
            comment: rated
                .and_then(|rated| rated.comment.clone())
                .unwrap_or_default(),
            shares: Vec::new(),
            is_pinned: false,
            tags: String::new(),
            new_share: None,
            thread: ThreadView::default(),
        }
    }

    fn is_rated(&self) -> bool {
        self.ratings.iter().any(|rating| rating.is_chosen)
    }

    fn can_resume(&self) -> bool {
        let budget = self.budget.as_ref();
        budget.is_none_or(|budget| !budget.fields.is_empty())
    }

    /// Shows in the status which seats are in mid-turn.
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

    /// Shows that the debate will pause before its next round.
    pub(crate) fn pausing(mut self, is_pausing: bool) -> Self {
        if is_pausing {
            self.can_pause = false;
            self.is_pausing = true;
            self.status = "Pausing after this round".into();
        }
        self
    }

    /// Shows the debates around it.
    pub(crate) fn in_thread(mut self, thread: ThreadView) -> Self {
        self.thread = thread;
        self
    }

    /// Asks for new limits before the debate is resumed.
    pub(crate) fn needing_budget(mut self, used_up: Option<&UsedUp>) -> Self {
        self.budget = used_up.map(BudgetForm::new);
        self
    }

    pub(crate) fn shared(mut self, shares: &[ShareRow]) -> Self {
        self.shares = shares.iter().map(ShareView::new).collect();
        self
    }

    pub(crate) fn filed(mut self, filing: &Filing) -> Self {
        let tags: Vec<&str> = filing.tags.iter().map(String::as_str).collect();
        self.is_pinned = filing.is_pinned;
        self.tags = tags.join(", ");
        self
    }

    pub(crate) fn page(mut self, frame: Frame, transcript: &Transcript, report: &Report) -> String {
        self.thread = self.thread.asking(&transcript.protocol, report);
        let page = Page {
            frame,
            debate: render::Debate::with_prompts(transcript, report),
            view: self,
        };
        page.render().unwrap_or_default()
    }

    pub(crate) fn panels(mut self, transcript: &Transcript, report: &Report) -> String {
        self.thread = self.thread.asking(&transcript.protocol, report);
        let panels = Panels {
            debate: render::Debate::without_turns(transcript, report),
            view: self,
        };
        panels.render().unwrap_or_default()
    }
}

impl BudgetForm {
    fn new(used_up: &UsedUp) -> Self {
        const LABELS: [(&str, &str); 3] = [
            ("max_tokens", "New limit in tokens"),
            ("max_cost", "New limit in US dollars"),
            ("max_seconds", "New limit in seconds"),
        ];
        let request = used_up.request();
        let remedy = match request {
            Some(_) => "Set a higher limit to continue.",
            None => "The server's configuration has to allow more first.",
        };
        let request = request.unwrap_or_default();
        let fields = LABELS.into_iter().filter_map(|(name, label)| {
            Some(BudgetField {
                name,
                label,
                suggestion: request.get(name)?.to_string(),
            })
        });
        Self {
            why: format!("Not resumable as it is: {}. {remedy}", used_up.sentence()),
            fields: fields.collect(),
        }
    }
}

fn status(transcript: &Transcript) -> String {
    match (transcript.state, transcript.rounds.last()) {
        (State::Running, Some(round)) => render::title_of_round(round),
        (State::Running, None) => "Starting".into(),
        (state, _) => render::state_word(state).into(),
    }
}

fn choice(option: &str) -> Choice {
    Choice {
        value: option.to_owned(),
        label: option_label(option),
        is_chosen: false,
    }
}
