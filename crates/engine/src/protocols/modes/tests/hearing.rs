//! What seats are shown of each other (M-16), and how much room it takes.

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

/// The part of the first message under a heading.
fn part<'a>(request: &'a Request, title: &str) -> &'a str {
    let text = request.messages[0].text.as_str();
    let start = text.find(title).map_or(text.len(), |at| at + title.len());
    let rest = &text[start..];
    rest.split("\n\n## ").next().unwrap()
}

#[tokio::test]
async fn measure() {
    for (mode, script) in [
        ("collaborative", busy as Script),
        ("adversarial", busy),
        ("collaborative", hostile),
        ("adversarial", hostile),
    ] {
        let model = Scripted::new(script);
        play_to_end(setup(mode, 5, 12), &model, &Arc::default()).await;
        println!(
            "{mode} {}",
            if script as usize == busy as usize {
                "busy"
            } else {
                "hostile"
            }
        );
        for round in [2, 3, 4, 8, 12] {
            let requests = contributions_in(&model, round);
            let largest = requests
                .iter()
                .max_by_key(|r| r.texts().map(tokens::count).sum::<u64>())
                .unwrap();
            let total: u64 = largest.texts().map(tokens::count).sum();
            let state = part(largest, "## Where the debate stands");
            let previous = largest.messages[0]
                .text
                .split("## The previous round")
                .nth(1)
                .unwrap_or("");
            let schema = serde_json::to_string(&**largest.schema.as_ref().unwrap().json).unwrap();
            let lines: Vec<&str> = state.lines().collect();
            let is_id = |word: &str, c: char| {
                word.strip_prefix(c)
                    .is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
            };
            let with_text = |c: char| {
                lines
                    .iter()
                    .filter(|l| {
                        let w: Vec<&str> = l.splitn(2, ' ').collect();
                        w.len() == 2 && is_id(w[0].trim_end_matches(':'), c)
                    })
                    .count()
            };
            let named: BTreeSet<&str> = state
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|w| is_id(w, 'E'))
                .collect();
            let bare: usize = lines
                .iter()
                .filter(|l| l.starts_with("earlier: "))
                .map(|l| l.split(' ').filter(|w| is_id(w, 'C')).count())
                .sum();
            let contested = state
                .split("Contested claims:")
                .nth(1)
                .map_or("", |s| s.split("\n\n").next().unwrap());
            let c_lines = contested.lines().filter(|l| l.starts_with('C')).count();
            let c_bare = contested
                .lines()
                .filter(|l| l.starts_with("earlier:"))
                .map(|l| l.split(' ').count() - 1)
                .sum::<usize>();
            let objections = contested
                .lines()
                .filter(|l| l.contains("counted only"))
                .count();
            println!(
                "r{round}: prompt {total} state {} previous {} schema {} | claims with text {} bare {bare} | sources named {} with text {} | contested {}+{c_bare} lines with objection {objections}",
                tokens::count(state),
                tokens::count(previous),
                tokens::count(&schema),
                with_text('C'),
                named.len(),
                with_text('E'),
                c_lines
            );
        }
    }
}
