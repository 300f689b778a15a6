//! F-21: the facts that every role is told.

use super::prompts::{shown, size};
use super::*;
use crate::tokens;

/// The request of the other tests with boundary conditions and a base rate.
fn informed() -> Value {
    let mut request = request();
    let context = &mut request["prediction_context"];
    context["task"]["outcomes"] =
        json!([{ "id": "above", "boundary_conditions": ["Eurostat flash", "rounded to 0.1"] }]);
    context["base_rates"] = json!(["Above 3% in 38 of 324 months since 2000"]);
    request
}

/// As many facts as fit neither into 600 tokens nor into one screen.
fn large() -> Value {
    let mut request = informed();
    let context = &mut request["prediction_context"];
    let variables = (0..60).map(|number| {
        json!({ "name": format!("indicator {number}"), "importance": 0.5, "current_value": format!("{number}.25 index points") })
    });
    context["key_variables"] = variables.collect();
    let highlights = (0..20).map(|number| {
        format!("Economic highlight {number}: output moved by {number}.7% against the same month of the year before")
    });
    context["data_summary"]["economic_highlights"] = highlights.collect();
    request
}

async fn asked(request: &Value, settings: Option<Settings>) -> (Arc<Scripted>, Setup) {
    let model = rewriting_model();
    let context = ForecastContext {
        now: NOW,
        settings: settings.unwrap_or_default(),
        ..ForecastContext::default()
    };
    let planned = plan(request, &cast(), context).unwrap();
    let setup = Setup {
        rules: json!(planned.rules),
        ..setup_of(request)
    };
    played_with(&model, &Arc::default(), setup.clone(), Budget::default()).await;
    (model, setup)
}

/// Every prompt of every seat has dates, conditions, region, variables with figures, base rates, data and its gaps.
#[tokio::test]
async fn f21_every_prompt_has_dates_conditions_and_figures() {
    let (model, _) = asked(&informed(), None).await;
    let heard = model.heard();
    assert_eq!(heard.len(), 33);
    for request in heard {
        let text = all_text(&request);
        for told in [
            "How high will inflation in the euro area be in December 2027?",
            "Today is 2026-11-18; the deadline is 2027-12-31, in 408 days.",
            "- above: Above 3% (the flash estimate is over 3.0%); counts if: Eurostat flash; rounded to 0.1\n",
            "Scope: Euro area; economy",
            "Base rates: Above 3% in 38 of 324 months since 2000",
            "policy rate = 2.25 (high); gas price = 34 EUR/MWh (0.7)",
            "Economy: Headline inflation 2.1%; Wage growth 3.4%",
            "Sentiment: Households expect 2.8%",
            "rents in Italy",
        ] {
            assert!(
                text.contains(told),
                "{} lacks '{told}':\n{text}",
                name(&request)
            );
        }
    }
}

/// A deadline that has passed, and a request without one.
#[tokio::test]
async fn f21_the_dates_fit_the_request() {
    for (end, told) in [
        (
            json!("2020-01-31"),
            "Today is 2026-11-18; the deadline was 2020-01-31.",
        ),
        (
            json!("2026-11-18T12:00:00Z"),
            "the deadline is 2026-11-18, in 0 days.",
        ),
        (json!(null), "Today is 2026-11-18.\n"),
    ] {
        let mut request = request();
        request["prediction_context"]["task"]["timeframe"]["end"] = end;
        let (model, _) = asked(&request, None).await;
        let text = all_text(&model.heard()[0]);
        assert!(text.contains(told), "{text}");
    }
}

/// The user's notes reach the scorer and the synthesizer, because evidence comes from them.
#[tokio::test]
async fn f21_the_scorer_and_the_synthesizer_read_the_notes() {
    let model = good_model();
    let mut setup = setup_of(&request());
    setup.rules["context"] = json!("The union asks for 7.5%.");
    played_with(&model, &Arc::default(), setup, Budget::default()).await;
    let told = |request: &Request| all_text(request).contains("The union asks for 7.5%.");
    assert_eq!(
        model.heard().iter().filter(|request| told(request)).count(),
        31
    );
}

/// The judge's closing has the others' closings whole, with evidence and probabilities.
#[tokio::test]
async fn f21_the_judge_reads_whole_closings() {
    let long = "Wages rise by 3.4% and rents by 2.9%. ".repeat(12);
    let argument = long.trim().to_owned();
    let model = script(move |request, mut reply| {
        if name(request) == "argument" && who(request).1 == 3 {
            reply["argument"] = json!(format!("The {} closes. {argument}", who(request).0));
        }
        reply
    });
    played(&model, &Arc::default()).await;
    let judge = all_text(&asked_of(&model, "judge", 3)[0]);
    for (role, shares) in [
        ("optimist", "above 10%, within 70%, below 20%"),
        ("pessimist", "above 30%, within 60%, below 10%"),
        ("contrarian", "above 10%, within 20%, below 70%"),
        ("historian", "above 20%, within 60%, below 20%"),
    ] {
        let whole = format!(
            "The {role} closes. {}\nEvidence: ECB wage tracker, 2026\nForecast: {shares}\n",
            long.trim()
        );
        assert!(judge.contains(&whole), "{role}:\n{judge}");
    }
    let optimist = all_text(&asked_of(&model, "optimist", 3)[0]);
    assert!(!optimist.contains("closes."), "{optimist}");
}

/// A rewrite sees the weak argument, its score and the scorer's reason.
#[tokio::test]
async fn f21_a_rewrite_sees_the_weak_argument_and_why_it_was_weak() {
    let model = rewriting_model();
    played(&model, &Arc::default()).await;
    let rewrite = all_text(&asked_of(&model, "contrarian", 2)[1]);
    for told in [
        "was scored 0.10 of 1",
        "The contrarian argues in round 2.\nEvidence: ECB wage tracker, 2026",
        "Sound, little that is new.",
    ] {
        assert!(rewrite.contains(told), "{told}:\n{rewrite}");
    }
}

/// A request of ordinary size keeps the limit of 600; a larger one gets what its facts need, and the user is told.
#[tokio::test]
async fn f21_a_large_request_gets_a_larger_limit_and_keeps_its_facts() {
    let rules_of =
        |setup: &Setup| -> Rules { serde_json::from_value(setup.rules.clone()).unwrap() };
    let (_, ordinary) = asked(&request(), None).await;
    let rules = rules_of(&ordinary);
    assert_eq!(rules.max_prompt_tokens, 600);
    assert_eq!(prompt_inputs::size_note(&rules, &ordinary.question), None);

    let (model, setup) = asked(&large(), None).await;
    let rules = rules_of(&setup);
    let limit = rules.max_prompt_tokens;
    assert!((1500..3000).contains(&limit), "{limit}");
    let note = prompt_inputs::size_note(&rules, &setup.question).unwrap();
    let expected = format!(
        "Large request: argument prompts have up to {} tokens instead of 600, so that all facts fit",
        roundtable_core::format::grouped(limit)
    );
    assert_eq!(note, expected);
    for request in model.heard() {
        let text = all_text(&request);
        for number in 0..60 {
            assert!(text.contains(&format!(
                "indicator {number} = {number}.25 index points (0.5)"
            )));
        }
        for number in 0..20 {
            assert!(text.contains(&format!(
                "output moved by {number}.7% against the same month of the year before"
            )));
        }
        if name(&request) == "argument"
            && who(&request) != ("judge".into(), 3)
            && !text.contains("sounder")
        {
            assert!(
                size(&request) <= limit,
                "{} of {limit}: {text}",
                size(&request)
            );
        }
    }
    insta::assert_snapshot!(
        "prompt_large_opening",
        shown(&asked_of(&model, "optimist", 1)[0])
    );
    insta::assert_snapshot!(
        "prompt_large_closing",
        shown(&asked_of(&model, "historian", 3)[0])
    );
}

/// Above the configured maximum, the least relevant facts are left out, and prompts and user are told.
#[tokio::test]
async fn f21_the_configuration_bounds_the_facts() {
    let settings = Settings {
        max_prompt_tokens: 900,
        ..Settings::default()
    };
    let (model, setup) = asked(&large(), Some(settings)).await;
    let rules: Rules = serde_json::from_value(setup.rules.clone()).unwrap();
    assert_eq!(rules.max_prompt_tokens, 900);
    let note = prompt_inputs::size_note(&rules, &setup.question).unwrap();
    assert!(note.contains("of the facts do not fit; the most relevant ones stay. The limit is max_prompt_tokens in [forecast]"), "{note}");
    let text = all_text(&asked_of(&model, "optimist", 1)[0]);
    assert!(text.contains("less relevant facts are left out."), "{text}");
    assert!(text.contains("38 of 324 months"), "{text}");
    for highlight in text.split("Economic highlight").skip(1) {
        assert!(
            highlight.contains("against the same month of the year before"),
            "{highlight}"
        );
    }
    assert!(tokens::count(&text) <= 900, "{text}");
}

/// A model with a small context gets fewer facts, never less than the ordinary limit; an unknown context changes nothing.
#[test]
fn f21_the_limit_fits_the_smallest_context() {
    for (limit, context, expected) in [
        (2000, None, 2000),
        (2000, Some(4096), 2000),
        (2000, Some(3000), 1500),
        (2000, Some(1000), 600),
        (600, Some(1000), 600),
    ] {
        assert_eq!(prompt_inputs::within_context(limit, context), expected);
    }
}

/// A small model gets prompts of its own, with the same facts.
#[tokio::test]
async fn f21_small_models_are_told_the_same() {
    let model = good_model();
    let setup = setup_with(&informed(), &cast(), Ability::Small);
    played_with(&model, &Arc::default(), setup, Budget::default()).await;
    for request in model.heard() {
        let text = all_text(&request);
        for told in [
            "in 408 days",
            "counts if: Eurostat flash",
            "policy rate = 2.25",
            "38 of 324 months",
        ] {
            assert!(text.contains(told), "{told}:\n{text}");
        }
        assert!(!text.contains("Reply in JSON"), "{text}");
    }
    insta::assert_snapshot!(
        "prompt_small_closing",
        shown(&asked_of(&model, "judge", 3)[0])
    );
    let heard = model.heard();
    for wanted in ["scoring", "forecast_synthesis"] {
        let request = heard
            .iter()
            .find(|request| name(request) == wanted)
            .unwrap();
        insta::assert_snapshot!(format!("prompt_small_{wanted}"), shown(request));
    }
}
