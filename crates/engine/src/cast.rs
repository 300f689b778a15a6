//! Casts: the seats of a debate, from data files (`casts/NAME.toml`).

pub mod councils;
pub mod dealing;
pub mod seating;

use std::path::Path;

use roundtable_core::stance::Stance;
use serde::{Deserialize, Serialize};

use crate::data::{Data, DataError, DataKind, Text, is_name};
use councils::{CouncilsSpec, Fault};
use seating::Wishes;

/// The seats that take part in a debate, made for one protocol.
///
/// It is loaded by name from the built-in and the user's data, or from a file. A loaded cast is checked: seat names are unique
/// and settings are in range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    pub name: String,
    /// The name for people, if it is not the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub protocol: String,
    pub summary: String,
    pub seats: Vec<Seat>,
    /// Councils and their dimensions, for the protocol `councils`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<CouncilsSpec>,
    /// Criteria for protocols that score arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Rubric>,
    /// Wishes for the models of all seats.
    #[serde(default, skip_serializing_if = "Wishes::is_empty")]
    pub seating: Wishes,
}

/// The cast that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CastChoice {
    /// A cast of the built-in or the user's data.
    Named(String),
    /// A file that the caller has read. Only the command line may read files that a request names.
    File(Text),
}

impl From<String> for CastChoice {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl From<&str> for CastChoice {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

/// A criterion scored from 0 to 1, with a description of each band: up to 0.3, 0.6, 0.8 and 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    pub name: String,
    pub bands: [String; 4],
}

/// A participant of a debate: a persona with the tier and the settings of its model.
///
/// The model itself is chosen when the debate is opened, from the tier and the configuration (see
/// [`Seated`](crate::event::Seated)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    /// Unique within the cast: `skeptic`.
    pub name: String,
    pub title: String,
    pub tier: Tier,
    pub temperature: f64,
    pub max_output_tokens: u32,
    /// The model the design names for this seat, used if an Ollama server has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefers: Option<String>,
    /// A special task in the protocol, in addition to arguing or instead of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<Duty>,
    /// The seat's leaning, for protocols with biased seats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias_direction: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_preference: Option<String>,
    pub persona: String,
    #[serde(default, skip_serializing_if = "Part::is_panel")]
    pub part: Part,
    /// Its permanent perspective (M-07).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
    /// Wishes for its model, and whom it judges.
    #[serde(default, skip_serializing_if = "Wishes::is_empty")]
    pub seating: Wishes,
}

/// The function of a seat in a deliberation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Takes part in the debate.
    #[default]
    Panel,
    /// Writes the conclusion.
    Chair,
    /// Called when something may be harmful (M-09).
    SafetyEvaluator,
}

impl Part {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "signature required by serde"
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

    /// The first concern of the perspective. Part of prompts.
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

/// The task by which a protocol finds a seat, because seats can be renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    /// Argues, and speaks last in the last round.
    Judge,
    /// Argues, and must give precedents with dates.
    Precedents,
    /// Scores arguments and does not argue.
    Score,
    /// Summarizes the debate and does not argue.
    Synthesis,
}

/// Model tier; the configuration maps each tier to a model (C-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Deliberate,
    Fast,
}

impl Cast {
    /// Loads a cast by name.
    ///
    /// # Errors
    /// [`DataError`] if there is no such cast (with the nearest name), or its file is invalid (with the line).
    pub fn load(data: &Data, name: &str) -> Result<Self, DataError> {
        Self::of(&data.named(DataKind::Casts, "cast", name)?)
    }

    /// The file of the chosen cast, or of the `default` one.
    pub fn find(
        data: &Data,
        choice: Option<&CastChoice>,
        default: &str,
    ) -> Result<Text, DataError> {
        match choice {
            Some(CastChoice::File(text)) => Ok(text.clone()),
            Some(CastChoice::Named(name)) => data.named(DataKind::Casts, "cast", name),
            None => data.named(DataKind::Casts, "cast", default),
        }
    }

    pub fn load_file(path: &Path) -> Result<Self, DataError> {
        Self::of(&Text::read(path)?)
    }

    /// Parses and checks a cast. All faults are reported at once, each with its line.
    ///
    /// # Errors
    /// [`DataError::Broken`] with file and line.
    pub fn of(text: &Text) -> Result<Self, DataError> {
        let cast: Self = text.parse()?;
        let mut faults: Vec<(usize, String)> = cast
            .faults()
            .into_iter()
            .map(|fault| (text.line_at(&fault.at), fault.message))
            .collect();
        faults.sort();
        let file = text.file();
        let Some((first, _)) = faults.first() else {
            return Ok(cast);
        };
        let messages: Vec<String> = faults
            .iter()
            .map(|(line, message)| format!("{file}:{line}: {message}"))
            .collect();
        let messages = messages.join("\n");
        // The error itself begins with the first place.
        let message = messages.strip_prefix(&format!("{file}:{first}: "));
        Err(text.broken(*first, message.unwrap_or(&messages).to_owned()))
    }

    /// Checks that the cast is made for this protocol.
    ///
    /// # Errors
    /// [`DataError::Broken`] with file and line.
    pub fn check_protocol(&self, text: &Text, protocol: &str) -> Result<(), DataError> {
        if self.protocol == protocol {
            return Ok(());
        }
        let message = format!(
            "the cast is for the protocol '{}', not for '{protocol}'",
            self.protocol
        );
        Err(text.broken(text.line_of_key("protocol"), message))
    }

    /// Checks that a cast of the data folders has the name of its file, by which it is found.
    ///
    /// # Errors
    /// [`DataError::Broken`] with file and line.
    pub fn check_name(&self, text: &Text) -> Result<(), DataError> {
        let stem = Path::new(&text.name).file_stem();
        match stem.and_then(|stem| stem.to_str()) {
            Some(stem) if stem != self.name => Err(text.broken(
                text.line_of_key("name"),
                format!(
                    "the name '{}' differs from the name of the file, '{stem}'",
                    self.name
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Puts every seat on the fast tier (T-11). Preferred models are dropped, because they are meant for the full debate.
    #[must_use]
    pub fn on_the_fast_tier(mut self) -> Self {
        for seat in &mut self.seats {
            seat.tier = Tier::Fast;
            seat.prefers = None;
        }
        self
    }

    pub fn seat(&self, name: &str) -> Result<&Seat, DataError> {
        let seat = self.seats.iter().find(|seat| seat.name == name);
        seat.ok_or_else(|| DataError::Unknown {
            what: "seat",
            name: name.to_owned(),
            known: self.seats.iter().map(|seat| seat.name.clone()).collect(),
        })
    }

    /// Violations of rules that types cannot express.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (index, seat) in self.seats.iter().enumerate() {
            let mut add = |key: &str, message: String| {
                faults.push(Fault::new(format!("seats/{index}/{key}"), message));
            };
            let name = &seat.name;
            if !is_name(name, "-") {
                add(
                    "name",
                    format!(
                        "invalid seat name '{name}': use lowercase letters, digits and hyphens"
                    ),
                );
            }
            let mut earlier = self.seats[..index].iter();
            if earlier.any(|other| other.name == *name) {
                add("name", format!("two seats are named '{name}'"));
            }
            if !(0.0..=2.0).contains(&seat.temperature) {
                add(
                    "temperature",
                    format!(
                        "the temperature of '{name}' must be from 0 to 2, not {}",
                        seat.temperature
                    ),
                );
            }
            if seat.max_output_tokens == 0 {
                add(
                    "max_output_tokens",
                    format!("max_output_tokens of '{name}' must be at least 1"),
                );
            }
            if seat.persona.trim().is_empty() {
                add("persona", format!("the persona of '{name}' is empty"));
            }
        }
        if let Some(panel) = &self.panel {
            faults.extend(panel.faults(&self.seats));
        }
        faults.extend(self.seating_faults());
        faults
    }
}

#[cfg(test)]
#[path = "cast_tests.rs"]
mod tests;
