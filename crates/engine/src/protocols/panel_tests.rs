use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::budget::Budget;
use crate::cast::{Cast, CastChoice};
use crate::data::Text;
use crate::event::{Seated, Setup, Spent, State};
use crate::journal::{Journal, MemoryJournal};
use crate::model::{Ability, ModelError, Request as ModelRequest};
use crate::protocol::AnyProtocol;
use crate::protocols::{play, record, report};
use crate::report::{BadgeKind, Block};
use crate::scripted::{
    Dying, Scripted, assert_all_rebuilt, assert_verdicts, deps, entries, longest_chain, name,
    rules_at, snapshot, timeless,
};
use crate::table::TableDeps;

const QUESTION: &str = "Should a five-person team run its own Kubernetes cluster?";
const SEATS: [&str; 4] = ["first", "second", "third", "fourth"];

/// One scripted model per seat: their prompts do not say which seat they are for.
struct Models(BTreeMap<String, Arc<Scripted>>);

/// The replies of a scripted panel.
#[derive(Clone)]
struct Script {
    positions: [&'static str; 4],
    confidences: [f64; 4],
    /// Seats whose answers fail.
    absent: &'static [&'static str],
    /// Seats whose rankings miss an answer.
    careless: &'static [&'static str],
}

impl Default for Script {
    fn default() -> Self {
        Self {
            positions: [
                "Use a managed service",
                "Run it yourself",
                "Use a managed service",
                "It depends on the load",
            ],
            confidences: [0.8, 0.6, 0.7, 0.5],
            absent: &[],
            careless: &[],
        }
    }
}

/// Readers prefer answers by this order of the words in them.
const PREFERENCE: [&str; 4] = [
    "Answer of first",
    "Answer of third",
    "Answer of fourth",
    "Answer of second",
];

fn text_of(request: &ModelRequest) -> String {
    let parts: Vec<&str> = request.messages.iter().map(|m| m.text.as_str()).collect();
    parts.join("\n")
}

/// The shown labels, the best first by [`PREFERENCE`].
fn preferred(prompt: &str) -> Vec<String> {
    let mut shown: Vec<(usize, String)> = prompt
        .split("### Answer ")
        .skip(1)
        .map(|part| {
            let label = part.lines().next().unwrap().trim().to_owned();
            let place = PREFERENCE.iter().position(|words| part.contains(words));
            (place.unwrap(), label)
        })
        .collect();
    shown.sort();
    shown.into_iter().map(|(_, label)| label).collect()
}

impl Models {
    fn new(script: &Script) -> Self {
        let mut models = BTreeMap::new();
        for (index, seat) in SEATS.into_iter().enumerate() {
            let script = script.clone();
            let model = Scripted::new(move |request: &ModelRequest, _| {
                let reply = match name(request).as_str() {
                    "panel_answer" if script.absent.contains(&seat) => {
                        return Err(ModelError::Rejected {
                            status: 400,
                            detail: "no".into(),
                        });
                    }
                    "panel_answer" => json!({
                        "answer": format!("Answer of {seat}."),
                        "position": script.positions[index],
                        "confidence": script.confidences[index],
                    }),
                    "panel_ranking" => {
                        let mut labels = preferred(&text_of(request));
                        if script.careless.contains(&seat) {
                            let last = labels.len() - 1;
                            labels[last] = labels[0].clone();
                        }
                        let ranking: Vec<Value> = labels
                            .iter()
                            .map(|label| json!({ "answer": label, "reason": format!("Reason for {label}.") }))
                            .collect();
                        json!({ "comparison": format!("Comparison by {seat}."), "ranking": ranking })
                    }
                    other => unreachable!("{other}"),
                };
                Ok(reply.to_string())
            });
            models.insert(seat.to_owned(), model);
        }
        let chair = Scripted::new(|_: &ModelRequest, _| {
            Ok(json!({
                "answer": "Use a managed service until the load is known.",
                "position": "Use a managed service",
                "confidence": 0.75,
                "consensus": [{ "text": "Operations cost time.", "answers": ["A", "B"] }],
                "contradictions": [{ "text": "Whether control is worth it.", "answers": ["A", "C"] }],
                "partial_coverage": [{ "text": "Only two treat cost.", "answers": ["B", "D"] }],
                "unique_insights": [{ "text": "Load decides.", "answers": ["D"] }],
                "blind_spots": [{ "text": "Nobody treats hiring.", "answers": [] }],
            })
            .to_string())
        });
        models.insert("chair".to_owned(), chair);
        Self(models)
    }

    fn deps(&self, journal: Arc<dyn Journal>) -> TableDeps {
        let any = self.0.values().next().unwrap();
        let mut all = deps(any, journal);
        let price = all.seat_models["judge"].price;
        all.seat_models = self
            .0
            .iter()
            .map(|(seat, model)| {
                let model = crate::table::SeatModel {
                    model: Arc::clone(model) as Arc<dyn crate::model::Model>,
                    price,
                };
                (seat.clone(), model)
            })
            .collect();
        all
    }

    fn calls(&self) -> usize {
        self.0.values().map(|model| model.heard().len()).sum()
    }

    fn prompts(&self, seat: &str, kind: &str) -> Vec<String> {
        let heard = self.0[seat].heard();
        let of_kind = heard.iter().filter(|request| name(request) == kind);
        of_kind.map(text_of).collect()
    }
}

fn setup(input: Value, ability: Ability) -> Setup {
    let data = Data::built_in();
    let context = Context::new(&data, 1000);
    let request = Request {
        question: QUESTION.into(),
        ..Request::default()
    };
    let plan = AnyProtocol::validate(&Panel, input, request, context);
    let plan = plan.unwrap_or_else(|faults| panic!("{faults:?}"));
    let seats = plan.cast.seats.iter().cloned().map(|seat| {
        let model = format!("test:{}", seat.name);
        Seated::new(seat, model, ability)
    });
    Setup {
        protocol: "panel".into(),
        question: plan.question.clone(),
        seed: 7,
        seats: seats.collect(),
        rules: plan
            .rules(&crate::protocol::SeatModels::new(), &mut Vec::new())
            .unwrap(),
        budget: Budget::default(),
        embedder: None,
        program: "test".into(),
        notices: Vec::new(),
        depth: crate::depth::Depth::Normal,
        estimate: None,
        parent: None,
    }
}

async fn played_on(models: &Models, setup: Setup, budget: Budget, journal: &Arc<MemoryJournal>) {
    let deps = models.deps(Arc::clone(journal) as Arc<dyn Journal>);
    let table = Table::open(setup, budget, deps).await.unwrap();
    play(&table, &Panel).await.unwrap();
}

async fn played(script: &Script, input: Value) -> (Models, Arc<MemoryJournal>, Verdict) {
    let models = Models::new(script);
    let journal: Arc<MemoryJournal> = Arc::default();
    played_on(
        &models,
        setup(input, Ability::Full),
        Budget::default(),
        &journal,
    )
    .await;
    let verdict = verdict_in(&journal);
    (models, journal, verdict)
}

fn verdict_in(journal: &MemoryJournal) -> Verdict {
    let record = Record::of("id", "then".into(), &entries(journal)).unwrap();
    record.result.unwrap()
}

fn state_in(journal: &MemoryJournal) -> State {
    Record::of("id", "then".into(), &entries(journal))
        .unwrap()
        .state
}

/// N-01: every seat answers without seeing another answer.
#[tokio::test]
async fn n01_answers_are_blind() {
    let (models, _, verdict) = played(&Script::default(), json!({})).await;
    for seat in SEATS {
        let prompts = models.prompts(seat, "panel_answer");
        assert_eq!(prompts.len(), 1);
        assert!(prompts[0].contains(QUESTION));
        assert!(!prompts[0].contains("Answer of"));
    }
    assert_eq!(verdict.answers.len(), 4);
}

/// N-02: readers see the others' answers without names, each in its own order, and never their own.
#[tokio::test]
async fn n02_each_ranks_the_others_anonymised_and_shuffled() {
    let (models, _, verdict) = played(&Script::default(), json!({})).await;
    let mut orders = Vec::new();
    for seat in SEATS {
        let prompts = models.prompts(seat, "panel_ranking");
        assert_eq!(prompts.len(), 1);
        let prompt = prompts[0].replace(&format!("Answer of {seat}"), "its own answer");
        assert!(!prompt.contains("its own answer"), "{seat}");
        assert_eq!(prompt.matches("### Answer ").count(), 3);
        assert!(
            !prompt.contains("test:") && !prompt.contains("First"),
            "{seat}"
        );
        orders.push(
            prompt
                .split("### Answer ")
                .skip(1)
                .map(|part| part[..1].to_owned())
                .collect::<Vec<_>>(),
        );
    }
    orders.dedup();
    assert!(
        orders.len() > 1,
        "the order is drawn per reader: {orders:?}"
    );
    let ranking = verdict.ranking.unwrap();
    assert_eq!(ranking.readers.len(), 4);
    for reader in &ranking.readers {
        assert_eq!(reader.ranking.len(), 3);
        assert!(
            reader
                .ranking
                .iter()
                .all(|ranked| !ranked.reason.is_empty())
        );
    }
}

/// N-02: labels are drawn from the seed and do not follow the seats.
#[test]
fn n02_labels_do_not_follow_the_seats() {
    let mut drawn: Vec<Vec<String>> = Vec::new();
    for seed in 0..50 {
        let setup = Setup {
            seed,
            ..setup(json!({}), Ability::Full)
        };
        let mut state = PanelState::new(&setup);
        for seat in SEATS {
            let reply = json!({ "answer": "a", "position": "p", "confidence": 0.5 });
            state.add_answer(
                seat,
                serde_json::from_value(reply).unwrap(),
                Spent::default(),
            );
        }
        drawn.push(state.labels());
    }
    drawn.sort();
    drawn.dedup();
    assert!(
        drawn.len() > 15,
        "of 24 possible orders, 50 seeds draw {}",
        drawn.len()
    );
}

/// N-03: all readers prefer the same order, so the pool has it, and they agree fully.
#[tokio::test]
async fn n03_ranks_are_pooled_with_their_agreement() {
    let (_, journal, verdict) = played(&Script::default(), json!({})).await;
    let order: Vec<&str> = verdict
        .answers
        .iter()
        .map(|answer| answer.seat.as_str())
        .collect();
    assert_eq!(order, ["first", "third", "fourth", "second"]);
    let places: Vec<_> = verdict.answers.iter().map(|answer| answer.place).collect();
    assert_eq!(places, [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(verdict.answers[0].score, Some(1.0));
    assert!(verdict.answers.iter().all(|answer| answer.readers == 3));
    let ranking = verdict.ranking.unwrap();
    assert_eq!(ranking.rule, "normalised Borda count");
    assert_eq!(ranking.agreement, Some(1.0));
    assert!(ranking.positional_bias.is_some() && ranking.ties.is_empty());
    assert_eq!(state_in(&journal), State::Complete);
}

/// N-03: a ranking that repeats an answer is sent back once; after that its first mentions count, and the answer that it misses
/// is last. The panel is complete.
#[tokio::test]
async fn n03_a_ranking_with_a_repeated_answer_is_sent_back_once_and_then_normalised() {
    let script = Script {
        careless: &["second"],
        ..Script::default()
    };
    let (models, journal, verdict) = played(&script, json!({})).await;
    let prompts = models.prompts("second", "panel_ranking");
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1].contains("The ranking lacks") && prompts[1].contains("more than once"));
    let readers = verdict.ranking.unwrap().readers;
    assert_eq!(readers.len(), 4);
    let careless = readers.iter().find(|reader| reader.seat == "second");
    let careless = careless.unwrap();
    let ranked: Vec<&str> = careless
        .ranking
        .iter()
        .map(|ranked| ranked.answer.as_str())
        .collect();
    assert_eq!((ranked.len(), careless.unranked.len()), (2, 1));
    let (twice, last) = (ranked[0], &careless.unranked[0]);
    assert_ne!(ranked[1], twice);
    assert!(!ranked.contains(&last.as_str()));
    assert_eq!(
        verdict.remarks,
        [format!(
            "second: it ranked {twice} more than once, and the first mention counts; it left out {last}, which counts as \
             ranked last"
        )]
    );
    assert!(verdict.answers.iter().all(|answer| answer.readers == 3));
    assert_eq!(verdict.missing, []);
    assert_eq!(verdict.confidence, verdict.confidence_stated);
    assert_eq!(state_in(&journal), State::Complete);
}

/// N-04: the chair sees all answers with their scores, and its points can only name labels that exist.
#[tokio::test]
async fn n04_the_chair_concludes_with_five_lists_that_point_at_answers() {
    let (models, _, verdict) = played(&Script::default(), json!({})).await;
    let heard = models.0["chair"].heard();
    let prompt = text_of(&heard[0]);
    for seat in SEATS {
        assert!(prompt.contains(&format!("Answer of {seat}.")));
        assert!(prompt.contains(&format!("Comparison by {seat}.")));
    }
    assert!(prompt.contains("rank score by the other models: 1.00"));
    let schema = heard[0].schema.as_ref().unwrap();
    let schema: Value =
        serde_json::from_str(&serde_json::to_string(&schema.json).unwrap()).unwrap();
    let labels =
        &schema["properties"]["consensus"]["items"]["properties"]["answers"]["items"]["enum"];
    let mut labels: Vec<&str> = labels
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    labels.sort_unstable();
    assert_eq!(labels, ["A", "B", "C", "D"]);
    assert_eq!(
        verdict.final_answer.as_deref(),
        Some("Use a managed service until the load is known.")
    );
    let lists = [
        &verdict.consensus,
        &verdict.contradictions,
        &verdict.partial_coverage,
        &verdict.unique_insights,
        &verdict.blind_spots,
    ];
    assert!(lists.iter().all(|points| points.len() == 1));
    assert_eq!(verdict.consensus[0].answers, ["A", "B"]);
    assert!(verdict.challenged);
}

fn agreeing(confidences: [f64; 4]) -> Script {
    Script {
        positions: ["Yes", "yes", "Yes.", "YES"],
        confidences,
        ..Script::default()
    }
}

/// N-05: blind answers that agree and are sure end the panel; the result says that nobody challenged them and what was saved.
#[tokio::test]
async fn n05_agreement_of_sure_blind_answers_stops_the_panel() {
    let (models, journal, verdict) = played(&agreeing([0.9, 0.8, 0.95, 0.85]), json!({})).await;
    assert_eq!(models.calls(), 4);
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.saved_calls),
        ("unanimous", 5)
    );
    assert!(!verdict.challenged);
    assert_eq!(
        verdict.final_answer.as_deref(),
        Some("Answer of third."),
        "the most confident"
    );
    assert!(
        verdict
            .stop_explanation
            .contains("nobody ranked or challenged")
    );
    assert_eq!(state_in(&journal), State::Complete);
    let shown = format!("{:?}", report(&entries(&journal)).sections);
    assert!(shown.contains("saved 5 calls") && shown.contains("--full"));
}

/// C-22: answers that contradict the result challenge it; without a contradiction or a comparison it was not challenged.
#[tokio::test]
async fn c22_a_panel_says_whether_its_answer_was_challenged() {
    let (_, _, verdict) = played(&Script::default(), json!({})).await;
    assert!(
        verdict
            .scrutiny
            .unwrap()
            .sentence()
            .starts_with("Challenged: ")
    );
    let sure = agreeing([0.9, 0.8, 0.95, 0.85]);
    let (_, journal, verdict) = played(&sure, json!({})).await;
    assert_eq!(
        verdict.scrutiny,
        Some(crate::protocols::Scrutiny::Unanimous)
    );
    let shown = format!("{:?}", report(&entries(&journal)).sections);
    assert!(
        shown.contains("Not challenged: the seats agreed before"),
        "{shown}"
    );
}

/// C-22: the verdict has the position as headline, the blind vote, and the seats that answered otherwise.
#[tokio::test]
async fn c22_the_verdict_of_a_panel() {
    let (_, journal, _) = played(&Script::default(), json!({})).await;
    let verdict = assert_verdicts(&entries(&journal));
    insta::assert_json_snapshot!("verdict", verdict);
    let (_, journal, _) = played(&agreeing([0.9, 0.8, 0.95, 0.85]), json!({})).await;
    let verdict = assert_verdicts(&entries(&journal));
    assert_eq!(verdict.badge.kind, BadgeKind::Unanimous);
    assert_eq!(verdict.badge.text, "Unanimous, blind: nobody objected");
    assert_eq!((verdict.dissent, verdict.changed), (Vec::new(), None));
}

/// N-05: just below the threshold, with a dissenting answer, with an absent seat, or with `full`, it continues.
#[tokio::test]
async fn n05_otherwise_the_panel_continues() {
    let (_, _, verdict) = played(&agreeing([0.9, 0.79, 0.95, 0.85]), json!({})).await;
    assert_eq!(verdict.stop_reason, "concluded");
    let (_, _, verdict) = played(
        &agreeing([0.9, 0.79, 0.95, 0.85]),
        json!({ "early_stop_confidence": 0.79 }),
    )
    .await;
    assert_eq!(verdict.stop_reason, "unanimous");
    let (_, _, verdict) = played(&agreeing([0.9; 4]), json!({ "full": true })).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.worth.changed),
        ("concluded", Some(true))
    );
    let script = Script {
        absent: &["fourth"],
        ..agreeing([0.9; 4])
    };
    let (_, journal, verdict) = played(&script, json!({})).await;
    assert_eq!(verdict.stop_reason, "concluded");
    assert_eq!(verdict.answers.len(), 3);
    assert_eq!(state_in(&journal), State::Partial);
}

/// C-06: two answers cannot be ranked, one cannot be compared, none is a failure.
#[tokio::test]
async fn c06_a_panel_goes_as_far_as_its_answers_allow() {
    let cases: [(&[&str], &str, State, usize); 3] = [
        (&["first", "second"], "concluded", State::Partial, 3),
        (
            &["first", "second", "third"],
            "too_few_answers",
            State::Partial,
            1,
        ),
        (
            &["first", "second", "third", "fourth"],
            "too_few_answers",
            State::Failed,
            0,
        ),
    ];
    for (absent, stop, state, answered) in cases {
        let script = Script {
            absent,
            ..Script::default()
        };
        let (models, journal, verdict) = played(&script, json!({})).await;
        assert_eq!(
            (verdict.stop_reason.as_str(), state_in(&journal)),
            (stop, state),
            "{absent:?}"
        );
        assert_eq!(verdict.ranking, None);
        let failed = models.calls() - answered;
        assert!(failed >= absent.len());
    }
}

/// C-07: a spent budget ends the panel with the best answer so far.
#[tokio::test]
async fn c07_a_spent_budget_keeps_the_best_answer() {
    let models = Models::new(&Script::default());
    let journal: Arc<MemoryJournal> = Arc::default();
    let budget = Budget {
        max_tokens: Some(480),
        ..Budget::default()
    };
    played_on(&models, setup(json!({}), Ability::Full), budget, &journal).await;
    let verdict = verdict_in(&journal);
    assert_eq!(verdict.stop_reason, "budget");
    assert_eq!(
        verdict.final_answer.as_deref(),
        Some(
            "**Partial:** the limit of 480 tokens has no room for the next call (360 used).\n\nAnswer of first."
        )
    );
    assert_eq!(state_in(&journal), State::Partial);
}

/// C-08: killed after every entry and resumed, the journal is the same and no finished call is repeated.
#[tokio::test]
async fn c08_a_panel_killed_after_every_entry_loses_and_repeats_nothing() {
    let (_, whole, _) = played(&Script::default(), json!({})).await;
    let by_key = |journal: &MemoryJournal| -> BTreeMap<String, Value> {
        let keyed = timeless(journal).into_iter();
        keyed
            .map(|entry| {
                (
                    entry["key"].as_str().unwrap().to_owned(),
                    entry["entry"]["event"].clone(),
                )
            })
            .collect()
    };
    let finished = |journal: &MemoryJournal| {
        let entries = entries(journal);
        entries
            .iter()
            .filter(|entry| entry.event.finished().is_some())
            .count()
    };
    let (expected, length) = (by_key(&whole), whole.keyed().len());
    assert_eq!(finished(&whole), 9);
    for after in 1..=length {
        let models = Models::new(&Script::default());
        let inner: Arc<MemoryJournal> = Arc::default();
        let (dying, dead) = Dying::after(after, &inner);
        let first_life = async {
            let deps = models.deps(Arc::new(dying));
            let table = Table::open(setup(json!({}), Ability::Full), Budget::default(), deps)
                .await
                .unwrap();
            play(&table, &Panel).await.unwrap();
        };
        tokio::select! {
            () = first_life => {}
            () = dead.notified() => {}
        }
        let (safe, before) = (finished(&inner), models.calls());
        if inner.keyed().len() < length {
            played_on(
                &models,
                setup(json!({}), Ability::Full),
                Budget::default(),
                &inner,
            )
            .await;
        }
        assert_eq!(by_key(&inner), expected, "killed after entry {after}");
        assert_eq!(
            models.calls() - before,
            9 - safe,
            "killed after entry {after}"
        );
    }
}

/// C-09, C-14: there is a report and a record at every point of the journal, and the record keeps to its schema.
#[tokio::test]
async fn n06_answers_are_shown_side_by_side() {
    let (_, journal, _) = played(&Script::default(), json!({})).await;
    let entries = entries(&journal);
    for end in 1..=entries.len() {
        let _ = report(&entries[..end]);
        assert!(record("id", "then".into(), &entries[..end]).is_some());
    }
    let whole = report(&entries);
    let side_by_side = whole
        .sections
        .iter()
        .flat_map(|section| &section.blocks)
        .find_map(|block| match block {
            Block::Opposed { positions } => Some(positions.len()),
            _ => None,
        });
    assert_eq!(side_by_side, Some(4));
    let schema = AnyProtocol::record_schema(&Panel).unwrap();
    let record = record("id", "then".into(), &entries).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&record)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    insta::assert_json_snapshot!("report", whole);
}

/// C-15: a whole panel leaves this journal.
#[tokio::test]
async fn c15_a_panel_leaves_this_journal() {
    let (_, journal, _) = played(&Script::default(), json!({})).await;
    assert_all_rebuilt(&Panel, &journal).await;
    insta::assert_json_snapshot!("journal", snapshot(&journal));
}

/// Every prompt, for full and for small models.
#[tokio::test]
async fn prompts_of_a_panel() {
    for ability in [Ability::Full, Ability::Small] {
        let models = Models::new(&Script::default());
        let journal: Arc<MemoryJournal> = Arc::default();
        played_on(
            &models,
            setup(json!({}), ability),
            Budget::default(),
            &journal,
        )
        .await;
        let kinds = [
            ("first", "panel_answer"),
            ("first", "panel_ranking"),
            ("chair", "panel_conclusion"),
        ];
        for (seat, kind) in kinds {
            let prompt = models.prompts(seat, kind).remove(0);
            insta::assert_snapshot!(format!("prompt_{ability:?}_{kind}").to_lowercase(), prompt);
        }
    }
}

/// A cast for another protocol, and one without a chair, are rejected.
#[test]
fn n01_a_cast_needs_three_seats_and_a_chair() {
    let data = Data::built_in();
    let context = || Context::new(&data, 1000);
    let request = |cast: CastChoice| Request {
        question: QUESTION.into(),
        cast: Some(cast),
        ..Request::default()
    };
    let refused = AnyProtocol::validate(&Panel, json!({}), request("modes".into()), context());
    assert!(
        refused.err().unwrap()[0]
            .message
            .contains("is for the protocol 'modes'")
    );
    let folder = tempfile::TempDir::new().unwrap();
    let cast = Cast::load(&data, "panel").unwrap();
    let without_chair = Cast {
        seats: cast
            .seats
            .into_iter()
            .filter(|seat| seat.part == crate::cast::Part::Panel)
            .collect(),
        ..cast
    };
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, toml::to_string(&without_chair).unwrap()).unwrap();
    let file = CastChoice::File(Text::read(&path).unwrap());
    let refused = AnyProtocol::validate(&Panel, json!({}), request(file), context());
    assert!(refused.err().unwrap()[0].message.contains("chair"));
    let bad = AnyProtocol::validate(
        &Panel,
        json!({ "early_stop_confidence": 1.5 }),
        request("panel".into()),
        context(),
    );
    assert_eq!(bad.err().unwrap()[0].at, "/rules/early_stop_confidence");
}

/// B-13: a quick panel concludes without ranks.
#[tokio::test(start_paused = true)]
async fn b13_a_quick_panel_is_two_calls_deep() {
    let models = Models::new(&Script::default());
    let journal: Arc<MemoryJournal> = Arc::default();
    let setup = Setup {
        rules: rules_at(&Panel, Depth::Quick, json!({}), QUESTION),
        ..setup(json!({}), Ability::Full)
    };
    let deps = models.deps(Arc::clone(&journal) as Arc<dyn Journal>);
    assert_eq!(longest_chain(&Panel, setup, deps).await, 2);
    assert_eq!(models.calls(), 5);
    let verdict = verdict_in(&journal);
    assert_eq!(state_in(&journal), State::Complete);
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.ranking),
        ("concluded", None)
    );
}

fn own_answer(position: &str) -> Value {
    json!({ "my_answer": { "answer": "Answer of first, and more.", "position": position, "confidence": 0.9 } })
}

/// B-02: an answer of the caller is ranked like the others, and nobody knows whose it is.
#[tokio::test]
async fn b02_an_answer_of_the_caller_is_ranked_like_the_others() {
    let (models, journal, verdict) =
        played(&Script::default(), own_answer("Run it yourself")).await;
    assert_eq!(verdict.answers.len(), 5);
    let mine = verdict
        .answers
        .iter()
        .find(|answer| answer.seat == "caller");
    let mine = mine.unwrap();
    assert_eq!((mine.readers, mine.model.as_str()), (4, ""));
    for seat in SEATS {
        assert!(!models.prompts(seat, "panel_answer")[0].contains("and more"));
        let prompt = &models.prompts(seat, "panel_ranking")[0];
        assert_eq!(prompt.matches("### Answer ").count(), 4);
        assert!(
            prompt.contains("and more") && !prompt.contains("caller"),
            "{prompt}"
        );
    }
    // It costs no call: four answers, four rankings, one conclusion.
    assert_eq!(models.calls(), 9);
    assert_eq!(verdict.worth.blind_votes, 2);
    let shown = format!("{:?}", report(&entries(&journal)));
    assert!(shown.contains("caller"));
}

/// B-02: the early stop needs the caller's agreement, too.
#[tokio::test]
async fn b02_an_early_stop_needs_the_agreement_of_the_caller() {
    let script = Script {
        positions: ["Rent it"; 4],
        confidences: [0.9; 4],
        ..Script::default()
    };
    for (position, calls, reason) in [("Rent it", 4, "unanimous"), ("Buy it", 9, "concluded")] {
        let (models, _, verdict) = played(&script, own_answer(position)).await;
        assert_eq!(
            (models.calls(), verdict.stop_reason.as_str()),
            (calls, reason)
        );
    }
}

/// B-02: the caller's answer alone is not a result of the panel.
#[tokio::test]
async fn b02_the_answer_of_the_caller_alone_is_no_result() {
    let script = Script {
        absent: &SEATS,
        ..Script::default()
    };
    let (_, journal, verdict) = played(&script, own_answer("Rent it")).await;
    assert_eq!(
        (verdict.final_answer, state_in(&journal)),
        (None, State::Failed)
    );
}

#[test]
fn b02_an_invalid_answer_of_the_caller_is_refused() {
    let data = Data::built_in();
    let faults = |answer: &str, position: &str| {
        let context = Context::new(&data, 1000);
        let request = Request {
            question: QUESTION.into(),
            ..Request::default()
        };
        let own = json!({ "answer": answer, "position": position, "confidence": 0.5 });
        let plan = AnyProtocol::validate(&Panel, json!({ "my_answer": own }), request, context);
        plan.map(|_| ()).map_err(|faults| faults[0].at.clone())
    };
    assert_eq!(faults(&"x".repeat(12_000), &"y".repeat(80)), Ok(()));
    let at = |field: &str| Err(format!("/rules/my_answer/{field}"));
    assert_eq!(faults(&"x".repeat(12_001), "y"), at("answer"));
    assert_eq!(faults(" ", "y"), at("answer"));
    assert_eq!(faults("x", &"y".repeat(81)), at("position"));
    assert_eq!(faults("x", ""), at("position"));
}

/// B-10: comparing divided answers is worth a price or not; without a price the panel goes its usual course.
#[tokio::test]
async fn b10_a_panel_stops_after_the_blind_answers_if_more_is_not_worth_it() {
    // The answers cost $0.00056, and another one is expected in a quarter of the cases.
    for (input, calls, reason) in [
        (json!({}), 9, "concluded"),
        (json!({ "stop_by_value": 0.0023 }), 9, "concluded"),
        (json!({ "stop_by_value": 0.0022 }), 4, "value"),
    ] {
        let (models, journal, verdict) = played(&Script::default(), input).await;
        assert_eq!(
            (models.calls(), verdict.stop_reason.as_str()),
            (calls, reason)
        );
        assert_eq!(verdict.saved_calls, 9 - calls);
        assert_eq!(state_in(&journal), State::Complete);
        let record = record("id", "then".into(), &entries(&journal)).unwrap();
        assert_eq!(record["value"][0]["stops"], reason == "value");
        if reason == "value" {
            assert_eq!(verdict.position.as_deref(), Some("Use a managed service"));
            let why = &verdict.stop_explanation;
            assert!(
                why.contains("with probability 25% (95% 5% to 54%)"),
                "{why}"
            );
            assert!(
                why.contains("Saved: up to 1 round, about 480 tokens, $0.0006"),
                "{why}"
            );
        }
    }
}

/// B-10: a price is an amount of money.
#[test]
fn b10_a_negative_price_is_rejected() {
    let data = Data::built_in();
    let context = Context::new(&data, 1000);
    let request = Request {
        question: QUESTION.into(),
        ..Request::default()
    };
    let input = json!({ "stop_by_value": -1.0 });
    let faults = AnyProtocol::validate(&Panel, input, request, context).err();
    assert_eq!(faults.unwrap()[0].at, "/rules/stop_by_value");
}
