use std::sync::Arc;

use super::super::tests::{good, request, script};
use super::super::{ForecastContext, plan};
use super::*;
use crate::cast::Cast;
use crate::data::Data;
use crate::scripted::deps;

fn planned(context: Option<String>) -> ForecastPlan {
    let cast = Cast::load(&Data::built_in(), "forecast").unwrap();
    let given = ForecastContext {
        context,
        ..ForecastContext::default()
    };
    plan(&request(), &cast, given).unwrap()
}

/// $1 per million tokens of input, $2 of output.
fn models(plan: &ForecastPlan) -> SeatModels {
    let model = script(|request, _| good(request));
    let seat_model =
        deps(&model, Arc::<crate::journal::MemoryJournal>::default()).seat_models["judge"].clone();
    let seats = plan.cast.seats.iter();
    seats
        .map(|seat| (seat.name.clone(), seat_model.clone()))
        .collect()
}

fn notes(tokens: usize) -> String {
    "fact".repeat(tokens)
}

/// C-19: a forecast of ordinary size is not announced; one with long notes is, with its calls, tokens and cost.
#[test]
fn c19_a_large_forecast_is_announced_with_its_cost() {
    let ordinary = planned(None);
    assert_eq!(preview(&ordinary, &models(&ordinary)), None);
    let large = planned(Some(notes(40_000)));
    assert_eq!(
        preview(&large, &models(&large)).unwrap(),
        "Large forecast: about 1,300,000 tokens in 31 calls, about $1.29. Facts and notes are part of every prompt. Set a limit with \
         --max-tokens-total or --max-cost."
    );
    let unknown = preview(&large, &SeatModels::new()).unwrap();
    assert!(unknown.contains("31 calls, price unknown."), "{unknown}");
}

/// The threshold, on both sides.
#[test]
fn c19_a_forecast_is_large_from_100_000_tokens() {
    let size = |context| -> u64 {
        let plan = planned(context);
        expected(&plan).iter().map(|(_, usage)| usage.total()).sum()
    };
    let free = (LARGE - size(None)) / 31;
    let is_announced = |tokens| {
        let plan = planned(Some(notes(tokens)));
        preview(&plan, &models(&plan)).is_some()
    };
    let free = usize::try_from(free).unwrap();
    assert!(!is_announced(free) && is_announced(free + 1));
}

#[test]
fn sizes_are_rounded_to_two_digits() {
    let rounds = [(7, 7), (94, 94), (104, 100), (105, 110), (641_234, 640_000)];
    for (number, shown) in rounds {
        assert_eq!(rounded(number), shown);
    }
}
