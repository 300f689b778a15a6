//! Prompts of enhanced debates: limits and snapshots.

use super::*;

/// M-12 for 5 seats and 12 rounds: prompts stay under 10,000 tokens and do not grow after round 4.
#[tokio::test]
async fn m12_prompts_of_an_enhanced_debate_are_bounded() {
    let model = Scripted::new(|request: &Request, before| {
        let said = stubborn(request, before)?;
        if name(request) != "contribution" {
            return Ok(said);
        }
        let mut reply: Value = serde_json::from_str(&said).unwrap();
        let more = reply_with_evidence(request, "MINOR", 0.5);
        reply.as_object_mut().unwrap().remove("opposes");
        reply["backing"] = more["backing"].clone();
        reply["critiques"] = more["critiques"].clone();
        let (seat, round) = (seat_of(request), round_of(request));
        reply["position"] = json!(format!(
            "{seat}{round} wants {seat}{round} and {round}{seat} for {seat}"
        ));
        reply["debate_alignment"] = json!(format!("{seat} {round}{round}"));
        Ok(reply.to_string())
    });
    let mut rules = enhanced_by(algorithm::ENHANCED, "collaborative", 12);
    rules.enhanced.as_mut().unwrap().required_questions = (1..=8)
        .map(|n| format!("What are the expected patterns of load number {n}?"))
        .collect();
    let verdict = play_to_end(setup_of(&rules, 5, Ability::Full), &model, &Arc::default()).await;
    assert_eq!(
        (verdict.total_rounds, verdict.violations),
        (12, BTreeMap::new())
    );
    let mut by_round: BTreeMap<u32, u64> = BTreeMap::new();
    for request in &contributions(&model) {
        let all: u64 = request.texts().map(tokens::count).sum();
        assert!(all <= 10_000, "{all} tokens");
        *by_round.entry(round_of(request)).or_default() += all;
    }
    assert!(by_round[&12] * 10 <= by_round[&4] * 11, "{by_round:?}");
}

/// The prompts of an enhanced debate, for a large and for a small model.
#[tokio::test]
async fn every_enhanced_prompt_has_a_snapshot() {
    let mut seen = BTreeMap::new();
    let mut rules = enhanced_by(algorithm::ENHANCED, "collaborative", 5);
    rules.enhanced.as_mut().unwrap().required_questions =
        vec!["What are the expected query patterns?".into()];
    let model = Scripted::new(converging);
    play_to_end(setup_of(&rules, 3, Ability::Full), &model, &Arc::default()).await;
    for request in model
        .heard()
        .iter()
        .filter(|request| name(request) == "contribution" && seat_of(request) == "builder")
    {
        let label = format!("prompt_full_{}", round_of(request));
        seen.entry(label).or_insert_with(|| prompt(request));
    }
    let veto = enhanced_by("security_first_veto", "collaborative", 5);
    let model = Scripted::new(story);
    play_to_end(setup_of(&veto, 3, Ability::Full), &model, &Arc::default()).await;
    let first = model
        .heard()
        .into_iter()
        .find(|request| name(request) == "contribution")
        .unwrap();
    seen.insert("prompt_security".into(), prompt(&first));

    let small = Scripted::new(|request: &Request, _| {
        Ok(other_reply(request).unwrap_or_else(|| {
            json!({ "argument": "Use a queue.", "position": "Use one.", "confidence": 0.7, "vote": "MINOR",
                    "claims": [{ "text": "It bursts.", "label": "ASSUME" }], "supports": [], "opposes": [],
                    "backing": [{ "of": "N1", "evidence": [{ "type": "SPECULATIVE", "source": "A guess." }], "confidence": 0.2 }] })
            .to_string()
        }))
    });
    let verdict = play_to_end(setup_of(&rules, 3, Ability::Small), &small, &Arc::default()).await;
    assert_eq!(verdict.sent_back, 0, "{:?}", verdict.violations);
    let first = small
        .heard()
        .into_iter()
        .find(|request| name(request) == "contribution")
        .unwrap();
    seen.insert("prompt_small".into(), prompt(&first));
    let schema = first.schema.unwrap();
    assert_eq!(
        schema.json["properties"]["backing"]["items"]["properties"]["evidence"]["items"]["properties"]
            ["type"]["enum"][0],
        "DOCUMENTED"
    );
    for (label, text) in seen {
        insta::assert_snapshot!(label, text);
    }
}
