//! The plan of a bench: the arms by name, and the debates that they are made of.

use roundtable_engine::cast::CastChoice;
use roundtable_engine::data::{Data, DataKind, closest};
use roundtable_engine::depth::Depth;
use roundtable_engine::preset::Preset;
use roundtable_engine::protocol::{AnyProtocol, Conversation};
use roundtable_engine::protocols::{self, Call, Grade};
use serde_json::Value;

use super::judge;
use super::questions::BenchQuestion;
use crate::failure::Failure;
use crate::setup::{DebateSpec, Models};

/// Added to the question of the long call.
const LONG: &str = "Take your time: work through the question step by step, check the result in a second way, and only then answer.";

pub(crate) const ONE_CALL: &str = "one call";
pub(crate) const LONG_CALL: &str = "one long call";
pub(crate) const MODELS: &str = "vote of models";

/// An arm of the command line.
pub(crate) enum Wanted {
    One,
    Long,
    /// The vote of samples at the budget of each debate.
    Consistency,
    /// The vote of one call to each model.
    Models,
    /// Every debate again, with answers to another question in its blind round.
    Noise,
    Debate(Box<DebateArm>),
}

/// A debate with its settings, without its question.
pub(crate) struct DebateArm {
    /// As it was asked for: `panel@quick`.
    pub name: String,
    protocol: &'static dyn AnyProtocol,
    input: Value,
    cast: Option<CastChoice>,
    models: Models,
    depth: Depth,
}

/// A contestant of an arena.
pub(crate) enum Contestant {
    /// `provider:model`, in one call.
    Model(String),
    Debate(Box<DebateArm>),
}

impl Contestant {
    /// Reads `--between`. Everything that is wrong with it is reported at once.
    pub(crate) fn all(data: &Data, names: &[String]) -> Result<Vec<Self>, Failure> {
        let mut faults = Vec::new();
        let mut found = Vec::new();
        for (place, name) in names.iter().enumerate() {
            if names[..place].contains(name) {
                faults.push(format!("the contestant '{name}' is listed twice"));
                continue;
            }
            match DebateArm::named(data, name) {
                Ok(arm) => found.push(Self::Debate(Box::new(arm))),
                Err(_) if name.contains(':') => found.push(Self::Model(name.clone())),
                Err(fault) => {
                    let fault = fault.replace("arm", "contestant");
                    faults.push(format!("{fault}; models are written as provider:model"));
                }
            }
        }
        if names.len() < 2 {
            faults.push(
                "an arena needs at least two contestants, such as --between panel,ask".into(),
            );
        }
        if faults.is_empty() {
            Ok(found)
        } else {
            Err(Failure::usage(faults.join("\n")))
        }
    }

    pub(crate) fn unit(&self) -> Unit<'_> {
        match self {
            Self::Model(model) => Unit::Model(model),
            Self::Debate(arm) => Unit::Debate(arm),
        }
    }
}

/// One debate of the bench: a question and who answers it.
#[derive(Clone, Copy)]
pub(crate) enum Unit<'a> {
    /// A sample of the single call, from 1.
    Sample(usize),
    Long,
    Model(&'a str),
    Debate(&'a DebateArm),
    /// The noise control of a debate.
    Noise(&'a DebateArm),
    /// The grading of an open answer.
    Grade {
        answer: &'a str,
        judge: &'a str,
        answer_first: bool,
    },
}

impl Unit<'_> {
    /// Unique within a question, and the same in every run.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Sample(number) => format!("call#{number}"),
            Self::Long => "long".to_owned(),
            Self::Model(model) => format!("model:{model}"),
            Self::Debate(arm) => format!("debate:{}", arm.name),
            Self::Noise(arm) => format!("noise:{}", arm.name),
            Self::Grade {
                answer,
                judge,
                answer_first,
            } => judge::key(answer, judge, *answer_first),
        }
    }

    /// The request. `models` are those of the command line.
    pub(crate) fn spec(
        &self,
        question: &BenchQuestion,
        models: &Models,
    ) -> Result<DebateSpec, Failure> {
        let text = question.text.clone();
        let input = roundtable_engine::protocols::call::Input::default();
        let call = |text: String, model: Option<String>| DebateSpec {
            models: Models {
                all: model,
                ..Models::default()
            },
            ..DebateSpec::new(&Call, text, &input)
        };
        match self {
            Self::Sample(_) => Ok(call(text, models.all.clone())),
            Self::Long => Ok(call(format!("{text}\n\n{LONG}"), models.all.clone())),
            Self::Model(model) => Ok(call(text, Some((*model).to_owned()))),
            Self::Debate(arm) | Self::Noise(arm) => arm.spec(text, models),
            Self::Grade {
                answer,
                judge,
                answer_first,
            } => {
                let input = judge::input(question, answer, *answer_first);
                Ok(DebateSpec {
                    models: Models {
                        all: Some((*judge).to_owned()),
                        ..Models::default()
                    },
                    ..DebateSpec::new(&Grade, text, &input)
                })
            }
        }
    }
}

impl DebateArm {
    fn spec(&self, text: String, models: &Models) -> Result<DebateSpec, Failure> {
        let said = Conversation {
            question: text,
            ..Conversation::default()
        };
        let (question, input) = self
            .protocol
            .converse(self.input.clone(), said)
            .map_err(Failure::refused)?;
        let mut own = self.models.clone();
        own.all = models.all.clone().or(own.all);
        own.seats.extend(models.seats.clone());
        let call = roundtable_engine::protocols::call::Input::default();
        Ok(DebateSpec {
            protocol: self.protocol,
            input,
            cast: self.cast.clone(),
            models: own,
            depth: self.depth,
            ..DebateSpec::new(&Call, question, &call)
        })
    }

    /// `NAME`, `NAME+CAST` or `NAME@DEPTH`: a protocol's command, one of its variants, or a preset.
    fn named(data: &Data, text: &str) -> Result<Self, String> {
        let (name, depth) = match text.split_once('@') {
            Some((name, depth)) => {
                let known = Depth::named(depth).ok_or_else(|| {
                    format!("arm '{text}': unknown depth '{depth}'; expected quick, normal or deep")
                })?;
                (name, Some(known))
            }
            None => (text, None),
        };
        let (name, cast) = match name.split_once('+') {
            Some((name, cast)) => (name, Some(CastChoice::Named(cast.to_owned()))),
            None => (name, None),
        };
        if let Ok(Some(file)) = data.one(DataKind::Presets, &format!("{name}.toml")) {
            let preset = Preset::parse(&file).map_err(|error| error.to_string())?;
            let protocol = preset.protocol().unwrap_or(protocols::ALL[0]);
            return Ok(Self {
                name: text.to_owned(),
                protocol,
                input: Value::Object(preset.rules),
                cast: cast.or(preset.cast.map(CastChoice::Named)),
                models: Models {
                    all: preset.model,
                    seats: preset.seats,
                },
                depth: depth.unwrap_or(preset.depth),
            });
        }
        let variants = protocols::ALL.iter().flat_map(|protocol| {
            let variants = protocol.variants(data).into_iter();
            variants.map(move |variant| (*protocol, variant.name, variant.input))
        });
        let variants: Vec<_> = variants.collect();
        let found = variants.iter().find(|(_, own, _)| own == name);
        let (protocol, input) = if let Some((protocol, _, input)) = found {
            (*protocol, input.clone())
        } else {
            let protocol = protocols::of_command(name);
            let protocol = protocol.ok_or_else(|| unknown(&variants, text))?;
            (protocol, Value::Object(serde_json::Map::new()))
        };
        Ok(Self {
            name: text.to_owned(),
            protocol,
            input,
            cast,
            models: Models::default(),
            depth: depth.unwrap_or_default(),
        })
    }
}

fn unknown(variants: &[(&'static dyn AnyProtocol, String, Value)], text: &str) -> String {
    let fixed = ["one", "long", "consistency", "models", "noise"];
    let names: Vec<&str> = fixed
        .into_iter()
        .chain(variants.iter().map(|(_, name, _)| name.as_str()))
        .collect();
    let hint = closest(text, names.iter().copied()).map_or_else(
        || format!("arms are {}, and presets", names.join(", ")),
        |close| format!("did you mean '{close}'?"),
    );
    format!("unknown arm '{text}'; {hint}")
}

/// Reads `--arms`. Everything that is wrong with it is reported at once.
pub(crate) fn wanted(
    data: &Data,
    arms: &[String],
    models: &[String],
) -> Result<Vec<Wanted>, Failure> {
    let mut faults = Vec::new();
    let mut found = Vec::new();
    for (place, arm) in arms.iter().enumerate() {
        if arms[..place].contains(arm) {
            faults.push(format!("the arm '{arm}' is listed twice"));
            continue;
        }
        match arm.as_str() {
            "one" => found.push(Wanted::One),
            "long" => found.push(Wanted::Long),
            "consistency" => found.push(Wanted::Consistency),
            "models" => found.push(Wanted::Models),
            "noise" => found.push(Wanted::Noise),
            name => match DebateArm::named(data, name) {
                Ok(arm) => found.push(Wanted::Debate(Box::new(arm))),
                Err(fault) => faults.push(fault),
            },
        }
    }
    let has_debate = found.iter().any(|arm| matches!(arm, Wanted::Debate(_)));
    if found.iter().any(|arm| matches!(arm, Wanted::Consistency))
        && !has_debate
        && faults.is_empty()
    {
        faults.push(
            "the arm 'consistency' spends what a debate spends: add a debate, such as panel".into(),
        );
    }
    if found.iter().any(|arm| matches!(arm, Wanted::Noise)) && !has_debate && faults.is_empty() {
        faults
            .push("the arm 'noise' is the control of a debate: add a debate, such as panel".into());
    }
    if found.iter().any(|arm| matches!(arm, Wanted::Models)) && models.len() < 2 {
        faults.push("the arm 'models' needs --models with at least two models".into());
    }
    if faults.is_empty() {
        Ok(found)
    } else {
        Err(Failure::usage(faults.join("\n")))
    }
}
