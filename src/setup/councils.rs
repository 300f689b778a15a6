//! How `councils` is ordered: what is judged, by which cast, in which mode. What is too long for the models that were found is
//! cut, and everybody is told what was left out.

use std::collections::{BTreeMap, HashMap};

use roundtable_engine::cast::Cast;
use roundtable_engine::model::Image;
use roundtable_engine::protocols::Protocol;
use roundtable_engine::protocols::councils::{Given, Kind, Mode, Package, Rules};
use roundtable_engine::table::SeatModel;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{DebateSpec, Embedding, ProgressSink, Terms, ValidatedSpec};
use crate::app_context::AppContext;
use crate::failure::{Failure, Fault};

const CAST: &str = "themis";

/// What is judged, before it is known how much of it the models can read.
#[derive(Debug, Clone)]
pub(crate) struct Docket {
    mode: Mode,
    cast: Cast,
    title: String,
    given: Vec<Given>,
    images: Vec<Image>,
    limit: u64,
}

pub(super) fn validate(app: &AppContext, spec: DebateSpec) -> Result<ValidatedSpec, Failure> {
    let mut faults = Vec::new();
    let asked = asked(&spec.rules, &mut faults);
    let cast = Cast::named_or_file(&app.data, spec.cast.as_deref().unwrap_or(CAST));
    match &cast {
        Err(error) => faults.push(Fault::new("/cast", error.to_string())),
        Ok(cast) if cast.panel.is_none() => faults.push(Fault::new(
            "/cast",
            format!(
                "the cast '{}' is for '{}' and has no councils",
                cast.name, cast.protocol
            ),
        )),
        Ok(_) => {}
    }
    let given = content(&spec.question, asked.parts, &mut faults);
    let mode = match asked.mode.as_deref() {
        None | Some("full") => Mode::Full,
        Some("fast") => Mode::Fast,
        Some(other) => {
            let text = format!("'mode' must be full or fast, not {other}");
            faults.push(Fault::new("/rules/mode", text));
            Mode::Full
        }
    };
    let (Ok(cast), true) = (cast, faults.is_empty()) else {
        return Err(Failure::refused(faults));
    };
    let cast = match mode {
        Mode::Full => cast,
        Mode::Fast => cast.on_the_fast_tier(),
    };
    let title = asked.title.unwrap_or_else(|| {
        let named = given.iter().map(|part| part.name.clone());
        named.collect::<Vec<_>>().join(", ")
    });
    Ok(ValidatedSpec {
        protocol: Protocol::Councils,
        question: title.clone(),
        configured: BTreeMap::new(),
        models: spec.models,
        terms: Terms::Docket(Box::new(Docket {
            mode,
            cast: cast.clone(),
            title,
            given,
            images: asked.images,
            limit: app.config.limits.max_question_tokens,
        })),
        cast,
        budget: spec.budget,
        seed: spec.seed,
        embedding: Embedding::Unneeded,
    })
}

/// The rules as a request has them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    parts: Vec<AskedPart>,
    #[serde(default)]
    images: Vec<Image>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedPart {
    kind: Kind,
    name: String,
    text: String,
}

fn asked(rules: &Map<String, Value>, faults: &mut Vec<Fault>) -> Asked {
    match serde_json::from_value(Value::Object(rules.clone())) {
        Ok(asked) => asked,
        Err(error) => {
            let text = format!("{error}; councils take mode, title, parts and images");
            faults.push(Fault::new("/rules", text));
            Asked::default()
        }
    }
}

/// The parts that are given, or else the question itself.
fn content(question: &str, parts: Vec<AskedPart>, faults: &mut Vec<Fault>) -> Vec<Given> {
    let is_alone = parts.is_empty();
    let mut given: Vec<Given> = parts
        .into_iter()
        .map(|part| Given {
            kind: part.kind,
            name: part.name,
            text: part.text,
        })
        .collect();
    if is_alone {
        given.push(Given {
            kind: Kind::Text,
            name: "the text".into(),
            text: question.to_owned(),
        });
    }
    for (index, part) in given.iter().enumerate() {
        let at = if is_alone {
            "/question".to_owned()
        } else {
            format!("/rules/parts/{index}")
        };
        if part.text.trim().is_empty() {
            let text = format!("{} is empty: there is nothing to judge", part.name);
            faults.push(Fault::new(at, text));
        } else if part.text.contains('\0') {
            faults.push(Fault::new(at, format!("{} is not text", part.name)));
        }
    }
    if !given.iter().any(|part| part.kind != Kind::Metadata) {
        faults.push(Fault::new(
            "/rules/parts",
            "there is metadata but nothing that it belongs to",
        ));
    }
    given
}

impl Docket {
    /// Every seat gets the pictures, so every model must see.
    fn check_sight(&self, seat_models: &HashMap<String, SeatModel>) -> Result<(), Failure> {
        let blind = self.cast.seats.iter().find(|seat| {
            let chair = seat_models.get(&seat.name);
            chair.is_some_and(|chair| !chair.model.sees())
        });
        match (self.images.first(), blind) {
            (Some(image), Some(seat)) => Err(Failure::refused(vec![Fault::new(
                "/rules/images",
                format!(
                    "{} is a picture, and the model of seat '{}' is not known to see any; name one that does with --model, or \
                     leave the picture out",
                    image.name, seat.name
                ),
            )])),
            _ => Ok(()),
        }
    }

    /// The rules, with as much of the content as the smallest model can read beside what is said about it.
    pub(super) fn rules(
        self,
        seat_models: &HashMap<String, SeatModel>,
        progress: &ProgressSink,
    ) -> Result<Value, Failure> {
        self.check_sight(seat_models)?;
        let contexts = seat_models
            .values()
            .filter_map(|chair| chair.model.profile().context_tokens);
        let smallest = contexts.min();
        let limit = smallest.map_or(self.limit, |context| self.limit.min(u64::from(context) / 4));
        let package = Package::new(self.title, &self.given, limit).with_images(self.images);
        for sentence in package.left_out() {
            (progress.say)(&sentence);
        }
        let rules = Rules::new(self.mode, &self.cast, package)
            .map_err(|error| Failure::usage(error.to_string()))?;
        Ok(json!(rules))
    }
}
