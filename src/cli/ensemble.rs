//! `roundtable ensemble`: combines the distributions of several forecasting engines (F-22).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_core::format::percent;
use roundtable_engine::protocols::forecast::{
    DebateResult, Ensemble, EnsembleRequest, Fault, ensemble,
};
use roundtable_engine::report::{Block, Cell, Fact, Report, Section, Table};

use super::display::summary;
use super::{input, output};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::store::Store;

/// Combine the probabilities of several forecasting engines
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable ensemble engines.json\n  roundtable ensemble - --json < engines.json\n\nThe file: {\"engines\": [\n  {\"name\": \"simulation\", \"weight\": 0.5, \"confidence\": 0.8,\n   \"probability_distribution\": [\n     {\"outcome_id\": \"yes\", \"probability\": 0.7},\n     {\"outcome_id\": \"no\", \"probability\": 0.3}]},\n  {\"name\": \"debate\", \"debate_id\": \"last\"}]}\nA finished forecast brings its probabilities, its confidence and the weight 0.15. Shares are weight times confidence, at most 0.60; the result is calibrated once 30 forecasts have been resolved."
)]
pub(crate) struct Args {
    /// JSON file with the engines; `-` is standard input
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let text = if args.file == Path::new("-") {
        input::read_stdin()?
    } else {
        input::read_file(&args.file)?
    };
    let mut request: EnsembleRequest = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!(
            "invalid engines in {}: {error}",
            args.file.display()
        ))
    })?;
    let store = app.store().await?;
    take_debates(&store, &mut request).await?;
    let scored = app.forecasts.scored(&store, None, clock::now()).await?;
    store.close().await;
    let combined = ensemble(&request, &scored).map_err(|faults| refused(&faults))?;
    if args.json {
        output::json(&combined)?;
    } else {
        summary::print_report(&report(&combined));
    }
    Ok(ExitCode::SUCCESS)
}

async fn take_debates(store: &Store, request: &mut EnsembleRequest) -> Result<(), Failure> {
    for engine in &mut request.engines {
        let Some(id) = &engine.debate_id else {
            continue;
        };
        let row = store.find(id).await?;
        let entries = store.entries(row.id).await?;
        let stamp = clock::stamp(row.created_at);
        let result = DebateResult::of(&row.id.to_string(), stamp, &entries);
        let result = result
            .filter(|result| row.ended_at.is_some() && !result.probability_distribution.is_empty());
        let result = result.ok_or_else(|| {
            Failure::usage(format!(
                "debate {} is no forecast with probabilities, so it cannot be combined",
                row.id
            ))
        })?;
        engine.take_from(&result);
    }
    Ok(())
}

fn refused(faults: &[Fault]) -> Failure {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Failure::usage(lines.join("\n"))
}

fn report(combined: &Ensemble) -> Report {
    let calibrated = combined.calibrated.as_ref();
    let outcomes = combined.probability_distribution.iter().enumerate();
    let rows = outcomes.map(|(index, outcome)| {
        let calibrated = calibrated.and_then(|own| own.probability_distribution.get(index));
        let calibrated = calibrated.map(|own| percent(own.probability.value()));
        vec![
            Cell::new(outcome.outcome_id.clone()),
            Cell::new(percent(outcome.probability.value())),
            Cell::new(calibrated.unwrap_or_else(|| "–".into())),
        ]
    });
    let columns = ["outcome", "#probability", "#calibrated"];
    let probabilities = Table::of("Probability of each outcome", &columns, rows);
    let rows = combined.engines.iter().map(|engine| {
        vec![
            Cell::new(engine.name.clone()),
            Cell::new(percent(engine.share)),
            Cell::new(format!("{:.2}", engine.weight.value())),
            Cell::new(format!("{:.2}", engine.confidence.value())),
        ]
    });
    let columns = ["engine", "#share", "#weight", "#confidence"];
    let engines = Table::of("Share: weight × confidence, at most 60%", &columns, rows);
    let calibration = match calibrated {
        Some(own) => format!(
            "factor {:.3}, learned from {} resolved forecasts",
            own.factor, combined.resolved
        ),
        None => format!(
            "none: {} of {} forecasts have been resolved",
            combined.resolved, combined.resolved_needed
        ),
    };
    Report {
        facts: vec![Fact::new("Calibration", calibration)],
        sections: vec![
            Section::main("Ensemble", vec![Block::Table(probabilities)]),
            Section::main("Engines", vec![Block::Table(engines)]),
        ],
        ..Report::default()
    }
}
