//! Who sits on the panel, with what perspective, on which team, with which stance.

use roundtable_core::stance::Stance;
use serde::Serialize;

use crate::cast::{Anchor, Part, Team};
use crate::event::Setup;
use crate::mode::{Mode, SpeakingOrder, Stances, Variant};
use crate::model::Ability;

/// A seat that takes part in the debate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panelist {
    pub name: String,
    pub title: String,
    pub anchor: Anchor,
    pub view: &'static str,
    pub team: Option<Team>,
    pub stance: Option<Stance>,
    /// What its team or stance adds to the mode.
    pub variant: Option<Variant>,
    #[serde(skip)]
    pub ability: Ability,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub seats: Vec<Panelist>,
    pub chair: Option<String>,
    pub evaluator: Option<String>,
}

impl Panel {
    /// What the cast leaves open is given out in turn: anchors, teams, stances.
    pub fn of(setup: &Setup, mode: &Mode) -> Self {
        let part = |wanted: Part| {
            let mut seats = setup.seats.iter().filter(move |it| it.seat.part == wanted);
            seats.next().map(|it| it.seat.name.clone())
        };
        let panel = setup.seats.iter().filter(|it| it.seat.part == Part::Panel);
        let seats = panel.enumerate().map(|(index, seated)| {
            let seat = &seated.seat;
            let anchor = seat
                .anchor
                .unwrap_or(Anchor::ALL[index % Anchor::ALL.len()]);
            let team = (mode.order == SpeakingOrder::RedThenBlue)
                .then(|| seat.team.unwrap_or(team_of(index)));
            let stance = (mode.stances == Stances::Assigned)
                .then(|| seat.stance.unwrap_or_else(|| Stance::of_seat(index)));
            let key = team.map(|team| team.name().to_owned());
            let key = key.or_else(|| stance.map(|stance| stance.name().to_lowercase()));
            Panelist {
                name: seat.name.clone(),
                title: seat.title.clone(),
                anchor,
                view: anchor.view(),
                team,
                stance,
                variant: key.and_then(|key| mode.variants.get(&key).cloned()),
                ability: seated.ability,
            }
        });
        Self {
            seats: seats.collect(),
            chair: part(Part::Chair),
            evaluator: part(Part::SafetyEvaluator),
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.seats.iter().map(|seat| seat.name.clone()).collect()
    }

    pub fn seat(&self, name: &str) -> Option<&Panelist> {
        self.seats.iter().find(|seat| seat.name == name)
    }

    pub fn is_small(&self) -> bool {
        self.seats.iter().any(|seat| seat.ability == Ability::Small)
    }

    /// Who speaks together, in the order of the mode: nobody of a group hears another of it.
    pub fn groups(&self, order: SpeakingOrder) -> Vec<Vec<&Panelist>> {
        match order {
            SpeakingOrder::Parallel => vec![self.seats.iter().collect()],
            SpeakingOrder::Sequence => self.seats.iter().map(|seat| vec![seat]).collect(),
            SpeakingOrder::RedThenBlue => [Team::Red, Team::Blue]
                .into_iter()
                .map(|team| {
                    self.seats
                        .iter()
                        .filter(|it| it.team == Some(team))
                        .collect()
                })
                .collect(),
        }
    }
}

fn team_of(index: usize) -> Team {
    if index.is_multiple_of(2) {
        Team::Red
    } else {
        Team::Blue
    }
}
