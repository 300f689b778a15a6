//! Remarks about faults that several arguments may share: one line for each kind, so that they do not bury the others.

use super::checks::favours;
use super::debate::CountedArgument;

/// Probabilities that are further from 1 than rounding explains were scaled.
const SUM_TOLERANCE: f64 = 0.02;

pub(super) fn common(
    arguments: &[CountedArgument<'_>],
    outcomes: &[String],
    roles: &[String],
) -> Vec<String> {
    let with = |is_affected: &dyn Fn(&CountedArgument<'_>) -> bool| -> Vec<String> {
        let affected = arguments.iter().filter(|argument| is_affected(argument));
        affected.map(CountedArgument::id).collect()
    };
    let silent = with(&|argument| {
        let rebutted = argument.turn.reply.rebutted(argument.role, roles);
        argument.round > 1 && rebutted.is_empty()
    });
    let torn = with(&|argument| {
        let (own, supports) = (&argument.turn.distribution, &argument.turn.reply.supports);
        !favours(own, outcomes, supports)
    });
    let mut remarks = Vec::new();
    remarks.extend(scaled(arguments));
    remarks.extend(listed(
        &silent,
        "rebuts no other role",
        "rebut no other role",
    ));
    remarks.extend(listed(
        &torn,
        "supports an outcome that it does not consider the most probable",
        "support an outcome that they do not consider the most probable",
    ));
    remarks
}

fn scaled(arguments: &[CountedArgument<'_>]) -> Option<String> {
    let sums = arguments.iter().map(|argument| {
        let given = argument.turn.reply.probabilities.values();
        let sum: f64 = given.map(|probability| probability.value()).sum();
        (argument, sum)
    });
    let off: Vec<_> = sums
        .filter(|(_, sum)| (sum - 1.0).abs() > SUM_TOLERANCE)
        .collect();
    match off.as_slice() {
        [] => None,
        [(argument, sum)] => Some(format!(
            "{}: the probabilities summed to {sum:.2} and were scaled to 1",
            argument.id()
        )),
        several => {
            let lowest = several.iter().fold(f64::MAX, |low, (_, sum)| low.min(*sum));
            let highest = several
                .iter()
                .fold(0.0_f64, |high, (_, sum)| high.max(*sum));
            Some(format!(
                "the probabilities of {} arguments summed to between {lowest:.2} and {highest:.2} and were scaled to 1",
                several.len()
            ))
        }
    }
}

fn listed(ids: &[String], one: &str, several: &str) -> Option<String> {
    match ids {
        [] => None,
        [id] => Some(format!("{id} {one}")),
        ids => Some(format!(
            "{} arguments {several}: {}",
            ids.len(),
            ids.join(", ")
        )),
    }
}
