//! The debate state as the program keeps it (M-11): claims C1…, evidence E1…, decisions D1…, blockers and where each seat
//! stands. A pure fold over replies.
//!
//! Ids are given here, in the order of the seats, and never change or vanish. What a reply says about an id that does
//! not exist is refused: it is returned, and otherwise ignored. Equal claims (in their normal form) and equal sources
//! are one. A seat's last word on a claim counts; a claim is contested as long as one seat stands for it and another
//! against it.

mod moves;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::bounded::Confidence;
use crate::citations::{EvidenceKind, Reference, address_key, same_title};
use crate::labels::Label;
use crate::stance::Stance;
use crate::votes::{Figures, Presence, Standing, Vote};
use crate::wording::{self, normal, one_line};

pub use moves::{Fault, Ground, Moves, NewClaim, Objection};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    Accepted,
    Contested,
    Retracted,
    Open,
}

impl ClaimStatus {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Contested => "contested",
            Self::Retracted => "retracted",
            Self::Open => "open",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub id: String,
    pub text: String,
    pub label: Label,
    /// A FACT whose citation leads nowhere is kept, marked, and counts as no fact.
    pub cited: bool,
    pub status: ClaimStatus,
    pub introduced_round: u32,
    pub last_updated_round: u32,
    /// Evidence that stands for it.
    pub support: Vec<String>,
    /// Claims and evidence that stand against it.
    pub opposition: Vec<String>,
    pub introduced_by: String,
    pub supporters: BTreeSet<String>,
    pub opponents: Vec<Opponent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opponent {
    pub seat: String,
    pub ground: Ground,
    pub because: String,
    pub round: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub id: String,
    pub kind: EvidenceKind,
    pub title: String,
    pub url: Option<String>,
    pub supports: Vec<String>,
    pub gist: String,
    pub added_round: u32,
    pub cited_by: BTreeSet<String>,
}

/// A constraint on the answer. It is adopted when more than half of the seats back it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub id: String,
    pub text: String,
    pub round: u32,
    pub backed_by: BTreeSet<String>,
    pub adopted: bool,
}

/// What a seat demands before it agrees, as it last put it. Open until that seat votes otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    pub id: String,
    pub seat: String,
    pub text: String,
    pub raised_round: u32,
    pub resolved_round: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentStatus {
    pub agent: String,
    pub stance: Option<Stance>,
    pub debate_alignment: Option<String>,
    pub confidence: Confidence,
    /// Against the seat's last word before this one.
    pub confidence_delta: f64,
    pub vote: Vote,
    pub position: String,
    pub estimate: Option<f64>,
    /// The round in which it last spoke.
    pub round: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DebateState {
    pub claims: Vec<Claim>,
    pub evidence: Vec<Evidence>,
    pub decisions: Vec<Decision>,
    pub blockers: Vec<Blocker>,
    pub agent_status: Vec<AgentStatus>,
    pub concerns: Vec<Concern>,
    /// All seats in their order, whether they have spoken or not.
    participants: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concern {
    pub seat: String,
    pub round: u32,
    pub text: String,
}

/// What a batch of replies did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    pub new_claims: Vec<String>,
    /// The cited FACTs among them.
    pub new_facts: Vec<String>,
    pub new_evidence: Vec<String>,
    pub new_decisions: Vec<String>,
    pub touched: BTreeMap<String, Touched>,
    /// By seat: ids it named that do not exist.
    pub unknown: BTreeMap<String, BTreeSet<String>>,
}

/// What one seat did to which claims.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    pub introduced: Vec<String>,
    pub reinforced: Vec<String>,
    pub challenged: Vec<String>,
    pub retracted: Vec<String>,
}

impl DebateState {
    pub fn of(participants: impl IntoIterator<Item = String>) -> Self {
        Self {
            participants: participants.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn participants(&self) -> &[String] {
        &self.participants
    }

    /// Takes up what seats said without having heard each other. In which order they are given does not matter.
    pub fn take(&mut self, round: u32, said: &[(String, Moves)]) -> Taken {
        let mut said: Vec<&(String, Moves)> = said.iter().collect();
        said.sort_by_key(|(seat, _)| (self.place(seat), seat.clone()));
        let mut taken = Taken::default();
        // What refers to ids means those of before; so those come first, and new ones in the order of seats after.
        for (seat, moves) in &said {
            self.stand(round, seat, moves, &mut taken);
        }
        let known = self.claims.iter().zip(0..);
        let mut forms: HashMap<String, usize> = known
            .map(|(claim, index)| (normal(&claim.text), index))
            .collect();
        for (seat, moves) in &said {
            let numbers = self.register(round, seat, moves, &mut taken);
            self.introduce(round, seat, moves, &numbers, &mut forms, &mut taken);
            self.decide(round, seat, moves, &mut taken);
            self.vote(round, seat, moves);
        }
        self.settle();
        taken
    }

    fn place(&self, seat: &str) -> usize {
        let place = self.participants.iter().position(|it| it == seat);
        place.unwrap_or(usize::MAX)
    }

    /// Supports, objections and retractions. In one reply an objection outweighs a support.
    fn stand(&mut self, round: u32, seat: &str, moves: &Moves, taken: &mut Taken) {
        let unknown = self.unknown(moves);
        if !unknown.is_empty() {
            taken.unknown.insert(seat.to_owned(), unknown);
        }
        let touched = taken.touched.entry(seat.to_owned()).or_default();
        for id in &moves.supports {
            let id = normal_id(id);
            if let Some(decision) = self.decisions.iter_mut().find(|it| it.id == id) {
                decision.backed_by.insert(seat.to_owned());
            } else if let Some(claim) = find(&mut self.claims, &id) {
                claim.support_by(round, seat);
                push_new(&mut touched.reinforced, id);
            }
        }
        for objection in &moves.opposes {
            let id = normal_id(&objection.claim);
            let counter = objection.counter.as_deref().map(normal_id);
            let counter = counter.filter(|counter| self.has(counter) && *counter != id);
            if let Some(claim) = find(&mut self.claims, &id) {
                claim.oppose_by(round, seat, objection);
                if let Some(counter) = counter {
                    push_new(&mut claim.opposition, counter);
                }
                push_new(&mut touched.challenged, id);
            }
        }
        for id in &moves.retracts {
            let id = normal_id(id);
            if let Some(claim) = find(&mut self.claims, &id)
                && claim.supporters.remove(seat)
            {
                claim.last_updated_round = round;
                push_new(&mut touched.retracted, id);
            }
        }
    }

    /// The seat's reference list, merged into the registry. Gives the evidence behind each of its numbers.
    fn register(
        &mut self,
        round: u32,
        seat: &str,
        moves: &Moves,
        taken: &mut Taken,
    ) -> BTreeMap<u32, String> {
        let mut numbers = BTreeMap::new();
        for reference in &moves.references {
            let id = match self.known_evidence(reference) {
                Some(index) => {
                    let known = &mut self.evidence[index];
                    known.cited_by.insert(seat.to_owned());
                    known.id.clone()
                }
                // An id of evidence that does not exist is no source.
                None if is_evidence_id(&reference.title) => continue,
                None if normal(&reference.title).is_empty() => continue,
                None => {
                    let id = format!("E{}", self.evidence.len() + 1);
                    self.evidence.push(Evidence {
                        id: id.clone(),
                        kind: reference.kind,
                        title: one_line(&reference.title),
                        url: reference
                            .url
                            .as_deref()
                            .map(one_line)
                            .filter(|it| !it.is_empty()),
                        supports: Vec::new(),
                        gist: one_line(&reference.gist),
                        added_round: round,
                        cited_by: BTreeSet::from([seat.to_owned()]),
                    });
                    taken.new_evidence.push(id.clone());
                    id
                }
            };
            numbers.entry(reference.number).or_insert(id);
        }
        numbers
    }

    fn known_evidence(&self, reference: &Reference) -> Option<usize> {
        if is_evidence_id(&reference.title) {
            let id = normal_id(&reference.title);
            return self.evidence.iter().position(|known| known.id == id);
        }
        let address = reference.url.as_deref().map(address_key);
        self.evidence.iter().position(|known| {
            let known_address = known.url.as_deref().map(address_key);
            let same_address = known_address.is_some() && known_address == address;
            // What tools say is told apart exactly: `calc: 4 - 10` and `calc: 10 - 4` have the same words.
            let same_work = if reference.kind == EvidenceKind::Citation {
                same_title(&known.title, &reference.title)
            } else {
                known.kind == reference.kind && known.title == one_line(&reference.title)
            };
            same_address || same_work
        })
    }

    fn introduce(
        &mut self,
        round: u32,
        seat: &str,
        moves: &Moves,
        numbers: &BTreeMap<u32, String>,
        forms: &mut HashMap<String, usize>,
        taken: &mut Taken,
    ) {
        for new in &moves.claims {
            let form = normal(&new.text);
            if form.is_empty() {
                continue;
            }
            let evidence: Vec<String> = moves
                .cited_by(new)
                .iter()
                .filter_map(|number| numbers.get(number).cloned())
                .collect();
            let known = forms.get(&form).copied();
            let index = known.unwrap_or(self.claims.len());
            if known.is_none() {
                forms.insert(form, index);
                self.claims.push(Claim::new(index, new, round, seat));
            }
            let claim = &mut self.claims[index];
            claim.support_by(round, seat);
            let was_fact = known.is_some() && claim.label == Label::Fact && claim.cited;
            // A source makes a fact of what was only inferred or assumed; nothing makes less of a fact.
            if !evidence.is_empty() && new.label == Label::Fact {
                claim.label = Label::Fact;
            }
            claim.cited |= !evidence.is_empty();
            for id in &evidence {
                push_new(&mut claim.support, id.clone());
            }
            let id = claim.id.clone();
            if claim.label == Label::Fact && claim.cited && !was_fact {
                push_new(&mut taken.new_facts, id.clone());
            }
            for known in &mut self.evidence {
                if evidence.contains(&known.id) {
                    push_new(&mut known.supports, id.clone());
                }
            }
            let touched = taken.touched.entry(seat.to_owned()).or_default();
            if known.is_none() {
                taken.new_claims.push(id.clone());
                push_new(&mut touched.introduced, id);
            } else if !touched.introduced.contains(&id) {
                push_new(&mut touched.reinforced, id);
            }
        }
    }

    fn decide(&mut self, round: u32, seat: &str, moves: &Moves, taken: &mut Taken) {
        for text in &moves.decisions {
            let form = normal(text);
            if form.is_empty() {
                continue;
            }
            let known = self
                .decisions
                .iter()
                .position(|it| normal(&it.text) == form);
            let index = known.unwrap_or(self.decisions.len());
            if known.is_none() {
                self.decisions.push(Decision {
                    id: format!("D{}", index + 1),
                    text: one_line(text),
                    round,
                    backed_by: BTreeSet::new(),
                    adopted: false,
                });
                taken.new_decisions.push(format!("D{}", index + 1));
            }
            self.decisions[index].backed_by.insert(seat.to_owned());
        }
    }

    /// What a person decides is adopted at once.
    pub fn decreed(&mut self, round: u32, text: &str) {
        self.decisions.push(Decision {
            id: format!("D{}", self.decisions.len() + 1),
            text: one_line(text),
            round,
            backed_by: BTreeSet::new(),
            adopted: true,
        });
    }

    /// Takes the words of one seat's turn out again and puts others in their place. Ids and what others did stay.
    pub fn redact(&mut self, round: u32, seat: &str, words: &str) {
        let words = words.to_owned();
        for claim in &mut self.claims {
            if claim.introduced_by == seat && claim.introduced_round == round {
                claim.text.clone_from(&words);
            }
            for opponent in &mut claim.opponents {
                if opponent.seat == seat && opponent.round == round {
                    opponent.because.clone_from(&words);
                }
            }
        }
        for evidence in &mut self.evidence {
            if evidence.added_round == round && evidence.cited_by.iter().all(|it| it == seat) {
                evidence.title.clone_from(&words);
                evidence.gist = String::new();
                evidence.url = None;
            }
        }
        for decision in &mut self.decisions {
            if decision.round == round && decision.backed_by.iter().all(|it| it == seat) {
                decision.text.clone_from(&words);
            }
        }
        for blocker in self.blockers.iter_mut().filter(|it| it.seat == seat) {
            blocker.text.clone_from(&words);
        }
        for concern in &mut self.concerns {
            if concern.seat == seat && concern.round == round {
                concern.text.clone_from(&words);
            }
        }
        for status in self.agent_status.iter_mut().filter(|it| it.agent == seat) {
            status.position.clone_from(&words);
            status.debate_alignment = None;
        }
    }

    fn vote(&mut self, round: u32, seat: &str, moves: &Moves) {
        let open = self
            .blockers
            .iter_mut()
            .find(|it| it.seat == seat && it.resolved_round.is_none());
        let demand = moves.blocker.as_deref().map(one_line);
        let demand = demand.filter(|text| !text.is_empty());
        let demand = demand.unwrap_or_else(|| one_line(&moves.position));
        match (moves.vote, open) {
            (Vote::Accept | Vote::Minor, Some(open)) => open.resolved_round = Some(round),
            (Vote::Accept | Vote::Minor, None) => {}
            (Vote::Blocker, Some(open)) => open.text = demand,
            (Vote::Blocker, None) => self.blockers.push(Blocker {
                id: format!("B{}", self.blockers.len() + 1),
                seat: seat.to_owned(),
                text: demand,
                raised_round: round,
                resolved_round: None,
            }),
        }
        if let Some(text) = moves.concern.as_deref().map(one_line)
            && self.is_new_concern(&text)
        {
            self.concerns.push(Concern {
                seat: seat.to_owned(),
                round,
                text,
            });
        }
        let before = self.agent_status.iter().position(|it| it.agent == seat);
        let delta = before.map_or(0.0, |index| {
            moves.confidence.value() - self.agent_status[index].confidence.value()
        });
        let status = AgentStatus {
            agent: seat.to_owned(),
            stance: moves.stance,
            debate_alignment: moves.alignment.as_deref().map(one_line),
            confidence: moves.confidence,
            confidence_delta: (delta * 1e9).round() / 1e9,
            vote: moves.vote,
            position: one_line(&moves.position),
            estimate: moves.estimate,
            round,
        };
        match before {
            Some(index) => self.agent_status[index] = status,
            None => self.agent_status.push(status),
        }
        let places: BTreeMap<String, usize> = self.participants.iter().cloned().zip(0..).collect();
        self.agent_status
            .sort_by_key(|status| places.get(&status.agent).copied().unwrap_or(usize::MAX));
    }

    fn settle(&mut self) {
        let seats = self.participants.len();
        for claim in &mut self.claims {
            claim.status = if claim.supporters.is_empty() {
                ClaimStatus::Retracted
            } else if !claim.opponents.is_empty() {
                ClaimStatus::Contested
            } else if claim.supporters.len() * 2 > seats {
                ClaimStatus::Accepted
            } else {
                ClaimStatus::Open
            };
        }
        for decision in &mut self.decisions {
            decision.adopted |= decision.backed_by.len() * 2 > seats;
        }
    }

    /// Ids that a reply names and that do not exist, as the seat would have to write them.
    pub fn unknown(&self, moves: &Moves) -> BTreeSet<String> {
        let claims = moves.opposes.iter().map(|objection| &objection.claim);
        let counters = moves
            .opposes
            .iter()
            .filter_map(|objection| objection.counter.as_ref());
        let evidence = moves.references.iter().map(|reference| &reference.title);
        moves
            .supports
            .iter()
            .chain(claims)
            .chain(&moves.retracts)
            .chain(counters)
            .chain(evidence.filter(|title| is_evidence_id(title)))
            .map(|id| normal_id(id))
            .filter(|id| !self.has(id))
            .collect()
    }

    /// Whether a claim, a piece of evidence or a decision has this id.
    pub fn has(&self, id: &str) -> bool {
        self.claims.iter().any(|it| it.id == id)
            || self.evidence.iter().any(|it| it.id == id)
            || self.decisions.iter().any(|it| it.id == id)
    }

    pub fn claim(&self, id: &str) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.id == id)
    }

    pub fn contested(&self) -> impl Iterator<Item = &Claim> {
        let is_contested = |claim: &&Claim| claim.status == ClaimStatus::Contested;
        self.claims.iter().filter(is_contested)
    }

    pub fn open_blockers(&self) -> impl Iterator<Item = &Blocker> {
        let is_open = |blocker: &&Blocker| blocker.resolved_round.is_none();
        self.blockers.iter().filter(is_open)
    }

    /// Whether nobody has raised this before (M-07).
    pub fn is_new_concern(&self, text: &str) -> bool {
        let form: BTreeSet<String> = wording::words(text).collect();
        let is_same = |known: &str| {
            let known: BTreeSet<String> = wording::words(known).collect();
            wording::jaccard(&form, &known) >= 0.8
        };
        !form.is_empty() && !self.concerns.iter().any(|concern| is_same(&concern.text))
    }

    /// Facts and assumptions a seat stands for: what its position rests on.
    pub fn premises(&self, seat: &str) -> BTreeSet<String> {
        self.claims
            .iter()
            .filter(|claim| claim.label != Label::Infer && claim.supporters.contains(seat))
            .map(|claim| claim.id.clone())
            .collect()
    }

    /// The round in figures, for whoever decides whether it was the last.
    pub fn figures(&self, round: u32, new_facts: usize) -> Figures {
        let standings = self.agent_status.iter().map(|status| Standing {
            seat: status.agent.clone(),
            confidence: status.confidence,
            vote: status.vote,
            stance: status.stance,
            presence: if status.round == round {
                Presence::Spoke
            } else {
                Presence::Absent
            },
        });
        Figures {
            round,
            standings: standings.collect(),
            new_facts,
            open_blockers: self.open_blockers().count(),
        }
    }
}

impl Claim {
    fn new(index: usize, new: &NewClaim, round: u32, seat: &str) -> Self {
        Self {
            id: format!("C{}", index + 1),
            text: one_line(&new.text),
            label: new.label,
            cited: false,
            status: ClaimStatus::Open,
            introduced_round: round,
            last_updated_round: round,
            support: Vec::new(),
            opposition: Vec::new(),
            introduced_by: seat.to_owned(),
            supporters: BTreeSet::new(),
            opponents: Vec::new(),
        }
    }

    fn support_by(&mut self, round: u32, seat: &str) {
        self.opponents.retain(|opponent| opponent.seat != seat);
        self.supporters.insert(seat.to_owned());
        self.last_updated_round = round;
    }

    fn oppose_by(&mut self, round: u32, seat: &str, objection: &Objection) {
        self.supporters.remove(seat);
        self.opponents.retain(|opponent| opponent.seat != seat);
        let at = self
            .opponents
            .partition_point(|opponent| opponent.round < round || opponent.seat.as_str() < seat);
        self.opponents.insert(
            at,
            Opponent {
                seat: seat.to_owned(),
                ground: objection.ground,
                because: one_line(&objection.because),
                round,
            },
        );
        self.last_updated_round = round;
    }

    /// How the label reads in a prompt and on the page.
    pub fn tag(&self) -> &'static str {
        match (self.label, self.cited) {
            (Label::Fact, false) => "[FACT, uncited]",
            (Label::Fact, true) => "[FACT]",
            (Label::Infer, _) => "[INFER]",
            (Label::Assume, _) => "[ASSUME]",
        }
    }
}

fn find<'a>(claims: &'a mut [Claim], id: &str) -> Option<&'a mut Claim> {
    claims.iter_mut().find(|claim| claim.id == id)
}

fn push_new(list: &mut Vec<String>, id: String) {
    if !list.contains(&id) {
        list.push(id);
    }
}

/// Models write `c1`, `[C1]` or `#C1` for `C1`.
pub fn normal_id(id: &str) -> String {
    id.trim()
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_ascii_uppercase()
}

fn is_evidence_id(title: &str) -> bool {
    let id = normal_id(title);
    let digits = id.strip_prefix('E').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
