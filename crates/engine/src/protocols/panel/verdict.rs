//! The result of a panel: the answer, the answers side by side, the ranking with its agreement, and the chair's findings.

use roundtable_core::absence::scaled;
use roundtable_core::bounded::Confidence;
use roundtable_core::convergence::same_option;
use roundtable_core::panel::{PositionalBias, Unanimous, agreement, positional_bias};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replies::{Point, RankedAnswer};
use super::state::{PanelState, SeatAnswer, SeatRanking};
use crate::protocols::outcome::Outcome;
use crate::protocols::scrutiny::Scrutiny;
use crate::table::{Missing, Table};

/// The pooling rule, by the name that readers can look up. `roundtable_core::panel` gives the reasons for it.
const POOLING_RULE: &str = "normalised Borda count";

/// Why the panel ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    Concluded,
    Unanimous(Unanimous),
    TooFewAnswers,
    /// With the limit that was reached.
    Budget(String),
    /// Comparing the answers is not worth its price (B-10); why, and what was saved.
    NotWorthIt(String),
}

impl Ending {
    fn name(&self) -> &'static str {
        match self {
            Self::Concluded => "concluded",
            Self::Unanimous(_) => "unanimous",
            Self::TooFewAnswers => "too_few_answers",
            Self::Budget(_) => "budget",
            Self::NotWorthIt(_) => "value",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The chair's answer; without one, the best of the blind answers.
    pub final_answer: Option<String>,
    /// The core of the answer in a few words.
    pub position: Option<String>,
    /// Lowered if steps are missing.
    pub confidence: Option<Confidence>,
    pub confidence_stated: Option<Confidence>,
    /// `concluded`, `unanimous`, `too_few_answers`, `value` or `budget`.
    pub stop_reason: String,
    pub stop_explanation: String,
    /// Whether another answer contradicted it and was compared with it.
    pub challenged: bool,
    /// Whether the answer was challenged; `None` in verdicts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrutiny: Option<Scrutiny>,
    /// Model calls that the early stop saved.
    pub saved_calls: usize,
    pub answers: Vec<PanelAnswer>,
    pub ranking: Option<PanelRanking>,
    pub consensus: Vec<Point>,
    pub contradictions: Vec<Point>,
    pub partial_coverage: Vec<Point>,
    pub unique_insights: Vec<Point>,
    pub blind_spots: Vec<Point>,
    pub worth: Worth,
    pub missing: Vec<Missing>,
    /// How invalid rankings were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// One blind answer with its place in the pooled ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PanelAnswer {
    pub label: String,
    pub seat: String,
    /// `provider:model`
    pub model: String,
    pub answer: String,
    pub position: String,
    pub confidence: Confidence,
    /// From 0 to 1: the mean share of the other answers that readers placed below it.
    pub score: Option<f64>,
    pub place: Option<usize>,
    pub readers: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PanelRanking {
    pub rule: String,
    /// From -1 to 1: the mean of Kendall's tau over pairs of readers. `null` if no two readers ranked two answers in common.
    pub agreement: Option<f64>,
    pub positional_bias: Option<PositionalBias>,
    /// Labels of answers with equal scores.
    pub ties: Vec<Vec<String>>,
    pub readers: Vec<ReaderRanking>,
}

/// One reader's ranking, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReaderRanking {
    pub seat: String,
    /// The order in which the answers were shown.
    pub shown: Vec<String>,
    pub ranking: Vec<RankedAnswer>,
    /// Answers that it left out. They share the last place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unranked: Vec<String>,
}

/// The effect of the panel (C-17): the blind vote next to the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// The position that most blind answers share; the first of them in a tie.
    pub blind_position: Option<String>,
    pub blind_votes: usize,
    pub blind_tokens: u64,
    pub blind_cost: Option<Money>,
    pub total_tokens: u64,
    pub total_cost: Option<Money>,
    /// Whether the result differs from the blind position. `null` without a conclusion.
    pub changed: Option<bool>,
}

impl Verdict {
    pub(super) fn new(table: &Table, state: &PanelState, ending: &Ending) -> Self {
        let missing = table.missing();
        let conclusion = state.conclusion();
        let best = state.best();
        let stated = conclusion
            .map(|conclusion| conclusion.confidence)
            .or_else(|| best.map(|answer| answer.reply.confidence));
        let points = |of: fn(&super::Conclusion) -> &Vec<Point>| {
            conclusion.map_or_else(Vec::new, |conclusion| of(conclusion).clone())
        };
        let scrutiny = scrutiny(state, ending);
        let mut verdict = Self {
            final_answer: conclusion
                .map(|conclusion| conclusion.answer.clone())
                .or_else(|| best.map(|answer| answer.reply.answer.clone())),
            position: conclusion
                .map(|conclusion| conclusion.position.clone())
                .or_else(|| best.map(|answer| answer.reply.position.clone())),
            confidence: stated.map(|stated| scaled(stated, table.asked(), missing.len())),
            confidence_stated: stated,
            stop_reason: ending.name().to_owned(),
            stop_explanation: explanation(state, ending),
            challenged: matches!(scrutiny, Scrutiny::Challenged { .. }),
            scrutiny: Some(scrutiny),
            saved_calls: match ending {
                // One ranking per seat, and the chair.
                Ending::Unanimous(_) | Ending::NotWorthIt(_) => state.panelists().len() + 1,
                Ending::Concluded | Ending::TooFewAnswers | Ending::Budget(_) => 0,
            },
            answers: answers(table, state),
            ranking: ranking(state),
            consensus: points(|conclusion| &conclusion.consensus),
            contradictions: points(|conclusion| &conclusion.contradictions),
            partial_coverage: points(|conclusion| &conclusion.partial_coverage),
            unique_insights: points(|conclusion| &conclusion.unique_insights),
            blind_spots: points(|conclusion| &conclusion.blind_spots),
            worth: worth(table, state),
            missing,
            remarks: state.remarks(),
        };
        verdict.final_answer = verdict.marked_answer();
        verdict
    }

    /// The answer; of a partial debate with what is missing and the lowered confidence (C-21).
    fn marked_answer(&self) -> Option<String> {
        let shown = |value: Confidence| format!("{:.2}", value.value());
        let lowered = self.confidence_stated.zip(self.confidence);
        let lowered = lowered.filter(|(stated, lowered)| lowered < stated);
        let lowered = lowered.map(|(stated, lowered)| (shown(stated), shown(lowered)));
        let answer = self.final_answer.as_deref()?;
        Some(self.outcome().marked(answer, lowered))
    }

    pub(super) fn outcome(&self) -> Outcome<'_> {
        Outcome {
            is_there: self.final_answer.is_some(),
            ran_out: (self.stop_reason == "budget").then_some(self.stop_explanation.as_str()),
            missing: &self.missing,
        }
    }
}

/// Whether the answer was challenged (C-22): by answers that contradict it, if they were compared.
fn scrutiny(state: &PanelState, ending: &Ending) -> Scrutiny {
    let conclusion = state.conclusion();
    if state.rankings().is_empty() && conclusion.is_none() {
        return match ending {
            Ending::Unanimous(_) => Scrutiny::Unanimous,
            Ending::TooFewAnswers => Scrutiny::not_challenged("fewer than two seats answered"),
            Ending::Concluded | Ending::Budget(_) | Ending::NotWorthIt(_) => {
                Scrutiny::not_challenged("the panel ended before the answers were compared")
            }
        };
    }
    let best = state.best().map(|answer| answer.reply.position.as_str());
    let position = conclusion
        .map(|conclusion| conclusion.position.as_str())
        .or(best);
    let mut others: Vec<&str> = Vec::new();
    for answer in state.answers() {
        let other = answer.reply.position.as_str();
        if !position
            .into_iter()
            .chain(others.iter().copied())
            .any(|known| same_option(known, other))
        {
            others.push(other);
        }
    }
    let contradictions = conclusion.map_or(0, |conclusion| conclusion.contradictions.len());
    match contradictions.max(others.len()) {
        0 => Scrutiny::not_challenged("the answers were compared, and none contradicts another"),
        objections => Scrutiny::Challenged {
            objections,
            open: None,
        },
    }
}

fn explanation(state: &PanelState, ending: &Ending) -> String {
    match ending {
        Ending::Concluded if state.rankings().is_empty() => {
            "too few answers to rank; the chair compared them".into()
        }
        Ending::Concluded => format!(
            "{} seats ranked {} answers, and the chair concluded",
            state.rankings().len(),
            state.answers().len()
        ),
        Ending::Unanimous(unanimous) => format!(
            "all {} blind answers agree on '{}' with a confidence of at least {:.2}; nobody ranked or challenged them",
            unanimous.answers,
            unanimous.option,
            unanimous.lowest_confidence.value()
        ),
        Ending::TooFewAnswers => {
            "fewer than two seats answered, so nothing could be compared".into()
        }
        Ending::Budget(limit) => limit.clone(),
        Ending::NotWorthIt(why) => why.clone(),
    }
}

fn answers(table: &Table, state: &PanelState) -> Vec<PanelAnswer> {
    let pooled = state.pooled();
    let labelled = state.labels().into_iter().zip(state.answers());
    let mut answers: Vec<PanelAnswer> = labelled
        .zip(pooled.answers)
        .map(|((label, answer), pooled)| PanelAnswer {
            label,
            seat: answer.seat.clone(),
            model: model_of(table, &answer.seat),
            answer: answer.reply.answer.clone(),
            position: answer.reply.position.clone(),
            confidence: answer.reply.confidence,
            score: pooled.score,
            place: pooled.place,
            readers: pooled.readers,
        })
        .collect();
    // The best first, unranked ones last.
    answers.sort_by_key(|answer| answer.place.unwrap_or(usize::MAX));
    answers
}

fn model_of(table: &Table, seat: &str) -> String {
    let seats = &table.setup().seats;
    let seated = seats.iter().find(|seated| seated.seat.name == seat);
    seated.map_or_else(String::new, |seated| seated.model.clone())
}

fn ranking(state: &PanelState) -> Option<PanelRanking> {
    if state.rankings().is_empty() {
        return None;
    }
    let labels = state.labels();
    let rankings = state.plain_rankings();
    let readers = state.rankings().iter().map(|ranking| ReaderRanking {
        seat: ranking.reader.seat.clone(),
        shown: ranking.reader.labels(),
        ranking: first_mentions(state, ranking),
        unranked: state.labels_of(&ranking.ranking.unranked()),
    });
    let ties = state.pooled().ties.into_iter();
    let ties = ties.map(|tied| tied.iter().map(|answer| labels[*answer].clone()).collect());
    Some(PanelRanking {
        rule: POOLING_RULE.into(),
        agreement: agreement(&rankings),
        positional_bias: positional_bias(&rankings),
        ties: ties.collect(),
        readers: readers.collect(),
    })
}

/// The reasons of the answers that count, in the order of the ranking.
fn first_mentions(state: &PanelState, kept: &SeatRanking) -> Vec<RankedAnswer> {
    let labels = state.labels_of(kept.ranking.order()).into_iter();
    let reasons = labels.filter_map(|label| {
        let mut ranked = kept.reply.ranking.iter();
        ranked.find(|ranked| ranked.answer.trim() == label).cloned()
    });
    reasons.collect()
}

fn worth(table: &Table, state: &PanelState) -> Worth {
    let answers = state.answers();
    let votes = |answer: &SeatAnswer| {
        let same = |other: &&SeatAnswer| same_option(&answer.reply.position, &other.reply.position);
        answers.iter().filter(same).count()
    };
    // `max_by_key` returns the last of equals, so the search runs backwards.
    let blind = answers.iter().rev().max_by_key(|answer| votes(answer));
    let mut costs = answers.iter().map(|answer| answer.spent.cost);
    let sum = table.spent();
    Worth {
        blind_position: blind.map(|answer| answer.reply.position.clone()),
        blind_votes: blind.map_or(0, votes),
        blind_tokens: answers
            .iter()
            .map(|answer| answer.spent.usage.total())
            .sum(),
        blind_cost: costs.try_fold(Money::ZERO, |sum, cost| Some(sum + cost?)),
        total_tokens: sum.usage.total(),
        total_cost: sum.cost,
        changed: state.conclusion().and_then(|conclusion| {
            let blind = blind?;
            Some(!same_option(&blind.reply.position, &conclusion.position))
        }),
    }
}
