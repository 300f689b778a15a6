//! The debate state (M-11): claims C1…, evidence E1…, decisions D1…, blockers and the status of each seat. A pure fold over
//! replies.
//!
//! Ids are assigned here, in the order of the seats or, in anonymous debates, in an order that says nothing about them, and never
//! change or vanish. A reference to an id that does not exist is ignored and reported to the caller. Equal claims (in normal form)
//! and equal sources are merged. A seat's latest statement on a claim counts; a claim is contested as long as one seat supports
//! it and another opposes it. Citations of a seat's own list become ids of evidence: `[1]` is kept as `[E3]`.

mod moves;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::Confidence;
use crate::citations::{self, EvidenceKind, Reference, address_key, same_title};
use crate::format::truncated;
use crate::labels::Label;
use crate::stance::Stance;
use crate::votes::{Figures, Presence, Standing, Vote};
use crate::wording::{self, normal, one_line};

pub use moves::{Fault, Ground, Moves, NewClaim, Objection};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub id: String,
    pub text: String,
    pub label: Label,
    /// A FACT without a valid citation is kept and marked, but does not count as a fact.
    pub cited: bool,
    pub status: ClaimStatus,
    pub introduced_round: u32,
    pub last_updated_round: u32,
    /// Ids of evidence for it.
    pub support: Vec<String>,
    /// Ids of claims and evidence against it.
    pub opposition: Vec<String>,
    pub introduced_by: String,
    pub supporters: BTreeSet<String>,
    pub opponents: Vec<Opponent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Opponent {
    pub seat: String,
    pub ground: Ground,
    pub because: String,
    /// The claim or evidence that this seat puts against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    pub round: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// A constraint on the answer, adopted once more than half of the seats back it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    pub id: String,
    pub text: String,
    pub round: u32,
    pub backed_by: BTreeSet<String>,
    pub adopted: bool,
}

/// A change that a seat demands before it agrees, in its latest wording. Open until that seat votes otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocker {
    pub id: String,
    pub seat: String,
    pub text: String,
    pub raised_round: u32,
    pub resolved_round: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatus {
    pub agent: String,
    pub stance: Option<Stance>,
    pub debate_alignment: Option<String>,
    pub confidence: Confidence,
    /// Change since the seat's previous reply.
    pub confidence_delta: f64,
    pub vote: Vote,
    pub position: String,
    pub estimate: Option<f64>,
    /// The round of its latest reply.
    pub round: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebateState {
    pub claims: Vec<Claim>,
    pub evidence: Vec<Evidence>,
    pub decisions: Vec<Decision>,
    pub blockers: Vec<Blocker>,
    pub agent_status: Vec<AgentStatus>,
    pub concerns: Vec<Concern>,
    /// All seats in order, including those that have not replied yet.
    participants: Vec<String>,
    #[serde(skip)]
    claim_forms: Forms,
    #[serde(skip)]
    decision_forms: Forms,
}

/// Indices of claims or decisions by the normal form of the words in which they were first put. A stored state does not have
/// them: states are compared without.
#[derive(Debug, Clone, Default)]
struct Forms(HashMap<String, usize>);

impl PartialEq for Forms {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Forms {
    fn find(&self, form: &str) -> Option<usize> {
        self.0.get(form).copied()
    }

    fn add(&mut self, form: String, index: usize) {
        self.0.insert(form, index);
    }

    /// A redacted text is known by its replacement: putting it forward again makes a new item.
    fn rename(&mut self, index: usize, replacement: &str) {
        self.0.retain(|_, known| *known != index);
        self.add(normal(replacement), index);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Concern {
    pub seat: String,
    pub round: u32,
    pub text: String,
}

/// The changes made by a batch of replies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    pub new_claims: Vec<String>,
    /// The cited FACTs among them.
    pub new_facts: Vec<String>,
    pub new_evidence: Vec<String>,
    pub new_decisions: Vec<String>,
    pub touched: BTreeMap<String, Touched>,
    /// The ids of what each seat put forward.
    #[serde(default)]
    pub registered: BTreeMap<String, Registered>,
    /// Ids that do not exist, by the seat that named them.
    pub unknown: BTreeMap<String, BTreeSet<String>>,
}

/// The ids that one reply's own list of references, claims and decisions got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// Evidence, by the number in the reply's list.
    pub references: BTreeMap<u32, String>,
    /// Claims, by their index in the reply. A claim without words has none.
    pub claims: BTreeMap<usize, String>,
    pub decisions: Vec<String>,
}

/// The claims one seat changed, by what it did to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

    /// Applies the replies of seats that answered in parallel. Their order does not matter.
    pub fn take(&mut self, round: u32, replies: &[(String, Moves)]) -> Taken {
        let mut replies: Vec<&(String, Moves)> = replies.iter().collect();
        replies.sort_by_key(|(seat, _)| (self.seat_index(seat), seat.clone()));
        self.take_in_order(round, &replies)
    }

    /// [`take`](Self::take) in the given order: the ids of an anonymous debate must not follow the seats.
    pub fn take_in_order(&mut self, round: u32, replies: &[&(String, Moves)]) -> Taken {
        let mut taken = Taken::default();
        // References mean ids from before this batch, so they are applied before new ids are assigned.
        for (seat, moves) in replies {
            self.apply_references(round, seat, moves, &mut taken);
        }
        for (seat, moves) in replies {
            let registered = Registered {
                references: self.add_evidence(round, seat, moves, &mut taken),
                ..Registered::default()
            };
            self.cite_in_objections(round, seat, moves, &registered.references);
            let registered = self.add_claims(round, seat, moves, registered, &mut taken);
            let registered = self.add_decisions(round, seat, moves, registered, &mut taken);
            let renumbered = |text: &str| citations::renumber(text, &registered.references);
            self.update_vote(round, seat, &moves.map_statements(renumbered));
            taken.registered.insert(seat.clone(), registered);
        }
        self.update_statuses();
        taken
    }

    fn seat_index(&self, seat: &str) -> usize {
        let index = self.participants.iter().position(|name| name == seat);
        index.unwrap_or(usize::MAX)
    }

    /// Supports, objections and retractions. Within one reply an objection overrides a support.
    fn apply_references(&mut self, round: u32, seat: &str, moves: &Moves, taken: &mut Taken) {
        let unknown = self.unknown(moves);
        if !unknown.is_empty() {
            taken.unknown.insert(seat.to_owned(), unknown);
        }
        let touched = taken.touched.entry(seat.to_owned()).or_default();
        for id in &moves.supports {
            let id = normal_id(id);
            if let Some(decision) = self.decisions.iter_mut().find(|d| d.id == id) {
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
                claim.oppose_by(round, seat, objection, counter.clone());
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

    /// Once the seat's references have ids, its objections cite them by id, as reason and as counter-evidence.
    fn cite_in_objections(
        &mut self,
        round: u32,
        seat: &str,
        moves: &Moves,
        ids: &BTreeMap<u32, String>,
    ) {
        for objection in &moves.opposes {
            let numbers = objection.counter.as_deref().map(citations::parse);
            let number = numbers.and_then(|cited| cited.numbers.first().copied());
            let counter = number.and_then(|number| ids.get(&number).cloned());
            let id = normal_id(&objection.claim);
            let Some(claim) = find(&mut self.claims, &id) else {
                continue;
            };
            let mut opponents = claim.opponents.iter_mut();
            let own = opponents.find(|opponent| opponent.seat == seat && opponent.round == round);
            if let Some(opponent) = own {
                opponent.because = citations::renumber(&opponent.because, ids);
                if let Some(counter) = counter {
                    opponent.counter = Some(counter.clone());
                    push_new(&mut claim.opposition, counter);
                }
            }
        }
    }

    /// Merges the seat's reference list into the evidence. Returns the evidence id for each reference number.
    fn add_evidence(
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
                // An evidence id that does not exist is not a source.
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
                            .filter(|url| !url.is_empty()),
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
            // Tool results are compared exactly: `calc: 4 - 10` and `calc: 10 - 4` have the same words.
            let same_work = if reference.kind == EvidenceKind::Citation {
                same_title(&known.title, &reference.title)
            } else {
                known.kind == reference.kind && known.title == one_line(&reference.title)
            };
            same_address || same_work
        })
    }

    fn add_claims(
        &mut self,
        round: u32,
        seat: &str,
        moves: &Moves,
        mut registered: Registered,
        taken: &mut Taken,
    ) -> Registered {
        for (place, new) in moves.claims.iter().enumerate() {
            let form = normal(&new.text);
            if form.is_empty() {
                continue;
            }
            let evidence: Vec<String> = moves
                .cited_by(new)
                .iter()
                .filter_map(|number| registered.references.get(number).cloned())
                .collect();
            let known = self.claim_forms.find(&form);
            let index = known.unwrap_or(self.claims.len());
            if known.is_none() {
                self.claim_forms.add(form, index);
                let text = citations::renumber(&new.text, &registered.references);
                let claim = Claim::new(index, &text, new.label, round, seat);
                self.claims.push(claim);
            }
            let claim = &mut self.claims[index];
            claim.support_by(round, seat);
            let was_fact = known.is_some() && claim.label == Label::Fact && claim.cited;
            // A citation upgrades an inference or assumption to a fact; a fact is never downgraded.
            if !evidence.is_empty() && new.label == Label::Fact {
                claim.label = Label::Fact;
            }
            claim.cited |= !evidence.is_empty();
            for id in &evidence {
                push_new(&mut claim.support, id.clone());
            }
            let id = claim.id.clone();
            registered.claims.insert(place, id.clone());
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
        registered
    }

    fn add_decisions(
        &mut self,
        round: u32,
        seat: &str,
        moves: &Moves,
        mut registered: Registered,
        taken: &mut Taken,
    ) -> Registered {
        for text in &moves.decisions {
            let form = normal(text);
            if form.is_empty() {
                continue;
            }
            let known = self.decision_forms.find(&form);
            let index = known.unwrap_or(self.decisions.len());
            if known.is_none() {
                self.decision_forms.add(form, index);
                self.decisions.push(Decision {
                    id: format!("D{}", index + 1),
                    text: one_line(&citations::renumber(text, &registered.references)),
                    round,
                    backed_by: BTreeSet::new(),
                    adopted: false,
                });
                taken.new_decisions.push(format!("D{}", index + 1));
            }
            self.decisions[index].backed_by.insert(seat.to_owned());
            push_new(&mut registered.decisions, format!("D{}", index + 1));
        }
        registered
    }

    /// Replaces the text of one seat's turn. Ids and the contributions of other seats stay.
    pub fn redact(&mut self, round: u32, seat: &str, replacement: &str) {
        let replacement = replacement.to_owned();
        for (index, claim) in self.claims.iter_mut().enumerate() {
            if claim.introduced_by == seat && claim.introduced_round == round {
                claim.text.clone_from(&replacement);
                self.claim_forms.rename(index, &replacement);
            }
            for opponent in &mut claim.opponents {
                if opponent.seat == seat && opponent.round == round {
                    opponent.because.clone_from(&replacement);
                }
            }
        }
        for evidence in &mut self.evidence {
            if evidence.added_round == round && evidence.cited_by.iter().all(|name| name == seat) {
                evidence.title.clone_from(&replacement);
                evidence.gist = String::new();
                evidence.url = None;
            }
        }
        for (index, decision) in self.decisions.iter_mut().enumerate() {
            if decision.round == round && decision.backed_by.iter().all(|name| name == seat) {
                decision.text.clone_from(&replacement);
                self.decision_forms.rename(index, &replacement);
            }
        }
        for blocker in self.blockers.iter_mut().filter(|b| b.seat == seat) {
            blocker.text.clone_from(&replacement);
        }
        for concern in &mut self.concerns {
            if concern.seat == seat && concern.round == round {
                concern.text.clone_from(&replacement);
            }
        }
        for status in self.agent_status.iter_mut().filter(|s| s.agent == seat) {
            status.position.clone_from(&replacement);
            status.debate_alignment = None;
        }
    }

    fn update_vote(&mut self, round: u32, seat: &str, moves: &Moves) {
        let open = self
            .blockers
            .iter_mut()
            .find(|blocker| blocker.seat == seat && blocker.resolved_round.is_none());
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
            && wording::words(&text).next().is_some()
            && self.known_concern(&text).is_none()
        {
            self.concerns.push(Concern {
                seat: seat.to_owned(),
                round,
                text,
            });
        }
        let before = self.agent_status.iter().position(|s| s.agent == seat);
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

    fn update_statuses(&mut self) {
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

    /// The ids in a reply that do not exist, in normal form.
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
            .chain(counters.filter(|counter| !moves.lists(counter)))
            .chain(evidence.filter(|title| is_evidence_id(title)))
            .map(|id| shown_id(id))
            .filter(|id| !self.has(id))
            .collect()
    }

    /// Whether a claim, a piece of evidence or a decision has this id.
    pub fn has(&self, id: &str) -> bool {
        self.claims.iter().any(|claim| claim.id == id)
            || self.evidence.iter().any(|evidence| evidence.id == id)
            || self.decisions.iter().any(|decision| decision.id == id)
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

    /// The concern a seat has raised before in almost the same words (M-07).
    pub fn known_concern(&self, text: &str) -> Option<&Concern> {
        let form: BTreeSet<String> = wording::words(text).collect();
        let is_same = |concern: &&Concern| {
            let known: BTreeSet<String> = wording::words(&concern.text).collect();
            wording::jaccard(&form, &known) >= 0.8
        };
        self.concerns.iter().find(is_same)
    }

    /// Ids of the facts and assumptions a seat supports: the basis of its position.
    pub fn premises(&self, seat: &str) -> BTreeSet<String> {
        self.claims
            .iter()
            .filter(|claim| claim.label != Label::Infer && claim.supporters.contains(seat))
            .map(|claim| claim.id.clone())
            .collect()
    }

    /// The figures of a round, from which the caller decides whether the debate ends.
    pub fn figures(&self, round: u32, new_facts: usize) -> Figures {
        let standings = self.agent_status.iter().map(|status| Standing {
            seat: status.agent.clone(),
            confidence: status.confidence,
            vote: status.vote,
            stance: status.stance,
            option: status.debate_alignment.clone(),
            probability: status.estimate.filter(|value| (0.0..=1.0).contains(value)),
            position: status.position.clone(),
            presence: if status.round == round {
                Presence::Spoke
            } else {
                Presence::Absent
            },
        });
        Figures {
            round,
            standings: standings.collect(),
            silent: self
                .participants
                .len()
                .saturating_sub(self.agent_status.len()),
            new_facts,
            open_blockers: self.open_blockers().count(),
        }
    }
}

impl Claim {
    fn new(index: usize, text: &str, label: Label, round: u32, seat: &str) -> Self {
        Self {
            id: format!("C{}", index + 1),
            text: one_line(text),
            label,
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

    fn oppose_by(
        &mut self,
        round: u32,
        seat: &str,
        objection: &Objection,
        counter: Option<String>,
    ) {
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
                counter,
                round,
            },
        );
        self.last_updated_round = round;
    }

    /// The label as shown in prompts and on pages.
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

/// An id in normal form. Any other text in its place, such as a sentence, keeps its letters and is shortened.
pub fn shown_id(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    let id = normal_id(text);
    if id.chars().all(|c| c.is_ascii_alphanumeric()) {
        id
    } else {
        truncated(&one_line(text), MAX_CHARACTERS)
    }
}

/// The ids of claims, evidence, decisions and blockers that a text names.
pub fn ids_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| {
        let digits = word.strip_prefix(['C', 'E', 'D', 'B']);
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

fn is_evidence_id(title: &str) -> bool {
    let id = normal_id(title);
    let digits = id.strip_prefix('E').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
