//! The system clock and the formatting of times.

use std::time::{SystemTime, UNIX_EPOCH};

use roundtable_engine::event::Millis;
use roundtable_engine::table::Clock;

pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        now()
    }
}

pub(crate) fn now() -> Millis {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

/// RFC 3339, in UTC.
pub(crate) fn stamp(at: Millis) -> String {
    i64::try_from(at)
        .ok()
        .and_then(|at| jiff::Timestamp::from_millisecond(at).ok())
        .map_or_else(String::new, |at| at.to_string())
}

/// `2026-11-16 14:02 UTC`
pub(crate) fn day_and_time(at: Millis) -> String {
    let stamp = stamp(at);
    let minute: String = stamp.replace('T', " ").chars().take(16).collect();
    format!("{minute} UTC")
}

/// The starts of the last months in UTC, oldest first; the last one is the current month.
pub(crate) fn last_months(count: u32) -> Vec<Millis> {
    let now = stamp(now());
    let number = |range| {
        now.get(range)
            .and_then(|part: &str| part.parse::<u32>().ok())
    };
    let (Some(year), Some(month)) = (number(0..4), number(5..7)) else {
        return Vec::new();
    };
    let current = year * 12 + month - 1;
    let months = (0..count).rev().map(|back| current.saturating_sub(back));
    months
        .filter_map(|month| day(&format!("{:04}-{:02}-01", month / 12, month % 12 + 1)))
        .collect()
}

/// Parses a time such as `2026-11-16T14:02:00Z`, or a day.
pub(crate) fn time(text: &str) -> Option<Millis> {
    let at = text.parse::<jiff::Timestamp>().ok();
    let at = at.map(|at| u64::try_from(at.as_millisecond()).ok());
    at.unwrap_or_else(|| day(text))
}

/// Parses a day such as `2026-11-16` to its start in UTC.
pub(crate) fn day(text: &str) -> Option<Millis> {
    let at: jiff::Timestamp = format!("{text}T00:00:00Z").parse().ok()?;
    u64::try_from(at.as_millisecond()).ok()
}
