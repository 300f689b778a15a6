//! The blind round of a debate, taken from its journal: an arm that costs nothing, and the beginning of its noise control.
//!
//! The noise control of a debate is the same debate from its blind round on, but the answers that its seats read are those to
//! another question. What the debate gains over it comes from what the seats said to each other, and not from a second look.

use std::collections::BTreeSet;
use std::sync::Arc;

use roundtable_engine::event::{Entry, Event, FinishedStep, Millis, Setup};
use roundtable_engine::journal::{Keyed, current};
use roundtable_engine::protocol::BlindAnswers;
use roundtable_engine::protocols;

/// The form of a debate's blind answers. `None` if it has none.
pub(crate) fn form(setup: &Setup) -> Option<BlindAnswers> {
    protocols::of_stored(&setup.protocol)?.blind(setup)
}

fn form_of(entries: &[Entry]) -> Option<BlindAnswers> {
    form(entries.iter().find_map(|entry| entry.event.setup())?)
}

fn is_blind(form: BlindAnswers, step: &FinishedStep) -> bool {
    step.call.round == form.round && step.call.step.rsplit('/').next() == Some(form.verb)
}

/// An answer of a seat, with its typed answer.
pub(crate) type Typed<'a> = (&'a FinishedStep, Option<&'a str>);

/// The blind answers of a debate, in the order of the cast: the first seat wins ties.
pub(crate) fn answers(entries: &[Entry]) -> Vec<Typed<'_>> {
    let Some(form) = form_of(entries) else {
        return Vec::new();
    };
    typed(entries, form, |step| is_blind(form, step))
}

/// The answers that seats give again after their blind ones: of each round that of every seat, with the number of rounds since.
pub(crate) fn later_answers(entries: &[Entry]) -> Vec<(usize, Typed<'_>)> {
    let Some((form, verb)) = form_of(entries).and_then(|form| Some((form, form.again?))) else {
        return Vec::new();
    };
    let found = typed(entries, form, |step| {
        step.call.round > form.round && step.call.step.rsplit('/').next() == Some(verb)
    });
    let found = found.into_iter().filter_map(|own| {
        let rounds = own.0.call.round - form.round;
        Some((usize::try_from(rounds).ok()?, own))
    });
    found.collect()
}

/// The answers of these steps, in the order of the cast.
fn typed(
    entries: &[Entry],
    form: BlindAnswers,
    is_wanted: impl Fn(&FinishedStep) -> bool,
) -> Vec<Typed<'_>> {
    let steps = entries.iter().filter_map(|entry| entry.event.finished());
    let mut found: Vec<Typed<'_>> = steps
        .filter(|step| is_wanted(step))
        .map(|step| (&**step, step.reply[form.field].as_str()))
        .collect();
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let place = |name: &str| {
        let mut seats = setup.map(|setup| setup.seats.iter()).into_iter().flatten();
        seats.position(|seated| seated.seat.name == name)
    };
    found.sort_by_key(|(step, _)| place(&step.call.seat));
    found
}

/// Whether seats have read the blind answers: a debate whose seats agree at once may end before.
pub(crate) fn was_read(entries: &[Entry]) -> bool {
    let Some(form) = form_of(entries).filter(|form| form.are_read) else {
        return false;
    };
    let mut steps = entries.iter().filter_map(|entry| entry.event.finished());
    steps.any(|step| !is_blind(form, step) && step.call.round >= form.round)
}

/// The names of the steps that another debate must have, to lend its answers.
fn steps(entries: &[Entry]) -> BTreeSet<&str> {
    let answers = answers(entries).into_iter();
    answers.map(|(step, _)| step.call.step.as_str()).collect()
}

/// A debate that may lend its blind answers to others, or borrow.
pub(crate) struct Lender<'a> {
    /// The place of its question.
    pub place: usize,
    /// Questions of one cluster are not foreign to each other.
    pub cluster: &'a str,
    pub entries: &'a [Entry],
}

/// For every debate whose answers were read, the debate that lends its answers: the same in every run with these debates.
pub(crate) fn lenders(debates: &[Lender<'_>], seed: u64) -> Vec<(usize, usize)> {
    let read: Vec<&Lender<'_>> = debates.iter().filter(|one| was_read(one.entries)).collect();
    let count = read.len();
    let offset = usize::try_from(seed).unwrap_or(0);
    let of = |place: usize| {
        let own = read[place];
        let wanted = steps(own.entries);
        let others = (0..count).map(|step| (place + 1 + (offset + step) % count.max(1)) % count);
        let mut others = others.map(|other| read[other]);
        others.find(|other| other.cluster != own.cluster && steps(other.entries) == wanted)
    };
    (0..count)
        .filter_map(|place| Some((read[place].place, of(place)?.place)))
        .collect()
}

/// The beginning of a noise control: the debate up to its blind answers, in which the answers are those of another debate.
pub(crate) fn beginning(own: &[Entry], lent: &[Entry], at: Millis) -> Vec<Keyed> {
    let Some(form) = form_of(own) else {
        return Vec::new();
    };
    let foreign = answers(lent);
    let kept = current(own).into_owned().into_iter().filter_map(|entry| {
        let event = match entry.event {
            Event::Opened(_) => entry.event,
            Event::RoundStarted { round, .. } if round <= form.round => entry.event,
            Event::StepFinished(step) if is_blind(form, &step) => {
                let mut others = foreign.iter();
                let (other, _) = others.find(|(other, _)| other.call.step == step.call.step)?;
                Event::StepFinished(Arc::new(FinishedStep {
                    call: step.call.clone(),
                    // Its usage is counted in the debate itself.
                    reused: true,
                    ..FinishedStep::clone(other)
                }))
            }
            _ => return None,
        };
        Some(event)
    });
    (1..)
        .zip(kept)
        .filter_map(|(seq, event)| {
            Some(Keyed {
                key: event.key(0)?,
                entry: Entry { seq, at, event },
            })
        })
        .collect()
}
