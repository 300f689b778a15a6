//! Applies replies to the debate state: supports and objections, new evidence, claims and decisions, votes, redactions.

use std::collections::{BTreeMap, BTreeSet};

use super::claim::{Claim, ClaimStatus};
use super::ids::{is_evidence_id, normal_id};
use super::{
    AgentStatus, Blocker, Concern, DebateState, Decision, Evidence, Moves, Registered, Taken,
};
use crate::citations::{self, EvidenceKind, Reference, address_key, same_title};
use crate::labels::Label;
use crate::votes::Vote;
use crate::wording::{self, normal, one_line};

impl DebateState {
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
}

fn find<'a>(claims: &'a mut [Claim], id: &str) -> Option<&'a mut Claim> {
    claims.iter_mut().find(|claim| claim.id == id)
}

fn push_new(list: &mut Vec<String>, id: String) {
    if !list.contains(&id) {
        list.push(id);
    }
}
