//! Ranks several contents. Each is judged on its own and never compared inside a prompt; the uncertainty comes from the
//! spread of the judges.

use std::process::ExitCode;

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{Pair, Ranking, Verdict, rank};
use roundtable_engine::event::State;
use roundtable_engine::protocols::councils;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::super::output::{self, BOLD, QUIET, painted};
use super::super::run::{create, play, print_estimates};
use super::super::stored_debate::StoredDebate;
use super::{Args, content, spec};
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};

/// The output of `judge --rank --json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "A ranking of judged contents")]
struct RankingRecord<'a> {
    ranking: &'a Ranking,
    /// Contents without a score.
    unscored: &'a [&'a str],
    /// The record of each content's debate, in the order of the command line.
    #[schemars(with = "Vec<councils::Record>")]
    debates: &'a [Value],
}

/// The published schema of the output.
pub(crate) fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<RankingRecord<'static>>()
        .to_value()
}

pub(super) async fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    if args.content.len() < 2 {
        return Err(Failure::usage("--rank needs at least two contents"));
    }
    // All files are read before the first call, so that a misspelt one costs nothing.
    let parts = content::read(&args.content)?;
    if args.debate.estimate {
        let specs = parts.into_iter().map(|part| spec(args, vec![part]));
        let specs = specs.collect::<Result<_, _>>()?;
        return print_estimates(app, specs, &args.debate).await;
    }
    let store = app.store().await?;
    let mut judged: Vec<(String, StoredDebate)> = Vec::new();
    for (name, part) in args.content.iter().zip(parts) {
        let debate = create(app, &store, spec(args, vec![part])?, &args.debate).await?;
        let (_, stored) = play(app, debate, &args.debate.output).await?;
        if stored.transcript.state == State::Interrupted {
            output::note("Interrupted; everything so far is saved. `roundtable list` shows it.");
            return Ok(Code::Interrupted.into());
        }
        judged.push((name.clone(), stored));
    }
    store.close().await;
    let records: Vec<Value> = judged.iter().map(|(_, stored)| stored.record()).collect();
    let scored = judged
        .iter()
        .zip(&records)
        .filter_map(|((name, _), record)| {
            let overall = &record["result"]["overall"];
            let score = OutOfHundred::new(overall["score"].as_f64()?).ok()?;
            Some((name.clone(), score, overall["uncertainty"].as_f64()))
        });
    let ranking = rank(scored.collect());
    let unscored: Vec<&str> = judged
        .iter()
        .filter(|(name, _)| ranking.places.iter().all(|place| place.name != *name))
        .map(|(name, _)| name.as_str())
        .collect();
    if args.debate.output.json {
        output::json(&RankingRecord {
            ranking: &ranking,
            unscored: &unscored,
            debates: &records,
        })?;
    } else {
        show(&ranking, &unscored, &judged);
    }
    let all_complete = judged
        .iter()
        .all(|(_, stored)| stored.transcript.state == State::Complete);
    Ok(if all_complete {
        ExitCode::SUCCESS
    } else {
        Code::Partial.into()
    })
}

fn show(ranking: &Ranking, unscored: &[&str], judged: &[(String, StoredDebate)]) {
    output::line(&painted(BOLD, "Ranking"));
    for place in &ranking.places {
        let range = if place.best == place.worst {
            format!("{}.", place.best)
        } else {
            format!("{}.–{}.", place.best, place.worst)
        };
        let error = match place.uncertainty {
            None => "uncertainty unknown".into(),
            Some(uncertainty) if uncertainty < 0.05 => "no spread".into(),
            Some(uncertainty) => format!("± {uncertainty:.1}"),
        };
        let stored = judged.iter().find(|(name, _)| *name == place.name);
        let id = stored.map_or("", |(_, stored)| stored.transcript.id.as_str());
        output::line(&format!(
            "{range:>7}  {:>5.1} {error}  {}  {}",
            place.score.value(),
            output::harmless(&place.name),
            painted(QUIET, &format!("roundtable show {id}"))
        ));
    }
    for name in unscored {
        output::line(&format!("     –   no score  {}", output::harmless(name)));
    }
    let doubtful: Vec<&Pair> = ranking
        .pairs
        .iter()
        .filter(|pair| pair.verdict != Verdict::Believable)
        .collect();
    if doubtful.is_empty() {
        output::line("\nEvery difference is larger than the spread of the judges.");
        return;
    }
    output::line("\nWithin the spread of the judges:");
    for pair in doubtful {
        let (higher, lower) = (
            output::harmless(&pair.higher),
            output::harmless(&pair.lower),
        );
        let reason = match (pair.verdict, pair.needed) {
            (Verdict::NotWorthBelieving, Some(needed)) if needed < 0.05 => {
                "the scores are the same".into()
            }
            (Verdict::NotWorthBelieving, Some(needed)) => format!(
                "{:.1} points apart, but the spread alone explains up to {needed:.1}",
                pair.difference
            ),
            _ => "spread unknown, because no dimension has two judges".into(),
        };
        output::line(&format!("  {higher} before {lower}: {reason}"));
    }
}
