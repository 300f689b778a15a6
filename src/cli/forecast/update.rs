//! `roundtable forecast --update ID`: forecasts the question of an earlier forecast again, on new evidence.

use std::process::ExitCode;

use roundtable_core::forecast::Criteria;
use roundtable_core::format::percent;
use roundtable_engine::cast::seating::Wishes;
use roundtable_engine::cast::{Cast, CastChoice};
use roundtable_engine::data::{Origin, Text};
use roundtable_engine::event::{Entry, Setup};
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::{Input, Overview, Rules};
use serde_json::{Map, Value, json};

use super::super::args::DebateArgs;
use super::super::run::{Person, Terminal, create, run as play};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::setup::DebateSpec;

/// `given` are the inputs of the command line, which win over those of the earlier forecast.
pub(super) async fn run(
    app: &AppContext,
    id: &str,
    (given, cast): (Input, Option<CastChoice>),
    debate: &DebateArgs,
) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(id).await?;
    let entries = store.entries(row.id).await?;
    let not_one = || {
        Failure::usage(format!(
            "debate {} is not a forecast, so it cannot be updated",
            row.id
        ))
    };
    let rules = Rules::of(&entries).ok_or_else(not_one)?;
    let overview = Overview::of(&row.id.to_string(), &entries, clock::now()).ok_or_else(not_one)?;
    if let Some(resolution) = &overview.resolution {
        return Err(Failure::usage(format!(
            "the question has an outcome ({}), so there is nothing to forecast; withdraw it first: roundtable resolve {} --withdraw",
            resolution.outcome, row.id
        )));
    }
    let input = repeated(&rules, &overview, given, cast.is_some());
    let cast = match cast {
        Some(cast) => cast,
        None => cast_of(&entries, &rules)?,
    };
    let spec = DebateSpec {
        cast: Some(cast),
        ..DebateSpec::new(&Forecast, row.question.clone(), &input)
    };
    let new = create(app, &store, spec, debate).await?;
    if let Some((set, question)) = store.question_of(row.id).await? {
        let number = store.forecasts_of(&set, &question).await?;
        let number = number.last().map_or(1, |last| last.number + 1);
        store
            .reserve_forecast(&set, &question, number, new.lease.id())
            .await?;
    }
    let terminal = Terminal::new(app, Person::Watches);
    play(app, &store, new, &debate.output, terminal).await
}

/// The input of the earlier forecast, with what is given instead. Another cast has roles of its own.
fn repeated(rules: &Rules, overview: &Overview, given: Input, has_other_cast: bool) -> Input {
    let mut request = json!(rules.request);
    if let Some(config) = request["config"].as_object_mut() {
        if rules.criteria == Criteria::standard() {
            config.remove("scoring_criteria");
        } else {
            config.insert("scoring_weights".into(), weights(&rules.criteria));
        }
        if has_other_cast {
            config.remove("roles");
        }
    }
    let crowd = rules.crowd.as_ref().map(|crowd| crowd.values().to_vec());
    let price = rules.value.as_ref().and_then(|value| value.max_price);
    Input {
        context: Some(notes(rules, overview, given.context.as_deref())),
        scale: rules.scale.clone(),
        crowd: given.crowd.or(crowd),
        score: given.score.or(Some(rules.is_scored)),
        stop_by_value: given.stop_by_value.or(price),
        request: Some(request),
        outcomes: None,
        ..given
    }
}

fn weights(criteria: &Criteria) -> Value {
    let weights = criteria.all().iter();
    let weights: Map<String, Value> = weights
        .map(|criterion| (criterion.name.clone(), json!(criterion.weight)))
        .collect();
    weights.into()
}

/// The seats of the earlier forecast: its cast may have been another one, or have changed since.
fn cast_of(entries: &[Entry], rules: &Rules) -> Result<CastChoice, Failure> {
    let setup: Option<&Setup> = entries.iter().find_map(|entry| entry.event.setup());
    let seats = setup.into_iter().flat_map(|setup| &setup.seats);
    let cast = Cast {
        name: Forecast::NAME.to_owned(),
        title: None,
        protocol: Forecast::NAME.to_owned(),
        summary: "The seats of the earlier forecast.".to_owned(),
        seats: seats.map(|seated| seated.seat.clone()).collect(),
        panel: None,
        criteria: rules.rubric.clone(),
        seating: Wishes::default(),
    };
    let content = toml::to_string(&cast)
        .map_err(|error| Failure::other(format!("cannot repeat the cast: {error}")))?;
    Ok(CastChoice::File(Text {
        name: "the earlier forecast".to_owned(),
        origin: Origin::BuiltIn,
        content,
    }))
}

/// The earlier notes and forecast, then the new evidence.
fn notes(rules: &Rules, earlier: &Overview, evidence: Option<&str>) -> String {
    // The notes of an update before are followed by its own forecast.
    let before = rules.context.as_deref();
    let shares = earlier.outcomes.iter().zip(&earlier.debate);
    let shares: Vec<String> = shares
        .map(|(outcome, share)| format!("{} {}", outcome.label, percent(*share)))
        .collect();
    let day = earlier
        .made_at
        .as_deref()
        .and_then(|stamp| stamp.get(..10))
        .unwrap_or("an earlier day");
    let forecast = (!shares.is_empty()).then(|| {
        format!(
            "Earlier forecast of this question, made on {day}: {}.",
            shares.join(", ")
        )
    });
    let evidence = evidence.map(|text| format!("New evidence since then:\n{text}"));
    let parts = [before.map(str::to_owned), forecast, evidence];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}
