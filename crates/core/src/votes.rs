//! Votes, and when a debate of a mode ends (M-05, M-17). Decided from typed answers; from words only where a seat gives none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::Confidence;
use crate::convergence::{Agreement, Answer, Contradiction, changed_sides};
use crate::spread;
use crate::stance::Stance;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Vote {
    /// As it is.
    Accept,
    /// With small changes.
    Minor,
    /// Something must change first.
    Blocker,
}

impl Vote {
    pub const ALL: [Self; 3] = [Self::Accept, Self::Minor, Self::Blocker];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Accept => "ACCEPT",
            Self::Minor => "MINOR",
            Self::Blocker => "BLOCKER",
        }
    }

    pub const fn agrees(self) -> bool {
        match self {
            Self::Accept | Self::Minor => true,
            Self::Blocker => false,
        }
    }
}

/// One seat's vote and confidence after a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    pub seat: String,
    pub confidence: Confidence,
    pub vote: Vote,
    pub stance: Option<Stance>,
    /// The answer it supports, in a few words.
    #[serde(default)]
    pub option: Option<String>,
    #[serde(default)]
    pub probability: Option<f64>,
    #[serde(default)]
    pub position: String,
    pub presence: Presence,
}

impl Standing {
    pub fn answer(&self) -> Answer {
        Answer {
            seat: self.seat.clone(),
            option: self.option.clone(),
            vote: self.vote,
            stance: self.stance,
            probability: self.probability,
            position: self.position.clone(),
        }
    }
}

/// Whether a seat replied in the round, or its previous reply still counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    Spoke,
    Absent,
}

/// A round in figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub round: u32,
    /// One for each seat that has replied so far.
    pub standings: Vec<Standing>,
    /// Seats that have not replied so far. They do not agree.
    #[serde(default)]
    pub silent: usize,
    /// Cited FACTs that are new in this round.
    pub new_facts: usize,
    pub open_blockers: usize,
}

impl Figures {
    /// The seats that replied in this round.
    pub fn speakers(&self) -> impl Iterator<Item = &Standing> {
        self.standings
            .iter()
            .filter(|standing| standing.presence == Presence::Spoke)
    }

    pub fn confidences(&self) -> Vec<f64> {
        let values = self.standings.iter();
        values.map(|standing| standing.confidence.value()).collect()
    }

    pub fn mean_confidence(&self) -> Option<f64> {
        spread::mean(&self.confidences()).map(rounded)
    }

    /// All seats of the panel, silent ones included.
    pub fn seats(&self) -> usize {
        self.standings.len() + self.silent
    }

    /// The share of all seats that votes ACCEPT or MINOR.
    #[expect(clippy::cast_precision_loss, reason = "a panel has few seats")]
    pub fn agreement(&self) -> Option<f64> {
        let agreeing = self.agreeing();
        (!self.standings.is_empty()).then(|| agreeing as f64 / self.seats() as f64)
    }

    pub fn answers(&self) -> Vec<Answer> {
        self.standings.iter().map(Standing::answer).collect()
    }

    /// Answers, stances and estimates that exclude each other (M-17). Votes are judged by their own rule.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let all = Agreement::of(&self.answers()).contradictions;
        let is_answer = |found: &Contradiction| !matches!(found, Contradiction::Votes { .. });
        all.into_iter().filter(is_answer).collect()
    }

    /// A seat that did not reply in this round does not agree, whatever it voted before.
    fn agreeing(&self) -> usize {
        let agrees = |standing: &&Standing| standing.vote.agrees();
        self.speakers().filter(agrees).count()
    }

    /// Mean change of confidence of the seats that replied in this round and have an earlier reply; `None` if there are none.
    pub fn confidence_change(&self, before: &Self) -> Option<f64> {
        let changes: Vec<f64> = self
            .pairs(before)
            .map(|(now, then)| (now.confidence.value() - then.confidence.value()).abs())
            .collect();
        spread::mean(&changes).map(rounded)
    }

    /// The larger of the mean change of confidence and the share of seats that reversed their answer: a reversal is a change
    /// of belief even if the confidence stays the same (M-17).
    pub fn belief_change(&self, before: &Self) -> Option<f64> {
        let confidence = self.confidence_change(before)?;
        let reversed = self.changed_share(before, |now, then| {
            changed_sides(&then.answer(), &now.answer())
        });
        Some(confidence.max(reversed))
    }

    /// [`Self::belief_change`], or the share of changed votes if that is larger.
    pub fn change(&self, before: &Self) -> Option<f64> {
        let votes = self.changed_share(before, |now, then| now.vote != then.vote);
        Some(self.belief_change(before)?.max(votes))
    }

    #[expect(clippy::cast_precision_loss, reason = "a panel has few seats")]
    fn changed_share(
        &self,
        before: &Self,
        is_changed: impl Fn(&Standing, &Standing) -> bool,
    ) -> f64 {
        let both = self.pairs(before).count();
        let changed = self
            .pairs(before)
            .filter(|(now, then)| is_changed(now, then));
        rounded(changed.count() as f64 / both.max(1) as f64)
    }

    fn pairs<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (&'a Standing, &'a Standing)> {
        self.speakers().filter_map(|now| {
            let then = before.standings.iter().find(|then| then.seat == now.seat);
            then.map(|then| (now, then))
        })
    }
}

/// Removes binary rounding error before a comparison with a threshold: 0.8 − 0.7 must be 0.1.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// The thresholds of the design.
pub const MIN_CONFIDENCE: f64 = 0.70;
pub const PLATEAU_CHANGE: f64 = 0.10;
pub const ROUND_CAP: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Consensus,
    /// The votes would allow a consensus, and too few seats stand for another answer to prevent a majority (E-21).
    Majority,
    Plateau,
    RoundCap,
}

impl Exit {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Consensus => "consensus",
            Self::Majority => "majority",
            Self::Plateau => "plateau",
            Self::RoundCap => "round_cap",
        }
    }

    /// Part of the prompt for the conclusion.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Consensus => {
                "at least 80% vote ACCEPT or MINOR, no BLOCKER is open and every confidence is 0.70 or more"
            }
            Self::Majority => {
                "at least 80% vote ACCEPT or MINOR, no BLOCKER is open and a majority stands for one answer"
            }
            Self::Plateau => {
                "in two consecutive rounds less than 10% changed and no new FACT came up"
            }
            Self::RoundCap => "the last allowed round was played",
        }
    }
}

/// The first criterion by which the debate ends after the last of these rounds; `None` if it continues.
pub fn after_round(history: &[Figures], cap: u32) -> Option<Exit> {
    let last = history.last()?;
    if is_accepted(last) && last.contradictions().is_empty() {
        Some(Exit::Consensus)
    } else if is_plateau(history) {
        Some(Exit::Plateau)
    } else if last.round >= cap {
        Some(Exit::RoundCap)
    } else {
        None
    }
}

/// Whether the votes allow a consensus. It is none if the answers contradict each other all the same.
pub fn is_accepted(figures: &Figures) -> bool {
    let total = figures.seats();
    !figures.standings.is_empty()
        // 80% in integers, so that four of five is not subject to rounding.
        && figures.agreeing() * 5 >= total * 4
        && figures.open_blockers == 0
        && figures
            .standings
            .iter()
            .all(|standing| standing.confidence.value() >= MIN_CONFIDENCE)
}

fn is_plateau(history: &[Figures]) -> bool {
    let [.., first, second, third] = history else {
        return false;
    };
    let is_flat = |now: &Figures, before: &Figures| {
        now.new_facts == 0
            && now
                .change(before)
                .is_some_and(|change| change < PLATEAU_CHANGE)
    };
    is_flat(second, first) && is_flat(third, second)
}

#[cfg(test)]
#[path = "votes_tests.rs"]
mod tests;
