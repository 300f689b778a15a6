//! The state of one council: each judge's turns, the lead's turns, and the checks of their replies.

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{Judgement, spread};
use roundtable_core::forensics::claims_of_proof;
use sha2::{Digest, Sha256};

use super::replies::{Evaluation, Narrative, Response, Revision, Scored, SubScore};
use crate::cast::councils::{Council, CouncilsSpec, Judge, Part};
use crate::event::{Entry, FinishedStep};
use crate::protocols::replay;
use crate::reply::Reply;
use crate::table::Turn;

pub(super) struct CouncilState<'r> {
    pub(super) spec: &'r Council,
    pub(super) judges: Vec<JudgeState<'r>>,
    pub(super) narrative: Option<Turn<Narrative>>,
    pub(super) response: Option<Turn<Response>>,
}

pub(super) struct JudgeState<'r> {
    pub(super) spec: &'r Judge,
    pub(super) first: Option<Turn<Evaluation>>,
    pub(super) second: SecondRound,
}

pub(super) enum SecondRound {
    NotAsked,
    /// The judge failed: its first round counts.
    Absent,
    Given(Box<Turn<Revision>>),
}

/// A turn of a judge or of the lead.
pub(super) enum CouncilTurn {
    Evaluation(Turn<Evaluation>),
    /// `None` if the judge failed.
    Revision(Option<Turn<Revision>>),
    Narrative(Turn<Narrative>),
    Response(Turn<Response>),
}

impl CouncilTurn {
    /// `None` for the steps of critic and orchestrator.
    fn of_step(step: &FinishedStep) -> Option<Self> {
        match replay::verb(step) {
            "evaluate" => replay::turn(step).map(Self::Evaluation),
            "revise" => replay::turn(step).map(|turn| Self::Revision(Some(turn))),
            "narrate" => replay::turn(step).map(Self::Narrative),
            "respond" => replay::turn(step).map(Self::Response),
            _ => None,
        }
    }
}

/// A judge's opinion in its last round.
#[derive(Clone, Copy)]
pub(super) struct LastOpinion<'a> {
    pub(super) assessment: &'a str,
    pub(super) key_observations: &'a [String],
    pub(super) sub_scores: &'a [SubScore],
    pub(super) text: &'a str,
}

/// The councils up to the last entry of the journal.
pub(super) fn replay<'r>(panel: &'r CouncilsSpec, entries: &[Entry]) -> Vec<CouncilState<'r>> {
    let mut councils: Vec<_> = panel.councils.iter().map(CouncilState::new).collect();
    for step in entries.iter().filter_map(|entry| entry.event.finished()) {
        let seat = &step.call.seat;
        let council = councils.iter_mut().find(|council| council.has(seat));
        if let Some(council) = council
            && let Some(turn) = CouncilTurn::of_step(step)
        {
            council.apply(seat, turn);
        }
    }
    councils
}

impl<'r> CouncilState<'r> {
    pub(super) fn new(spec: &'r Council) -> Self {
        let judge = |spec| JudgeState {
            spec,
            first: None,
            second: SecondRound::NotAsked,
        };
        Self {
            spec,
            judges: spec.judges.iter().map(judge).collect(),
            narrative: None,
            response: None,
        }
    }

    /// Adds a turn of one of this council's seats, from the live debate or from the journal.
    pub(super) fn apply(&mut self, seat: &str, turn: CouncilTurn) {
        let mut judges = self.judges.iter_mut();
        let judge = judges.find(|judge| judge.spec.seat == seat);
        match (turn, judge) {
            (CouncilTurn::Narrative(turn), _) => self.narrative = Some(turn),
            (CouncilTurn::Response(turn), _) => self.response = Some(turn),
            (CouncilTurn::Evaluation(turn), Some(judge)) => judge.first = Some(turn),
            (CouncilTurn::Revision(turn), Some(judge)) => {
                judge.second = turn.map_or(SecondRound::Absent, |turn| {
                    SecondRound::Given(Box::new(turn))
                });
            }
            (CouncilTurn::Evaluation(_) | CouncilTurn::Revision(_), None) => {}
        }
    }

    fn has(&self, seat: &str) -> bool {
        let mut judges = self.spec.judges.iter();
        self.spec.lead == seat || judges.any(|judge| judge.seat == seat)
    }

    /// The judges that answered in the first round.
    pub(super) fn present(&self) -> impl Iterator<Item = &JudgeState<'r>> {
        self.judges.iter().filter(|judge| judge.first.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.present().next().is_none()
    }

    /// The peers whose evaluations this judge reads, in an order drawn by the seed: no judge is always read first, and the
    /// effect of the order can be measured (T-12).
    pub(super) fn peers_of(&self, reader: &JudgeState<'_>, seed: u64) -> Vec<&JudgeState<'r>> {
        let mut peers: Vec<_> = self
            .present()
            .filter(|judge| judge.spec.seat != reader.spec.seat)
            .collect();
        peers.sort_by_key(|judge| {
            let key = format!("{seed}/{}/{}", reader.spec.seat, judge.spec.seat);
            Sha256::digest(key).to_vec()
        });
        peers
    }

    /// The changes between the rounds, for the bias figures: of scored judges that answered in both.
    pub(super) fn judgements(&self, seed: u64) -> Vec<Judgement> {
        let scored = self.judges.iter().filter(|judge| judge.spec.is_scored());
        scored
            .filter_map(|judge| match (&judge.first, &judge.second) {
                (Some(first), SecondRound::Given(second)) => Some((judge, first, second)),
                _ => None,
            })
            .flat_map(|(judge, first, second)| {
                let peers = self.peers_of(judge, seed);
                let names: Vec<&str> = peers.iter().map(|peer| peer.spec.seat.as_str()).collect();
                judge.spec.dimensions.iter().filter_map(move |dimension| {
                    let read = peers.iter().filter_map(|peer| peer.first_score(dimension));
                    Some(Judgement {
                        dimension: dimension.clone(),
                        judge: judge.spec.seat.clone(),
                        before: score_in(&first.reply.scores, dimension)?.score,
                        after: score_in(&second.reply.scores, dimension)?.score,
                        is_explained: is_explained(&second.reply, dimension, &names),
                        read: read.map(|scored| scored.score).collect(),
                    })
                })
            })
            .collect()
    }
}

impl JudgeState<'_> {
    pub(super) fn first_score(&self, dimension: &str) -> Option<&Scored> {
        score_in(&self.first.as_ref()?.reply.scores, dimension)
    }

    pub(super) fn second_score(&self, dimension: &str) -> Option<&Scored> {
        match &self.second {
            SecondRound::Given(turn) => score_in(&turn.reply.scores, dimension),
            SecondRound::NotAsked | SecondRound::Absent => None,
        }
    }

    /// The score of the last round; of the first if there is no second.
    pub(super) fn last_score(&self, dimension: &str) -> Option<&Scored> {
        self.second_score(dimension)
            .or_else(|| self.first_score(dimension))
    }

    pub(super) fn last_opinion(&self) -> Option<LastOpinion<'_>> {
        let first = self.first.as_ref()?;
        Some(match &self.second {
            SecondRound::Given(turn) => LastOpinion {
                assessment: &turn.reply.assessment,
                key_observations: &turn.reply.key_observations,
                sub_scores: if turn.reply.sub_scores.is_empty() {
                    &first.reply.sub_scores
                } else {
                    &turn.reply.sub_scores
                },
                text: &turn.text,
            },
            SecondRound::NotAsked | SecondRound::Absent => LastOpinion {
                assessment: &first.reply.assessment,
                key_observations: &first.reply.key_observations,
                sub_scores: &first.reply.sub_scores,
                text: &first.text,
            },
        })
    }
}

pub(super) fn score_in<'a>(scores: &'a [Scored], dimension: &str) -> Option<&'a Scored> {
    scores.iter().find(|scored| scored.dimension == dimension)
}

/// Whether the revision gives a reason and a peer for the change of this score (T-04).
pub(super) fn is_explained(revision: &Revision, dimension: &str, peers: &[&str]) -> bool {
    revision.changes.iter().any(|change| {
        change.dimension == dimension
            && !change.reason.trim().is_empty()
            && peers.contains(&change.peer.as_str())
    })
}

/// Checks an evaluation beyond its schema (T-02, T-03).
pub(super) fn faults_of_evaluation(judge: &Judge, reply: &Evaluation) -> Vec<String> {
    let mut faults = faults_of_scores(judge, &reply.scores);
    faults.extend(faults_of_claims(judge, &reply.text()));
    faults
}

fn faults_of_scores(judge: &Judge, scores: &[Scored]) -> Vec<String> {
    let mut faults = Vec::new();
    for dimension in &judge.dimensions {
        match scores
            .iter()
            .filter(|scored| scored.dimension == *dimension)
            .count()
        {
            0 => faults.push(format!("There is no score for '{dimension}'.")),
            1 => {}
            _ => faults.push(format!("There is more than one score for '{dimension}'.")),
        }
    }
    for scored in scores {
        let name = &scored.dimension;
        if !judge.dimensions.contains(name) {
            let known = judge.dimensions.join(", ");
            faults.push(format!(
                "'{name}' is no dimension of this judge; they are: {known}."
            ));
        } else if scored.confidence.0.is_none() {
            faults.push(format!(
                "The score for '{name}' has no confidence from 0 to 1."
            ));
        }
    }
    faults
}

fn faults_of_claims(judge: &Judge, text: &str) -> Option<String> {
    if judge.part != Part::Authenticity {
        return None;
    }
    let claims = claims_of_proof(text);
    (!claims.is_empty()).then(|| {
        format!(
            "Nothing here can be proven, but it says '{}'. Say what speaks for it and what against.",
            claims.join("', '")
        )
    })
}

/// Checks a revision: every change needs a reason and a peer, every large difference a dispute (T-04).
pub(super) fn faults_of_revision(
    panel: &CouncilsSpec,
    judge: &JudgeState<'_>,
    peers: &[&JudgeState<'_>],
    reply: &Revision,
) -> Vec<String> {
    let names: Vec<&str> = peers.iter().map(|peer| peer.spec.seat.as_str()).collect();
    let mut faults = faults_of_scores(judge.spec, &reply.scores);
    faults.extend(faults_of_claims(judge.spec, &reply.text()));
    let mut has_changed = false;
    for scored in &reply.scores {
        let name = &scored.dimension;
        let title = title_of(panel, name);
        let Some(before) = judge.first_score(name).map(|scored| scored.score) else {
            continue;
        };
        let is_same = is_same(before, scored.score);
        has_changed |= !is_same;
        if !is_same && !is_explained(reply, name, &names) {
            let verb = if scored.score.value() < before.value() {
                "lowered"
            } else {
                "raised"
            };
            faults.push(format!(
                "\"{title}\" was {verb} from {before} to {} without a reason and a peer. Say why '{name}' changed and which peer moved you.",
                scored.score
            ));
        }
        if is_same && reply.changes.iter().any(|change| change.dimension == *name) {
            faults.push(format!(
                "\"{title}\" is listed as changed, but its score is the same."
            ));
        }
        for peer in peers {
            if let Some(theirs) = peer.first_score(name)
                && is_far(scored.score, theirs.score)
                && !disputes(reply, &peer.spec.seat)
            {
                faults.push(format!(
                    "\"{title}\" stays more than 20 points away from {} without a dispute. Say what you dispute and why.",
                    peer.spec.seat
                ));
            }
        }
    }
    if !has_changed && reply.stands_because.trim().is_empty() {
        faults.push(
            "Nothing is changed, and there is no reason why the first judgement stands.".into(),
        );
    }
    faults
}

fn is_same(one: OutOfHundred, other: OutOfHundred) -> bool {
    (one.value() - other.value()).abs() < 1e-9
}

fn is_far(one: OutOfHundred, other: OutOfHundred) -> bool {
    let pair = [("one", one), ("other", other)];
    spread(pair).is_some_and(|spread| spread.agreement.is_disagreement())
}

fn disputes(reply: &Revision, peer: &str) -> bool {
    let mut named = reply.disputes.iter().filter(|dispute| dispute.peer == peer);
    named.any(|dispute| !dispute.reason.trim().is_empty())
}

/// The narrative must merge an observation of every judge (T-07).
pub(super) fn faults_of_narrative(council: &CouncilState<'_>, reply: &Narrative) -> Vec<String> {
    council
        .present()
        .filter(|judge| {
            reply
                .merged
                .iter()
                .all(|merged| merged.judge != judge.spec.seat)
        })
        .map(|judge| {
            format!(
                "Nothing of what {} observed is in 'merged'.",
                judge.spec.seat
            )
        })
        .collect()
}

pub(super) fn title_of<'a>(panel: &'a CouncilsSpec, dimension: &'a str) -> &'a str {
    panel
        .dimension(dimension)
        .map_or(dimension, |dimension| &dimension.title)
}
