//! The critical path of a forecast.

use std::time::Duration;

use futures::StreamExt;

use super::*;
use crate::event::Millis;
use crate::model::{Deltas, Model};
use crate::scripted::{longest_chain, rules_at};
use crate::table::Clock;

/// A model with a delay on tokio's clock.
struct Slow(Arc<Scripted>, Duration);

impl Model for Slow {
    fn stream(&self, request: Request) -> Deltas {
        let (inner, pause) = (Arc::clone(&self.0), self.1);
        let later = async move {
            tokio::time::sleep(pause).await;
            inner.stream(request)
        };
        Box::pin(futures::stream::once(later).flatten())
    }
}

struct TokioClock(tokio::time::Instant);

impl Clock for TokioClock {
    fn now(&self) -> Millis {
        1_000_000 + u64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

async fn timed(request: &Value, model: Arc<Scripted>, call: Duration) -> (Duration, u64) {
    let setup = setup_of(request);
    let journal: Arc<MemoryJournal> = Arc::default();
    let mut deps = forecast_deps(&model, &setup, Arc::clone(&journal) as Arc<dyn Journal>);
    let seat_model = SeatModel {
        model: Arc::new(Slow(model, call)),
        price: None,
    };
    deps.seat_models = seat_models(&setup, &seat_model);
    let begin = tokio::time::Instant::now();
    deps.clock = Arc::new(TokioClock(begin));
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    play(&table, &Forecast).await.unwrap();
    let result = DebateResult::of("id", "then".into(), &entries(&journal)).unwrap();
    (begin.elapsed(), result.metadata.wall_clock_time_ms)
}

/// F-19: with calls of equal duration the critical path is three arguments, the judge, the last scores and the synthesis.
#[tokio::test(start_paused = true)]
async fn f19_the_critical_path_is_six_calls_long() {
    let call = Duration::from_millis(50);
    let (took, reported) = timed(&request(), good_model(), call).await;
    // The simulated clock has a resolution of one millisecond for each wait.
    assert!(
        took >= call * 6 && took <= (call * 6).mul_f64(1.05),
        "{took:?}"
    );
    assert_eq!(u128::from(reported), took.as_millis());
    // Three-second calls keep the contract's p50 of 45 s.
    let (took, _) = timed(&request(), good_model(), Duration::from_secs(3)).await;
    assert!(took < Duration::from_secs(19), "{took:?}");
}

/// F-19, F-03: each further round adds one call; without a judge one call is saved.
#[tokio::test(start_paused = true)]
async fn f19_rounds_and_a_missing_judge_change_the_critical_path() {
    let call = Duration::from_millis(50);
    let mut five = request();
    five["config"] = json!({ "rounds": 5 });
    let (took, _) = timed(&five, good_model(), call).await;
    assert!(took >= call * 8 && took < call * 9, "{took:?}");
    let mut judgeless = request();
    judgeless["config"] = json!({ "roles": ["optimist", "pessimist", "historian"] });
    let (took, _) = timed(&judgeless, good_model(), call).await;
    assert!(took >= call * 5 && took < call * 6, "{took:?}");
}

/// B-13: a quick forecast is one round, the judge and the summary; nothing is scored.
#[tokio::test(start_paused = true)]
async fn b13_a_quick_forecast_is_three_calls_deep() {
    let (model, journal) = (good_model(), Arc::<MemoryJournal>::default());
    let input = json!({ "request": request() });
    let setup = Setup {
        rules: rules_at(&Forecast, Depth::Quick, input, ""),
        ..setup_of(&request())
    };
    let deps = forecast_deps(&model, &setup, Arc::clone(&journal) as Arc<dyn Journal>);
    assert_eq!(longest_chain(&Forecast, setup, deps).await, 3);
    assert_eq!(model.heard().len(), 6);
    assert!(!model.asked().contains(&"scoring".to_owned()));
    let result = DebateResult::of("id", "then".into(), &entries(&journal)).unwrap();
    assert_eq!(result.roundtable.state, State::Complete);
    assert_eq!(result.probability_distribution.len(), 3);
}
