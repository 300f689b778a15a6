//! The home page: a form that starts a debate, with defaults for everything but the question.

use askama::Template;
use roundtable_core::usage::{Price, Usage};
use roundtable_engine::transcript::capital;

use super::Frame;
use super::debates::Row;
use crate::format::{grouped, money};

/// The submitted form; missing fields are empty.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    pub question: String,
    pub cast: String,
    pub model: String,
    /// One per line.
    pub outcomes: String,
    pub mode: String,
    /// `on` if checked.
    pub enhanced: String,
    pub algorithm: String,
    pub domain: String,
    pub max_cost: String,
    pub max_tokens: String,
    pub max_minutes: String,
}

pub(crate) struct HomeView {
    pub problems: Vec<String>,
    question: String,
    outcomes: String,
    modes: Vec<Named>,
    is_enhanced: bool,
    algorithms: Vec<Named>,
    domain: String,
    choices: Vec<Way>,
    automatic: String,
    models: Vec<Group>,
    max_cost: String,
    max_tokens: String,
    max_minutes: String,
    advice: Option<String>,
    recent: Vec<Row>,
}

/// A cast to choose from.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub cast: String,
    pub title: String,
    pub summary: String,
    pub rough: String,
    pub wants: Wants,
    pub is_chosen: bool,
}

/// Input a cast needs in addition to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    Nothing,
    /// Possible outcomes of a forecast.
    Outcomes,
    /// Options of a panel: mode, decision rule, domain.
    Mode,
}

impl Way {
    /// The value by which the style sheet shows the matching fields.
    fn needs(&self) -> Option<&'static str> {
        match self.wants {
            Wants::Nothing => None,
            Wants::Outcomes => Some("outcomes"),
            Wants::Mode => Some("mode"),
        }
    }
}

/// A mode or an algorithm.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub name: String,
    pub summary: String,
    pub is_chosen: bool,
}

impl Named {
    fn title(&self) -> String {
        capital(&self.name.replace(['-', '_'], " "))
    }
}

/// The models of one provider.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub provider: String,
    pub models: Vec<Offered>,
}

#[derive(Debug, Clone)]
pub(crate) struct Offered {
    pub name: String,
    pub label: String,
    pub is_chosen: bool,
}

/// Estimated usage of a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rough {
    pub usage: Usage,
    pub calls: u64,
    pub basis: Basis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The mean of this many earlier debates.
    Earlier(usize),
    RuleOfThumb,
}

impl Rough {
    /// Estimate without earlier debates: per call, the prompt with the transcript as input and a page of output.
    pub(crate) fn guessed(calls: u64) -> Self {
        Self {
            usage: Usage {
                input: calls * 1800,
                output: calls * 450,
                cached: 0,
            },
            calls,
            basis: Basis::RuleOfThumb,
        }
    }

    /// `About 9 calls, 19,000 tokens, $0.04`
    pub(crate) fn told(&self, price: Option<&Price>) -> String {
        let cost = match price {
            Some(price) => {
                let cost = price.of(self.usage);
                match money(Some(cost)).as_str() {
                    "free" => "free".to_owned(),
                    _ => format!("${:.2}", cost.dollars().max(0.01)),
                }
            }
            None => "price unknown".to_owned(),
        };
        let basis = match self.basis {
            Basis::Earlier(1) => " (based on the last debate)",
            Basis::Earlier(_) => " (based on recent debates)",
            Basis::RuleOfThumb => "",
        };
        format!(
            "About {} calls, {} tokens, {cost}{basis}",
            self.calls,
            grouped(rounded(self.usage.total()))
        )
    }
}

/// Rounds to two significant digits, because it is an estimate.
fn rounded(number: u64) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    (number + unit / 2) / unit * unit
}

/// Everything the form offers.
pub(crate) struct Offer {
    pub ways: Vec<Way>,
    pub modes: Vec<Named>,
    pub algorithms: Vec<Named>,
    pub models: Vec<Group>,
    /// The default model and why it is the default.
    pub automatic: Option<(String, String)>,
    pub advice: Option<String>,
    pub recent: Vec<Row>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct Page {
    frame: Frame,
    view: HomeView,
}

impl HomeView {
    /// The form, filled in with what was submitted.
    pub(crate) fn new(mut offer: Offer, asked: &Asked) -> Self {
        let is_known = offer.ways.iter().any(|way| way.cast == asked.cast);
        for (index, way) in offer.ways.iter_mut().enumerate() {
            way.is_chosen = if is_known {
                way.cast == asked.cast
            } else {
                index == 0
            };
        }
        for (named, wanted) in [
            (&mut offer.modes, &asked.mode),
            (&mut offer.algorithms, &asked.algorithm),
        ] {
            for option in named.iter_mut() {
                option.is_chosen = option.name == *wanted;
            }
        }
        for model in offer.models.iter_mut().flat_map(|group| &mut group.models) {
            model.is_chosen = model.name == asked.model;
        }
        Self {
            problems: Vec::new(),
            question: asked.question.clone(),
            outcomes: asked.outcomes.clone(),
            modes: offer.modes,
            is_enhanced: !asked.enhanced.is_empty(),
            algorithms: offer.algorithms,
            domain: asked.domain.clone(),
            choices: offer.ways,
            automatic: match &offer.automatic {
                Some((model, why)) => format!("Default: {model} ({why})"),
                None => "No model found".into(),
            },
            models: offer.models,
            max_cost: asked.max_cost.clone(),
            max_tokens: asked.max_tokens.clone(),
            max_minutes: asked.max_minutes.clone(),
            advice: offer.advice,
            recent: offer.recent,
        }
    }

    fn has_limits(&self) -> bool {
        [&self.max_cost, &self.max_tokens, &self.max_minutes]
            .iter()
            .any(|limit| !limit.is_empty())
    }

    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}

/// `expert-panel` → `Expert panel`, `rfc` → `RFC`
pub(crate) fn way_title(cast: &str) -> String {
    if cast.len() <= 3 {
        return cast.to_uppercase();
    }
    capital(&cast.replace(['-', '_'], " "))
}
