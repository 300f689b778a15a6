//! The state of a panel: answers, rankings, conclusion. One fold, used while the panel runs and on replay.

use roundtable_core::convergence::same_option;
use roundtable_core::panel::{
    BlindAnswer, InvalidRanking, Pooled, Ranking, Unanimous, pool, shuffled_order, unanimous,
};
use roundtable_core::usage::Money;
use roundtable_core::value::Leading;
use serde::{Deserialize, Serialize};

use super::replies::{Answer, Conclusion, RankedAnswers};
use crate::cast::Part;
use crate::event::{FinishedStep, Setup, Spent, Words};
use crate::protocols::replay::verb;

/// The name of the caller, whose answer is given with the request. It ranks nothing.
pub(super) const CALLER: &str = "caller";

#[derive(Debug, Default)]
pub struct PanelState {
    seed: u64,
    panelists: Vec<String>,
    /// In the order of the seats. An answer's index is its number everywhere.
    answers: Vec<SeatAnswer>,
    rankings: Vec<SeatRanking>,
    conclusion: Option<Conclusion>,
    person: Vec<Words>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SeatAnswer {
    pub seat: String,
    pub reply: Answer,
    pub spent: Spent,
}

impl SeatAnswer {
    fn is_callers(&self) -> bool {
        self.seat == CALLER
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SeatRanking {
    pub reader: Reader,
    pub reply: RankedAnswers,
    pub ranking: Ranking,
}

/// A seat that ranks, with the answers it is shown in the order in which it sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    pub seat: String,
    index: usize,
    shown: Vec<usize>,
    labels: Vec<String>,
}

impl Reader {
    /// The labels of the answers it is shown, in that order.
    pub fn labels(&self) -> Vec<String> {
        self.labels.clone()
    }
}

/// An answer as a prompt shows it.
#[derive(Debug, Serialize)]
pub struct ShownAnswer<'s> {
    pub label: String,
    pub text: &'s str,
    pub position: &'s str,
    pub confidence: String,
    pub score: Option<String>,
}

impl PanelState {
    pub fn new(setup: &Setup) -> Self {
        let seats = setup.seats.iter().map(|seated| &seated.seat);
        let own = Option::<Answer>::deserialize(&setup.rules["my_answer"]);
        let own = own.ok().flatten().map(|reply| SeatAnswer {
            seat: CALLER.to_owned(),
            reply,
            spent: Spent {
                cost: Some(Money::ZERO),
                ..Spent::default()
            },
        });
        Self {
            seed: setup.seed,
            answers: own.into_iter().collect(),
            panelists: seats
                .filter(|seat| seat.part == Part::Panel)
                .map(|seat| seat.name.clone())
                .collect(),
            ..Self::default()
        }
    }

    /// Adds a finished step of the journal.
    pub fn apply(&mut self, step: &FinishedStep) {
        match verb(step) {
            "answer" => {
                if let Ok(reply) = Answer::deserialize(&step.reply) {
                    self.add_answer(&step.call.seat, reply, step.call.spent);
                }
            }
            "rank" => {
                let reply = RankedAnswers::deserialize(&step.reply).ok();
                let reader = self.reader(&step.call.seat);
                if let (Some(reply), Some(reader)) = (reply, reader) {
                    self.add_ranking(reader, reply);
                }
            }
            "conclude" => self.conclusion = Conclusion::deserialize(&step.reply).ok(),
            _ => {}
        }
    }

    pub fn add_answer(&mut self, seat: &str, reply: Answer, spent: Spent) {
        self.answers.push(SeatAnswer {
            seat: seat.to_owned(),
            reply,
            spent,
        });
        // Answers finish in any order; their numbers must not depend on it.
        let panelists = &self.panelists;
        let place = |answer: &SeatAnswer| {
            let place = panelists.iter().position(|seat| *seat == answer.seat);
            place.unwrap_or(panelists.len())
        };
        self.answers.sort_by_key(place);
    }

    /// Keeps a ranking, normalised. One without any of the answers was sent back, so the step has failed and never gets here.
    pub fn add_ranking(&mut self, reader: Reader, reply: RankedAnswers) {
        if let Some(ranking) = self.normalised_ranking(&reader, &reply) {
            self.rankings.push(SeatRanking {
                reader,
                reply,
                ranking,
            });
            self.rankings.sort_by_key(|ranking| ranking.reader.index);
        }
    }

    pub fn set_conclusion(&mut self, conclusion: Conclusion) {
        self.conclusion = Some(conclusion);
    }

    pub fn hear(&mut self, words: Vec<Words>) {
        self.person.extend(words);
    }

    pub fn panelists(&self) -> &[String] {
        &self.panelists
    }

    /// The number of answers if no seat fails: those of the seats, and that of the caller.
    pub fn expected(&self) -> usize {
        self.panelists.len() + usize::from(self.answers.iter().any(SeatAnswer::is_callers))
    }

    pub fn answers(&self) -> &[SeatAnswer] {
        &self.answers
    }

    pub fn rankings(&self) -> &[SeatRanking] {
        &self.rankings
    }

    pub fn conclusion(&self) -> Option<&Conclusion> {
        self.conclusion.as_ref()
    }

    pub fn person(&self) -> &[Words] {
        &self.person
    }

    pub fn rounds(&self) -> u32 {
        if self.rankings.is_empty() { 1 } else { 2 }
    }

    /// The label of each answer, by its number: letters drawn from the seed, so that they do not follow the seats.
    pub fn labels(&self) -> Vec<String> {
        let count = self.answers.len();
        let mut labels = vec![String::new(); count];
        // A reader outside the panel is shown all answers.
        for (letter, answer) in ('A'..).zip(shuffled_order(self.seed, count, count)) {
            labels[answer] = letter.to_string();
        }
        labels
    }

    /// The seats that rank: those that answered.
    pub fn readers(&self) -> Vec<Reader> {
        let seats = self.answers.iter();
        seats
            .filter(|answer| !answer.is_callers())
            .filter_map(|answer| self.reader(&answer.seat))
            .collect()
    }

    fn reader(&self, seat: &str) -> Option<Reader> {
        let index = self.answers.iter().position(|answer| answer.seat == seat)?;
        let shown = shuffled_order(self.seed, index, self.answers.len());
        let labels = self.labels();
        Some(Reader {
            seat: seat.to_owned(),
            index,
            labels: shown.iter().map(|answer| labels[*answer].clone()).collect(),
            shown,
        })
    }

    /// The answers as a reader sees them.
    pub fn shown_to(&self, reader: &Reader) -> Vec<ShownAnswer<'_>> {
        let numbers = reader.shown.iter().copied();
        numbers.map(|number| self.shown(number, None)).collect()
    }

    /// The answers as the chair sees them: in the order of their labels, with pooled scores.
    pub fn for_chair(&self) -> Vec<ShownAnswer<'_>> {
        let pooled = self.pooled();
        let scores = pooled.answers.iter().map(|answer| answer.score);
        let mut shown: Vec<_> = scores
            .enumerate()
            .map(|(number, score)| self.shown(number, score))
            .collect();
        shown.sort_by(|a, b| a.label.cmp(&b.label));
        shown
    }

    fn shown(&self, number: usize, score: Option<f64>) -> ShownAnswer<'_> {
        let reply = &self.answers[number].reply;
        ShownAnswer {
            label: self.labels().swap_remove(number),
            text: &reply.answer,
            position: &reply.position,
            confidence: format!("{:.2}", reply.confidence.value()),
            score: score.map(|score| format!("{score:.2}")),
        }
    }

    /// The readers' comparisons.
    pub fn comparisons(&self) -> Vec<&str> {
        let rankings = self.rankings.iter();
        rankings
            .map(|ranking| ranking.reply.comparison.as_str())
            .collect()
    }

    /// The faults of a ranking, in words for the model.
    pub fn ranking_faults(&self, reader: &Reader, reply: &RankedAnswers) -> Vec<String> {
        let Err(invalid) = self.ranking_of(reader, reply) else {
            return Vec::new();
        };
        let name = |numbers: &[usize]| self.labels_of(numbers).join(", ");
        let mut faults = Vec::new();
        if !invalid.missing.is_empty() {
            faults.push(format!("The ranking lacks {}.", name(&invalid.missing)));
        }
        if !invalid.duplicate.is_empty() {
            let twice = name(&invalid.duplicate);
            faults.push(format!("The ranking has {twice} more than once."));
        }
        if !invalid.unknown.is_empty() || invalid.own {
            let known = reader.labels.join(", ");
            faults.push(format!("Rank only the answers that are shown: {known}."));
        }
        faults
    }

    /// A ranking that places none of the answers shown says nothing.
    pub fn unusable_ranking(&self, reader: &Reader, reply: &RankedAnswers) -> Vec<String> {
        if self.normalised_ranking(reader, reply).is_some() {
            return Vec::new();
        }
        let known = reader.labels.join(", ");
        vec![format!("Rank the answers that are shown: {known}.")]
    }

    fn ranking_of(
        &self,
        reader: &Reader,
        reply: &RankedAnswers,
    ) -> Result<Ranking, InvalidRanking> {
        Ranking::new(reader.index, reader.shown.clone(), self.order_of(reply))
    }

    fn normalised_ranking(&self, reader: &Reader, reply: &RankedAnswers) -> Option<Ranking> {
        Ranking::normalised(reader.index, reader.shown.clone(), self.order_of(reply))
    }

    fn order_of(&self, reply: &RankedAnswers) -> Vec<usize> {
        let labels = self.labels();
        let number = |label: &str| {
            let label = label.trim();
            let known = labels.iter().position(|known| known == label);
            known.unwrap_or(usize::MAX)
        };
        let order = reply.ranking.iter().map(|ranked| number(&ranked.answer));
        order.collect()
    }

    /// The labels of answers, by their numbers.
    pub fn labels_of(&self, numbers: &[usize]) -> Vec<String> {
        let labels = self.labels();
        let labels = numbers.iter().filter_map(|number| labels.get(*number));
        labels.cloned().collect()
    }

    /// How invalid rankings were counted.
    pub fn remarks(&self) -> Vec<String> {
        let remarks = self.rankings.iter().filter_map(|kept| {
            let invalid = self.ranking_of(&kept.reader, &kept.reply).err()?;
            let mut parts = Vec::new();
            if !invalid.duplicate.is_empty() {
                let twice = self.labels_of(&invalid.duplicate).join(", ");
                parts.push(format!(
                    "it ranked {twice} more than once, and the first mention counts"
                ));
            }
            if !invalid.missing.is_empty() {
                let missing = self.labels_of(&invalid.missing).join(", ");
                parts.push(format!(
                    "it left out {missing}, which counts as ranked last"
                ));
            }
            if !invalid.unknown.is_empty() || invalid.own {
                parts.push("it ranked answers that it was not shown, which do not count".into());
            }
            Some(format!("{}: {}", kept.reader.seat, parts.join("; ")))
        });
        remarks.collect()
    }

    pub fn pooled(&self) -> Pooled {
        pool(&self.plain_rankings(), self.answers.len())
    }

    pub fn plain_rankings(&self) -> Vec<Ranking> {
        let rankings = self.rankings.iter();
        rankings.map(|ranking| ranking.ranking.clone()).collect()
    }

    /// The answer that most seats give.
    pub fn leading(&self) -> Option<Leading> {
        let answers = self.answers.iter();
        let positions = answers.map(|answer| answer.reply.position.as_str());
        Leading::of(positions, self.panelists.len())
    }

    /// The chair's answer, with the seats that had given it.
    pub fn concluded(&self) -> Option<Leading> {
        let position = &self.conclusion.as_ref()?.position;
        let answers = self.answers.iter();
        let alike = answers.filter(|answer| same_option(&answer.reply.position, position));
        Some(Leading {
            answer: position.clone(),
            supporters: alike.count(),
            seats: self.panelists.len(),
        })
    }

    /// Whether every seat answered, all agree, and every confidence reaches the threshold. A seat that did not answer does
    /// not agree.
    pub fn unanimous(&self, threshold: f64) -> Option<Unanimous> {
        if self.answers.len() < self.expected() {
            return None;
        }
        let answers = self.answers.iter().map(|answer| BlindAnswer {
            option: &answer.reply.position,
            confidence: answer.reply.confidence,
        });
        unanimous(&answers.collect::<Vec<_>>(), threshold)
    }

    /// The answer to fall back on: the best ranked, among equals or without a ranking the most confident, then the first.
    pub fn best(&self) -> Option<&SeatAnswer> {
        if self.answers.iter().all(SeatAnswer::is_callers) {
            // No other seat has answered.
            return None;
        }
        let pooled = self.pooled();
        let winners = pooled.winners();
        let candidates = self.answers.iter().enumerate();
        let mut candidates: Vec<_> = candidates
            .filter(|(number, _)| winners.is_empty() || winners.contains(number))
            .map(|(_, answer)| answer)
            .collect();
        candidates.sort_by(|a, b| {
            let (a, b) = (a.reply.confidence.value(), b.reply.confidence.value());
            b.total_cmp(&a)
        });
        candidates.into_iter().next()
    }
}
