//! The debate state (M-11): claims C1…, evidence E1…, decisions D1…, blockers and the status of each seat. A pure fold over
//! replies.
//!
//! Ids are assigned here, in the order of the seats or, in anonymous debates, in an order that says nothing about them, and never
//! change or vanish. A reference to an id that does not exist is ignored and reported to the caller. Equal claims (in normal form)
//! and equal sources are merged. A seat's latest statement on a claim counts; a claim is contested as long as one seat supports
//! it and another opposes it. Citations of a seat's own list become ids of evidence: `[1]` is kept as `[E3]`.

mod apply;
mod claim;
mod ids;
mod moves;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::Confidence;
use crate::citations::EvidenceKind;
use crate::labels::Label;
use crate::stance::Stance;
use crate::votes::{Figures, Presence, Standing, Vote};
use crate::wording::{self, normal};

pub use claim::{Claim, ClaimStatus, Opponent};
pub use ids::{ids_in, normal_id, shown_id};
pub use moves::{Fault, Ground, Moves, NewClaim, Objection};

use ids::is_evidence_id;

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

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
