//! The interface between the engine and a protocol.
//!
//! [`Protocol`] is implemented once per protocol, in the protocol's own folder. [`AnyProtocol`] is its object-safe form: the
//! registry in [`crate::protocols`] and every surface work with that and know nothing else of a protocol.

use std::collections::HashMap;
use std::future::Future;

use futures::FutureExt;
use futures::future::BoxFuture;
use jsonschema::error::ValidationErrorKind;
use roundtable_core::estimate::Outline;
use roundtable_core::forecast::Question;
use roundtable_core::learning::{Domain, Learned};
use roundtable_core::sources::Source;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::cast::{Cast, CastChoice};
use crate::data::{Data, closest};
use crate::depth::Depth;
use crate::event::{End, Entry, Millis, Setup, State};
use crate::form::{FormField, Task};
use crate::journal::JournalError;
use crate::model::Image;
use crate::report::{Report, Section};
use crate::round_value::ValueHistory;
use crate::table::{Halt, SeatModel, Table};
use crate::tokens;

/// A way to debate: what a caller may set, how it is checked, played and reported.
///
/// To add one: implement this trait in a folder of its own, add the type to `protocols::ALL`, add a cast and prompts.
pub trait Protocol: Send + Sync + Sized + 'static {
    const NAME: &'static str;
    /// The name of such a debate for people.
    const TITLE: &'static str;
    /// The command that starts one, and its name wherever a debate is chosen like a model.
    const COMMAND: &'static str;
    /// The result for the caller, in one sentence.
    const SUMMARY: &'static str;
    /// The cast of a request that names none.
    const CAST: &'static str;
    /// The phase that writes the answer: terminals print it once, as the result, and do not stream it before.
    const ANSWER_PHASE: &'static str;
    /// Whether events of [`Self::ANSWER_PHASE`] are named after the phase (`synthesis_chunk`) instead of the seat.
    const PHASE_NAMES_EVENTS: bool = true;
    const NEEDS: Needs = Needs::NONE;
    /// The task under which the start page offers it.
    const TASK: Task = Task::Answer;
    /// The input that takes the texts of a request, as a list with `kind`, `name` and `text`, if they are what the debate is about.
    const PARTS: Option<&'static str> = None;
    const SUBJECT: Subject = Subject::Question;

    /// The settings of a caller, on every surface. The JSON schema, the API's `rules` and the page's form derive from it.
    type Input: DeserializeOwned + Serialize + JsonSchema + Default;
    /// The rules of one debate, stored in its journal: everything that a replay must find unchanged.
    type Rules: DeserializeOwned + Serialize + Send + Sync + 'static;

    /// The domain whose lessons the debate uses, if it uses any.
    fn domain(_: &Self::Input) -> Option<Domain> {
        None
    }

    /// Applies a depth: sets the fields that the caller has left open. [`Depth::Normal`] changes nothing.
    fn at_depth(input: Self::Input, depth: Depth) -> Self::Input;

    /// Checks a request and fills in defaults. Reports everything that is wrong with it at once.
    fn validate(
        input: Self::Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Self::Rules>, Vec<Fault>>;

    /// The answers that seats give before they see each other, if the protocol asks for them.
    fn blind(_: &Self::Rules) -> Option<BlindAnswers> {
        None
    }

    /// The calls that a debate by these rules will make.
    fn outline(rules: &Self::Rules, setup: &Setup) -> Outline;

    /// Plays the debate to its end. Budget limits end it with the best result so far; other halts are errors.
    fn play<'t>(
        table: &'t Table,
        rules: &'t Self::Rules,
    ) -> impl Future<Output = Result<End, Halt>> + Send + 't;

    /// The report for people, at any point of the journal.
    fn report(entries: &[Entry]) -> Report;

    /// What a list shows of the result besides the answer, such as the likeliest outcome. `result` is that of the last entry.
    fn headline(_: &Value) -> Option<String> {
        None
    }

    /// The state of the debate after its last round, for people who watch it run.
    fn progress(_: &[Entry]) -> Option<Section> {
        None
    }

    /// The record that programs get, with the fields of the protocol's design.
    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value>;

    /// The JSON schema of [`Self::record`], if it is published.
    fn record_schema() -> Option<Value> {
        None
    }

    /// The fields of the page's form that set parts of the input.
    fn form(_: &Data) -> Vec<FormField> {
        Vec::new()
    }

    /// The choices that callers have who can only name one, such as the clients of a chat model.
    fn variants(_: &Data) -> Vec<Variant<Self::Input>> {
        vec![Variant {
            name: Self::COMMAND.to_owned(),
            summary: Self::SUMMARY.to_owned(),
            input: Self::Input::default(),
        }]
    }

    /// The question and the input of a debate that is asked for in a conversation.
    fn converse(
        input: Self::Input,
        said: Conversation,
    ) -> Result<(String, Self::Input), Vec<Fault>> {
        match said.images.first() {
            None => Ok((said.with_context(), input)),
            Some(image) => Err(vec![no_images(&image.name)]),
        }
    }
}

/// Which steps are blind answers: the last part of their names, and the field of the reply with the answer in a few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlindAnswers {
    pub verb: &'static str,
    pub field: &'static str,
    /// The round of the steps.
    pub round: u32,
    /// Whether the seats read these answers later in the debate.
    pub are_read: bool,
    /// The last part of the names of later steps in which the seats answer again, in the same field.
    pub again: Option<&'static str>,
}

/// The subject of such a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A question, which is enough to start one.
    Question,
    /// A question with possible outcomes.
    Outcomes,
    /// A text to judge. It cannot follow up on a debate.
    Text,
}

/// A protocol with some settings, under a name of its own: `panel`, `debate-delphi`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant<I> {
    pub name: String,
    pub summary: String,
    pub input: I,
}

/// The last message of a conversation, and what was said before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    pub question: String,
    /// Earlier messages, quoted and bounded.
    pub context: Option<String>,
    /// Pictures of the last message.
    pub images: Vec<Image>,
}

impl Conversation {
    /// The question followed by the context.
    pub fn with_context(self) -> String {
        match self.context {
            Some(context) => format!("{}\n\n{context}", self.question.trim_end()),
            None => self.question,
        }
    }
}

/// No seat would see the image.
pub(crate) fn no_images(image: &str) -> Fault {
    let message = format!(
        "{image} is a picture, and the seats of this protocol read text only: leave it out, or have it judged (`judge`)"
    );
    Fault::new("/images", message)
}

/// Resources that a protocol uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a resource")]
pub struct Needs {
    /// The reasoning templates.
    pub library: bool,
    /// The resolved forecasts with every role's probabilities.
    pub history: bool,
    /// Files that the seats may search.
    pub sources: bool,
    /// Records of earlier debates about the value of another round.
    pub value: bool,
}

impl Needs {
    pub const NONE: Self = Self {
        library: false,
        history: false,
        sources: false,
        value: false,
    };
}

/// The parts of a request that are the same for all protocols.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub question: String,
    pub cast: Option<CastChoice>,
    pub sources: Vec<Source>,
    pub depth: Depth,
}

/// Everything a protocol is given next to a request: data files, limits, configuration, results of earlier debates.
#[derive(Debug)]
pub struct Context<'a> {
    pub data: &'a Data,
    pub max_question_tokens: u64,
    pub now: Millis,
    /// The protocol's section of the configuration; the protocol deserializes it.
    pub settings: Value,
    pub history: Vec<Question>,
    pub learned: Option<Learned>,
    pub value: ValueHistory,
}

impl<'a> Context<'a> {
    /// One without settings and earlier debates.
    pub fn new(data: &'a Data, max_question_tokens: u64) -> Self {
        Self {
            data,
            max_question_tokens,
            now: 0,
            settings: Value::Null,
            history: Vec::new(),
            learned: None,
            value: ValueHistory::default(),
        }
    }

    /// The protocol's settings; defaults if the configuration has none.
    pub fn settings<S: DeserializeOwned + Default>(&self) -> S {
        S::deserialize(&self.settings).unwrap_or_default()
    }

    /// Rejects empty questions and questions too long for the prompt.
    pub fn check_question(&self, question: &str) -> Result<(), Fault> {
        check_question(question, self.max_question_tokens)
    }
}

/// Rejects empty questions and questions of more than `limit` tokens.
pub fn check_question(question: &str, limit: u64) -> Result<(), Fault> {
    if question.trim().is_empty() {
        return Err(Fault::new("/question", "the question is empty"));
    }
    match excess_tokens(question, limit) {
        None => Ok(()),
        Some(count) => Err(Fault::new(
            "/question",
            format!(
                "the question has {count} tokens; the limit is {limit} (max_question_tokens in [limits]). Shorten it, or ask \
                 about a part."
            ),
        )),
    }
}

/// The number of tokens of a text that has more than `limit`.
pub fn excess_tokens(text: &str, limit: u64) -> Option<u64> {
    // A token has at least one byte, so a short text needs no counting.
    if text.len() as u64 <= limit {
        return None;
    }
    let count = tokens::count(text);
    (count > limit).then_some(count)
}

/// One thing that is wrong with a request. `at` is a JSON pointer into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub at: String,
    pub message: String,
}

impl Fault {
    pub fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            message: message.into(),
        }
    }
}

/// A request that its protocol has accepted.
pub struct Plan<R> {
    pub question: String,
    pub cast: Cast,
    pub embedder: EmbedderUse,
    rules: FinishRules<R>,
}

/// Completes the rules once the models are known. Pushes notes for the user.
type FinishRules<R> =
    Box<dyn FnOnce(&SeatModels, &mut Vec<String>) -> Result<R, Vec<Fault>> + Send>;

pub type SeatModels = HashMap<String, SeatModel>;

impl<R: Send + 'static> Plan<R> {
    pub fn new(question: String, cast: Cast, embedder: EmbedderUse, rules: R) -> Self {
        Self::depending_on_models(question, cast, embedder, move |_, _| Ok(rules))
    }

    /// For rules that depend on the models, such as how much text the smallest context can hold.
    pub fn depending_on_models(
        question: String,
        cast: Cast,
        embedder: EmbedderUse,
        rules: impl FnOnce(&SeatModels, &mut Vec<String>) -> Result<R, Vec<Fault>> + Send + 'static,
    ) -> Self {
        Self {
            question,
            cast,
            embedder,
            rules: Box::new(rules),
        }
    }

    pub fn rules(self, models: &SeatModels, notes: &mut Vec<String>) -> Result<R, Vec<Fault>> {
        (self.rules)(models, notes)
    }

    fn map<S>(self, convert: impl FnOnce(R) -> Result<S, Vec<Fault>> + Send + 'static) -> Plan<S> {
        let rules = self.rules;
        Plan {
            question: self.question,
            cast: self.cast,
            embedder: self.embedder,
            rules: Box::new(move |models, notes| convert(rules(models, notes)?)),
        }
    }
}

/// The use of an embedder in a debate. If none is available, the debate runs without it and the user is informed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedderUse {
    None,
    /// Finds reasoning templates or compares texts.
    Optional,
    /// Measures convergence. Without it, the typed answers alone decide.
    Measures,
}

/// [`Protocol`] as an object; see there for what each method does.
pub trait AnyProtocol: Send + Sync {
    fn name(&self) -> &'static str;
    fn title(&self) -> &'static str;
    fn command(&self) -> &'static str;
    fn answer_phase(&self) -> &'static str;
    fn phase_names_events(&self) -> bool;
    fn needs(&self) -> Needs;
    fn task(&self) -> Task;
    fn parts(&self) -> Option<&'static str>;
    /// `None` if there are none, or if the rules cannot be read.
    fn blind(&self, setup: &Setup) -> Option<BlindAnswers>;
    fn subject(&self) -> Subject;
    fn input_schema(&self, generator: &mut SchemaGenerator) -> Value;
    fn domain(&self, input: &Value) -> Option<Domain>;
    fn validate(
        &self,
        input: Value,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Value>, Vec<Fault>>;
    /// `None` if the rules cannot be read.
    fn outline(&self, setup: &Setup) -> Option<Outline>;
    fn play<'t>(&self, table: &'t Table) -> BoxFuture<'t, Result<End, Halt>>;
    fn report(&self, entries: &[Entry]) -> Report;
    fn headline(&self, result: &Value) -> Option<String>;
    fn progress(&self, entries: &[Entry]) -> Option<Section>;
    fn record(&self, id: &str, timestamp: String, entries: &[Entry]) -> Option<Value>;
    fn record_schema(&self) -> Option<Value>;
    fn form(&self, data: &Data) -> Vec<FormField>;
    fn variants(&self, data: &Data) -> Vec<Variant<Value>>;
    fn converse(&self, input: Value, said: Conversation) -> Result<(String, Value), Vec<Fault>>;
}

impl<P: Protocol> AnyProtocol for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn title(&self) -> &'static str {
        P::TITLE
    }

    fn command(&self) -> &'static str {
        P::COMMAND
    }

    fn answer_phase(&self) -> &'static str {
        P::ANSWER_PHASE
    }

    fn phase_names_events(&self) -> bool {
        P::PHASE_NAMES_EVENTS
    }

    fn blind(&self, setup: &Setup) -> Option<BlindAnswers> {
        P::blind(&P::Rules::deserialize(&setup.rules).ok()?)
    }

    fn needs(&self) -> Needs {
        P::NEEDS
    }

    fn task(&self) -> Task {
        P::TASK
    }

    fn parts(&self) -> Option<&'static str> {
        P::PARTS
    }

    fn subject(&self) -> Subject {
        P::SUBJECT
    }

    fn input_schema(&self, generator: &mut SchemaGenerator) -> Value {
        generator.subschema_for::<P::Input>().to_value()
    }

    fn domain(&self, input: &Value) -> Option<Domain> {
        P::domain(&P::Input::deserialize(input).ok()?)
    }

    fn validate(
        &self,
        input: Value,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Value>, Vec<Fault>> {
        if !P::NEEDS.sources && !request.sources.is_empty() {
            let message = format!("{} does not read sources", P::NAME);
            return Err(vec![Fault::new("/sources", message)]);
        }
        let plan = match read_input::<P>(&input) {
            Ok(input) => P::validate(P::at_depth(input, request.depth), request, context)?,
            // The rest of the request is checked too, with default input.
            Err(mut faults) => {
                let others = P::validate(P::Input::default(), request, context);
                let others = others.err().unwrap_or_default().into_iter();
                faults.extend(others.filter(|fault| !fault.at.starts_with(INPUT)));
                return Err(faults);
            }
        };
        Ok(plan.map(|rules| {
            serde_json::to_value(rules)
                .map_err(|error| vec![Fault::new(INPUT, format!("cannot be stored: {error}"))])
        }))
    }

    fn outline(&self, setup: &Setup) -> Option<Outline> {
        let rules = P::Rules::deserialize(&setup.rules).ok()?;
        Some(P::outline(&rules, setup))
    }

    fn play<'t>(&self, table: &'t Table) -> BoxFuture<'t, Result<End, Halt>> {
        async move {
            let rules = P::Rules::deserialize(&table.setup().rules).map_err(|e| corrupt(&e))?;
            P::play(table, &rules).await
        }
        .boxed()
    }

    fn report(&self, entries: &[Entry]) -> Report {
        P::report(entries)
    }

    fn headline(&self, result: &Value) -> Option<String> {
        P::headline(result)
    }

    fn progress(&self, entries: &[Entry]) -> Option<Section> {
        P::progress(entries)
    }

    fn record(&self, id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        P::record(id, timestamp, entries)
    }

    fn record_schema(&self) -> Option<Value> {
        P::record_schema()
    }

    fn form(&self, data: &Data) -> Vec<FormField> {
        P::form(data)
    }

    fn variants(&self, data: &Data) -> Vec<Variant<Value>> {
        let variants = P::variants(data).into_iter();
        variants
            .map(|variant| Variant {
                name: variant.name,
                summary: variant.summary,
                input: json!(variant.input),
            })
            .collect()
    }

    fn converse(&self, input: Value, said: Conversation) -> Result<(String, Value), Vec<Fault>> {
        let (question, input) = P::converse(read_input::<P>(&input)?, said)?;
        Ok((question, json!(input)))
    }
}

impl PartialEq for dyn AnyProtocol {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl std::fmt::Debug for dyn AnyProtocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The end of a debate whose verdict this is.
pub fn end_of(state: State, reason: Option<String>, verdict: &impl Serialize) -> Result<End, Halt> {
    let result = serde_json::to_value(verdict).map_err(|error| corrupt(&error))?;
    Ok(End {
        state,
        reason,
        result: Some(result),
    })
}

fn corrupt(error: &serde_json::Error) -> Halt {
    Halt::Journal(JournalError::Corrupt {
        detail: error.to_string(),
    })
}

/// The pointer to the input in a request.
const INPUT: &str = "/rules";

/// Reads the input; if it is invalid, its schema says everything that is wrong with it.
fn read_input<P: Protocol>(input: &Value) -> Result<P::Input, Vec<Fault>> {
    P::Input::deserialize(input).map_err(|error| {
        let schema = schemars::schema_for!(P::Input).to_value();
        let mut faults = Vec::new();
        if let Ok(validator) = jsonschema::validator_for(&schema) {
            for fault in validator.iter_errors(input) {
                if let ValidationErrorKind::AdditionalProperties { unexpected } = fault.kind() {
                    faults.extend(unexpected.iter().map(|key| unknown(P::NAME, key, &schema)));
                } else {
                    let at = format!("{INPUT}{}", fault.instance_path());
                    faults.push(Fault::new(at, expected(&fault)));
                }
            }
        }
        if faults.is_empty() {
            faults.push(Fault::new(INPUT, error.to_string()));
        }
        faults
    })
}

/// The schema's message, without the `null` that every optional value may be.
fn expected(fault: &jsonschema::ValidationError<'_>) -> String {
    let message: String = fault.to_string().chars().take(300).collect();
    message
        .replace(", \"null\"", "")
        .replace("\"null\", ", "")
        .replace("types", "type")
}

fn unknown(protocol: &str, key: &str, schema: &Value) -> Fault {
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    let known: Vec<&str> = known.keys().map(String::as_str).collect();
    let hint = closest(key, known.iter().copied()).map_or_else(
        || format!("it has {}", known.join(", ")),
        |close| format!("did you mean '{close}'?"),
    );
    Fault::new(
        format!("{INPUT}/{key}"),
        format!("{protocol} has no rule '{key}'; {hint}"),
    )
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
