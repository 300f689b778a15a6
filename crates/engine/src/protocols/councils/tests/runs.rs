//! Whole debates: journal, timing, recovery, record and report.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::cast::Tier;
use crate::event::Event;
use crate::journal::Journal;
use crate::protocols::councils::record::schema;
use crate::protocols::councils::test_support::{deps_of, open_table};
use crate::protocols::{self, play};
use crate::report::BadgeKind;
use crate::scripted::{
    Dying, assert_all_rebuilt, assert_verdicts, entries, longest_chain, snapshot, timeless,
};

/// T-03, T-04, T-07 … T-10: the journal of a full debate: 7 evaluations, 7 revisions, 2 narratives, 2 responses, critic,
/// orchestrator.
#[tokio::test]
async fn t10_a_full_debate_leaves_this_journal() {
    let (models, journal) = (ScriptedModels::good(), Arc::default());
    let setup = setup(&cast("themis"), Mode::Full, Ability::Full);
    let record = run_with(&models, setup, Budget::default(), &journal).await;
    assert_eq!((record.state, models.asked().len()), (State::Complete, 20));
    assert_all_rebuilt(&Councils, &journal).await;
    insta::assert_json_snapshot!(journal_without_cast(&journal));
}

/// T-11: fast mode makes 7 evaluations, 2 narratives, one critique and one synthesis, with every seat on the fast tier.
#[tokio::test]
async fn t11_a_fast_debate_leaves_this_journal() {
    let (models, journal) = (ScriptedModels::good(), Arc::default());
    let setup = setup(&cast("themis"), Mode::Fast, Ability::Full);
    assert!(
        setup
            .seats
            .iter()
            .all(|seated| seated.seat.tier == Tier::Fast)
    );
    run_with(&models, setup, Budget::default(), &journal).await;
    let mut asked = models.asked();
    asked.sort();
    assert_eq!(
        asked,
        [
            "audience evaluation",
            "authenticity evaluation",
            "content-lead narrative",
            "critic council_critique",
            "emotion evaluation",
            "hook evaluation",
            "market-lead narrative",
            "orchestrator orchestration",
            "production evaluation",
            "subject evaluation",
            "trend evaluation",
        ]
    );
    insta::assert_json_snapshot!(journal_without_cast(&journal));
}

/// C-15: the same seed, setup and replies give the same journal.
#[tokio::test]
async fn c15_the_same_debate_twice_is_the_same_journal() {
    let journals: [Arc<MemoryJournal>; 2] = [Arc::default(), Arc::default()];
    for journal in &journals {
        let setup = setup(&cast("themis"), Mode::Full, Ability::Full);
        run_with(&ScriptedModels::good(), setup, Budget::default(), journal).await;
    }
    assert_eq!(timeless(&journals[0]), timeless(&journals[1]));
}

/// C-08: killed after every single entry and resumed, the same entries are there and no call is made twice.
#[tokio::test]
async fn c08_killed_after_every_entry_and_resumed_nothing_is_lost_or_repeated() {
    for (mode, calls) in [(Mode::Full, 20), (Mode::Fast, 11)] {
        let setup = || setup(&cast("rfc"), mode, Ability::Full);
        let whole: Arc<MemoryJournal> = Arc::default();
        let models = ScriptedModels::good();
        run_with(&models, setup(), Budget::default(), &whole).await;
        let calls = calls - if mode == Mode::Full { 4 } else { 2 };
        assert_eq!(models.asked().len(), calls, "rfc has two judges fewer");
        let length = whole.keyed().len();
        for after in 1..=length {
            let models = ScriptedModels::good();
            let inner: Arc<MemoryJournal> = Arc::default();
            let (dying, dead) = Dying::after(after, &inner);
            let first_life = async {
                let table = open_table(&models, setup(), Budget::default(), Arc::new(dying)).await;
                play(&table, &Councils).await.unwrap();
            };
            tokio::select! {
                () = first_life => {}
                () = dead.notified() => {}
            }
            if inner.keyed().len() < length {
                run_with(&models, setup(), Budget::default(), &inner).await;
            }
            // The order of parallel seats in the journal varies; their replies do not.
            assert_eq!(by_key(&inner), by_key(&whole), "killed after entry {after}");
            // Only the calls in flight when the process died are made again.
            let made = models.asked().len();
            assert!(made >= calls, "{made} calls");
            let finished = inner
                .keyed()
                .iter()
                .filter(|keyed| matches!(keyed.entry.event, Event::StepFinished(_)))
                .count();
            assert_eq!(finished, calls, "killed after entry {after}");
        }
    }
}

fn by_key(journal: &MemoryJournal) -> BTreeMap<String, Value> {
    let entries = timeless(journal).into_iter();
    entries
        .map(|entry| (entry["key"].as_str().unwrap().to_owned(), entry))
        .collect()
}

/// T-01: the critical path is the slower council's rounds and narrative, the slower response, the critic and the orchestrator.
#[tokio::test(start_paused = true)]
async fn t01_the_councils_run_in_parallel() {
    fn delay(seat: &str, kind: &str) -> Duration {
        Duration::from_secs(match (seat, kind) {
            // The content council is slow in round 1, the market council in round 2.
            ("hook", "evaluation") => 9,
            ("trend", "judge_revision") => 8,
            ("content-lead", "narrative") => 1,
            ("market-lead", "narrative") => 3,
            ("content-lead", "response") => 4,
            (_, "evaluation" | "judge_revision" | "response") => 2,
            ("critic", _) => 5,
            _ => 6,
        })
    }
    let timed =
        async |mode| {
            let models = ScriptedModels::delayed(delay, |seat, request, _| {
                Ok(good(seat, request).to_string())
            });
            let start = tokio::time::Instant::now();
            run(&models, &cast("themis"), mode).await;
            start.elapsed().as_secs()
        };
    // Content: 9 + 2 + 1. Market: 2 + 8 + 3. Then 4, 5 and 6.
    assert_eq!(timed(Mode::Full).await, 13 + 4 + 5 + 6);
    // Content: 9 + 1. Market: 2 + 3. Then 5 and 6.
    assert_eq!(timed(Mode::Fast).await, 10 + 5 + 6);
}

/// T-01, T-10: all three casts end to end, in both modes, and the final JSON keeps to the published schema.
#[tokio::test]
async fn t10_the_three_casts_run_end_to_end_and_keep_to_the_published_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (name, full, fast) in [("themis", 20, 11), ("rfc", 16, 9), ("essay", 20, 11)] {
        for (mode, calls) in [(Mode::Full, full), (Mode::Fast, fast)] {
            let models = ScriptedModels::good();
            let record = run(&models, &cast(name), mode).await;
            assert_eq!(
                (record.state, models.asked().len()),
                (State::Complete, calls),
                "{name}"
            );
            assert_eq!(result_of(&record).remarks, [] as [String; 0], "{name}");
            let json = serde_json::to_value(&record).unwrap();
            let faults: Vec<_> = validator
                .iter_errors(&json)
                .map(|error| format!("{} {error}", error.instance_path()))
                .collect();
            assert_eq!(faults, [] as [String; 0], "{name}");
            // An invalid score is rejected.
            let mut broken = json;
            broken["result"]["overall"]["score"] = json!(110);
            assert!(!validator.is_valid(&broken));
        }
    }
}

/// C-22: the critic's findings and the judges' disputes challenge a score; without any it was not challenged.
#[tokio::test]
async fn c22_councils_say_whether_the_scores_were_challenged() {
    let challenged = run(&ScriptedModels::good(), &cast("themis"), Mode::Full).await;
    let sentence = result_of(&challenged).scrutiny.clone().unwrap().sentence();
    assert!(sentence.starts_with("Challenged"), "{sentence}");
    for (mode, judges) in [
        (Mode::Full, "no judge disputed a peer's score"),
        (Mode::Fast, "the judges did not read each other"),
    ] {
        let models = ScriptedModels::new(|seat, request, _| {
            let mut reply = good(seat, request);
            if reply.get("findings").is_some() {
                reply["findings"] = json!([]);
            }
            if reply.get("disputes").is_some() {
                reply["disputes"] = json!([]);
            }
            if reply.get("answers").is_some() {
                reply["answers"] = json!([]);
            }
            Ok(reply.to_string())
        });
        let quiet = run(&models, &cast("themis"), mode).await;
        let sentence = result_of(&quiet).scrutiny.clone().unwrap().sentence();
        assert_eq!(
            sentence,
            format!("Not challenged: the critic found no fault, and {judges}.")
        );
    }
}

/// C-09: there is a report after every journal entry, and a later one never has fewer sections.
#[tokio::test]
async fn c09_there_is_a_report_after_every_journal_entry() {
    let journal = Arc::default();
    let setup = setup(&cast("themis"), Mode::Full, Ability::Full);
    run_with(&ScriptedModels::good(), setup, Budget::default(), &journal).await;
    let entries = entries(&journal);
    let mut shown = 0;
    for end in 0..=entries.len() {
        let sections = protocols::report(&entries[..end]).sections.len();
        assert!(sections >= shown, "after {end} entries");
        shown = sections;
    }
    assert_verdicts(&entries);
    let report = protocols::report(&entries);
    let authenticity = report
        .sections
        .iter()
        .find(|section| section.title == "Authenticity")
        .unwrap();
    let said = serde_json::to_string(&authenticity.blocks[0]).unwrap();
    assert!(said.contains("no proof of anything"));
    insta::assert_json_snapshot!(report);
}

/// C-22: without findings and disputes the scores were not challenged, and the verdict says so.
#[tokio::test]
async fn c22_the_verdict_of_an_unchallenged_score() {
    let models = ScriptedModels::new(|seat, request, _| {
        let mut reply = good(seat, request);
        if reply.get("findings").is_some() {
            reply["findings"] = json!([]);
            reply["checked"] = json!(["all scores"]);
        }
        Ok(reply.to_string())
    });
    let journal = Arc::default();
    let setup = setup(&cast("themis"), Mode::Fast, Ability::Full);
    run_with(&models, setup, Budget::default(), &journal).await;
    let verdict = assert_verdicts(&entries(&journal));
    assert_eq!(verdict.badge.kind, BadgeKind::NotChallenged, "{verdict:#?}");
    assert_eq!(
        verdict.badge.text,
        "Not challenged: the critic found no fault, and the judges did not read each other"
    );
}

/// The journal without the cast in its first entry.
fn journal_without_cast(journal: &MemoryJournal) -> Vec<Value> {
    let mut entries = snapshot(journal);
    entries[0]["entry"]["event"]["rules"] = json!("…");
    entries[0]["entry"]["event"]["seats"] = json!("…");
    entries
}

/// B-13: a quick judgement is evaluation, narrative and result.
#[tokio::test(start_paused = true)]
async fn b13_a_quick_judgement_is_three_calls_deep() {
    for name in ["themis", "rfc", "essay"] {
        let models = ScriptedModels::good();
        let setup = setup(&cast(name), Mode::Quick, Ability::Full);
        let journal: Arc<MemoryJournal> = Arc::default();
        let deps = deps_of(&models, &setup, Arc::clone(&journal) as Arc<dyn Journal>);
        assert_eq!(longest_chain(&Councils, setup, deps).await, 3);
        assert!(
            !models
                .asked()
                .iter()
                .any(|asked| asked.contains("critique"))
        );
        let record = Record::of("id", "then".into(), &entries(&journal)).unwrap();
        assert_eq!(record.state, State::Complete);
        let scrutiny = record.result.unwrap().scrutiny.unwrap();
        assert!(
            json!(scrutiny)
                .to_string()
                .contains("a quick judgement has no critic")
        );
    }
}
