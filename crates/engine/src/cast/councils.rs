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

/// A violation of a rule, with the place of its value in the file: `panel/dimensions/2/weight`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub at: String,
    pub message: String,
}

impl Fault {
    pub(crate) fn new(at: impl Into<String>, message: String) -> Self {
        Self {
            at: at.into(),
            message,
        }
    }
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

    /// Violations of rules that types cannot express.
    pub(crate) fn faults(&self, seats: &[Seat]) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.check_dimensions(&mut faults);
        self.check_councils(seats, &mut faults);
        self.check_judges(seats, &mut faults);
        let mut extras = BTreeSet::new();
        for (index, extra) in self.extras.iter().enumerate() {
            let at = format!("panel/extras/{index}/name");
            if !is_name(&extra.name, "-_") {
                faults.push(invalid_name(at, &extra.name, "an extra"));
            } else if !extras.insert(&extra.name) {
                let message = format!("two extras are named '{}'", extra.name);
                faults.push(Fault::new(at, message));
            }
        }
        faults
    }

    fn check_dimensions(&self, faults: &mut Vec<Fault>) {
        let mut seen = BTreeSet::new();
        for (index, dimension) in self.dimensions.iter().enumerate() {
            let name = &dimension.name;
            let at = |key: &str| format!("panel/dimensions/{index}/{key}");
            if !is_name(name, "-_") {
                faults.push(invalid_name(at("name"), name, "a dimension"));
                continue;
            }
            if !seen.insert(name) {
                let message = format!("two dimensions are named '{name}'");
                faults.push(Fault::new(at("name"), message));
                continue;
            }
            if dimension
                .weight
                .is_some_and(|weight| !(weight > 0.0 && weight.is_finite()))
            {
                let message =
                    format!("the weight of '{name}' must be above 0; omit it for no weight");
                faults.push(Fault::new(at("weight"), message));
            }
            let judges: Vec<_> = self
                .judges()
                .filter(|(_, judge)| judge.dimensions.contains(name))
                .collect();
            let Some((first, _)) = judges.first() else {
                let message = format!("no judge scores the dimension '{name}'");
                faults.push(Fault::new(at("name"), message));
                continue;
            };
            if let Some((other, _)) = judges
                .iter()
                .find(|(council, _)| council.name != first.name)
            {
                let message = format!(
                    "the dimension '{name}' is judged by two councils, '{}' and '{}': assign it to one",
                    first.name, other.name
                );
                faults.push(Fault::new(at("name"), message));
            }
            let scored = judges.iter().filter(|(_, judge)| judge.is_scored()).count();
            if scored > 0 && scored < judges.len() {
                let message = format!(
                    "the dimension '{name}' has scored and unscored judges: give the unscored judges a dimension of their own"
                );
                faults.push(Fault::new(at("name"), message));
            }
            if scored == 0 && dimension.weight.is_some() {
                let message =
                    format!("the dimension '{name}' has a weight, but only unscored judges");
                faults.push(Fault::new(at("weight"), message));
            }
        }
        let mut dimensions = self.dimensions.iter();
        if dimensions.all(|dimension| dimension.weight.is_none()) {
            let message = "no dimension has a weight, so there is no overall score".to_owned();
            faults.push(Fault::new("panel/dimensions", message));
        }
    }

    fn check_councils(&self, seats: &[Seat], faults: &mut Vec<Fault>) {
        if self.councils.is_empty() || self.councils.len() > MAX_COUNCILS {
            let message = format!(
                "a cast needs 1 to {MAX_COUNCILS} councils, not {}",
                self.councils.len()
            );
            faults.push(Fault::new("panel/councils", message));
        }
        let mut names = BTreeSet::new();
        let mut leads = BTreeSet::new();
        for (index, council) in self.councils.iter().enumerate() {
            let name = &council.name;
            let at = |key: &str| format!("panel/councils/{index}/{key}");
            if !is_name(name, "-_") {
                faults.push(invalid_name(at("name"), name, "a council"));
            } else if !names.insert(name) {
                let message = format!("two councils are named '{name}'");
                faults.push(Fault::new(at("name"), message));
            }
            if council.judges.is_empty() {
                let message = format!("the council '{name}' needs at least one judge");
                faults.push(Fault::new(at("judges"), message));
            } else if !council.judges.iter().any(Judge::is_scored) {
                let message = format!(
                    "all judges of the council '{name}' are unscored; at least one must be scored"
                );
                faults.push(Fault::new(at("name"), message));
            }
            faults.extend(unknown_seat(seats, &council.lead, at("lead")));
            if !leads.insert(&council.lead) {
                let message = format!("'{}' leads two councils", council.lead);
                faults.push(Fault::new(at("lead"), message));
            }
        }
        for seat in [CRITIC, ORCHESTRATOR] {
            faults.extend(unknown_seat(seats, seat, "panel".into()));
        }
    }

    fn check_judges(&self, seats: &[Seat], faults: &mut Vec<Fault>) {
        let judges = self.councils.iter().enumerate().flat_map(|(c, council)| {
            let judges = council.judges.iter().enumerate();
            judges.map(move |(j, judge)| (format!("panel/councils/{c}/judges/{j}"), judge))
        });
        let mut seen = BTreeSet::new();
        let mut has_authenticity = false;
        for (place, judge) in judges {
            let seat = &judge.seat;
            let at = |key: &str| format!("{place}/{key}");
            faults.extend(unknown_seat(seats, seat, at("seat")));
            let has_other_role = [CRITIC, ORCHESTRATOR].contains(&seat.as_str())
                || self.councils.iter().any(|council| council.lead == *seat);
            if has_other_role {
                let message = format!(
                    "'{seat}' is a lead, critic or orchestrator and cannot also be a judge"
                );
                faults.push(Fault::new(at("seat"), message));
            }
            if !seen.insert(seat) {
                let message = format!("two judges are named '{seat}'");
                faults.push(Fault::new(at("seat"), message));
            }
            if judge.dimensions.is_empty() {
                let message = format!("the judge '{seat}' needs at least one dimension");
                faults.push(Fault::new(at("dimensions"), message));
            }
            let mut own = BTreeSet::new();
            for (index, name) in judge.dimensions.iter().enumerate() {
                let at = at(&format!("dimensions/{index}"));
                if self.dimension(name).is_none() {
                    let message =
                        format!("the judge '{seat}' scores the unknown dimension '{name}'");
                    faults.push(Fault::new(at, message));
                } else if !own.insert(name) {
                    let message = format!("the judge '{seat}' scores '{name}' twice");
                    faults.push(Fault::new(at, message));
                }
            }
            if judge.part == Part::Authenticity {
                if has_authenticity {
                    let message = "only one judge can have the part 'authenticity'".to_owned();
                    faults.push(Fault::new(at("part"), message));
                }
                has_authenticity = true;
            }
        }
    }
}

impl Judge {
    pub fn is_scored(&self) -> bool {
        self.part == Part::Scored
    }
}

fn invalid_name(at: String, name: &str, what: &str) -> Fault {
    Fault::new(
        at,
        format!(
            "invalid name '{name}' for {what}: use lowercase letters, digits, hyphens and underscores"
        ),
    )
}

fn unknown_seat(seats: &[Seat], name: &str, at: String) -> Option<Fault> {
    let is_known = seats.iter().any(|seat| seat.name == name);
    let message = || format!("unknown seat '{name}': add a [[seats]] table for it");
    (!is_known).then(|| Fault::new(at, message()))
}

#[cfg(test)]
#[path = "councils_tests.rs"]
mod tests;
