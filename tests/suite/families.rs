//! Several providers at one table: which families and models get the seats, and why (C-04, C-18).

use std::collections::BTreeSet;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::all_protocols::{POST, Play, reply as any_reply};
use crate::harness::{Answer, Home, QUESTION, Run, Server, Serving, finished, flat, schema_name};

/// A valid reply of any protocol.
fn reply(request: &Value) -> String {
    let schema = &request["response_format"]["json_schema"]["schema"];
    let reply = match schema_name(request).as_str() {
        "panel_answer" => json!({
            "answer": "Measure first.", "position": request["model"], "confidence": 0.6,
        }),
        "panel_ranking" => {
            let labels = &schema["properties"]["ranking"]["items"]["properties"]["answer"]["enum"];
            let mut labels: Vec<&str> = labels
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            labels.sort_unstable();
            let ranking: Vec<Value> = labels
                .iter()
                .map(|label| json!({ "answer": label, "reason": "It measures." }))
                .collect();
            json!({ "comparison": "They differ.", "ranking": ranking })
        }
        "panel_conclusion" => json!({
            "answer": "Measure, then decide.", "position": "Measure", "confidence": 0.7, "consensus": [],
            "contradictions": [], "partial_coverage": [], "unique_insights": [], "blind_spots": [],
        }),
        _ => return any_reply(request),
    };
    reply.to_string()
}

fn serving(models: &[&str]) -> Server {
    Server::with_models(models, |request, _| Answer::Reply(reply(request)))
}

/// A server for each vendor's format.
struct Vendors {
    anthropic: Server,
    gemini: Server,
    openai: Server,
}

impl Vendors {
    fn start() -> Self {
        Self {
            anthropic: serving(&["claude-sonnet-9", "claude-haiku-9"]),
            gemini: serving(&["gemini-9-pro", "gemini-9-flash"]),
            openai: serving(&["gpt-9", "gpt-9-mini", "text-embedding-9"]),
        }
    }

    fn all(&self) -> [(&str, &str, &Server); 3] {
        [
            ("anthropic", "claude", &self.anthropic),
            ("gemini", "gemini", &self.gemini),
            ("openai", "gpt", &self.openai),
        ]
    }

    fn config(&self, more: &str) -> String {
        let each = self
            .all()
            .map(|(name, _, server)| section(name, &server.url(), ""));
        format!("{}{FAST}{more}", each.concat())
    }

    /// A home with the keys of all three.
    fn home(&self, more: &str) -> Home {
        home(&self.config(more))
    }

    /// The models that each server was asked for.
    fn asked(&self) -> [BTreeSet<String>; 3] {
        self.all().map(|(_, _, server)| {
            let heard = server.heard();
            let models = heard
                .iter()
                .map(|request| request["model"].as_str().unwrap().to_owned());
            models.collect()
        })
    }
}

const FAST: &str = "[retry]\nattempts = 2\nbase_ms = 1\nmax_ms = 20\n";

fn section(name: &str, url: &str, more: &str) -> String {
    let key = name.to_uppercase();
    format!("[providers.{name}]\nbase_url = \"{url}\"\napi_key_env = \"{key}_API_KEY\"\n{more}\n")
}

fn home(config: &str) -> Home {
    let home = Home::empty();
    home.write("roundtable.toml", config);
    home.write("post.md", POST);
    home
}

fn run(home: &Home, args: &[&str]) -> Run {
    let mut command = home.command(args);
    for vendor in ["ANTHROPIC", "GEMINI", "OPENAI"] {
        command.env(format!("{vendor}_API_KEY"), "sk-test");
    }
    finished(command.output().unwrap())
}

fn ask(home: &Home) -> Value {
    let run = run(home, &["ask", QUESTION, "--seed", "7", "--json"]);
    run.expect(0, &[]);
    run.json()
}

/// The family of a seat, from the record of a debate.
fn family_of(record: &Value, seat: &str) -> String {
    let seats = record["seating"]["seats"].as_array().unwrap();
    let seat = seats.iter().find(|one| one["seat"] == seat).unwrap();
    seat["family"].as_str().unwrap().to_owned()
}

/// C-04: with the keys of three providers, every command seats three families and says so; the servers' logs show it.
#[test]
fn c04_every_command_seats_three_families() {
    let mut commands: Vec<Vec<&str>> = Play::ALL
        .map(|play| {
            let mut command = play.command();
            let at = command.iter().position(|word| *word == "--model").unwrap();
            command.drain(at..at + 2);
            command.retain(|word| *word != "--quiet");
            command
        })
        .to_vec();
    commands.push(vec!["panel", QUESTION, "--seed", "7"]);
    for mut command in commands {
        let vendors = Vendors::start();
        let home = vendors.home("");
        command.push("--json");
        let run = run(&home, &command);
        run.expect(0, &[]);
        let record = run.json();
        assert_eq!(record["seating"]["families"], 3, "{command:?} {record}");
        let note = record["seating"]["note"].as_str().unwrap();
        assert!(note.starts_with("3 model families: claude ("), "{note}");
        for ((_, family, _), asked) in vendors.all().iter().zip(vendors.asked()) {
            assert!(!asked.is_empty(), "{command:?}: nobody asked {family}");
            assert!(
                asked.iter().all(|model| model.starts_with(family)),
                "{asked:?}"
            );
        }
        let shown = home.run(&["show", "last", "--record"]);
        assert!(
            flat(&shown.out).contains("3 model families: claude ("),
            "{}",
            shown.out
        );
    }
}

/// C-04: the families are named before the debate starts, on standard error, and in the report at its end.
#[test]
fn c04_the_families_are_named_before_the_debate_and_after_it() {
    let vendors = Vendors::start();
    let home = vendors.home("");
    let run = run(&home, &["ask", QUESTION, "--seed", "7"]);
    let note = "3 model families: claude (proposer, judge); gemini (skeptic); gpt (synthesizer)";
    run.expect(0, &[note]);
    assert_eq!(2, flat(&run.err).matches(note).count(), "{}", run.err);
    let found = self::run(&home, &["models", "--json"]).json();
    for (provider, family, _) in vendors.all() {
        let model = found["families"][family][0].as_str().unwrap();
        assert!(model.starts_with(provider), "{found}");
    }
    for format in ["md", "html", "json", "yaml"] {
        let exported = home.run(&["export", "last", "--format", format]);
        assert!(
            flat(&exported.out).contains("3 model families"),
            "{format}: {}",
            exported.out
        );
    }
}

/// C-04: the API and the page name the families too.
#[test]
fn c04_the_api_and_the_page_name_the_families() {
    let vendors = Vendors::start();
    let config = vendors.config("");
    let lines = config
        .lines()
        .filter(|line| !line.starts_with("api_key_env"));
    let home = home(&lines.collect::<Vec<_>>().join("\n"));
    let serving = Serving::start(&home, &[]);
    let body = json!({ "protocol": "dialectic", "question": QUESTION, "seed": 7 });
    let started = serving.post("/api/v1/debates", &body);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");
    let record = &serving.get(&format!("/api/v1/debates/{id}")).json()["record"];
    assert_eq!(record["seating"]["families"], 3);
    let page = serving.get(&format!("/debates/{id}")).text();
    assert!(
        page.contains("3 model families: claude (proposer, judge)"),
        "{page}"
    );
}

/// C-04, B-11: with one provider all seats share its model, as before, and the result says what that is known to do.
#[test]
fn b11_with_one_provider_the_result_says_that_all_share_a_family() {
    let server = serving(&["claude-sonnet-9", "claude-sonnet-8", "claude-haiku-9"]);
    let home = home(&(section("anthropic", &server.url(), "") + FAST));
    let record = ask(&home);
    assert_eq!(record["seating"]["families"], 1);
    let note = record["seating"]["note"].as_str().unwrap();
    assert!(
        note.starts_with("All seats share one model family, claude. Models of one family tend to"),
        "{note}"
    );
    let models: BTreeSet<String> = server
        .heard()
        .iter()
        .map(|request| request["model"].to_string())
        .collect();
    assert_eq!(models.len(), 1, "{models:?}");
    let shown = home.run(&["show", "last"]);
    assert!(
        flat(&shown.out).contains("All seats share one model family"),
        "{}",
        shown.out
    );
    // The user's own choice needs no comment.
    let named = run(
        &home,
        &[
            "ask",
            QUESTION,
            "--json",
            "--model",
            "anthropic:claude-sonnet-9",
        ],
    );
    assert_eq!(named.json().get("seating"), None);
}

/// C-04: `models` deals the models of a single family, `one` keeps to the first provider and asks no other.
#[test]
fn c04_the_diversity_is_configurable() {
    let server = serving(&["claude-sonnet-9", "claude-sonnet-8", "claude-haiku-9"]);
    let diversity = "[seating]\ndiversity = \"models\"\n";
    let home = home(&(section("anthropic", &server.url(), "") + FAST + diversity));
    ask(&home);
    let models: BTreeSet<String> = server
        .heard()
        .iter()
        .map(|request| request["model"].to_string())
        .collect();
    assert_eq!(models.len(), 2, "{models:?}");

    let vendors = Vendors::start();
    let home = vendors.home("[seating]\ndiversity = \"one\"\n");
    let record = ask(&home);
    assert_eq!(record["seating"]["families"], 1);
    let [claude, gemini, gpt] = vendors.asked();
    assert_eq!(1, claude.len());
    assert!(gemini.is_empty() && gpt.is_empty());
    assert_eq!(
        (0, 0),
        (vendors.gemini.listings(), vendors.openai.listings())
    );

    let faulty = home_with_faulty_section();
    run(&faulty, &["ask", QUESTION]).expect(
        2,
        &[
            "seating.diversity",
            "\"families\", \"models\" or \"one\"",
            "max_price_ratio",
        ],
    );
}

fn home_with_faulty_section() -> Home {
    home("[seating]\ndiversity = \"all\"\nmax_price_ratio = 0.5\n")
}

/// C-04: both sides of the price class. The prices are for a typical call, with three times as much input as output.
#[test]
fn c04_a_family_above_the_price_class_gets_no_seat() {
    for (gemini, more, families) in [
        (6.0, "", 3),
        (6.01, "", 2),
        (6.01, "[seating]\nmax_price_ratio = 2.1\n", 3),
    ] {
        let vendors = Vendors::start();
        let home = vendors.home(more);
        home.write(
            "prices.toml",
            &format!(
                "[prices.anthropic]\n\"claude-*\" = {{ input = 3.0, output = 3.0 }}\n\
                 [prices.openai]\n\"gpt-*\" = {{ input = 1.0, output = 2.0 }}\n\
                 [prices.gemini]\n\"gemini-*\" = {{ input = {gemini}, output = {gemini} }}\n"
            ),
        );
        let run = run(&home, &["ask", QUESTION, "--seed", "7", "--json"]);
        let record = run.json();
        assert_eq!(record["seating"]["families"], families, "{gemini} {more}");
        assert_eq!(vendors.gemini.count() == 0, families == 2);
        // It is not left out silently.
        let note = "No seat for gemini:gemini-9-pro: it costs 2.0 times as much as the first model";
        assert_eq!(run.err.contains(note), families == 2, "{}", run.err);
    }
}

/// C-18: a provider that the user configured is never replaced; an optional one is left out, and the result says so.
#[test]
fn c18_an_unreachable_provider_is_an_error_or_left_out() {
    let vendors = Vendors::start();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let two = section("anthropic", &vendors.anthropic.url(), "")
        + &section("openai", &vendors.openai.url(), "");
    let required = home(&(two.clone() + FAST + &section("gemini", &url, "")));
    run(&required, &["ask", QUESTION]).expect(
        4,
        &[
            "[providers.gemini] is configured, but",
            "cannot reach the server",
        ],
    );
    assert_eq!(0, vendors.anthropic.count() + vendors.openai.count());

    let optional = home(&(two + FAST + &section("gemini", &url, "optional = true\n")));
    let run = run(&optional, &["ask", QUESTION, "--seed", "7"]);
    run.expect(
        0,
        &[
            "Left out: [providers.gemini] is configured, but",
            "2 model families",
        ],
    );
    let record: Value =
        serde_json::from_str(&optional.run(&["show", "last", "--json"]).out).unwrap();
    let notices = record["record"]["notices"].to_string() + &record["notices"].to_string();
    assert!(notices.contains("Left out: [providers.gemini]"), "{record}");
}

/// C-04: `--model` and `--seat` win; those that judge a named seat avoid its family.
#[test]
fn c04_named_models_win() {
    let vendors = Vendors::start();
    let home = vendors.home("");
    let run = run(
        &home,
        &[
            "ask",
            QUESTION,
            "--seed",
            "7",
            "--json",
            "--seat",
            "proposer=gemini:gemini-9-pro",
        ],
    );
    let record = run.json();
    assert_eq!("gemini", family_of(&record, "proposer"));
    assert_eq!("claude", family_of(&record, "skeptic"));
    assert_eq!("gpt", family_of(&record, "synthesizer"));
    assert_eq!(record["seating"]["seats"][0]["why"], Value::Null);
    assert_eq!(
        record["seating"]["seats"][1]["why"],
        "another family than those it judges"
    );
}

/// The built-in cast of `ask` with a `seating` table for the proposer, and one for all seats.
fn cast(home: &Home, own: &str, all: &str) {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/crates/engine/casts/dialectic.toml"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.replacen(
        "prefers = \"qwen3:32b\"",
        &format!("seating = {{ {own} }}"),
        1,
    );
    home.write(
        "casts/dialectic.toml",
        &text.replacen("\n\n", &format!("\nseating = {{ {all} }}\n\n"), 1),
    );
}

/// C-04: casts pin, prefer and forbid families and models.
#[test]
fn c04_casts_pin_prefer_and_forbid() {
    for (own, all, proposer, families) in [
        ("pin = \"gpt\"", "", "gpt", 3),
        ("pin = \"openai:gpt-9-mini\"", "", "gpt", 3),
        ("prefer = [\"llama\", \"gemini\"]", "", "gemini", 3),
        ("forbid = [\"claude*\"]", "", "gemini", 3),
        ("", "forbid = [\"claude\"]", "gemini", 2),
        ("", "pin = \"gemini\"", "gemini", 1),
    ] {
        let vendors = Vendors::start();
        let home = vendors.home("");
        cast(&home, own, all);
        let record = ask(&home);
        assert_eq!(proposer, family_of(&record, "proposer"), "{own} {all}");
        assert_eq!(record["seating"]["families"], families, "{own} {all}");
    }
    let vendors = Vendors::start();
    let home = vendors.home("");
    cast(&home, "pin = \"llama\"", "");
    run(&home, &["ask", QUESTION]).expect(
        4,
        &["the cast pins seat 'proposer' to 'llama', but no such model was found"],
    );
    cast(&home, "judges = [\"nobody\"]", "");
    run(&home, &["ask", QUESTION])
        .expect(2, &["dialectic.toml", "judges the unknown seat 'nobody'"]);
}

/// C-04: `init` names no model where several families would share the seats, unless the user chooses one.
#[test]
fn c04_init_keeps_the_families_of_several_providers() {
    let vendors = Vendors::start();
    let config = vendors.config("");
    let home = home(&config);
    let kept = run(&home, &["init", "--yes", "--no-test"]);
    kept.expect(0, &["different families (claude, gemini, gpt)"]);
    let file = || std::fs::read_to_string(home.path().join("roundtable.toml")).unwrap();
    assert_eq!(file(), config);
    let chosen = ["init", "--yes", "--no-test", "--model", "openai:gpt-9"];
    run(&home, &chosen).expect(0, &[]);
    assert!(
        file().contains("deliberate = \"openai:gpt-9\""),
        "{}",
        file()
    );
}
