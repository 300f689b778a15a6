//! Where a debate begins: a question, with everything else already chosen.

use askama::Template;
use roundtable_core::usage::{Price, Usage};
use roundtable_engine::transcript::capital;

use super::Frame;
use super::debates::Row;
use crate::format::{grouped, money};

/// The form as it was sent; empty where nothing was.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    pub question: String,
    pub cast: String,
    pub model: String,
    /// One a line.
    pub outcomes: String,
    pub mode: String,
    /// `on` where it is ticked.
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

/// A way to debate: a cast.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub cast: String,
    pub title: String,
    pub summary: String,
    pub rough: String,
    pub wants: Wants,
    pub is_chosen: bool,
}

/// What a way needs beside the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    Nothing,
    /// The outcomes that probabilities are wanted for.
    Outcomes,
    /// How the panel is to debate.
    Mode,
}

impl Way {
    /// As the page's style sheet knows it.
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

/// What a debate of this sort used before, or is thought to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rough {
    pub usage: Usage,
    pub calls: u64,
    pub basis: Basis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// So many earlier debates.
    Earlier(usize),
    RuleOfThumb,
}

impl Rough {
    /// Where there is no experience: the question, what was said and the instructions going in, a page coming out.
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

    /// `about 9 calls, 19,000 tokens, $0.04`
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
            Basis::Earlier(1) => ", as the last one",
            Basis::Earlier(_) => ", as the last ones",
            Basis::RuleOfThumb => "",
        };
        format!(
            "About {} calls, {} tokens, {cost}{basis}",
            self.calls,
            grouped(rounded(self.usage.total()))
        )
    }
}

/// To two digits: more would claim to know.
fn rounded(number: u64) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    (number + unit / 2) / unit * unit
}

/// What there is to choose from.
pub(crate) struct Offer {
    pub ways: Vec<Way>,
    pub modes: Vec<Named>,
    pub algorithms: Vec<Named>,
    pub models: Vec<Group>,
    /// The model that is taken where none is chosen, with the reason.
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
    /// The form with what was sent in it, so that nobody has to write it twice.
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
            for it in named.iter_mut() {
                it.is_chosen = it.name == *wanted;
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
                Some((model, why)) => format!("{model} ({why})"),
                None => "None was found".into(),
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
