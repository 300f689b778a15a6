//! Test doubles: a scripted model, a ticking clock, a journal that dies, a bag-of-words embedder.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use roundtable_core::scale::Scale;
use roundtable_core::similarity::normalise;
use roundtable_core::usage::{Price, Usage};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::cast::Cast;
use crate::data::Data;
use crate::depth::Depth;
use crate::embedder::Embedder;
use crate::event::{Entry, Millis, Seated, Setup, State};
use crate::journal::{Journal, JournalError, Keyed, MemoryJournal};
use crate::model::{Ability, Delta, Deltas, Finish, Model, ModelError, Request, ToolCall};
use crate::prompt::Prompts;
use crate::protocol::{AnyProtocol, Context, Plan};
use crate::protocols::{self, dialectic::Rules, play};
use crate::reasoning::Library;
use crate::recorded_prompt::{self, NoPrompt, RecordedPrompt, recorded_prompt};
use crate::report::{BadgeKind, Verdict};
use crate::table::{Clock, SeatModel, Table, TableDeps};

type Script = dyn Fn(&Request, usize) -> Result<String, ModelError> + Send + Sync;

/// First character of a scripted reply with tool calls, one per line: a name and its arguments.
pub(crate) const CALLS: char = '\u{1}';

/// First character of a scripted reply that the token limit truncates.
pub(crate) const CUT: char = '\u{2}';

/// A model that answers by script; the script's second argument is the number of earlier calls with the same schema.
pub(crate) struct Scripted {
    script: Box<Script>,
    heard: Mutex<Vec<Request>>,
}

impl Scripted {
    pub(crate) fn new(
        script: impl Fn(&Request, usize) -> Result<String, ModelError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            heard: Mutex::default(),
        })
    }

    pub(crate) fn heard(&self) -> Vec<Request> {
        self.heard.lock().unwrap().clone()
    }

    /// The schema names of all requests, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.heard().iter().map(name).collect()
    }
}

pub(crate) fn name(request: &Request) -> String {
    request
        .schema
        .as_ref()
        .map_or_else(String::new, |schema| schema.name.clone())
}

/// The text with one name for the tag around quotes, which is drawn for each debate.
pub(crate) fn with_plain_tags(text: &str) -> String {
    let mut pieces = text.split("quote-");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| {
        format!("{plain}quote{}", piece.get(4..).unwrap_or_default())
    })
}

/// The faults that the second request of a seat lists. `requests` are its calls of one step, in order.
pub(crate) fn sent_back(requests: &[Request]) -> &str {
    assert!(requests.len() > 1, "no reply was sent back");
    &requests[1].messages.last().unwrap().text
}

impl Model for Scripted {
    fn stream(&self, request: Request) -> Deltas {
        let wanted = name(&request);
        let mut heard = self.heard.lock().unwrap();
        let before = heard
            .iter()
            .filter(|earlier| name(earlier) == wanted)
            .count();
        let answer = (self.script)(&request, before);
        heard.push(request);
        let deltas = match answer {
            Err(error) => vec![Err(error)],
            Ok(text) => {
                let usage = Usage {
                    input: 100,
                    output: 20,
                    cached: 10,
                };
                let (text, finish) = match text.strip_prefix(CUT) {
                    Some(cut) => (cut, Finish::Length),
                    None => (text.as_str(), Finish::Stop),
                };
                let mut deltas: Vec<_> = match text.strip_prefix(CALLS) {
                    Some(calls) => calls
                        .lines()
                        .zip(1..)
                        .map(|(line, number)| Ok(Delta::Call(called(line, number))))
                        .collect(),
                    None => in_pieces(text)
                        .map(|piece| Ok(Delta::Text(piece)))
                        .collect(),
                };
                deltas.push(Ok(Delta::Usage(usage)));
                deltas.push(Ok(Delta::Finish(finish)));
                deltas
            }
        };
        Box::pin(stream::iter(deltas))
    }
}

fn called(line: &str, number: u32) -> ToolCall {
    let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
    ToolCall {
        id: format!("call_{number}"),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        signature: None,
    }
}

fn in_pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(7)
        .map(|piece| piece.iter().collect())
        .collect::<Vec<String>>()
        .into_iter()
}

/// A model whose calls take one second of tokio's clock.
struct Slow(Arc<dyn Model>);

impl Model for Slow {
    fn stream(&self, request: Request) -> Deltas {
        let inner = Arc::clone(&self.0);
        let later = async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            inner.stream(request)
        };
        Box::pin(stream::once(later).flatten())
    }
}

/// The longest chain of dependent calls of a debate, on a paused clock.
pub(crate) async fn longest_chain(
    protocol: &dyn AnyProtocol,
    setup: Setup,
    mut deps: TableDeps,
) -> u64 {
    for seat_model in deps.seat_models.values_mut() {
        seat_model.model = Arc::new(Slow(Arc::clone(&seat_model.model)));
    }
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let started = tokio::time::Instant::now();
    play(&table, protocol).await.unwrap();
    (started.elapsed() + Duration::from_millis(500)).as_secs()
}

/// The plan of a protocol for a request at a depth.
pub(crate) fn plan_at(
    protocol: &dyn AnyProtocol,
    depth: Depth,
    input: Value,
    question: &str,
) -> Plan<Value> {
    let request = crate::protocol::Request {
        question: question.into(),
        depth,
        ..crate::protocol::Request::default()
    };
    let data = Data::built_in();
    let context = Context::new(&data, 1000);
    let plan = protocol.validate(input, request, context);
    plan.unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The rules of a request at a depth.
pub(crate) fn rules_at(
    protocol: &dyn AnyProtocol,
    depth: Depth,
    input: Value,
    question: &str,
) -> Value {
    let plan = plan_at(protocol, depth, input, question);
    plan.rules(&HashMap::new(), &mut Vec::new()).unwrap()
}

pub(crate) struct Ticking(AtomicU64);

impl Ticking {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(1_000_000)))
    }
}

impl Clock for Ticking {
    fn now(&self) -> Millis {
        self.0.fetch_add(5, Ordering::Relaxed)
    }
}

/// A journal whose process dies right after this many entries are written.
pub(crate) struct Dying {
    inner: Arc<MemoryJournal>,
    after: usize,
    dead: Arc<Notify>,
}

impl Dying {
    /// The journal, and a notification of the death.
    pub(crate) fn after(after: usize, inner: &Arc<MemoryJournal>) -> (Self, Arc<Notify>) {
        let dead = Arc::new(Notify::new());
        let dying = Self {
            inner: Arc::clone(inner),
            after,
            dead: Arc::clone(&dead),
        };
        (dying, dead)
    }
}

impl Journal for Dying {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            if self.inner.keyed().len() >= self.after {
                std::future::pending::<()>().await;
            }
            self.inner.append(entries).await?;
            if self.inner.keyed().len() >= self.after {
                self.dead.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.inner.load()
    }
}

/// Texts that share words are similar.
pub(crate) struct Words;

impl Embedder for Words {
    fn name(&self) -> &'static str {
        "test:words"
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        let vectors = texts.iter().map(|text| {
            let mut vector = vec![0.0; 256];
            for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
                let place = word
                    .bytes()
                    .fold(7_usize, |sum, byte| sum * 31 % 256 + usize::from(byte));
                vector[place % 256] += 1.0;
            }
            normalise(&mut vector);
            vector
        });
        let vectors = vectors.collect();
        Box::pin(async move { Ok(vectors) })
    }
}

pub(crate) fn setup(question: &str) -> Setup {
    setup_with(question, Ability::Full, &Rules::new(3, 5, 8).unwrap())
}

pub(crate) fn setup_with(question: &str, ability: Ability, rules: &Rules) -> Setup {
    let cast = Cast::load(&Data::built_in(), "dialectic").unwrap();
    Setup {
        protocol: "dialectic".into(),
        question: question.into(),
        seed: 7,
        seats: cast
            .seats
            .into_iter()
            .map(|seat| Seated::new(seat, "test:scripted", ability))
            .collect(),
        rules: json!(rules),
        budget: Budget::default(),
        embedder: Some("test:words".into()),
        program: "test".into(),
        notices: Vec::new(),
        depth: crate::depth::Depth::Normal,
        estimate: None,
        parent: None,
    }
}

pub(crate) fn deps(model: &Arc<Scripted>, journal: Arc<dyn Journal>) -> TableDeps {
    let seat_model = SeatModel {
        model: Arc::clone(model) as Arc<dyn Model>,
        price: Some(Price {
            input: 1.0,
            output: 2.0,
            cached: None,
        }),
    };
    let seats = ["proposer", "skeptic", "synthesizer", "judge"];
    TableDeps {
        seat_models: seats
            .iter()
            .map(|seat| ((*seat).to_owned(), seat_model.clone()))
            .collect::<HashMap<_, _>>(),
        fast_model: None,
        embedder: Some(Arc::new(Words)),
        scale: Scale::identity(),
        prompts: Arc::new(Prompts::load(&Data::built_in()).unwrap()),
        library: Arc::new(Library::load(&Data::built_in()).unwrap()),
        journal,
        clock: Ticking::new(),
        cancel: CancellationToken::new(),
    }
}

/// The prompt of a step of this journal. No model is called.
pub(crate) async fn rebuilt(
    protocol: &dyn AnyProtocol,
    entries: &[Entry],
    step: &str,
) -> Result<RecordedPrompt, NoPrompt> {
    let nobody = Scripted::new(|_, _| panic!("a model was called"));
    let deps = deps(&nobody, Arc::new(MemoryJournal::default()));
    recorded_prompt(protocol, entries, step, deps).await
}

/// Every prompt of a whole debate can be rebuilt: it has the recorded hash.
pub(crate) async fn assert_all_rebuilt(protocol: &dyn AnyProtocol, journal: &MemoryJournal) {
    let entries = entries(journal);
    let steps = recorded_prompt::steps(&entries);
    assert!(steps.len() > 2, "{steps:?}");
    for step in steps {
        let prompt = rebuilt(protocol, &entries, &step).await;
        assert!(prompt.is_ok(), "{prompt:?}");
    }
}

/// The journal without what differs between two runs: times and sequence numbers (C-15).
pub(crate) fn timeless(journal: &MemoryJournal) -> Vec<Value> {
    let mut values: Vec<Value> = journal
        .keyed()
        .into_iter()
        .map(|keyed| json!({ "key": keyed.key, "entry": keyed.entry }))
        .collect();
    values.iter_mut().for_each(strip_times);
    values
}

/// The journal as snapshots pin it: without the request hashes either, which change with every prompt. The stored debates of the
/// test suite pin the hashes.
pub(crate) fn snapshot(journal: &MemoryJournal) -> Vec<Value> {
    let mut values = timeless(journal);
    values.iter_mut().for_each(hide_hashes);
    values
}

fn hide_hashes(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(request @ Value::String(_)) = object.get_mut("request") {
                *request = json!("…");
            }
            object.values_mut().for_each(hide_hashes);
        }
        Value::Array(items) => items.iter_mut().for_each(hide_hashes),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(crate) fn strip_times(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for key in ["at", "started_at", "latency_ms", "seq"] {
                object.remove(key);
            }
            object.values_mut().for_each(strip_times);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(crate) fn entries(journal: &MemoryJournal) -> Vec<Entry> {
    journal
        .keyed()
        .into_iter()
        .map(|keyed| keyed.entry)
        .collect()
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a script may fail; this one does not"
)]
/// A complete debate: three rounds, a critical issue resolved in the third.
pub(crate) fn good_script(request: &Request, before: usize) -> Result<String, ModelError> {
    Ok(match (name(request).as_str(), before) {
        ("opening", _) => json!({ "answer": "Use a **queue**.", "assumptions": ["Writes come in bursts."] }),
        ("critique", _) => json!({
            "assessment": "Bursts are assumed, not shown.",
            "issues": [
                issue("assumption_mining", "critical", "Nobody measured the bursts."),
                issue("completeness", "minor", "Costs are left out."),
            ],
            "quality_score": 4,
            "ready_for_synthesis": false,
        }),
        ("revision", 0) => json!({
            "responses": [{ "issue": "S1", "action": "defend", "explanation": "The logs show them." }],
            "answer": "Use a queue: the logs show bursts.",
        }),
        ("revision", _) => json!({
            "responses": [
                { "issue": "S1", "action": "accept", "explanation": "Figures added." },
                { "issue": "S2", "action": "accept", "explanation": "Costs added." },
            ],
            "answer": "Use a queue: 40 bursts a day, 3 dollars a month.",
        }),
        ("review", 0) => json!({
            "assessment": "Which logs?",
            "verdicts": [{ "issue": "S1", "status": "partially_resolved", "reason": "No figures." }],
            "new_issues": [],
            "quality_score": 6,
            "ready_for_synthesis": false,
        }),
        ("review", _) => json!({
            "assessment": "Sound now.",
            "verdicts": [
                { "issue": "S1", "status": "resolved", "reason": "Figures are there." },
                { "issue": "S2", "status": "resolved", "reason": "Costs are there." },
            ],
            "new_issues": [issue("precision_audit", "minor", "Which month?")],
            "quality_score": 7,
            "ready_for_synthesis": false,
        }),
        ("synthesis", _) => json!({
            "answer": "Put a queue in front of the writes.",
            "confidence": 8,
            "confidence_reason": "Measured on one month only.",
            "insights": ["Without the figures the case was open."],
            "caveats": ["Traffic may change."],
            "change": "refined",
            "change_reason": "Figures were added.",
        }),
        ("marking", _) => json!({
            "justification": "Right and short.",
            "marks": { "correctness": 8, "completeness": 7, "clarity": 9, "depth": 6 },
            "would_benefit_from_finetune": true,
        }),
        (other, _) => panic!("unexpected schema '{other}'"),
    }
    .to_string())
}

pub(crate) fn issue(strategy: &str, severity: &str, problem: &str) -> Value {
    json!({
        "strategy": strategy,
        "severity": severity,
        "location": "the first sentence",
        "problem": problem,
        "why_it_matters": "All rests on it.",
        "suggested_fix": "Show it.",
    })
}

/// The report's verdict after every entry keeps its promises: it has a draft until the debate ends, and it fits on a screen.
pub(crate) fn assert_verdicts(entries: &[Entry]) -> Verdict {
    for end in 1..=entries.len() {
        let verdict = protocols::report(&entries[..end]).verdict.unwrap();
        let is_over = matches!(verdict.state, State::Complete | State::Partial);
        let Some(answer) = &verdict.answer else {
            continue;
        };
        assert_eq!(answer.is_draft, !is_over, "after {end} entries");
        assert_eq!(
            verdict.badge.kind == BadgeKind::Draft,
            !is_over,
            "{:?}",
            verdict.badge
        );
        assert!(
            verdict.badge.text.chars().count() <= 120,
            "{}",
            verdict.badge.text
        );
        let length = answer
            .headline
            .as_ref()
            .map_or(0, |line| line.chars().count().max(80));
        assert!(length + answer.short.chars().count() <= 350, "{answer:?}");
        assert!(!answer.short.contains('\n'), "{answer:?}");
    }
    protocols::report(entries).verdict.unwrap()
}
