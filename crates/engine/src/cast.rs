//! Who sits at the table: casts are data files (`casts/NAME.toml`), a seat is persona, tier and settings.

pub mod councils;

use std::path::Path;

use roundtable_core::stance::Stance;
use serde::{Deserialize, Serialize};

use crate::data::{Data, DataError, DataKind, Text};
use councils::{CouncilsSpec, Fault};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    pub name: String,
    /// The protocol it is made for.
    pub protocol: String,
    pub summary: String,
    pub seats: Vec<Seat>,
    /// Councils and what they judge; for the protocol `councils`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<CouncilsSpec>,
    /// What arguments are scored by, where the protocol scores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Rubric>,
}

/// How one criterion is scored from 0 to 1, in four bands: to 0.3, to 0.6, to 0.8 and to 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    pub name: String,
    pub bands: [String; 4],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    /// The seat's name within its cast: `skeptic`.
    pub name: String,
    pub title: String,
    pub tier: Tier,
    pub temperature: f64,
    pub max_output_tokens: u32,
    /// The model the design names for this seat, taken where an Ollama server has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefers: Option<String>,
    /// What the seat does in its protocol beside arguing, or instead of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<Duty>,
    /// Which way it leans, where its protocol wants seats that lean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias_direction: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_preference: Option<String>,
    pub persona: String,
    #[serde(default, skip_serializing_if = "Part::is_panel")]
    pub part: Part,
    /// The perspective it keeps for good (M-07).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
}

/// What a seat is there for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It takes part in the debate.
    #[default]
    Panel,
    /// It writes down what came out.
    Chair,
    /// It is called when something may do harm (M-09).
    SafetyEvaluator,
}

impl Part {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature is the serializer's"
    )]
    fn is_panel(&self) -> bool {
        *self == Self::Panel
    }
}

/// The four permanent perspectives (M-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    RiskAttentive,
    ImplementationFocused,
    EvidenceCalibrated,
    SystemsAware,
}

impl Anchor {
    pub const ALL: [Self; 4] = [
        Self::RiskAttentive,
        Self::ImplementationFocused,
        Self::EvidenceCalibrated,
        Self::SystemsAware,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::RiskAttentive => "risk-attentive",
            Self::ImplementationFocused => "implementation-focused",
            Self::EvidenceCalibrated => "evidence-calibrated",
            Self::SystemsAware => "systems-aware",
        }
    }

    /// What it looks at first.
    pub const fn view(self) -> &'static str {
        match self {
            Self::RiskAttentive => {
                "safety, robustness, ways to fail, hostile circumstances, the worst case"
            }
            Self::ImplementationFocused => {
                "whether it can be done: practicality, cost, time, people and means"
            }
            Self::EvidenceCalibrated => {
                "the quality of data, what was measured and how well, the bounds of what is known"
            }
            Self::SystemsAware => {
                "long-term effects, consequences of the consequences, everything around it"
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Team {
    Red,
    Blue,
}

impl Team {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Blue => "blue",
        }
    }
}

/// A seat can be renamed; its duty tells the protocol who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    /// Argues like the others, but speaks last in the last round.
    Judge,
    /// Argues, and owes precedents with dates.
    Precedents,
    /// Scores arguments and does not argue.
    Score,
    /// Sums the debate up and does not argue.
    Synthesis,
}

/// Two tiers map to models in the configuration (C-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Deliberate,
    Fast,
}

impl Cast {
    pub fn load(data: &Data, name: &str) -> Result<Self, DataError> {
        let Some(text) = data.one(DataKind::Casts, &format!("{name}.toml"))? else {
            let known = data.all(DataKind::Casts)?;
            return Err(DataError::Unknown {
                what: "cast",
                name: name.to_owned(),
                known: known
                    .keys()
                    .map(|file| file.trim_end_matches(".toml").to_owned())
                    .collect(),
            });
        };
        Self::of(&text)
    }

    /// By its name, or by the path of its file: what ends in `.toml` or has a folder in it is a path.
    pub fn named_or_file(data: &Data, name: &str) -> Result<Self, DataError> {
        let path = Path::new(name);
        let is_toml = path.extension().is_some_and(|it| it == "toml");
        let has_folder = path.components().count() > 1;
        if is_toml || has_folder {
            Self::load_file(path)
        } else {
            Self::load(data, name)
        }
    }

    /// A file anywhere, by its path.
    pub fn load_file(path: &Path) -> Result<Self, DataError> {
        Self::of(&Text::read(path)?)
    }

    fn of(text: &Text) -> Result<Self, DataError> {
        let cast: Self = text.parse()?;
        cast.check().map_err(|fault| DataError::Broken {
            file: text.file(),
            line: fault.word.map_or(1, |word| text.line_naming(&word)),
            message: fault.message,
        })?;
        Ok(cast)
    }

    /// Every seat on the fast tier (T-11). The models that a design names are for the full debate, so they are not asked for.
    #[must_use]
    pub fn on_the_fast_tier(mut self) -> Self {
        for seat in &mut self.seats {
            seat.tier = Tier::Fast;
            seat.prefers = None;
        }
        self
    }

    pub fn seat(&self, name: &str) -> Result<&Seat, DataError> {
        self.seats
            .iter()
            .find(|seat| seat.name == name)
            .ok_or_else(|| DataError::Unknown {
                what: "seat",
                name: name.to_owned(),
                known: self.seats.iter().map(|seat| seat.name.clone()).collect(),
            })
    }

    fn check(&self) -> Result<(), Fault> {
        self.check_seats().map_err(|(word, message)| Fault {
            word: Some(word.to_owned()),
            message,
        })?;
        match &self.panel {
            Some(panel) => panel.check(&self.seats),
            None => Ok(()),
        }
    }

    fn check_seats(&self) -> Result<(), (&str, String)> {
        for (index, seat) in self.seats.iter().enumerate() {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if seat.name.is_empty() || !seat.name.chars().all(is_name) {
                return Err((
                    &seat.name,
                    format!(
                        "'{}' is no name for a seat: use small letters, digits and dashes",
                        seat.name
                    ),
                ));
            }
            if self.seats[..index]
                .iter()
                .any(|other| other.name == seat.name)
            {
                return Err((&seat.name, format!("two seats are named '{}'", seat.name)));
            }
            if !(0.0..=2.0).contains(&seat.temperature) {
                return Err((
                    &seat.name,
                    format!(
                        "the temperature of '{}' is {}; it must be from 0 to 2",
                        seat.name, seat.temperature
                    ),
                ));
            }
            if seat.max_output_tokens == 0 {
                return Err((
                    &seat.name,
                    format!("'{}' may write no token: max_output_tokens is 0", seat.name),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "cast_tests.rs"]
mod tests;
