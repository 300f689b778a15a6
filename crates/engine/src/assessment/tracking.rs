//! Events during the implementation of a decision (E-13).

use jiff::civil::Date;
use roundtable_core::bounded::Probability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time_cost::{DAYS_IN_A_WEEK, TimeCost};
use crate::report::{Block, Cell, Section, Table, Tone};

/// One event during the implementation, by week or by date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tracked {
    /// Week 1 is the week of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub week: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub date: Option<Date>,
    pub event: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_cost: Option<TimeCost>,
    /// How it reflects on the debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_impacted: Option<String>,
    /// From 0 (expected) to 1 (not foreseen at all).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surprise_factor: Option<Probability>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_assessment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Status {
    OnTrack,
    NewRequirement,
    TechnicalDebt,
    Delayed,
    Blocked,
    Completed,
    Abandoned,
}

impl Status {
    pub const ALL: [Self; 7] = [
        Self::OnTrack,
        Self::NewRequirement,
        Self::TechnicalDebt,
        Self::Delayed,
        Self::Blocked,
        Self::Completed,
        Self::Abandoned,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnTrack => "on_track",
            Self::NewRequirement => "new_requirement",
            Self::TechnicalDebt => "technical_debt",
            Self::Delayed => "delayed",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase().replace(['-', ' '], "_");
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    fn tone(self) -> Tone {
        match self {
            Self::OnTrack => Tone::Plain,
            Self::Completed => Tone::Good,
            Self::NewRequirement | Self::TechnicalDebt | Self::Delayed => Tone::Caution,
            Self::Blocked | Self::Abandoned => Tone::Critical,
        }
    }
}

/// An event with at least this surprise factor counts as a surprise.
pub(crate) const SURPRISING: f64 = 0.6;

/// The events since a decision, in chronological order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    decided: Date,
    events: Vec<Tracked>,
}

impl Timeline {
    pub fn new(decided: Date, mut events: Vec<Tracked>) -> Self {
        // Stable: events of the same day keep the order in which they were reported.
        events.sort_by_key(|event| event.day(decided));
        Self { decided, events }
    }

    pub fn events(&self) -> &[Tracked] {
        &self.events
    }

    pub const fn decided(&self) -> Date {
        self.decided
    }

    /// Total of working days lost.
    pub fn days_lost(&self) -> f64 {
        let events = self.events.iter();
        let costs = events.filter_map(|event| event.time_cost.as_ref());
        costs.map(TimeCost::days).sum::<f64>() + 0.0
    }

    /// Weeks from the decision to the last event.
    pub fn weeks(&self) -> u32 {
        let weeks = self.events.iter().map(|event| event.in_week(self.decided));
        weeks.max().unwrap_or(0)
    }

    /// Days lost as a share of the working days since the decision.
    pub fn share_lost(&self) -> Option<f64> {
        let days = f64::from(self.weeks()) * DAYS_IN_A_WEEK;
        (days > 0.0).then(|| self.days_lost() / days)
    }

    /// The report section; `None` without events.
    pub fn section(&self) -> Option<Section> {
        if self.events.is_empty() {
            return None;
        }
        let columns = ["When", "Event", "Status", "Time cost", "#Surprise", "Note"];
        let rows = self.events.iter().map(|event| {
            let notes = [
                &event.note,
                &event.impact,
                &event.tokens_impacted,
                &event.overall_assessment,
            ];
            let notes: Vec<&str> = notes.into_iter().flatten().map(String::as_str).collect();
            let surprise = event.surprise_factor.map(Probability::value);
            vec![
                Cell::new(event.when()),
                Cell::new(event.event.clone()),
                Cell::new(event.status.name().replace('_', " ")).toned(event.status.tone()),
                Cell::new(event.time_cost.as_ref().map_or("", TimeCost::text)),
                Cell::new(surprise.map_or_else(String::new, |factor| format!("{factor:.1}")))
                    .toned(match surprise {
                        Some(surprise) if surprise >= SURPRISING => Tone::Caution,
                        Some(_) | None => Tone::Plain,
                    }),
                Cell::new(notes.join("; ")),
            ]
        });
        let table = Table::of("Since the decision", &columns, rows);
        let mut blocks = vec![Block::Table(table)];
        blocks.extend(self.cost());
        Some(Section::main("Since the decision", blocks))
    }

    /// The report's note on lost time, if there was any.
    pub fn cost(&self) -> Option<Block> {
        let (lost, share) = (self.days_lost(), self.share_lost()?);
        let weeks = match self.weeks() {
            1 => "week".to_owned(),
            weeks => format!("{weeks} weeks"),
        };
        let text = format!(
            "Impact: {} additional working days, {}% of the {weeks} since the decision.",
            one_decimal(lost),
            one_decimal(share * 100.0)
        );
        (lost > 0.0).then(|| Block::note(text, Tone::Caution))
    }
}

/// With one decimal, omitted if it is 0.
pub(crate) fn one_decimal(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

impl Tracked {
    /// The date, or the first day of the week.
    fn day(&self, decided: Date) -> Date {
        let weeks = i64::from(self.week.unwrap_or(1).saturating_sub(1));
        self.date
            .or_else(|| decided.checked_add(jiff::Span::new().days(weeks * 7)).ok())
            .unwrap_or(decided)
    }

    fn in_week(&self, decided: Date) -> u32 {
        self.week.unwrap_or_else(|| {
            let days = self.date.map_or(0, |date| (date - decided).get_days());
            u32::try_from(days.max(0) / 7 + 1).unwrap_or(1)
        })
    }

    /// `week 3`, or the date.
    pub fn when(&self) -> String {
        match (self.week, self.date) {
            (Some(week), Some(date)) => format!("{date}, week {week}"),
            (Some(week), None) => format!("week {week}"),
            (None, Some(date)) => date.to_string(),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
#[path = "tracking_tests.rs"]
mod tests;
