//! One colour per role, the same in the transcript and in charts.

use roundtable_engine::transcript::{Transcript, capital};

/// Number of role colours in the style sheet; larger casts reuse them.
const COLOURS: usize = 10;

/// Colour classes of lines without a role, in order.
const LINE_CLASSES: [&str; 6] = ["r0", "r3", "r2", "ink", "r4", "r5"];

/// Names and titles of the seats, in the order of the cast, which determines their colours.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roles(Vec<(String, String)>);

impl Roles {
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let seats = transcript.seats.iter();
        Self(
            seats
                .map(|seated| (seated.seat.clone(), seated.title.clone()))
                .collect(),
        )
    }

    #[cfg(test)]
    pub(crate) fn named(seats: &[&str]) -> Self {
        let seats = seats.iter();
        Self(
            seats
                .map(|seat| ((*seat).to_owned(), capital(seat)))
                .collect(),
        )
    }

    /// The position of a role in the cast.
    pub(crate) fn index(&self, role: &str) -> Option<usize> {
        self.0.iter().position(|(seat, title)| {
            seat.eq_ignore_ascii_case(role) || title.eq_ignore_ascii_case(role)
        })
    }

    /// The CSS class with the role's colour.
    pub(crate) fn class(&self, role: &str) -> String {
        self.index(role)
            .map_or_else(|| "r0".into(), |index| format!("r{}", index % COLOURS + 1))
    }

    pub(super) fn class_or(&self, role: Option<&str>, index: usize) -> String {
        match role {
            Some(role) => self.class(role),
            None => LINE_CLASSES[index % LINE_CLASSES.len()].to_owned(),
        }
    }

    pub(crate) fn title(&self, role: &str) -> String {
        self.index(role)
            .map_or_else(|| capital(role), |index| self.0[index].1.clone())
    }
}
