//! The argument of a debate: its blockers, the claims that another seat took up, and the seats that changed their answer or
//! their vote.

use roundtable_core::convergence::same_option;
use roundtable_core::state::{Blocker, Claim, ClaimStatus, DebateState, Touched, shown_id};
use roundtable_core::votes::Vote;

use crate::protocols::modes::debate::{Debate, Round, SeatTurn};
use crate::report::{Argument, ArgumentPoint, Cell, Episode, SeatMove, Tone};

pub(super) fn argument(debate: &Debate) -> Argument {
    let claims = debate.state.claims.iter();
    let disputed = claims.filter_map(|claim| {
        let story = story(debate, claim);
        let is_taken_up = story.len() > 1 || claim.status == ClaimStatus::Contested;
        is_taken_up.then(|| {
            ArgumentPoint::new(&claim.id, &claim.text, outcome(claim))
                .labelled(claim.tag().trim_matches(['[', ']']))
                .told(story)
        })
    });
    Argument {
        points: debate
            .state
            .blockers
            .iter()
            .map(blocker)
            .chain(disputed)
            .collect(),
        moves: moves(debate),
    }
    .sorted()
}

fn blocker(blocker: &Blocker) -> ArgumentPoint {
    let outcome = match blocker.resolved_round {
        Some(round) => Cell::new(format!("settled in round {round}")).toned(Tone::Good),
        None => Cell::new("open").toned(Tone::Critical),
    };
    let raised = Episode::new(blocker.raised_round, &blocker.seat, "blocked the answer");
    let settled = blocker
        .resolved_round
        .map(|round| Episode::new(round, &blocker.seat, "withdrew it"));
    ArgumentPoint::new(&blocker.id, &blocker.text, outcome)
        .labelled("blocker")
        .told(std::iter::once(raised).chain(settled))
}

fn outcome(claim: &Claim) -> Cell {
    let (supporters, opponents) = (claim.supporters.len(), claim.opponents.len());
    match claim.status {
        ClaimStatus::Accepted => Cell::new(format!("accepted by {supporters}")).toned(Tone::Good),
        ClaimStatus::Contested => {
            Cell::new(format!("contested, {supporters} for, {opponents} against"))
                .toned(Tone::Caution)
        }
        ClaimStatus::Retracted => Cell::new("withdrawn").toned(Tone::Quiet),
        ClaimStatus::Open if opponents > 0 => {
            Cell::new(format!("rejected by {opponents}")).toned(Tone::Quiet)
        }
        ClaimStatus::Open => Cell::new("open"),
    }
}

fn story(debate: &Debate, claim: &Claim) -> Vec<Episode> {
    let turns = debate
        .rounds
        .iter()
        .flat_map(|round| round.turns.iter().map(move |turn| (round, turn)));
    turns
        .filter_map(|(round, turn)| {
            let touched = round.changes.touched.get(&turn.seat)?;
            episode(claim, round, turn, touched)
        })
        .collect()
}

fn episode(claim: &Claim, round: &Round, turn: &SeatTurn, touched: &Touched) -> Option<Episode> {
    let episode = |action: &str| Some(Episode::new(round.number, &turn.seat, action));
    let has = |ids: &[String]| ids.contains(&claim.id);
    if has(&touched.introduced) {
        return episode("raised it");
    }
    if has(&touched.retracted) {
        return episode("withdrew it");
    }
    if has(&touched.challenged) {
        let mut opponents = claim.opponents.iter();
        let latest = opponents.find(|opponent| {
            opponent.seat == turn.seat && opponent.round == round.number && !turn.is_hidden
        });
        return match latest {
            Some(opponent) => {
                let action = format!("opposed it, {}", opponent.ground.name());
                Some(Episode::new(round.number, &turn.seat, action).because(&opponent.because))
            }
            None => episode("opposed it"),
        };
    }
    has(&touched.reinforced).then(|| Episode::new(round.number, &turn.seat, "supported it"))
}

/// The changes between a seat's consecutive turns, with what it named as the reason.
fn moves(debate: &Debate) -> Vec<SeatMove> {
    let seats = debate.panel.names().into_iter();
    seats
        .flat_map(|seat| {
            let rounds = debate.rounds.iter();
            let turns: Vec<(u32, &SeatTurn)> = rounds
                .filter_map(|round| {
                    let mut turns = round.turns.iter();
                    let own = turns.find(|turn| turn.seat == seat && !turn.is_hidden)?;
                    Some((round.number, own))
                })
                .collect();
            let steps = turns.windows(2).filter_map(|pair| match pair {
                [(_, before), (round, after)] => moved(&debate.state, *round, before, after),
                _ => None,
            });
            steps.collect::<Vec<_>>()
        })
        .collect()
}

const fn in_words(vote: Vote) -> &'static str {
    match vote {
        Vote::Accept => "accepts",
        Vote::Minor => "wants small changes",
        Vote::Blocker => "blocks",
    }
}

fn moved(state: &DebateState, round: u32, before: &SeatTurn, after: &SeatTurn) -> Option<SeatMove> {
    let (old, new) = (&before.reply, &after.reply);
    let answers = old
        .debate_alignment
        .as_deref()
        .zip(new.debate_alignment.as_deref());
    let text = match answers {
        Some((from, to)) if !same_option(from, to) => format!("{from} → {to}"),
        _ if old.vote != new.vote => {
            format!("{} → {}", in_words(old.vote), in_words(new.vote))
        }
        _ => return None,
    };
    let ids = new.moved_by.iter().map(|id| shown_id(id));
    let named: Vec<String> = ids
        .filter(|id| state.has(id))
        .map(|id| match state.claim(&id) {
            Some(claim) => format!("{id}: {}", claim.text),
            None => id,
        })
        .collect();
    let reason = if named.is_empty() {
        "without a new reason".to_owned()
    } else {
        format!("moved by {}", named.join("; "))
    };
    Some(SeatMove::new(round, &after.seat, text).because(Some(&reason)))
}
