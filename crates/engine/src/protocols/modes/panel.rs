//! The seats of the panel with their perspective, team and stance.

use roundtable_core::anonymity::Names;
use roundtable_core::stance::Stance;
use serde::Serialize;

use super::rules::{Edition, Rules};
use crate::cast::{Anchor, Part, Team};
use crate::event::Setup;
use crate::mode::{SpeakingOrder, Stances, Variant};
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
    /// The mode's prompt texts for its team or stance.
    pub variant: Option<Variant>,
    #[serde(skip)]
    pub ability: Ability,
    #[serde(skip)]
    pub model: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub seats: Vec<Panelist>,
    pub chair: Option<String>,
    pub evaluator: Option<String>,
}

impl Panel {
    /// Anchors, teams and stances that the cast does not set are assigned in turn.
    pub fn of(setup: &Setup, rules: &Rules) -> Self {
        let mode = &rules.mode;
        let part = |wanted: Part| {
            let mut seats = setup.seats.iter();
            let seated = seats.find(|seated| seated.seat.part == wanted);
            seated.map(|seated| seated.seat.name.clone())
        };
        let panel = setup.seats.iter();
        let panel = panel.filter(|seated| seated.seat.part == Part::Panel);
        let count = panel.clone().count();
        let assigned = |index: usize| match rules.edition {
            Edition::First => Stance::in_turn(index),
            Edition::Second => Stance::of_seat(index, count),
        };
        let seats = panel.enumerate().map(|(index, seated)| {
            let seat = &seated.seat;
            let anchor = seat
                .anchor
                .unwrap_or(Anchor::ALL[index % Anchor::ALL.len()]);
            let team = (mode.order == SpeakingOrder::RedThenBlue)
                .then(|| seat.team.unwrap_or(team_of(index)));
            let stance = (mode.stances == Stances::Assigned)
                .then(|| seat.stance.unwrap_or_else(|| assigned(index)));
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
                model: seated.model.clone(),
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

    /// The names by which a seat of an anonymous panel could give itself away.
    pub fn own_names(&self) -> Names {
        let seats = self.seats.iter();
        let models = self.seats.iter().flat_map(|seat| {
            let model = seat.model.as_str();
            // `lab:special` and `meta-llama/Llama-3` are also called `special` and `Llama-3`.
            let parts = [model.split_once(':'), model.rsplit_once('/')];
            let short = parts.into_iter().flatten().map(|(_, name)| name);
            std::iter::once(model).chain(short).map(str::to_owned)
        });
        Names {
            seats: seats
                .flat_map(|seat| [seat.name.clone(), seat.title.clone()])
                .collect(),
            models: models.collect(),
        }
    }

    pub fn is_small(&self) -> bool {
        self.seats.iter().any(|seat| seat.ability == Ability::Small)
    }

    /// Names of seats in speaking order. The seats of a group speak in parallel and do not hear each other.
    pub fn groups(&self, order: SpeakingOrder) -> Vec<Vec<String>> {
        match order {
            SpeakingOrder::Parallel => vec![self.names()],
            SpeakingOrder::Sequence => self.names().into_iter().map(|seat| vec![seat]).collect(),
            SpeakingOrder::RedThenBlue => vec![self.team(Team::Red), self.team(Team::Blue)],
        }
    }

    fn team(&self, team: Team) -> Vec<String> {
        let seats = self.seats.iter().filter(|seat| seat.team == Some(team));
        seats.map(|seat| seat.name.clone()).collect()
    }
}

fn team_of(index: usize) -> Team {
    if index.is_multiple_of(2) {
        Team::Red
    } else {
        Team::Blue
    }
}
