//! One colour per role, the same in transcript, charts and timeline.

use roundtable_engine::transcript::{Transcript, capital};

/// How many colours the style has; a larger cast begins again with the first.
const COLOURS: usize = 10;

/// For lines that belong to nobody: the accent first.
const UNOWNED: [&str; 6] = ["r0", "r3", "r2", "ink", "r4", "r5"];

/// The seats in the order of their cast, which gives them their colours.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roles(Vec<(String, String)>);

impl Roles {
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let seats = transcript.seats.iter();
        Self(
            seats
                .map(|place| (place.seat.clone(), place.title.clone()))
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

    fn place(&self, role: &str) -> Option<usize> {
        self.0.iter().position(|(seat, title)| {
            seat.eq_ignore_ascii_case(role) || title.eq_ignore_ascii_case(role)
        })
    }

    /// The class that carries the role's colour.
    pub(crate) fn class(&self, role: &str) -> String {
        self.place(role)
            .map_or_else(|| "r0".into(), |place| format!("r{}", place % COLOURS + 1))
    }

    pub(super) fn class_or(&self, role: Option<&str>, index: usize) -> String {
        match role {
            Some(role) => self.class(role),
            None => UNOWNED[index % UNOWNED.len()].to_owned(),
        }
    }

    pub(crate) fn title(&self, role: &str) -> String {
        self.place(role)
            .map_or_else(|| capital(role), |place| self.0[place].1.clone())
    }
}
