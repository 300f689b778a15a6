//! A call that an answer needs besides a debate. It is bounded like the calls of one: it starts only if its prompt fits into what
//! the budget has left, no unknown price is accepted under a cost limit, and only a few run at once.

use std::time::Duration;

use axum::http::StatusCode;
use roundtable_core::usage::{Money, Price, Usage};
use roundtable_engine::budget::Budget;
use roundtable_engine::model::{Model, Request};
use roundtable_engine::tokens;

use super::super::App;
use super::super::access::Caller;
use super::super::problem::Problem;
use super::super::quota::record_outside;
use crate::model_probe::{SingleCall, single_call};
use crate::store::Totals;

/// What a budget has left after this use.
pub(super) fn left_of(budget: Budget, used: &Totals) -> Budget {
    let tokens = used.input_tokens.saturating_add(used.output_tokens);
    let cost = used.cost_usd.unwrap_or_default();
    Budget {
        max_tokens: budget.max_tokens.map(|limit| limit.saturating_sub(tokens)),
        max_cost: budget.max_cost.map(|limit| limit.saturating_sub(cost)),
        max_ms: budget.max_ms,
    }
}

/// Makes the call if `left` has room for its prompt. Its cost counts for the day of the caller's token.
pub(super) async fn make(
    app: &App,
    caller: &Caller,
    left: &Budget,
    (model, price): (&dyn Model, Option<Price>),
    request: Request,
) -> Result<SingleCall, Problem> {
    if let Some(why) = refusal(left, price, &request) {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "budget-used-up",
            why,
        ));
    }
    let _turn = app.quotas.take_turn_outside()?;
    let is_limited = left.max_cost.is_some() || caller.policy().priced_only;
    let call = single_call(model, price, is_limited, request);
    let limit = left.max_ms.map_or(Duration::MAX, Duration::from_millis);
    let call = tokio::time::timeout(limit, call).await.map_err(|_| {
        let why = format!("no answer within {} s, the time limit", limit.as_secs());
        Problem::new(StatusCode::BAD_GATEWAY, "no-answer", why)
    })?;
    record_outside(&app.store, caller, call.cost).await;
    Ok(call)
}

/// Why there is no room for the request.
fn refusal(left: &Budget, price: Option<Price>, request: &Request) -> Option<String> {
    let input: u64 = request.texts().map(tokens::estimate).sum();
    if let Some(limit) = left.max_tokens.filter(|limit| input >= *limit) {
        return Some(format!(
            "the limit of tokens has no room for the call: it needs about {input}, and {limit} are left"
        ));
    }
    let limit = left.max_cost?;
    let Some(price) = price else {
        let name = &request.model;
        return Some(format!(
            "the price of {name} is unknown, so it is not called under a cost limit: add the price to prices.toml"
        ));
    };
    let cost: Money = price.of(Usage {
        input,
        ..Usage::default()
    });
    (cost >= limit).then(|| {
        format!(
            "the limit of cost has no room for the call: its prompt costs about ${:.4}, and ${:.4} are left",
            cost.dollars(),
            limit.dollars()
        )
    })
}

#[cfg(test)]
#[path = "side_call_tests.rs"]
mod tests;
