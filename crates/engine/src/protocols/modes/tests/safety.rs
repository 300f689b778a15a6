//! Withheld text and the safety evaluator (M-09).

use super::*;
use crate::recorded_prompt::{self, NoPrompt};
use crate::scripted::rebuilt;

const ATTACK: &str = "Step 1: open a terminal and send the reverse shell.";

/// M-09: the result says what was withheld and why. The evaluator is active from then on until a round is clear.
#[tokio::test]
async fn m09_withheld_text_reaches_no_seat_observer_or_journal() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            reply["argument"] = json!(format!("{} {ATTACK}", reply["argument"].as_str().unwrap()));
            reply["claims"][1]["text"] = json!(ATTACK);
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    let table = open_table(setup("collaborative", 3, 5), &model, &journal).await;
    let observed = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&observed);
    table.set_observer(Box::new(move |notice| {
        let mut sink = sink.lock().unwrap();
        sink.push_str(&serde_json::to_string(&notice.event).unwrap());
        sink.push('\n');
    }));
    let end = play(&table, &Modes).await.unwrap();
    let all = format!(
        "{}\n{}\n{}",
        serde_json::to_string(&timeless(&journal)).unwrap(),
        model
            .heard()
            .iter()
            .filter(|request| request.messages.len() == 2)
            .map(text_of)
            .collect::<String>(),
        observed.lock().unwrap()
    );
    assert!(!all.contains("reverse shell"));
    let verdict = verdict_of(&end);
    let withheld: Vec<_> = verdict
        .safety
        .withheld
        .iter()
        .map(|turn| {
            (
                turn.seat.as_str(),
                turn.what.at.as_str(),
                turn.what.rule.as_str(),
            )
        })
        .collect();
    assert_eq!(
        withheld,
        [
            ("builder", "/argument", "attack-instructions"),
            ("builder", "/claims/1/text", "attack-instructions")
        ]
    );
    // Active in round 1 because of the withheld text, inactive in round 2 because round 1 was clear.
    assert_eq!(
        verdict.safety.evaluated,
        BTreeMap::from([(1, RiskLevel::Clear)])
    );
    let report = report_json(&journal);
    assert!(
        report.contains("text withheld (step-by-step instructions for an attack)"),
        "{report}"
    );
}

/// M-09: the evaluator reviews rounds until one is clear, and hides harmful turns from the other seats.
#[tokio::test]
async fn m09_the_evaluator_withholds_a_turn_and_stays_until_it_is_clear() {
    let evaluations = |round: usize| match round {
        0 => {
            json!({ "assessment": "The builder goes too far.", "risk": "harmful", "withhold": ["builder"] })
        }
        _ => json!({ "assessment": "Calm again.", "risk": "clear", "withhold": [] }),
    };
    let model = Scripted::new(move |request: &Request, before| {
        if name(request) == "evaluation" {
            Ok(evaluations(before).to_string())
        } else {
            stubborn(request, before)
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    let verdict = play_to_end(setup("adversarial", 3, 3), &model, &journal).await;
    assert_eq!(
        verdict.safety.evaluated,
        BTreeMap::from([(1, RiskLevel::Harmful), (2, RiskLevel::Clear)])
    );
    let second: Vec<_> = contributions_in(&model, 2);
    for request in second {
        let shared = &request.messages[0].text;
        assert!(
            shared.contains("[withheld by the safety evaluator]"),
            "{shared}"
        );
        assert!(
            !shared.contains("The builder says") && !shared.contains("The builder has seen"),
            "{shared}"
        );
    }
    assert_eq!(verdict.safety.withheld[0].what.rule, "safety-evaluator");
    // No surface shows it: they render transcript, report, record and prompts.
    let entries = entries(&journal);
    for step in recorded_prompt::steps(&entries) {
        let prompt = rebuilt(&Modes, &entries, &step).await;
        let before = ["r1/sentinel/speak", "r1/builder/speak"].contains(&step.as_str());
        match prompt {
            Ok(_) => assert!(before || step.ends_with("/ballot"), "{step}"),
            Err(refused) => assert_eq!(refused, NoPrompt::Withheld { step }),
        }
    }
    let transcript = crate::transcript::Transcript::of("id", &entries).unwrap();
    let turn = transcript.turn("r1/builder/speak").unwrap();
    assert_eq!(turn.text(), Some("[withheld by the safety evaluator]"));
    let next = transcript.turn("r2/builder/speak").unwrap();
    assert!(next.text().unwrap().contains("The builder says"));
    let record = protocols::record("id", "then".into(), &entries).unwrap();
    for surface in [
        serde_json::to_string(&transcript).unwrap(),
        report_json(&journal),
        record.to_string(),
    ] {
        assert!(!surface.contains("builder of round 1"), "{surface}");
        assert!(
            !surface.contains("The builder has seen bursts in month 1"),
            "{surface}"
        );
        assert!(!surface.contains("Log 1 of the builder"), "{surface}");
    }
}

/// M-09: a sensitive question activates the evaluator in any mode; a harmless one does not.
#[tokio::test]
async fn m09_a_medical_question_is_evaluated() {
    let model = Scripted::new(story);
    let mut about_medicine = setup("collaborative", 3, 5);
    about_medicine.question = "Is this dosage right for children?".into();
    let verdict = play_to_end(about_medicine, &model, &Arc::default()).await;
    assert_eq!(
        (verdict.safety.alarms.len(), verdict.safety.evaluated.len()),
        (2, 1)
    );
    let calm = play_to_end(
        setup("collaborative", 3, 5),
        &Scripted::new(story),
        &Arc::default(),
    )
    .await;
    assert_eq!(
        (calm.safety.alarms.len(), calm.safety.evaluated.len()),
        (0, 0)
    );
}
