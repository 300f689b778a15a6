//! `roundtable questions history`: the forecasts of one question over time.

use std::path::Path;
use std::process::ExitCode;

use roundtable_engine::protocols::forecast::{Overview, history_report};
use serde_json::json;

use super::super::display::summary;
use super::super::output;
use crate::failure::Failure;
use crate::questions::history::forecasts_like;
use crate::store::Store;
use crate::{clock, export};

pub(super) async fn show(
    store: &Store,
    id: &str,
    json: bool,
    html: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let row = store.find(id).await?;
    let forecasts = forecasts_like(store, &row, (None, clock::now())).await?;
    if forecasts.is_empty() {
        return Err(Failure::usage(format!(
            "debate {} is not a forecast with probabilities",
            row.id
        )));
    }
    let report = history_report(&row.question, &forecasts);
    if let Some(path) = html {
        output::write_to(Some(path), &export::report_html("History", &report))?;
    }
    if json {
        let forecasts = forecasts
            .iter()
            .map(|(id, own)| json!({ "debate_id": id, "forecast": own }));
        output::json(
            &json!({ "question": row.question, "forecasts": forecasts.collect::<Vec<_>>() }),
        )?;
    } else if html.is_none() {
        output::line(&line(&forecasts));
        summary::print_report(&report);
    }
    Ok(ExitCode::SUCCESS)
}

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `▂▅▆ Yes: 21% → 62% in 3 forecasts`
fn line(forecasts: &[(String, Overview)]) -> String {
    let Some((_, newest)) = forecasts.last() else {
        return String::new();
    };
    let shown = newest.shown();
    let shares = forecasts
        .iter()
        .filter_map(|(_, own)| own.debate.get(shown).copied());
    let shares: Vec<f64> = shares.collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a probability times 8"
    )]
    let step = |share: &f64| STEPS[((share * 8.0) as usize).min(STEPS.len() - 1)];
    let bars: String = shares.iter().map(step).collect();
    let percent = |share: Option<&f64>| {
        share.map_or_else(|| "–".to_owned(), |own| format!("{:.0}%", own * 100.0))
    };
    let label = newest
        .outcomes
        .get(shown)
        .map_or("", |outcome| outcome.label.as_str());
    format!(
        "{bars} {label}: {} → {} in {}",
        percent(shares.first()),
        percent(shares.last()),
        crate::format::counted(shares.len(), "forecast")
    )
}
