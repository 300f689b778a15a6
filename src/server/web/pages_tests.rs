use roundtable_core::usage::Money;
use roundtable_engine::data::Data;
use roundtable_engine::event::State;
use roundtable_engine::form::Task;
use roundtable_engine::protocols;
use roundtable_engine::report::Report;

use super::audit::{AuditView, Row as AuditRow};
use super::debate::{DebateView, Right};
use super::debates::{DebatesView, Query, Row};
use super::error_page::ErrorView;
use super::handlers::home::{new_debate, task_panels};
use super::home::{FormOptions, HomeView, ModelOption, ProviderModels};
use super::models::{ModelsView, ProviderRow, Setting, Settings, TestResult, Tier};
use super::sign_in_page::{SignInView, safe_next};
use super::start_form::{StartForm, UploadedFile};
use super::tokens::{Added, Row as TokenListRow, TokenForm, TokensView};
use super::*;
use crate::render::{self, test_support};
use crate::store::{DebateRow, Totals};

fn frame(tab: &'static str) -> Frame {
    Frame::new(tab, Visitor::SignedIn)
}

fn rows() -> Vec<Row> {
    let data = |number: u64, question: &str, state| DebateRow {
        id: format!("0000000{number}-0000-4000-8000-000000000000")
            .parse()
            .unwrap(),
        question: question.into(),
        protocol: "dialectic".into(),
        state,
        created_at: 1_794_812_520_000 - number * 86_400_000,
        updated_at: 0,
        ended_at: None,
        totals: Totals {
            input_tokens: 8000 * number,
            output_tokens: 260 * number,
            cost_usd: Money::from_dollars(0.026),
            ..Totals::default()
        },
        rating: (number == 2).then_some(9),
        result: None,
        parent: None,
        is_served: false,
        token: None,
    };
    [
        data(1, "Should a five-person team pick REST or GraphQL for an eight-week dashboard?", State::Running),
        data(2, "Is a four-day week good for a <b>support</b> team?", State::Complete),
        data(3, "Should we put a queue in front of the database?", State::Partial),
        data(4, "What would it take to bring the nightly build below ten minutes, and is it worth a week of two people?", State::Failed),
    ]
    .iter()
    .map(|data| Row::new(data, true))
    .collect()
}

fn options(form: &StartForm) -> FormOptions {
    let model = |model: &str, family: &str| ModelOption {
        value: format!("lab:{model}"),
        label: model.into(),
        family: family.into(),
        is_chosen: false,
    };
    FormOptions {
        tasks: task_panels(&Data::built_in(), form).unwrap(),
        providers: vec![ProviderModels {
            provider: "lab".into(),
            models: vec![model("qwen3-32b", "qwen"), model("<b>x</b>", "other")],
        }],
        default_model: Some("lab:qwen3-32b".into()),
        advice: None,
        recent: rows().into_iter().take(3).collect(),
    }
}

fn home(form: StartForm) -> HomeView {
    HomeView::new(options(&form), form)
}

fn form_of(values: &[(&str, &str)]) -> StartForm {
    let values = values.iter();
    StartForm {
        values: values
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        files: Vec::new(),
    }
}

/// A submitted form with fields of two protocols.
fn submitted() -> StartForm {
    let values = [
        ("question", "Why </textarea><script>?"),
        ("task", "debate"),
        ("way.debate", "modes"),
        ("seat.modes.sentinel", "lab:\"><script>"),
        ("max_cost", "0.5"),
        ("modes.mode", "red-team-blue-team"),
        ("modes.domain", "API \"design\""),
        ("modes.enhanced", "on"),
        ("modes.algorithm", ""),
        ("forecast.outcomes", "Yes\n\n </textarea><script> \n"),
    ];
    form_of(&values)
}

/// Every page with all of its parts, by name.
fn all() -> Vec<(&'static str, String)> {
    let running = test_support::transcript(&test_support::running());
    let finished = test_support::transcript(&test_support::journal(State::Partial));
    let query = Query {
        q: "week & \"day\"".into(),
        page: "2".into(),
        ..Query::default()
    };
    let mut wrong = home(submitted());
    wrong.problems = vec![
        "the question is too short".into(),
        "invalid amount <of> money '-1'".into(),
    ];
    let live = Report {
        answer: None,
        ..test_support::report()
    };
    vec![
        ("home", home(StartForm::default()).page(frame("ask"))),
        ("home_with_problems", wrong.page(frame("ask"))),
        (
            "debate_running",
            DebateView::new(&running, Right::Run).page(frame("debates"), &running, &live),
        ),
        (
            "debate_finished",
            DebateView::new(&finished, Right::Run).page(
                frame("debates"),
                &finished,
                &test_support::report(),
            ),
        ),
        (
            "debate_read_only",
            DebateView::new(&finished, Right::Read).page(
                frame("debates"),
                &finished,
                &Report::default(),
            ),
        ),
        (
            "debates",
            DebatesView::new(&query, rows(), 60).page(frame("debates")),
        ),
        (
            "debates_none",
            DebatesView::new(&Query::default(), Vec::new(), 0).page(frame("debates")),
        ),
        ("models", models().page(frame("models"))),
        (
            "tokens",
            tokens().page(frame("tokens").for_caller(&Caller::open())),
        ),
        (
            "audit",
            audit().page(frame("audit").for_caller(&Caller::open())),
        ),
        (
            "sign_in",
            SignInView {
                next: "/debates".into(),
                problems: vec!["Invalid token: it is unknown or has been revoked.".into()],
            }
            .page(Frame::new("", Visitor::Stranger)),
        ),
        (
            "error",
            ErrorView::new(
                404,
                "There is no debate with this id. It may have been deleted.",
            )
            .page(frame("")),
        ),
    ]
}

fn tokens() -> TokensView {
    let row = |name: &str, scope, reach, limits: &str| TokenListRow {
        name: name.into(),
        scope,
        reach,
        limits: limits.into(),
        stamp: "2026-11-16T14:02:00Z".into(),
        when: "2026-11-16 14:02 UTC".into(),
        expiry: "no expiry".into(),
        last_use: "never used".into(),
        form: TokenForm {
            reach: if reach == "own debates" { "own" } else { "all" }.into(),
            ..TokenForm::default()
        },
    };
    TokensView {
        problems: vec!["a token named 'ada' already exists".into()],
        added: Some(Added {
            name: "bot".into(),
            secret: "rt_0123".into(),
        }),
        rows: vec![
            row("ada", "admin", "all debates", ""),
            row(
                "<b>support</b>/bot",
                "run",
                "own debates",
                "$5.00 per day, 3 running",
            ),
        ],
        form: TokenForm {
            name: "ada".into(),
            reach: "own".into(),
            models: "openai:*".into(),
            ..TokenForm::default()
        },
    }
}

fn audit() -> AuditView {
    let row = |number, who: &str, action: &str, outcome, tone| AuditRow {
        number,
        stamp: "2026-11-16T14:02:00Z".into(),
        when: "2026-11-16 14:02 UTC".into(),
        who: who.into(),
        action: action.into(),
        subject: "<b>support</b>".into(),
        outcome,
        tone,
        address: "203.0.113.7".into(),
        request_id: "r1".into(),
        detail: "scope run, reach own".into(),
    };
    AuditView {
        rows: vec![
            row(8, "ada (token)", "token-added", "done", "good"),
            row(7, "nobody", "sign-in", "refused", "mid"),
        ],
        older: Some(7),
        is_first: false,
    }
}

fn models() -> ModelsView {
    let tier = |title: &str, model: &str| Tier {
        title: title.into(),
        model: model.into(),
        why: "it is configured".into(),
        price: Some("$0.4 in, $1.6 out per million tokens".into()),
        can_test: true,
    };
    ModelsView {
        problems: Vec::new(),
        test: Some(TestResult {
            text: "lab:qwen3-32b answered {\"yes\": true} in 1.2 s".into(),
            succeeded: true,
        }),
        test_account: Some("Test calls in the last hour: 1 call, 80 tokens, $0.0001.".into()),
        tiers: vec![
            tier("Deliberate tier", "lab:qwen3-32b"),
            tier("Fast tier", "lab:small"),
        ],
        advice: Some("A larger model would serve better.".into()),
        providers: vec![ProviderRow {
            provider: "lab".into(),
            note: "2 models".into(),
            models: "qwen3-32b, small".into(),
        }],
        settings: Some(Settings {
            source: "From /home/ada/.config/roundtable/roundtable.toml".into(),
            rows: vec![Setting {
                key: "limits.call_timeout_s".into(),
                value: "120".into(),
                origin: "default".into(),
            }],
        }),
    }
}

#[test]
fn c14_pages_match_their_snapshots() {
    for (name, page) in all() {
        insta::assert_snapshot!(name, page);
    }
}

/// C-12: no inline scripts or styles, no other origins, and no text of models or users that becomes markup.
#[test]
fn c12_pages_have_no_inline_scripts_and_load_nothing_remote() {
    for (name, page) in all() {
        for forbidden in [
            " style=\"",
            "<style",
            "javascript:alert(1)\"",
            "<img",
            "<iframe",
            "<b>support",
            "of> money",
            "</textarea><script",
        ] {
            assert!(!page.contains(forbidden), "{name}: {forbidden}");
        }
        for tag in page.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            for handler in [" onclick=", " onerror=", " onload=", " onmouseover="] {
                assert!(!tag.contains(handler), "{name}: <{tag}>");
            }
        }
        for part in page.split("<script").skip(1) {
            assert!(part.starts_with(" src=\"/assets/"), "{name}: {part:.60}");
        }
        for tag in page.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            if tag.contains("&gt;") {
                // Escaped text of a model that only looks like a tag.
                continue;
            }
            for attribute in [" src=\"", " href=\"", " action=\""] {
                for part in tag.split(attribute).skip(1) {
                    let is_path = part.starts_with('/') && !part.starts_with("//");
                    let is_fragment_or_example =
                        part.starts_with('#') || part.starts_with("https://example.org/");
                    assert!(is_path || is_fragment_or_example, "{name}: {tag}");
                }
            }
        }
    }
}

/// A page and its assets are under 100 KB before compression.
#[test]
fn c14_pages_are_small() {
    let assets: usize = [&assets::STYLE, &assets::LIVE, &assets::MARK]
        .iter()
        .map(|asset| asset.body.len())
        .sum();
    for (name, page) in all() {
        assert!(
            page.len() + assets < 100_000,
            "{name}: {} + {assets}",
            page.len()
        );
    }
}

/// Accessibility: one main landmark, one first-level heading, a label for every field, unique ids, no dangling references.
#[test]
fn pages_are_accessible() {
    for (name, page) in all() {
        let count = |what: &str| page.matches(what).count();
        assert_eq!(
            (count("<main"), count("<h1"), count("lang=\"en\"")),
            (1, 1, 1),
            "{name}"
        );
        assert!(
            page.contains("href=\"#main\"") && page.contains("id=\"main\""),
            "{name}"
        );
        let values = |attribute: &str| -> Vec<String> {
            page.split(&format!(" {attribute}=\""))
                .skip(1)
                .filter_map(|part| part.split('"').next())
                .map(str::to_owned)
                .collect()
        };
        let mut ids = values("id");
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all, "{name}: duplicate id");
        for reference in values("for").into_iter().chain(values("aria-labelledby")) {
            assert!(
                ids.contains(&reference),
                "{name}: no element with id {reference}"
            );
        }
        for field in page
            .split("<input")
            .skip(1)
            .chain(page.split("<select").skip(1))
        {
            let tag = field.split('>').next().unwrap_or_default();
            let is_named = tag.contains("type=\"hidden\"")
                || tag.contains("type=\"radio\"")
                || values("for")
                    .iter()
                    .any(|id| tag.contains(&format!("id=\"{id}\"")));
            assert!(is_named, "{name}: <input{tag}> has no label");
        }
    }
}

/// While a pause is pending, the script recognises it by an attribute, not by the text.
#[test]
fn c09_a_pending_pause_is_marked_for_the_script() {
    let transcript = test_support::transcript(&test_support::running());
    let view = |is_pausing| DebateView::new(&transcript, Right::Run).pausing(is_pausing);
    let is_marked = |is_pausing| {
        let panels = view(is_pausing).panels(&transcript, &test_support::report());
        panels.contains("role=\"status\" data-pausing>Pausing after this round<")
    };
    assert!(is_marked(true) && !is_marked(false));
}

/// The page is deterministic for a journal entry and contains the number from which the event stream continues.
#[test]
fn c09_a_page_can_be_rendered_at_every_entry_and_continued() {
    let entries = test_support::running();
    for end in 1..=entries.len() {
        let transcript = test_support::transcript(&entries[..end]);
        let page = || {
            DebateView::new(&transcript, Right::Run).page(
                frame("debates"),
                &transcript,
                &Report::default(),
            )
        };
        assert_eq!(page(), page());
        assert!(page().contains(&format!("data-seq=\"{}\"", entries[end - 1].seq)));
        assert!(page().contains("/events\""));
        assert!(
            page().contains("http-equiv=\"refresh\""),
            "it reloads itself without JavaScript"
        );
    }
    let over = test_support::transcript(&test_support::journal(State::Complete));
    let page =
        DebateView::new(&over, Right::Run).page(frame("debates"), &over, &test_support::report());
    assert!(
        !page.contains(assets::LIVE.path())
            && !page.contains("<meta http-equiv")
            && !page.contains("data-events")
    );
}

/// Every part that the script replaces exists on the page with the same id.
#[test]
fn c09_live_parts_have_the_same_ids_as_the_page() {
    let transcript = test_support::transcript(&test_support::running());
    let page = DebateView::new(&transcript, Right::Run).page(
        frame("debates"),
        &transcript,
        &test_support::report(),
    );
    let panels =
        DebateView::new(&transcript, Right::Run).panels(&transcript, &test_support::report());
    for part in [
        "status",
        "key-figures",
        "timeline",
        "outcome",
        "controls",
        "sidebar",
    ] {
        let id = format!("id=\"{part}\"");
        assert_eq!(
            (page.matches(&id).count(), panels.matches(&id).count()),
            (1, 1),
            "{part}"
        );
    }
    // No turn is rendered for parts that show none; everything else is the same.
    let report = test_support::report();
    let whole = render::Debate::new(&transcript, &report);
    let outline = render::Debate::without_turns(&transcript, &report);
    let turns = |debate: &render::Debate| {
        debate
            .rounds
            .iter()
            .map(|round| round.turns.len())
            .sum::<usize>()
    };
    assert!(turns(&whole) > 0);
    assert_eq!(turns(&outline), 0);
    let timeline = |debate: &render::Debate| -> Vec<String> {
        let rounds = debate.rounds.iter();
        rounds
            .map(|round| format!("{} {} {}", round.key, round.title, round.summary))
            .collect()
    };
    assert_eq!(timeline(&whole), timeline(&outline));
}

fn request_of(values: &[(&str, &str)]) -> Result<serde_json::Value, Vec<String>> {
    let request = new_debate(&Data::built_in(), &form_of(values));
    let request = request.map_err(|problem| problem.messages())?;
    Ok(serde_json::to_value(request).unwrap())
}

/// A request has the fields of its protocol, by their kind; empty values and those of other protocols are left out.
#[test]
fn the_form_becomes_a_request_of_the_chosen_task() {
    let request = new_debate(&Data::built_in(), &submitted()).unwrap();
    assert_eq!(
        (request.protocol.as_str(), request.cast.as_deref()),
        ("modes", Some("modes"))
    );
    assert_eq!(
        serde_json::Value::Object(request.rules),
        serde_json::json!({
            "mode": "red-team-blue-team",
            "domain": "API \"design\"",
            "enhanced": true,
        })
    );
    assert_eq!(request.seats["sentinel"], "lab:\"><script>");
    assert_eq!(request.budget.unwrap().max_cost, Some(0.5));

    let forecast = request_of(&[
        ("task", "forecast"),
        ("question", "Rain?"),
        ("forecast.outcomes", "Yes\n\n No \n"),
        ("forecast.resolves", "2027-06-30"),
        ("forecast.rounds", "2"),
        ("modes.mode", "delphi"),
        ("depth", "quick"),
    ])
    .unwrap();
    assert_eq!(forecast["protocol"], "forecast");
    assert_eq!(forecast["depth"], "quick");
    assert_eq!(
        forecast["rules"],
        serde_json::json!({ "outcomes": ["Yes", "No"], "resolves": "2027-06-30", "rounds": 2 })
    );
    // Every task has a default, and so has a form without a task.
    for (task, protocol) in [
        ("", "dialectic"),
        ("answer", "dialectic"),
        ("debate", "modes"),
        ("forecast", "forecast"),
        ("judge", "councils"),
        ("<b>", "dialectic"),
    ] {
        let request = request_of(&[("task", task), ("question", "Why?")]).unwrap();
        assert_eq!(request["protocol"], protocol, "{task}");
    }
}

#[test]
fn a_preset_is_a_way_of_its_task_and_the_form_wins_over_it() {
    let preset = ("way.answer", "preset:second-opinion");
    let plain = request_of(&[("question", "Why?"), preset, ("depth", "normal")]).unwrap();
    assert_eq!(plain["protocol"], "panel");
    assert_eq!(plain["budget"]["max_seconds"], 300.0);
    let own = request_of(&[("question", "Why?"), preset, ("max_minutes", "2")]).unwrap();
    assert_eq!(own["budget"]["max_seconds"], 120.0);
}

/// Everything that is wrong with a form is said at once.
#[test]
fn e10_wrong_values_of_the_form_are_reported_together() {
    let wrong = request_of(&[
        ("task", "forecast"),
        ("forecast.rounds", "11"),
        ("max_cost", "abc"),
        ("max_minutes", "soon"),
    ]);
    assert_eq!(
        wrong.unwrap_err(),
        [
            "invalid spending limit 'abc': expected a number",
            "invalid number of minutes 'soon': expected a number",
            "invalid Rounds '11': expected 1 to 10"
        ]
    );
    for way in [
        "preset:nothing",
        "nothing",
        "../../etc/passwd",
        "preset:../x",
    ] {
        let wrong = request_of(&[("way.answer", way)]).unwrap_err();
        assert_eq!(wrong.len(), 1, "{way}: {wrong:?}");
    }
}

/// Files are sources, the judged text, or a part of the question: what the protocol reads.
#[test]
fn files_of_the_form_go_where_the_protocol_reads_them() {
    let request = |task: &str, question: &str, files: &[(&str, Option<&str>)]| {
        let mut form = form_of(&[("task", task), ("question", question)]);
        let files = files.iter();
        form.files = files
            .map(|(name, text)| UploadedFile {
                name: (*name).into(),
                text: text.map(str::to_owned),
            })
            .collect();
        new_debate(&Data::built_in(), &form).map_err(|problem| problem.messages())
    };
    let file = [("a.md", Some("# A\n"))];
    let debate = request("debate", "Why?", &file).unwrap();
    assert_eq!(
        (debate.question.as_str(), debate.sources.len()),
        ("Why?", 1)
    );
    assert_eq!(debate.sources[0].name, "a.md");
    let judged = request("judge", "", &file).unwrap();
    assert_eq!(
        judged.rules["parts"],
        serde_json::json!([{ "kind": "text", "name": "a.md", "text": "# A\n" }])
    );
    let both = request("judge", "Mine", &file).unwrap();
    assert_eq!(
        (
            both.question.as_str(),
            both.rules["parts"].as_array().unwrap().len()
        ),
        ("", 2)
    );
    let answer = request("answer", "Why?", &file).unwrap();
    assert_eq!(answer.question, "Why?\n\n## a.md\n\n# A");
    assert_eq!(
        request("debate", "Why?", &[("a.pdf", None), ("b.md", Some(" \n"))]).unwrap_err(),
        [
            "'a.pdf' is not text: use Markdown, text, HTML or CSV files",
            "'b.md' is empty"
        ]
    );
}

/// The fields of every task and of every protocol are shown by the style sheet while they are chosen.
#[test]
fn the_style_sheet_shows_the_fields_of_the_chosen_task_and_protocol() {
    for protocol in protocols::ALL {
        let name = protocol.name();
        let hides =
            format!(".ask:not(:has([data-protocol=\"{name}\"]:checked)) [data-for=\"{name}\"]");
        assert!(assets::STYLE.body.contains(&hides), "{hides}");
    }
    let page = home(StartForm::default()).page(frame("ask"));
    for task in Task::ALL {
        let name = task.name();
        let hides = format!(".ask:not(:has(#task-{name}:checked)) [data-task=\"{name}\"]");
        assert!(assets::STYLE.body.contains(&hides), "{hides}");
        assert!(page.contains(&format!("data-task=\"{name}\"")), "{name}");
    }
}

#[test]
fn sign_in_redirects_only_to_this_server() {
    for (given, expected) in [
        ("/debates?page=2", "/debates?page=2"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\r\nset-cookie: x", "/"),
        ("", "/"),
    ] {
        assert_eq!(safe_next(given), expected);
    }
}

/// E-15, E-16: the learning page shows weights with intervals, their history and every change.
#[test]
fn e15_the_learning_page_shows_weights_and_changes() {
    use roundtable_core::learning::HalfLife;

    let audit = crate::learning::samples::audit();
    let domain = audit[0].domain.clone();
    let now = audit[audit.len() - 1].at;
    let report = roundtable_engine::retrospective::knowledge_report(
        &audit,
        &domain,
        HalfLife::default(),
        now,
    );
    let choice = |name: &str, is_chosen| Choice {
        value: name.into(),
        label: name.into(),
        is_chosen,
    };
    let domains = [choice("api design", true), choice("q & a", false)];
    insta::assert_snapshot!(
        "learning",
        learning_page(&report, &domains, frame("learning"))
    );
    let none = learning_page(&Report::default(), &[], frame("learning"));
    assert!(none.contains("Nothing learned yet."), "{none}");
}

/// The last page that a number can name is an empty one.
#[test]
fn a_page_number_cannot_overflow() {
    for page in ["18446744073709551615", "1000000000", "0", "-1", "x", ""] {
        let query = Query {
            page: page.into(),
            ..Query::default()
        };
        let html = DebatesView::new(&query, Vec::new(), 60).page(frame("debates"));
        assert!(html.contains("</html>"), "{page}");
    }
}
