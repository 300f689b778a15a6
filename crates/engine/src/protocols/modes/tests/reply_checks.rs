//! Replies that break rules.

use roundtable_core::evidence::Level;

use super::*;

/// The rule that is broken, and the change that breaks it.
type BadReply = (&'static str, fn(&mut Value));

/// M-03, M-04, M-10, M-11: a bad reply is sent back once with all faults; if faults remain, it is kept with remarks and counted,
/// and the debate continues.
#[tokio::test]
async fn bad_replies_are_sent_back_once_then_kept_with_a_remark() {
    let cases: [BadReply; 15] = [
        ("language", |reply| {
            let german =
                "Wir sollten es nicht tun, und das ist auch für die anderen ein Nachteil. ";
            reply["argument"] = json!(format!(
                "{}\n\n{}",
                reply["argument"].as_str().unwrap(),
                german.repeat(12)
            ));
        }),
        ("citations", |reply| {
            reply["claims"][0]["citations"] = json!("[9]");
        }),
        ("citations", |reply| {
            reply["argument"] = json!(format!(
                "{} (Smith, 2024)",
                reply["argument"].as_str().unwrap()
            ));
        }),
        ("ids", |reply| reply["supports"] = json!(["C99"])),
        ("labels", |reply| {
            for claim in reply["claims"].as_array_mut().unwrap() {
                claim["label"] = json!("FACT");
                claim["citations"] = json!("");
            }
            reply["references"] = json!([]);
        }),
        ("length", |reply| {
            reply["argument"] = json!(format!(
                "{} {}",
                reply["argument"].as_str().unwrap(),
                "one word after the other ".repeat(1000)
            ));
        }),
        ("structure", |reply| {
            reply["argument"] = json!("No headings here.");
        }),
        ("verification", |reply| {
            reply["verification"]["consistency"] = json!(false);
        }),
        ("verification", |reply| reply["risks"] = json!([])),
        ("stance", |reply| reply["stance"] = json!("YES")),
        ("answer", |reply| reply["debate_alignment"] = json!(" ")),
        ("citations", |reply| {
            let unused = json!({ "number": 2, "title": "Log X", "url": null, "gist": "", "kind": "citation" });
            reply["references"].as_array_mut().unwrap().push(unused);
        }),
        ("labels", |reply| {
            reply["argument"] = json!(format!(
                "{}\n\nIt bursts.[INFER][ASSUME]",
                reply["argument"].as_str().unwrap()
            ));
        }),
        ("labels", |reply| {
            reply["claims"][1]["text"] = json!("So it helps.[INFER]");
        }),
        // The words of a heading within a sentence are not the heading.
        ("structure", |reply| {
            let argument = reply["argument"]
                .as_str()
                .unwrap()
                .replace("## ", "We write ");
            reply["argument"] = json!(argument);
        }),
    ];
    for (rule, break_it) in cases {
        let model = changed(story, move |request, _, reply| {
            if seat_of(request) == "builder" && round_of(request) == 1 {
                break_it(reply);
            }
        });
        let verdict = play_to_end(setup("collaborative", 3, 5), &model, &Arc::default()).await;
        assert_eq!(
            verdict.violations.keys().collect::<Vec<_>>(),
            [rule],
            "{:?}",
            verdict.violations
        );
        assert_eq!(
            (verdict.sent_back, verdict.stop_reason.as_str()),
            (1, "consensus"),
            "{rule}"
        );
        let again = model
            .heard()
            .into_iter()
            .filter(|request| request.messages.len() > 2)
            .collect::<Vec<_>>();
        assert_eq!(again.len(), 1, "{rule}");
        let text = &again[0].messages.last().unwrap().text;
        assert!(text.contains(&format!("- {rule}: ")), "{text}");
    }
}

/// M-05: a seat that insists on an invalid vote is absent, and the debate continues.
#[tokio::test]
async fn m05_a_seat_with_an_invalid_vote_is_absent() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "builder" {
            reply["vote"] = json!("MAINTAIN");
        }
    });
    let verdict = play_to_end(setup("collaborative", 4, 5), &model, &Arc::default()).await;
    assert_eq!(
        verdict
            .missing
            .iter()
            .map(|missing| missing.step.as_str())
            .collect::<Vec<_>>(),
        (1..=5)
            .map(|round| format!("r{round}/builder/speak"))
            .collect::<Vec<_>>()
    );
    // Three of four are 75%: a seat that never spoke does not agree.
    assert_eq!(
        (verdict.outcome(), verdict.stop_reason.as_str()),
        (State::Partial, "round_cap")
    );
    let decision = verdict.panel_decision.as_ref().unwrap();
    assert_eq!(
        (decision.level, decision.carried, decision.silent),
        (Level::Medium, true, 1)
    );
    assert_eq!(verdict.agreement, Some(0.75));
    assert!(verdict.confidence < verdict.confidence_stated);
}

/// M-07: agreement needs a new concern and an alternative; an objection needs the strongest form of the other view.
#[tokio::test]
async fn m07_agreement_without_a_concern_is_sent_back() {
    let cases: [BadReply; 3] = [
        ("conformity", |reply| reply["concern"] = json!("")),
        ("conformity", |reply| {
            reply["concern"] = json!("The sentinel fears outage number 1.");
        }),
        ("steelman", |reply| {
            reply["opposes"] = json!([{ "claim": "C2", "ground": "inference_gap", "because": "why?", "counter": null }]);
            reply["steelman"] = json!(null);
        }),
    ];
    for (rule, break_it) in cases {
        let model = changed(story, move |request, _, reply| {
            if seat_of(request) == "builder" && round_of(request) == 2 {
                break_it(reply);
            }
        });
        let verdict = play_to_end(setup("collaborative", 3, 5), &model, &Arc::default()).await;
        assert_eq!(verdict.violations.keys().collect::<Vec<_>>(), [rule]);
    }
}

/// M-06
#[tokio::test]
async fn m06_an_abandoned_stance_is_sent_back_and_shown_as_stated() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 2 {
            reply["stance"] = json!("YES");
        }
    });
    let verdict = play_to_end(setup("devils-advocate", 3, 2), &model, &Arc::default()).await;
    let stances: Vec<_> = verdict
        .state
        .agent_status
        .iter()
        .map(|status| status.stance.unwrap().name())
        .collect();
    assert_eq!(stances, ["YES", "YES", "NEUTRAL"]);
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("stance".to_owned(), 1)])
    );
    let schemas: BTreeSet<bool> = model
        .heard()
        .iter()
        .filter(|request| name(request) == "contribution")
        .map(|request| {
            request.schema.as_ref().unwrap().json["properties"]
                .get("stance")
                .is_some()
        })
        .collect();
    assert_eq!(schemas, [true].into());
}

/// A seat that repeats a peer's words is sent back; a position in another language is accepted.
#[tokio::test]
async fn an_echo_is_sent_back_and_other_languages_are_accepted() {
    let model = changed(story, |request, _, reply| {
        let text = text_of(request);
        match (seat_of(request).as_str(), round_of(request)) {
            ("builder", 1) => {
                let from = text.find("## Questions\n\nThe sentinel").unwrap();
                reply["argument"] = json!(text[from..text.find("</quote-").unwrap()].trim());
            }
            ("analyst", 1) => {
                reply["position"] = json!("我们应该使用队列。");
                reply["claims"][0]["text"] = json!("每天早上九点都有突发负载。");
            }
            _ => {}
        }
    });
    let verdict = play_to_end(setup("socratic", 3, 5), &model, &Arc::default()).await;
    assert_eq!(verdict.violations, BTreeMap::from([("echo".to_owned(), 1)]));
    assert!(
        verdict
            .state
            .claims
            .iter()
            .any(|claim| claim.text == "每天早上九点都有突发负载。")
    );
}

/// M-09: in adversarial and red-team modes a weakness without a mitigation is sent back.
#[tokio::test]
async fn m09_a_weakness_without_a_mitigation_is_sent_back() {
    for mode in ["adversarial", "red-team-blue-team"] {
        let model = changed(story, |request, _, reply| {
            if seat_of(request) == "builder" && round_of(request) == 1 {
                reply["risks"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "failure": "It burns.", "mitigation": " " }));
            }
        });
        let verdict = play_to_end(setup(mode, 3, 5), &model, &Arc::default()).await;
        assert_eq!(
            verdict.violations,
            BTreeMap::from([("mitigation".to_owned(), 1)]),
            "{mode}"
        );
    }
}

/// M-03: a remark that counts further faults counts as that many, in the verdict and in the report.
#[tokio::test]
async fn m03_all_faults_are_counted() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            let argument = reply["argument"].as_str().unwrap();
            reply["argument"] = json!(format!("{argument} [11][12][13][14][15][16][17][18]"));
        }
    });
    let journal = Arc::default();
    let verdict = play_to_end(setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("citations".to_owned(), 8)])
    );
    let report = report_json(&journal);
    assert!(
        report.contains(r#"{"text":"8","tone":"plain"}"#),
        "{report}"
    );
}

/// M-03: a claim over 30 tokens is cut with a mark and a remark, not refused; labels are removed from its text.
#[tokio::test]
async fn m03_long_claims_are_cut_and_labels_removed_from_their_text() {
    let long = "The load of the service rises every morning at nine because all of the shops open at the same time and \
                send their orders of the night to us in one go.";
    let model = changed(story, move |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            reply["claims"][0]["text"] = json!(long);
            reply["claims"][1]["text"] = json!("So it helps.[INFER]");
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    let verdict = play_to_end(setup("collaborative", 3, 5), &model, &journal).await;
    let texts: Vec<&str> = verdict
        .state
        .claims
        .iter()
        .filter(|claim| claim.introduced_by == "builder" && claim.introduced_round == 1)
        .map(|claim| claim.text.as_str())
        .collect();
    assert!(
        texts[0].ends_with(" …") && tokens::count(texts[0]) <= 30,
        "{texts:?}"
    );
    assert!(long.starts_with(texts[0].trim_end_matches(" …")));
    assert_eq!(texts[1], "So it helps.");
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("claims".to_owned(), 1), ("labels".to_owned(), 1)])
    );
}

/// Eleven faults of one rule count as eleven, though four are listed.
#[tokio::test]
async fn violations_are_counted_in_full() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            let cited: Vec<String> = (2..=12)
                .map(|number| format!("It is so.[INFER][{number}]"))
                .collect();
            reply["argument"] = json!(format!(
                "{}\n\n{}",
                reply["argument"].as_str().unwrap(),
                cited.join(" ")
            ));
        }
    });
    let verdict = play_to_end(setup("collaborative", 3, 5), &model, &Arc::default()).await;
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("citations".to_owned(), 11)])
    );
}

/// M-06: a missing stance is sent back once.
#[tokio::test]
async fn m06_a_missing_stance_is_sent_back() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            reply["stance"] = json!(null);
        }
    });
    let verdict = play_to_end(setup("devils-advocate", 3, 1), &model, &Arc::default()).await;
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("stance".to_owned(), 1)])
    );
    let status = &verdict.state.agent_status[1];
    assert_eq!(status.stance.unwrap().name(), "NO");
}
