use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::depth::Depth;
use crate::event::{Event, Seated};
use crate::journal::Journal;
use crate::protocols::{Councils, Dialectic, Forecast, Modes, Panel, play, record, report};
use crate::scripted::{Scripted, deps, entries, good_script, plan_at, setup};

/// The setup of a request, without models.
fn planned(protocol: &dyn AnyProtocol, depth: Depth, input: Value) -> Setup {
    let plan = plan_at(protocol, depth, input, "Is it worth it?");
    let seats = plan.cast.seats.iter().cloned();
    Setup {
        protocol: protocol.name().into(),
        question: plan.question.clone(),
        seats: seats
            .map(|seat| Seated::new(seat, "test:scripted", Ability::Full))
            .collect(),
        rules: plan.rules(&SeatModels::new(), &mut Vec::new()).unwrap(),
        depth,
        ..setup("")
    }
}

/// The calls of the shortest and of the likely course, and the stages of the likely one.
fn calls(protocol: &dyn AnyProtocol, depth: Depth, input: Value) -> (usize, usize, usize) {
    let outline = protocol.outline(&planned(protocol, depth, input)).unwrap();
    let sum = |stages: &[Vec<_>]| stages.iter().map(Vec::len).sum();
    (
        sum(&outline.least),
        sum(&outline.likely),
        outline.likely.len(),
    )
}

type Case = (
    &'static dyn AnyProtocol,
    Depth,
    Value,
    (usize, usize, usize),
);

/// B-13: the outlines have the calls that whole debates of the protocols' own tests make.
#[test]
fn b13_outlines_have_the_calls_of_whole_debates() {
    use Depth::{Normal, Quick};
    let forecast = || json!({ "outcomes": ["Yes", "No"] });
    let mode = |name: &str| json!({ "mode": name });
    let cases: [Case; 12] = [
        (&Dialectic, Normal, json!({}), (4, 8, 8)),
        (&Dialectic, Quick, json!({}), (3, 3, 3)),
        (&Panel, Normal, json!({}), (4, 9, 3)),
        (&Panel, Normal, json!({ "full": true }), (9, 9, 3)),
        (&Panel, Quick, json!({}), (4, 5, 2)),
        (&Forecast, Normal, forecast(), (31, 31, 6)),
        (&Forecast, Quick, forecast(), (6, 6, 3)),
        (&Councils, Normal, json!({}), (20, 20, 6)),
        (&Councils, Quick, json!({}), (10, 10, 3)),
        (&Modes, Normal, mode("collaborative"), (5, 9, 3)),
        // Ballots and the safety evaluator.
        (&Modes, Normal, mode("adversarial"), (10, 14, 10)),
        (&Modes, Quick, mode("adversarial"), (6, 6, 3)),
    ];
    for (protocol, depth, input, expected) in cases {
        let name = format!("{} {} {input}", protocol.name(), depth.name());
        assert_eq!(calls(protocol, depth, input), expected, "{name}");
    }
}

fn recorded(setup: &Setup) -> TableDeps {
    let nobody = Scripted::new(|_, _| panic!("an estimate asks nobody"));
    let mut deps = deps(&nobody, Arc::new(MemoryJournal::default()));
    let model = deps.seat_models["judge"].clone();
    let seats = setup.seats.iter();
    deps.seat_models = seats
        .map(|seated| (seated.seat.name.clone(), model.clone()))
        .collect();
    deps
}

/// B-13: the first prompts of every protocol are rendered and counted; no model is asked.
#[tokio::test]
async fn b13_the_first_prompts_are_those_that_would_be_sent() {
    let cases: [(&dyn AnyProtocol, Value, &[&str]); 4] = [
        (&Dialectic, json!({}), &["proposer"]),
        (&Panel, json!({}), &["first", "fourth", "second", "third"]),
        (
            &Forecast,
            json!({ "outcomes": ["Yes", "No"] }),
            &["contrarian", "historian", "judge", "optimist", "pessimist"],
        ),
        (
            &Modes,
            json!({ "seats": 3 }),
            &["analyst", "builder", "sentinel"],
        ),
    ];
    for (protocol, input, seats) in cases {
        let setup = planned(protocol, Depth::Normal, input);
        let prompts = first_prompts(protocol, &setup, recorded(&setup)).await;
        let prompts: BTreeMap<String, u64> = prompts.unwrap().into_iter().collect();
        let named: Vec<&str> = prompts.keys().map(String::as_str).collect();
        assert_eq!(named, seats, "{}", protocol.name());
        for (seat, tokens) in prompts {
            assert!((100..6000).contains(&tokens), "{seat}: {tokens}");
        }
    }
}

/// B-13: the size is that of the prompt which the debate then sends.
#[tokio::test]
async fn b13_the_counted_prompt_is_the_sent_one() {
    let setup = setup("Is it worth it?");
    let prompts = first_prompts(&Dialectic, &setup, recorded(&setup)).await;
    let model = Scripted::new(good_script);
    let mut deps = deps(&model, Arc::new(MemoryJournal::default()));
    deps.embedder = None;
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    play(&table, &Dialectic).await.unwrap();
    let sent: u64 = model.heard()[0].texts().map(tokens::estimate).sum();
    assert_eq!(prompts.unwrap()["proposer"], sent);
}

async fn estimated(question: &str) -> (Setup, Estimate) {
    let setup = setup(question);
    let deps = recorded(&setup);
    let models = deps.seat_models.clone();
    let prompts = first_prompts(&Dialectic, &setup, deps).await.unwrap();
    let outline = Dialectic.outline(&setup).unwrap();
    let estimate = estimate(
        &outline,
        &setup,
        &models,
        &prompts,
        &Speeds::new(),
        &Ratios::default(),
    );
    (setup, estimate)
}

/// B-13: a longer question costs more, and the least is below the range.
#[tokio::test]
async fn b13_the_estimate_grows_with_the_question() {
    let (_, short) = estimated("Why?").await;
    let (_, long) = estimated(&"Why is that so? ".repeat(100)).await;
    assert_eq!(Some(short.uncalibrated.calls), Some(8.0));
    // 8 prompts contain the question, 1,596 bytes longer, at four bytes per token and rounded up.
    assert!(long.uncalibrated.tokens >= short.uncalibrated.tokens + 8.0 * 398.0);
    for estimate in [short, long] {
        assert!(estimate.least.cost.unwrap() < estimate.ranges.cost.unwrap().low);
        assert_eq!((estimate.least.calls, estimate.debates), (4.0, 0));
    }
}

/// B-13: report and record compare the estimate with what was used; a debate without an estimate says nothing.
#[tokio::test]
async fn b13_the_result_compares_estimate_and_truth() {
    let (setup, estimate) = estimated("Why?").await;
    for estimate in [Some(estimate), None] {
        let journal: Arc<MemoryJournal> = Arc::default();
        let deps = deps(
            &Scripted::new(good_script),
            Arc::clone(&journal) as Arc<dyn Journal>,
        );
        let setup = Setup {
            estimate,
            ..setup.clone()
        };
        let table = Table::open(setup, Budget::default(), deps).await.unwrap();
        assert_eq!(comparison(&entries(&journal)), None);
        play(&table, &Dialectic).await.unwrap();
        let entries = entries(&journal);
        let report = json!(report(&entries)).to_string();
        let record = record("id", "then".into(), &entries).unwrap();
        let notes = entries
            .iter()
            .filter(|entry| matches!(&entry.event, Event::Noted { key, .. } if key == KEY));
        assert_eq!(notes.count(), usize::from(estimate.is_some()));
        assert_eq!(record.get("estimate").is_some(), estimate.is_some());
        assert_eq!(report.contains("Estimated "), estimate.is_some());
        if estimate.is_some() {
            assert_eq!(record["estimate"]["used"]["calls"], 8.0);
            // The scripted model reports 120 tokens for each of 8 calls, far fewer than estimated.
            assert_eq!(record["estimate"]["inside"]["tokens"], false);
            assert_eq!(record["estimate"]["inside"]["calls"], true);
            assert!(report.contains("Estimated 8 calls, "), "{report}");
            assert!(
                report.contains("outside the range: tokens, cost"),
                "{report}"
            );
        }
    }
}

/// Says the time that its models have taken.
struct ModelTime(std::sync::atomic::AtomicU64);

impl crate::table::Clock for ModelTime {
    fn now(&self) -> crate::event::Millis {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// B-13: over 50 debates with scripted latencies, at least 80% of those after the tenth take as long as was estimated.
#[tokio::test]
async fn b13_times_are_calibrated_by_earlier_debates() {
    const LATENCIES: [u64; 5] = [2_000, 4_000, 6_000, 9_000, 16_000];
    let mut past: Vec<(Amounts, Amounts)> = Vec::new();
    let (mut inside, mut last) = (0, None);
    for number in 1..=50_u64 {
        let drawn = number.wrapping_mul(6_364_136_223_846_793_005) >> 33;
        let latency = LATENCIES[usize::try_from(drawn).unwrap() % LATENCIES.len()];
        let clock = Arc::new(ModelTime(1_000_000.into()));
        let time = Arc::clone(&clock);
        let model = Scripted::new(move |request, before| {
            time.0
                .fetch_add(latency, std::sync::atomic::Ordering::Relaxed);
            good_script(request, before)
        });
        let setup = setup("Is it worth it?");
        let deps_of_estimate = recorded(&setup);
        let models = deps_of_estimate.seat_models.clone();
        let prompts = first_prompts(&Dialectic, &setup, deps_of_estimate).await;
        let outline = Dialectic.outline(&setup).unwrap();
        let (prompts, ratios) = (prompts.unwrap(), Ratios::of(&past));
        let estimate = estimate(&outline, &setup, &models, &prompts, &Speeds::new(), &ratios);
        let journal = Arc::new(MemoryJournal::default());
        let deps = TableDeps {
            clock,
            ..deps(&model, Arc::clone(&journal) as Arc<dyn Journal>)
        };
        let setup = Setup {
            estimate: Some(estimate),
            ..setup
        };
        let table = Table::open(setup, Budget::default(), deps).await.unwrap();
        play(&table, &Dialectic).await.unwrap();
        let comparison = comparison(&entries(&journal)).unwrap();
        // Eight calls, one after the other.
        let taken = std::time::Duration::from_millis(8 * latency).as_secs_f64();
        assert!((comparison.used.seconds - taken).abs() < 1e-9);
        inside += usize::from(number > 10 && comparison.inside.seconds);
        past.push((estimate.uncalibrated, comparison.used));
        last = Some(estimate.ranges.seconds);
    }
    assert!(inside >= 32, "{inside} of 40");
    // The ranges are not simply wide: the debates take 16 to 128 s.
    let range = last.unwrap();
    assert!(range.low >= 15.0 && range.high <= 130.0, "{range:?}");
}
