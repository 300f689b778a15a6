//! The parts of other seats' turns in a prompt (M-16), and their size.

use roundtable_core::state::ids_in;

use super::*;

/// A long debate that uses every field of a reply: three claims with a source each per turn, and an argument of about 350 words.
fn busy(request: &Request, before: usize) -> Result<String, ModelError> {
    if name(request) != "contribution" {
        return story(request, before);
    }
    let (seat, round) = (seat_of(request), round_of(request));
    let vote = if seat == "sentinel" {
        "BLOCKER"
    } else {
        "MINOR"
    };
    let mut reply = valid_reply(request, vote, if round % 2 == 0 { 0.75 } else { 0.6 });
    let filler: Vec<String> = (0..60)
        .map(|n| format!("{seat} {round}-{n} adds to the load"))
        .collect();
    reply["argument"] = json!(format!(
        "{}\n\n{}.",
        reply["argument"].as_str().unwrap(),
        filler.join(", ")
    ));
    let topics = [
        "bursts at nine",
        "the price of a second machine",
        "messages that get lost at night",
    ];
    reply["claims"] = json!((1..=3).map(|n| json!({
        "text": format!("By the {seat}'s figures of month {round}, {} grow by a tenth every week.", topics[n - 1]),
        "label": "FACT", "citations": format!("[{n}]"),
    })).collect::<Vec<_>>());
    reply["references"] = json!((1..=3).map(|n| json!({
        "number": n, "title": format!("Report {seat}{round}x{n} of the office on {}", topics[n - 1]), "url": null,
        "gist": format!("Shows {} for month {round}, hour by hour.", topics[n - 1]), "kind": "citation",
    })).collect::<Vec<_>>());
    Ok(reply.to_string())
}

/// [`busy`], and from round 2 on each seat objects to four claims of the round before.
fn hostile(request: &Request, before: usize) -> Result<String, ModelError> {
    let reply = busy(request, before)?;
    let round = if name(request) == "contribution" {
        round_of(request)
    } else {
        1
    };
    if round == 1 {
        return Ok(reply);
    }
    let mut reply: Value = serde_json::from_str(&reply).unwrap();
    let seat = seat_of(request);
    let names = ["sentinel", "builder", "analyst", "ecologist", "economist"];
    let index = names.iter().position(|name| *name == seat).unwrap_or(0);
    let first = (round as usize - 2) * 15;
    reply["opposes"] = json!((1..=4).map(|n| json!({
        "claim": format!("C{}", first + (index * 3 + 3 * n) % 15 + 1), "ground": "inference_gap",
        "because": format!("the {seat} counted only {n} nights of that month {round} and found no growth"), "counter": null,
    })).collect::<Vec<_>>());
    Ok(reply.to_string())
}

/// The state that a prompt shows.
fn state_in(request: &Request) -> &str {
    let text = request.messages[0].text.as_str();
    let state = text
        .split("## Where the debate stands")
        .nth(1)
        .unwrap_or("");
    state.split("</quote-").next().unwrap()
}

fn size(request: &Request) -> u64 {
    request.texts().map(tokens::count).sum()
}

fn schema_size(request: &Request) -> u64 {
    let schema = request.schema.as_ref().unwrap();
    tokens::count(&serde_json::to_string(&**schema.json).unwrap())
}

/// The ids at the beginning of lines with words.
fn worded_ids(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let heads = lines.map(|(head, _)| head.trim_end_matches(':'));
    heads
        .filter(|head| ids_in(head).next() == Some(*head))
        .collect()
}

/// Ids that a summary gives with their words: `E2 Log of March; C3 [FACT] It bursts`.
fn summarised_ids(text: &str) -> BTreeSet<&str> {
    let summaries = text.split("## Summary of ").skip(1);
    let points = summaries.flat_map(|part| {
        part.split("</quote-")
            .next()
            .unwrap()
            .split(['\n', ';', ':'])
    });
    let points = points.filter_map(|point| point.trim().split_once(' '));
    let worded = points.filter(|(_, words)| !words.starts_with('('));
    worded.flat_map(|(head, _)| ids_in(head)).collect()
}

/// The content of one prompt of a long debate, in tokens and in numbers of items.
#[derive(Debug)]
#[expect(dead_code, reason = "printed by failing assertions")]
struct Shown {
    prompt: u64,
    state: u64,
    schema: u64,
    sources: usize,
    contested: usize,
}

fn check_prompt(request: &Request) -> Shown {
    let (state, round) = (state_in(request), round_of(request));
    let all = text_of(request);
    let mut worded = worded_ids(&all);
    worded.extend(summarised_ids(&all));
    // Everything the prompt names has words, except ids in examples of the instructions.
    let own = all.find("## Your seat").unwrap();
    let named: BTreeSet<&str> = ids_in(&all[..own]).collect();
    let wordless: Vec<_> = named.difference(&worded).collect();
    assert!(wordless.is_empty(), "round {round}: {wordless:?} in {all}");
    let contested = state.split("Contested claims:").nth(1).unwrap_or("");
    let contested: Vec<&str> = contested
        .trim()
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    for line in &contested {
        assert!(
            line.contains("| against: ") && line.contains("counted only"),
            "{line}"
        );
    }
    assert!(!state.contains("earlier: "), "{state}");
    let used = tokens::count(state);
    assert!(used <= 2500, "{used}");
    if state.contains("not shown here") {
        assert!(
            used >= 2000,
            "round {round} leaves something out at {used} tokens: {state}"
        );
    }
    let prompt = size(request);
    assert!(prompt <= 10_000, "{prompt}");
    Shown {
        prompt,
        state: used,
        schema: schema_size(request),
        sources: worded_ids(state)
            .iter()
            .filter(|id| id.starts_with('E'))
            .count(),
        contested: contested.len(),
    }
}

/// M-12, M-16: 5 seats and 12 rounds. What is named has words, what is contested has its objections, the budget is used before
/// anything is left out, and prompts and schemas do not grow.
#[tokio::test]
async fn m16_long_debates_keep_what_is_referred_to() {
    for (mode, script) in [("collaborative", busy as Script), ("adversarial", hostile)] {
        let model = Scripted::new(script);
        play_to_end(setup(mode, 5, 12), &model, &Arc::default()).await;
        let shown = [2, 4, 8, 12].map(|round| {
            let requests = contributions_in(&model, round);
            let largest = requests.iter().max_by_key(|request| size(request)).unwrap();
            (round, check_prompt(largest))
        });
        for (round, shown) in &shown {
            assert!(shown.sources >= 15, "{mode} {round}: {shown:?}");
        }
        let [_, (_, fourth), _, (_, last)] = &shown;
        assert!(last.prompt * 10 <= fourth.prompt * 11, "{shown:?}");
        assert!(last.schema * 10 <= fourth.schema * 12, "{shown:?}");
        assert_eq!(last.contested > 30, mode == "adversarial", "{shown:?}");
    }
}

/// M-12: with 8 seats in sequence, no argument is cut before the prompt is at its target.
#[tokio::test]
async fn m16_arguments_are_cut_only_in_full_prompts() {
    let model = Scripted::new(busy);
    play_to_end(setup("socratic", 8, 3), &model, &Arc::default()).await;
    let mut cut = 0;
    for request in contributions_in(&model, 3) {
        let text = text_of(&request);
        let is_cut = text.contains("adds to the …")
            || text.contains("adds to …")
            || text.contains(" …\n</quote-");
        cut += usize::from(is_cut);
        let last = size(&contributions_in(&model, 3)[7]);
        assert!(!is_cut || last >= 8000, "cut at {last} tokens");
        assert!(size(&request) <= 10_000);
    }
    assert!(cut > 0);
}

const MARKERS: [&str; 10] = [
    "marked failure",
    "marked mitigation",
    "marked option",
    "marked rejection",
    "marked concern",
    "marked uncertainty",
    "marked steelman",
    "marked decision",
    "marked title",
    "marked gist",
];

/// The sentinel marks every field of its reply in round 1.
fn marked() -> Arc<Scripted> {
    changed(story, |request, _, reply| {
        if (seat_of(request).as_str(), round_of(request)) != ("sentinel", 1) {
            return;
        }
        reply["risks"][0] = json!({ "failure": MARKERS[0], "mitigation": MARKERS[1] });
        reply["alternatives"][0] = json!({ "option": MARKERS[2], "rejected_because": MARKERS[3] });
        reply["concern"] = json!(MARKERS[4]);
        reply["uncertainty"] = json!(MARKERS[5]);
        reply["steelman"] = json!(MARKERS[6]);
        reply["decisions"] = json!([MARKERS[7]]);
        reply["references"][0]["title"] = json!(MARKERS[8]);
        reply["references"][0]["gist"] = json!(MARKERS[9]);
    })
}

fn assert_hears(request: &Request) {
    let text = text_of(request);
    for marker in MARKERS {
        assert!(text.contains(marker), "'{marker}' is missing: {text}");
    }
}

/// M-16: risks, mitigations, alternatives, concerns, uncertainty, steel men, decisions and references reach those who may hear
/// them: in the next round, later in the same round, the chair and the safety evaluator.
#[tokio::test]
async fn m16_everything_a_seat_says_reaches_the_others() {
    for mode in MODES {
        let model = marked();
        play_to_end(setup(mode, 3, 5), &model, &Arc::default()).await;
        for request in contributions_in(&model, 2) {
            assert_hears(&request);
        }
        let same_round = contributions_in(&model, 1);
        let hearers = same_round.iter().filter(|request| {
            let mode = Mode::load(&Data::built_in(), mode).unwrap();
            let in_sequence = mode.order == crate::mode::SpeakingOrder::Sequence;
            match seat_of(request).as_str() {
                "builder" => mode.order != crate::mode::SpeakingOrder::Parallel,
                "analyst" => in_sequence,
                _ => false,
            }
        });
        hearers.for_each(assert_hears);
        let short = marked();
        play_to_end(setup(mode, 3, 1), &short, &Arc::default()).await;
        let heard = short.heard();
        let chair = heard.iter().find(|request| name(request) == "conclusion");
        assert_hears(chair.unwrap());
        let evaluator = heard.iter().find(|request| name(request) == "evaluation");
        assert_eq!(
            evaluator.is_some(),
            ["adversarial", "devils-advocate", "red-team-blue-team"].contains(&mode)
        );
        evaluator.into_iter().for_each(assert_hears);
    }
}

/// M-07: a seat sees the concerns of all rounds, so that it can raise a new one.
#[tokio::test]
async fn m16_concerns_raised_so_far_are_shown() {
    let model = Scripted::new(stubborn);
    play_to_end(setup("collaborative", 3, 4), &model, &Arc::default()).await;
    for request in contributions_in(&model, 4) {
        let state = state_in(&request);
        let concerns = state.split("Concerns raised so far:").nth(1).unwrap();
        for round in 1..=3 {
            let concern = format!("- analyst: The analyst fears outage number {round}.");
            assert!(concerns.contains(&concern), "{state}");
        }
    }
}

/// M-16: in the words of others, citations are ids of the registry.
#[tokio::test]
async fn m16_citations_of_others_can_be_resolved() {
    let model = changed(story, |request, _, reply| {
        let argument = reply["argument"].as_str().unwrap().to_owned();
        reply["argument"] = json!(format!("{argument} Demand falls.[INFER][1]"));
        let claim = format!("Demand of the {} falls.[INFER][1]", seat_of(request));
        reply["claims"][1] = json!({ "text": claim, "label": "INFER", "citations": "[1]" });
    });
    let journal = Arc::<MemoryJournal>::default();
    play_to_end(setup("collaborative", 3, 5), &model, &journal).await;
    for request in contributions_in(&model, 2) {
        let shared = &request.messages[0].text;
        for (seat, id) in [("sentinel", "E1"), ("builder", "E2"), ("analyst", "E3")] {
            assert!(
                shared.contains(&format!("[INFER] Demand of the {seat} falls. [{id}]")),
                "{shared}"
            );
            assert!(
                shared.contains(&format!("Demand falls.[INFER][{id}]")),
                "{shared}"
            );
            assert!(
                shared.contains(&format!("\n{id} Log 1 of the {seat}: Bursts at nine.")),
                "{shared}"
            );
        }
        assert!(!shared.contains("[1]"), "{shared}");
    }
    // The journal keeps the reply as said, and readers have the seat's own list below it.
    let said = by_key(&journal)["r1/analyst/speak"].to_string();
    assert!(said.contains("Demand falls.[INFER][1]"), "{said}");
    let transcript = crate::transcript::Transcript::of("id", &entries(&journal)).unwrap();
    let turn = transcript.turn("r1/analyst/speak").unwrap();
    let (argument, list) = turn.text().unwrap().split_once("**References**").unwrap();
    assert!(argument.contains("Demand falls.[INFER][1]"), "{argument}");
    assert!(list.contains("[1] Log 1 of the analyst"), "{list}");
}

/// M-16: every objection is shown with its own seat, ground, reason and counter id.
#[tokio::test]
async fn m16_objections_are_shown_apart() {
    let model = changed(stubborn, |request, _, reply| {
        let objection = |ground: &str, because: &str, counter: Option<&str>| json!([{ "claim": "C1", "ground": ground, "because": because, "counter": counter }]);
        match (seat_of(request).as_str(), round_of(request)) {
            ("analyst", 2) => {
                reply["opposes"] = objection("fact_conflict", "ferries are cheap", Some("C4"));
            }
            ("builder", 2) => reply["opposes"] = objection("inference_gap", "no figures", None),
            _ => reply["opposes"] = json!([]),
        }
        reply["supports"] = json!([]);
    });
    play_to_end(setup("collaborative", 3, 3), &model, &Arc::default()).await;
    for request in contributions_in(&model, 3) {
        let state = state_in(&request);
        assert!(
            state.contains("| for: sentinel | against: analyst (FACT conflict): ferries are cheap, see C4; builder (INFER gap): no figures\n"),
            "{state}"
        );
    }
}

/// M-16: a small model is asked in later rounds which claim of another seat it answers.
#[tokio::test]
async fn m16_small_models_are_asked_to_answer_others() {
    let model = Scripted::new(|request: &Request, _| {
        Ok(other_reply(request).unwrap_or_else(|| {
            let is_later = text_of(request).contains("Your own position");
            let confidence = if is_later { 0.7 } else { 0.5 };
            json!({ "argument": "Use a queue.", "position": "Use one.", "confidence": confidence, "vote": "MINOR",
                    "claims": [{ "text": "It bursts.", "label": "ASSUME" }], "supports": [], "opposes": [] })
            .to_string()
        }))
    });
    let setup = setup_of(&rules("socratic", 2), 3, Ability::Small);
    play_to_end(setup, &model, &Arc::default()).await;
    let own = |request: &Request| request.messages.last().unwrap().text.clone();
    let asked: Vec<bool> = contributions(&model)
        .iter()
        .map(|request| own(request).contains("Which claim of another seat"))
        .collect();
    assert_eq!(asked, [false, true, true, true, true, true]);
    for request in contributions(&model) {
        let own = own(&request);
        let instructions = own.rsplit("You are the").next().unwrap();
        assert!(tokens::count(instructions) <= 100, "{instructions}");
        assert!(size(&request) <= 1500);
    }
}

/// M-12: the instructions of every mode and round have at most 200 tokens.
#[tokio::test]
async fn m12_instructions_of_every_mode_are_short() {
    for mode in MODES {
        let model = Scripted::new(story);
        play_to_end(setup(mode, 3, 5), &model, &Arc::default()).await;
        for request in contributions(&model) {
            let instructions = request.messages[1]
                .text
                .rsplit("## What to do")
                .next()
                .unwrap();
            let count = tokens::count(instructions);
            assert!(count <= 200, "{mode}: {count} tokens: {instructions}");
            let answers = instructions.contains("Answer at least one point of another seat");
            let has_heard =
                round_of(&request) > 1 || request.messages[1].text.contains("## This round so far");
            assert_eq!(answers, has_heard, "{mode}");
        }
    }
}
