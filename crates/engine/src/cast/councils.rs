//! The `panel` table of a cast file: councils, judges and dimensions of the protocol `councils` (T-01). Users can write their
//! own, for example to judge RFCs or grant proposals; see `docs/casts.md`.

use std::collections::BTreeSet;

use roundtable_core::councils::Tiers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Seat;
use crate::data::is_name;

/// Seats that the protocol needs in addition to judges and leads.
pub const CRITIC: &str = "critic";
pub const ORCHESTRATOR: &str = "orchestrator";

const MAX_COUNCILS: usize = 4;

/// The panel of a cast: the dimensions that are scored, and the councils of judges that score them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CouncilsSpec {
    /// What is judged, to follow "You judge": `a piece of content for social media`.
    pub subject: String,
    /// The name of the overall score.
    pub overall: String,
    pub tiers: Tiers,
    /// The question each council asks itself about the other's view, in the exchange between them.
    pub tension: String,
    pub dimensions: Vec<Dimension>,
    pub councils: Vec<Council>,
    /// Additional fields of the result, written by the orchestrator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<Extra>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    pub name: String,
    pub title: String,
    /// Weight in the overall score. A dimension without a weight is judged and shown, but not part of the overall score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The question that the score answers.
    pub question: String,
    pub anchors: Anchors,
}

/// The meaning of the scale at five points. Without anchors, models give 70 to everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchors {
    #[serde(rename = "0")]
    pub at_0: String,
    #[serde(rename = "25")]
    pub at_25: String,
    #[serde(rename = "50")]
    pub at_50: String,
    #[serde(rename = "75")]
    pub at_75: String,
    #[serde(rename = "100")]
    pub at_100: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Council {
    pub name: String,
    pub title: String,
    /// What the council looks at, in one sentence.
    pub concern: String,
    /// The seat that speaks for the council.
    pub lead: String,
    pub judges: Vec<Judge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    pub seat: String,
    pub dimensions: Vec<String>,
    /// The judge's own finer scores; no consensus is formed on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_scores: Vec<String>,
    #[serde(default)]
    pub part: Part,
}

/// How a judge's scores are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    #[default]
    Scored,
    /// Takes part in every round; its scores are not part of a consensus.
    Unscored,
    /// Unscored; receives the statistics of the text and writes the result's `authenticity` (T-02).
    Authenticity,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    pub name: String,
    pub title: String,
    pub kind: ExtraKind,
    /// The instruction for this field.
    pub ask: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtraKind {
    Text,
    List,
}

/// An invalid cast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A word of the file, to find the line.
    pub word: Option<String>,
    pub message: String,
}

pub(super) fn fault(word: &str, message: impl Into<String>) -> Result<(), Fault> {
    Err(Fault {
        word: Some(word.to_owned()),
        message: message.into(),
    })
}

impl CouncilsSpec {
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        let mut dimensions = self.dimensions.iter();
        dimensions.find(|dimension| dimension.name == name)
    }

    pub fn judges(&self) -> impl Iterator<Item = (&Council, &Judge)> {
        self.councils
            .iter()
            .flat_map(|council| council.judges.iter().map(move |judge| (council, judge)))
    }

    /// Checks the rules that types cannot express; returns the first violation.
    pub(crate) fn check(&self, seats: &[Seat]) -> Result<(), Fault> {
        self.check_dimensions()?;
        self.check_councils(seats)?;
        self.check_judges(seats)?;
        let mut extras = BTreeSet::new();
        for extra in &self.extras {
            check_name(&mut extras, &extra.name, "an", "extra")?;
        }
        Ok(())
    }

    fn check_dimensions(&self) -> Result<(), Fault> {
        let mut seen = BTreeSet::new();
        for dimension in &self.dimensions {
            let name = &dimension.name;
            check_name(&mut seen, name, "a", "dimension")?;
            let is_valid = |weight: f64| weight > 0.0 && weight.is_finite();
            if !dimension.weight.is_none_or(is_valid) {
                return fault(
                    name,
                    format!("the weight of '{name}' must be above 0; omit it for no weight"),
                );
            }
            let judges: Vec<_> = self
                .judges()
                .filter(|(_, judge)| judge.dimensions.contains(name))
                .collect();
            let Some((first, _)) = judges.first() else {
                return fault(name, format!("no judge scores the dimension '{name}'"));
            };
            if let Some((other, _)) = judges
                .iter()
                .find(|(council, _)| council.name != first.name)
            {
                return fault(
                    name,
                    format!(
                        "the dimension '{name}' is judged by two councils, '{}' and '{}': assign it to one",
                        first.name, other.name
                    ),
                );
            }
            let scored = judges.iter().filter(|(_, judge)| judge.is_scored()).count();
            if scored > 0 && scored < judges.len() {
                return fault(
                    name,
                    format!(
                        "the dimension '{name}' has scored and unscored judges: give the unscored judges a dimension of their own"
                    ),
                );
            }
            if scored == 0 && dimension.weight.is_some() {
                return fault(
                    name,
                    format!("the dimension '{name}' has a weight, but only unscored judges"),
                );
            }
        }
        let mut dimensions = self.dimensions.iter();
        if dimensions.all(|dimension| dimension.weight.is_none()) {
            return Err(Fault {
                word: None,
                message: "no dimension has a weight, so there is no overall score".into(),
            });
        }
        Ok(())
    }

    fn check_councils(&self, seats: &[Seat]) -> Result<(), Fault> {
        if self.councils.is_empty() || self.councils.len() > MAX_COUNCILS {
            return Err(Fault {
                word: None,
                message: format!(
                    "a cast needs 1 to {MAX_COUNCILS} councils, not {}",
                    self.councils.len()
                ),
            });
        }
        let mut names = BTreeSet::new();
        let mut leads = BTreeSet::new();
        for council in &self.councils {
            let name = &council.name;
            check_name(&mut names, name, "a", "council")?;
            if council.judges.is_empty() {
                return fault(
                    name,
                    format!("the council '{name}' needs at least one judge"),
                );
            }
            if !council.judges.iter().any(Judge::is_scored) {
                return fault(
                    name,
                    format!(
                        "all judges of the council '{name}' are unscored; at least one must be scored"
                    ),
                );
            }
            known_seat(seats, &council.lead)?;
            if !leads.insert(&council.lead) {
                return fault(
                    &council.lead,
                    format!("'{}' leads two councils", council.lead),
                );
            }
        }
        known_seat(seats, CRITIC)?;
        known_seat(seats, ORCHESTRATOR)
    }

    fn check_judges(&self, seats: &[Seat]) -> Result<(), Fault> {
        let mut seen = BTreeSet::new();
        for (_, judge) in self.judges() {
            let seat = &judge.seat;
            known_seat(seats, seat)?;
            let has_other_role = [CRITIC, ORCHESTRATOR].contains(&seat.as_str())
                || self.councils.iter().any(|council| council.lead == *seat);
            if has_other_role {
                return fault(
                    seat,
                    format!(
                        "'{seat}' is a lead, critic or orchestrator and cannot also be a judge"
                    ),
                );
            }
            if !seen.insert(seat) {
                return fault(seat, format!("two judges are named '{seat}'"));
            }
            if judge.dimensions.is_empty() {
                return fault(
                    seat,
                    format!("the judge '{seat}' needs at least one dimension"),
                );
            }
            let mut own = BTreeSet::new();
            for name in &judge.dimensions {
                if self.dimension(name).is_none() {
                    return fault(
                        name,
                        format!("the judge '{seat}' scores the unknown dimension '{name}'"),
                    );
                }
                if !own.insert(name) {
                    return fault(name, format!("the judge '{seat}' scores '{name}' twice"));
                }
            }
        }
        let authenticity = self
            .judges()
            .filter(|(_, judge)| judge.part == Part::Authenticity);
        if authenticity.count() > 1 {
            let message = "only one judge can have the part 'authenticity'";
            return fault("authenticity", message);
        }
        Ok(())
    }
}

impl Judge {
    pub fn is_scored(&self) -> bool {
        self.part == Part::Scored
    }
}

/// Adds the name to those of its kind; it must be valid and new.
fn check_name<'a>(
    known: &mut BTreeSet<&'a str>,
    name: &'a str,
    article: &str,
    kind: &str,
) -> Result<(), Fault> {
    if !is_name(name, "-_") {
        return fault(
            name,
            format!(
                "invalid name '{name}' for {article} {kind}: use lowercase letters, digits, hyphens and underscores"
            ),
        );
    }
    if !known.insert(name) {
        return fault(name, format!("two {kind}s are named '{name}'"));
    }
    Ok(())
}

fn known_seat(seats: &[Seat], name: &str) -> Result<(), Fault> {
    if seats.iter().any(|seat| seat.name == name) {
        Ok(())
    } else {
        fault(
            name,
            format!("unknown seat '{name}': add a [[seats]] table for it"),
        )
    }
}

#[cfg(test)]
#[path = "councils_tests.rs"]
mod tests;
