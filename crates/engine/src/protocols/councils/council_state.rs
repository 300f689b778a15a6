//! One council while it sits: who said what in which round, and which rules a reply must keep.

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{Judgement, spread};
use roundtable_core::forensics::claims_of_proof;
use sha2::{Digest, Sha256};

use super::replies::{Evaluation, Narrative, Response, Revision, Scored, SubScore};
use crate::cast::councils::{Council, CouncilsSpec, Judge, Part};
use crate::table::Turn;

pub(super) struct CouncilState<'r> {
    pub(super) council: &'r Council,
    pub(super) benches: Vec<Bench<'r>>,
    pub(super) narrative: Option<Turn<Narrative>>,
    pub(super) response: Option<Turn<Response>>,
}

/// One judge's place.
pub(super) struct Bench<'r> {
    pub(super) judge: &'r Judge,
    pub(super) first: Option<Turn<Evaluation>>,
    pub(super) second: Second,
}

pub(super) enum Second {
    NotAsked,
    /// Asked and absent: round 1 stands.
    Absent,
    Given(Box<Turn<Revision>>),
}

/// What a judge says in the end, whichever round it said it in.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) assessment: &'a str,
    pub(super) key_observations: &'a [String],
    pub(super) sub_scores: &'a [SubScore],
    pub(super) text: &'a str,
}

impl<'r> CouncilState<'r> {
    pub(super) fn new(council: &'r Council) -> Self {
        let bench = |judge| Bench {
            judge,
            first: None,
            second: Second::NotAsked,
        };
        Self {
            council,
            benches: council.judges.iter().map(bench).collect(),
            narrative: None,
            response: None,
        }
    }

    pub(super) fn present(&self) -> impl Iterator<Item = &Bench<'r>> {
        self.benches.iter().filter(|bench| bench.first.is_some())
    }

    /// The peers whose first words this judge reads, in an order drawn by the seed: so that being read first is nobody's
    /// privilege, and what it is worth can be measured (T-12).
    pub(super) fn read_by(&self, reader: &Bench<'_>, seed: u64) -> Vec<&Bench<'r>> {
        let mut peers: Vec<_> = self
            .present()
            .filter(|bench| bench.judge.seat != reader.judge.seat)
            .collect();
        peers.sort_by_key(|bench| {
            let key = format!("{seed}/{}/{}", reader.judge.seat, bench.judge.seat);
            Sha256::digest(key).to_vec()
        });
        peers
    }

    /// What happened between the rounds, for the figures on bias: judges who were scored and spoke in both.
    pub(super) fn judgements(&self, seed: u64) -> Vec<Judgement> {
        let scored = self.benches.iter().filter(|bench| bench.judge.is_scored());
        scored
            .filter_map(|bench| match (&bench.first, &bench.second) {
                (Some(first), Second::Given(second)) => Some((bench, first, second)),
                _ => None,
            })
            .flat_map(|(bench, first, second)| {
                let peers = self.read_by(bench, seed);
                let names: Vec<&str> = peers.iter().map(|it| it.judge.seat.as_str()).collect();
                bench.judge.dimensions.iter().filter_map(move |dimension| {
                    let read = peers.iter().filter_map(|peer| peer.first_score(dimension));
                    Some(Judgement {
                        dimension: dimension.clone(),
                        judge: bench.judge.seat.clone(),
                        before: score_in(&first.reply.scores, dimension)?.score,
                        after: score_in(&second.reply.scores, dimension)?.score,
                        is_explained: is_explained(&second.reply, dimension, &names),
                        read: read.map(|it| it.score).collect(),
                    })
                })
            })
            .collect()
    }
}

impl Bench<'_> {
    pub(super) fn first_score(&self, dimension: &str) -> Option<&Scored> {
        score_in(&self.first.as_ref()?.reply.scores, dimension)
    }

    pub(super) fn second_score(&self, dimension: &str) -> Option<&Scored> {
        match &self.second {
            Second::Given(turn) => score_in(&turn.reply.scores, dimension),
            Second::NotAsked | Second::Absent => None,
        }
    }

    /// The later word where there is one; else round 1 stands.
    pub(super) fn last_score(&self, dimension: &str) -> Option<&Scored> {
        self.second_score(dimension)
            .or_else(|| self.first_score(dimension))
    }

    pub(super) fn said(&self) -> Option<Said<'_>> {
        let first = self.first.as_ref()?;
        Some(match &self.second {
            Second::Given(turn) => Said {
                assessment: &turn.reply.assessment,
                key_observations: &turn.reply.key_observations,
                sub_scores: if turn.reply.sub_scores.is_empty() {
                    &first.reply.sub_scores
                } else {
                    &turn.reply.sub_scores
                },
                text: &turn.text,
            },
            Second::NotAsked | Second::Absent => Said {
                assessment: &first.reply.assessment,
                key_observations: &first.reply.key_observations,
                sub_scores: &first.reply.sub_scores,
                text: &first.text,
            },
        })
    }
}

pub(super) fn score_in<'a>(scores: &'a [Scored], dimension: &str) -> Option<&'a Scored> {
    scores.iter().find(|it| it.dimension == dimension)
}

/// Whether a change of this score says why, and which peer moved it (T-04).
pub(super) fn is_explained(revision: &Revision, dimension: &str, peers: &[&str]) -> bool {
    revision.changes.iter().any(|change| {
        change.dimension == dimension
            && !change.reason.trim().is_empty()
            && peers.contains(&change.peer.as_str())
    })
}

/// What is wrong with a first word beyond its schema (T-02, T-03).
pub(super) fn faults_of_evaluation(judge: &Judge, reply: &Evaluation) -> Vec<String> {
    let mut faults = faults_of_scores(judge, &reply.scores);
    faults.extend(faults_of_claims(judge, &Evaluation::text_of(reply)));
    faults
}

impl Evaluation {
    fn text_of(reply: &Self) -> String {
        crate::reply::Reply::text(reply)
    }
}

fn faults_of_scores(judge: &Judge, scores: &[Scored]) -> Vec<String> {
    let mut faults = Vec::new();
    for dimension in &judge.dimensions {
        match scores
            .iter()
            .filter(|it| it.dimension == *dimension)
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
                "'{name}' is no dimension of yours; they are: {known}."
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
            "Nothing here can be proven, but you write '{}'. Say what speaks for it and what against.",
            claims.join("', '")
        )
    })
}

/// What is wrong with a second word: what changed, why and by whom, and what is still in dispute must be said (T-04).
pub(super) fn faults_of_revision(
    bench: &Bench<'_>,
    peers: &[&Bench<'_>],
    reply: &Revision,
) -> Vec<String> {
    let judge = bench.judge;
    let names: Vec<&str> = peers.iter().map(|peer| peer.judge.seat.as_str()).collect();
    let mut faults = faults_of_scores(judge, &reply.scores);
    faults.extend(faults_of_claims(judge, &crate::reply::Reply::text(reply)));
    let mut has_changed = false;
    for scored in &reply.scores {
        let name = &scored.dimension;
        let Some(before) = bench.first_score(name).map(|it| it.score) else {
            continue;
        };
        let is_same = is_same(before, scored.score);
        has_changed |= !is_same;
        if !is_same && !is_explained(reply, name, &names) {
            faults.push(format!(
                "You changed '{name}' from {before} to {} without saying why and which peer moved you.",
                scored.score
            ));
        }
        if is_same && reply.changes.iter().any(|change| change.dimension == *name) {
            faults.push(format!(
                "You say that '{name}' changed, but its score is the same."
            ));
        }
        for peer in peers {
            if let Some(theirs) = peer.first_score(name)
                && is_far(scored.score, theirs.score)
                && !disputes(reply, &peer.judge.seat)
            {
                faults.push(format!(
                    "You stay more than 20 points away from {} on '{name}' without saying what you dispute and why.",
                    peer.judge.seat
                ));
            }
        }
    }
    if !has_changed && reply.stands_because.trim().is_empty() {
        faults.push("You changed nothing and do not say why your first judgement stands.".into());
    }
    faults
}

fn is_same(one: OutOfHundred, other: OutOfHundred) -> bool {
    (one.value() - other.value()).abs() < 1e-9
}

fn is_far(one: OutOfHundred, other: OutOfHundred) -> bool {
    let pair = [("one", one), ("other", other)];
    spread(pair).is_some_and(|it| it.agreement.is_disagreement())
}

fn disputes(reply: &Revision, peer: &str) -> bool {
    let mut named = reply.disputes.iter().filter(|it| it.peer == peer);
    named.any(|it| !it.reason.trim().is_empty())
}

/// Every judge that observed something is heard in the narrative (T-07).
pub(super) fn faults_of_narrative(sitting: &CouncilState<'_>, reply: &Narrative) -> Vec<String> {
    sitting
        .present()
        .filter(|bench| reply.merged.iter().all(|it| it.judge != bench.judge.seat))
        .map(|bench| {
            format!(
                "Nothing of what {} observed is in 'merged'.",
                bench.judge.seat
            )
        })
        .collect()
}

pub(super) fn title_of<'a>(panel: &'a CouncilsSpec, dimension: &'a str) -> &'a str {
    panel.dimension(dimension).map_or(dimension, |it| &it.title)
}
