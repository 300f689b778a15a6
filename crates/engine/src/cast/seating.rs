//! A cast's wishes for the models of its seats, and which seats judge which.

use roundtable_core::distinct::distinct;
use serde::{Deserialize, Serialize};

use super::councils::{CRITIC, Fault, ORCHESTRATOR};
use super::dealing::Place;
use super::{Cast, Duty, Part, Seat};

/// The `seating` table of a seat, or of a cast for all of its seats.
///
/// `pin`, `prefer` and `forbid` name a family (`claude`), or a model with or without its provider (`lab:qwen3-32b`, `gpt-5*`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wishes {
    /// The seat has this family or model, or the debate does not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Taken if it is available within the price class; the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefer: Vec<String>,
    /// Never taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbid: Vec<String>,
    /// The seats that this one judges; by default known from its part, duty or council. It gets another family than theirs if
    /// one is left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<String>,
}

impl Wishes {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The wishes of a seat in a cast with these wishes for all.
    #[must_use]
    pub fn over(&self, all: &Self) -> Self {
        let forbidden = all.forbid.iter().chain(&self.forbid);
        Self {
            pin: self.pin.clone().or_else(|| all.pin.clone()),
            prefer: if self.prefer.is_empty() {
                all.prefer.clone()
            } else {
                self.prefer.clone()
            },
            forbid: distinct(forbidden.cloned()),
            judges: self.judges.clone(),
        }
    }
}

impl Cast {
    /// The seats with the wishes of seat and cast, for [`deal`](super::dealing::deal).
    pub fn places(&self) -> Vec<Place> {
        self.seats.iter().map(|seat| self.place(seat)).collect()
    }

    fn place(&self, seat: &Seat) -> Place {
        let mut wishes = seat.seating.over(&self.seating);
        if wishes.judges.is_empty() {
            wishes.judges = self.judged_by(seat);
        }
        Place {
            seat: seat.name.clone(),
            tier: seat.tier,
            wishes,
            taken_by: None,
        }
    }

    fn judged_by(&self, seat: &Seat) -> Vec<String> {
        if let Some(panel) = &self.panel {
            let judges = panel.judges().map(|(_, judge)| judge.seat.clone());
            let is_above = [CRITIC, ORCHESTRATOR].contains(&seat.name.as_str());
            return judges.filter(|_| is_above).collect();
        }
        let is_judge = seat.part != Part::Panel
            || matches!(seat.duty, Some(Duty::Judge | Duty::Score | Duty::Synthesis));
        let argues = |other: &&Seat| {
            other.part == Part::Panel && matches!(other.duty, None | Some(Duty::Precedents))
        };
        let others = self.seats.iter().filter(argues);
        let others = others.filter(|_| is_judge);
        others.map(|other| other.name.clone()).collect()
    }

    pub(super) fn seating_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !self.seating.judges.is_empty() {
            let message = "'judges' belongs to a seat: seating = { judges = [\"NAME\"] }";
            faults.push(Fault::new("seating/judges", message.to_owned()));
        }
        for (index, seat) in self.seats.iter().enumerate() {
            for judged in &seat.seating.judges {
                if *judged == seat.name || !self.seats.iter().any(|other| other.name == *judged) {
                    let message = format!("'{}' judges the unknown seat '{judged}'", seat.name);
                    faults.push(Fault::new(format!("seats/{index}/seating/judges"), message));
                }
            }
        }
        faults
    }
}
