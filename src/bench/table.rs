//! The arms of a bench as CSV: one row per arm, with its comparison; and a comparison of two benches.

use roundtable_core::bench::Comparison;

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
        let figures = [
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
        ];
        let compared = against.map(compared).unwrap_or_default();
        let _ = writer.write_record(figures.into_iter().chain(compared));
    }
    text_of(writer)
}

/// The last columns of a row.
fn compared(one: &Comparison) -> [String; 7] {
    let decision = serde_json::to_value(one.decision).ok();
    let decision = decision.and_then(|value| value.as_str().map(str::to_owned));
    [
        cell(Some(one.difference)),
        cell(one.interval.map(|one| one.low)),
        cell(one.interval.map(|one| one.high)),
        cell(Some(one.p)),
        cell(Some(one.adjusted_p)),
        cell(one.smallest_difference),
        decision.unwrap_or_default(),
    ]
}

/// The comparison of two benches: one row per arm.
pub(crate) fn comparison_csv(comparisons: &[Comparison]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let _ = writer.write_record([
        "arm",
        "questions",
        "difference",
        "low",
        "high",
        "p",
        "p_holm",
        "smallest_difference",
        "decision",
    ]);
    for one in comparisons {
        let name = [one.arm.clone(), one.questions.to_string()];
        let _ = writer.write_record(name.into_iter().chain(compared(one)));
    }
    text_of(writer)
}

fn text_of(writer: csv::Writer<Vec<u8>>) -> String {
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
