use roundtable_core::usage::{Money, Price};
use roundtable_engine::data::Data;
use roundtable_engine::event::State;
use roundtable_engine::protocols;
use roundtable_engine::report::Report;

use super::audit::{AuditView, Row as AuditRow};
use super::debate::{DebateView, Right};
use super::debates::{DebatesView, Query, Row};
use super::error_page::ErrorView;
use super::fields::{FieldGroup, FieldValues, protocol_input};
use super::home::{CastOption, FormOptions, HomeView, ProviderModels, StartForm, cast_title};
use super::models::{ModelsView, ProviderRow, Setting, Settings, TestResult, Tier};
use super::sign_in_page::{SignInView, safe_next};
use super::tokens::{Added, Row as TokenListRow, TokenForm, TokensView};
use super::*;
use crate::estimate::UsageEstimate;
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

fn options(values: &FieldValues) -> FormOptions {
    let price = Price {
        input: 0.4,
        output: 1.6,
        cached: None,
    };
    let option = |cast: &str, protocol, summary: &str, calls| CastOption {
        cast: cast.into(),
        protocol,
        title: cast_title(cast),
        summary: summary.into(),
        estimate: UsageEstimate::of_calls(calls).to_text(Some(&price)),
        is_chosen: false,
    };
    FormOptions {
        casts: vec![
            option(
                "dialectic",
                "dialectic",
                "A proposer answers, a skeptic attacks, a synthesizer writes what survived, a judge marks it.",
                9,
            ),
            option(
                "forecast",
                "forecast",
                "Optimist, pessimist, contrarian and historian put numbers on outcomes; a judge weighs them.",
                31,
            ),
            option(
                "themis",
                "councils",
                "Two councils of judges score a piece of content, argue about it, and answer a critic.",
                24,
            ),
            option(
                "modes",
                "modes",
                "Seats with <different> eyes debate in a mode.",
                13,
            ),
        ],
        groups: FieldGroup::all(&Data::built_in(), values),
        providers: vec![ProviderModels {
            provider: "lab".into(),
            models: vec![Choice {
                value: "lab:qwen3-32b".into(),
                label: "qwen3-32b".into(),
                is_chosen: false,
            }],
        }],
        default_model: Some(("lab:qwen3-32b".into(), "configured".into())),
        advice: None,
        recent: rows().into_iter().take(3).collect(),
    }
}

fn home(form: StartForm) -> HomeView {
    HomeView::new(options(&form.fields), form)
}

/// A submitted form with fields of two protocols.
fn submitted() -> StartForm {
    let fields = [
        ("modes.mode", "red-team-blue-team"),
        ("modes.domain", "API \"design\""),
        ("modes.enhanced", "on"),
        ("modes.algorithm", ""),
        ("forecast.outcomes", "Yes\n\n </textarea><script> \n"),
    ];
    StartForm {
        question: "Why </textarea><script>?".into(),
        cast: "modes".into(),
        max_cost: "0.5".into(),
        fields: fields
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..StartForm::default()
    }
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
        test_account: Some(
            "Test calls on this server in the last hour: 1 call, 80 tokens, $0.0001.".into(),
        ),
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
        !page.contains("<script")
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

/// A protocol's input is read from its own fields, by their kind; empty values are left out.
#[test]
fn form_fields_become_the_input_of_the_chosen_protocol() {
    let input = |name| {
        let protocol = protocols::named(name).unwrap();
        serde_json::Value::Object(protocol_input(
            protocol,
            &Data::built_in(),
            &submitted().fields,
        ))
    };
    assert_eq!(
        input("modes"),
        serde_json::json!({ "mode": "red-team-blue-team", "domain": "API \"design\"", "enhanced": true })
    );
    assert_eq!(
        input("forecast"),
        serde_json::json!({ "outcomes": ["Yes", "</textarea><script>"] })
    );
    assert_eq!(input("dialectic"), serde_json::json!({}));
}

/// Every group of fields is shown by the style sheet while a cast of its protocol is chosen.
#[test]
fn the_style_sheet_shows_the_fields_of_the_chosen_protocol() {
    let groups = FieldGroup::all(&Data::built_in(), &FieldValues::new());
    assert!(groups.len() > 1);
    for group in groups {
        let name = group.protocol;
        let hides =
            format!(".ask:not(:has([data-protocol=\"{name}\"]:checked)) [data-for=\"{name}\"]");
        assert!(assets::STYLE.body.contains(&hides), "{hides}");
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

#[test]
fn the_cost_estimate_is_rounded() {
    let price = |input, output| Price {
        input,
        output,
        cached: None,
    };
    assert_eq!(
        UsageEstimate::of_calls(9).to_text(Some(&price(3.0, 15.0))),
        "About 9 calls, 20,000 tokens, $0.11"
    );
    assert_eq!(
        UsageEstimate::of_calls(9).to_text(Some(&Price::FREE)),
        "About 9 calls, 20,000 tokens, free"
    );
    assert_eq!(
        UsageEstimate::of_calls(9).to_text(None),
        "About 9 calls, 20,000 tokens, price unknown"
    );
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
    assert!(none.contains("No data yet."), "{none}");
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
