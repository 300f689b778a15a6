//! A turn as others read it: everything its seat said, in lines (M-16).

use roundtable_core::state::Registered;
use roundtable_core::wording::one_line;

use super::{Debate, Round, SeatTurn};
use crate::protocols::modes::enhanced::{Backing, CritiqueReply};
use crate::tokens;

/// A position or a blocker.
const MAX_HEAD_TOKENS: u64 = 60;
const MAX_CLAIM_TOKENS: u64 = 30;
/// A risk, an alternative, a concern.
const MAX_POINT_TOKENS: u64 = 50;
const MAX_POINT_TOKENS_FOR_EVALUATOR: u64 = 300;

/// The reader of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A seat in the next round, or the chair. The state in its prompt has the texts behind new ids.
    Later,
    /// A seat that speaks later in the same round: what the turn put forward is in no state yet.
    SameRound,
    Evaluator,
}

impl Debate {
    /// Vote, position and ids of a turn, in a few lines.
    pub(super) fn head(&self, round: &Round, turn: &SeatTurn, reader: Reader) -> String {
        let reply = &turn.heard;
        let shorten = |text: &str| tokens::shorten(text, MAX_HEAD_TOKENS);
        let mut lines = vec![
            format!(
                "{}, confidence {:.2}",
                reply.vote.name(),
                reply.confidence.value()
            ),
            format!("Position: {}", shorten(&reply.position)),
        ];
        let blocker = reply
            .blocker
            .as_deref()
            .filter(|text| !reply.vote.agrees() && !text.trim().is_empty());
        lines.extend(blocker.map(|text| format!("BLOCKER: {}", shorten(text))));
        let mut list = |verb: &str, ids: &[String]| {
            if !ids.is_empty() {
                lines.push(format!("{verb}: {}", ids.join(", ")));
            }
        };
        if let Some(touched) = round.changes.touched.get(&turn.seat) {
            list("New", &touched.introduced);
            list("Supports", &touched.reinforced);
            list("Challenges", &touched.challenged);
            list("Retracts", &touched.retracted);
        }
        list("Moved by", &reply.moved_by);
        let registered = round.changes.registered.get(&turn.seat);
        if let Some(registered) = registered.filter(|_| reader == Reader::Later) {
            let cited: Vec<String> = registered.references.values().cloned().collect();
            list("Cites", &cited);
            list("Decisions", &registered.decisions);
        } else if let Some(registered) = registered {
            lines.extend(self.put_forward(registered, reader));
        }
        lines.join("\n")
    }

    /// The claims, decisions and sources of a turn, for readers who have not seen them in the state.
    fn put_forward(&self, registered: &Registered, reader: Reader) -> Vec<String> {
        let limit = match reader {
            Reader::Later | Reader::SameRound => MAX_CLAIM_TOKENS,
            Reader::Evaluator => MAX_POINT_TOKENS_FOR_EVALUATOR,
        };
        let shorten = |text: &str| tokens::shorten(text, limit);
        let notes = self.claim_notes();
        let claims = registered.claims.values();
        let claims = claims.filter_map(|id| self.state.claim(id)).map(|claim| {
            let mut line = format!("{} {} {}", claim.id, claim.tag(), shorten(&claim.text));
            if !claim.support.is_empty() {
                line = format!("{line} ({})", claim.support.join(", "));
            }
            match notes.get(&claim.id) {
                Some(note) => format!("{line} [{note}]"),
                None => line,
            }
        });
        let decisions = self.state.decisions.iter();
        let decisions = decisions.filter(|decision| registered.decisions.contains(&decision.id));
        let decisions = decisions
            .map(|decision| format!("{} proposed: {}", decision.id, shorten(&decision.text)));
        let is_cited = |id: &String| registered.references.values().any(|cited| cited == id);
        let evidence = self.state.evidence.iter();
        let evidence = evidence.filter(|evidence| is_cited(&evidence.id));
        let evidence = evidence.map(|evidence| {
            let mut line = format!("{} {}", evidence.id, shorten(&evidence.title));
            if let Some(url) = evidence
                .url
                .as_deref()
                .filter(|_| reader == Reader::Evaluator)
            {
                line = format!("{line} {url}");
            }
            if evidence.gist.is_empty() {
                line
            } else {
                format!("{line}: {}", shorten(&evidence.gist))
            }
        });
        claims.chain(decisions).chain(evidence).collect()
    }

    /// The other parts of the reply: concern, risks, alternatives, critiques and the like, one to a line.
    pub(super) fn points(&self, round: &Round, turn: &SeatTurn, reader: Reader) -> Vec<String> {
        let reply = &turn.heard;
        let mut points: Vec<String> = Vec::new();
        if reader != Reader::Later {
            // Later, the state has the reasons of objections.
            points.extend(self.objections_of(round, turn));
        }
        if reader == Reader::Evaluator {
            let backing = reply.backing.iter().map(Backing::line);
            points.extend(backing.map(|line| format!("Evidence of {}", one_line(&line))));
        }
        points.extend(reply.critiques.iter().map(critique));
        let statement = |name: &str, text: &Option<String>| {
            let text = text.as_deref().map(one_line);
            let text = text.filter(|text| !text.is_empty());
            text.map(|text| format!("{name}: {text}"))
        };
        points.extend(statement("Security objection", &reply.security_objection));
        points.extend(statement("Concern", &reply.concern));
        points.extend(reply.risks.iter().map(|risk| {
            let failure = one_line(&risk.failure);
            match one_line(&risk.mitigation) {
                mitigation if mitigation.is_empty() => format!("Risk: {failure}"),
                mitigation => format!("Risk: {failure} → {mitigation}"),
            }
        }));
        points.extend(reply.alternatives.iter().map(|alternative| {
            let option = one_line(&alternative.option);
            match one_line(&alternative.rejected_because) {
                reason if reason.is_empty() => format!("Alternative: {option}"),
                reason => format!("Alternative: {option}; against it: {reason}"),
            }
        }));
        points.extend(statement("Uncertain", &reply.uncertainty));
        points.extend(statement(
            "Strongest form of the other view",
            &reply.steelman,
        ));
        let limit = match reader {
            Reader::Later | Reader::SameRound => MAX_POINT_TOKENS,
            Reader::Evaluator => MAX_POINT_TOKENS_FOR_EVALUATOR,
        };
        let points = points.into_iter();
        points.map(|point| tokens::shorten(&point, limit)).collect()
    }

    /// The objections that the turn made, with their reasons.
    fn objections_of(&self, round: &Round, turn: &SeatTurn) -> Vec<String> {
        let touched = round.changes.touched.get(&turn.seat);
        let challenged = touched.into_iter().flat_map(|touched| &touched.challenged);
        let claims = challenged.filter_map(|id| self.state.claim(id));
        let objections = claims.filter_map(|claim| {
            let mut opponents = claim.opponents.iter();
            let own = opponents.find(|opponent| opponent.seat == turn.seat)?;
            let (id, ground) = (&claim.id, own.ground.name());
            let objection = format!("Objects to {id} ({ground}): {}", own.because);
            Some(match &own.counter {
                Some(counter) => format!("{objection}, see {counter}"),
                None => objection,
            })
        });
        objections.collect()
    }
}

fn critique(critique: &CritiqueReply) -> String {
    format!("Critique of {}", one_line(&critique.line()))
}
