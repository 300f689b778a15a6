//! The arms of a bench as CSV: one row per arm, with its comparison.

use super::BenchReport;

/// `None` becomes an empty cell.
fn cell(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

pub(crate) fn csv(bench: &BenchReport) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "arm",
        "questions",
        "accuracy",
        "low",
        "high",
        "unparsed",
        "brier",
        "log_score",
        "tokens_per_question",
        "cost_per_question",
        "seconds_per_question",
        "tokens_per_right",
        "cost_per_right",
        "seconds_per_right",
        "baseline",
        "difference",
        "difference_low",
        "difference_high",
        "p",
        "p_holm",
        "smallest_difference",
        "decision",
    ];
    // Writing to memory does not fail.
    let _ = writer.write_record(header);
    for arm in &bench.arms {
        let against = bench.comparisons.iter().find(|one| one.arm == arm.arm);
        let decision = against.and_then(|one| serde_json::to_value(one.decision).ok());
        let decision = decision.and_then(|value| value.as_str().map(str::to_owned));
        let interval = against.and_then(|one| one.interval);
        let _ = writer.write_record([
            arm.arm.clone(),
            arm.questions.to_string(),
            arm.accuracy.to_string(),
            cell(arm.interval.map(|one| one.low)),
            cell(arm.interval.map(|one| one.high)),
            arm.unanswered.to_string(),
            cell(arm.brier),
            cell(arm.log_score),
            cell(arm.tokens_per_question),
            cell(arm.cost_per_question),
            cell(arm.seconds_per_question),
            cell(arm.per_right.tokens),
            cell(arm.per_right.cost),
            cell(arm.per_right.seconds),
            bench.baseline.clone(),
            cell(against.map(|one| one.difference)),
            cell(interval.map(|one| one.low)),
            cell(interval.map(|one| one.high)),
            cell(against.map(|one| one.p)),
            cell(against.map(|one| one.adjusted_p)),
            cell(against.and_then(|one| one.smallest_difference)),
            decision.unwrap_or_default(),
        ]);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
