//! The input of a councils debate and its validation. Content too long for the models is cut, and the result says what was
//! left out.

use roundtable_core::characters::plain_name;
use roundtable_core::excerpt::excerpt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Councils, Given, Kind, Mode, Package, Rules};
use crate::cast::Cast;
use crate::cast::councils::CouncilsSpec;
use crate::depth::Depth;
use crate::model::Image;
use crate::protocol::{
    Context, Conversation, EmbedderUse, Fault, Plan, Protocol, Request, SeatModels,
};

/// The rules of a judgement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "CouncilsInput")]
pub struct Input {
    /// `full`, or `fast` for one round on the fast tier without an exchange between the councils, `quick` for the same
    /// without a critic.
    pub mode: Option<Mode>,
    /// A short name for the content.
    pub title: Option<String>,
    /// The texts to judge. Without any, the question itself is judged.
    pub parts: Vec<Given>,
    /// Pictures, for models with vision.
    pub images: Vec<Image>,
}

/// The name of a text in prompts if the caller gave it none.
const UNNAMED: &str = "the text";
/// Length of a title made from the words of a text, in characters.
const MAX_TITLE: usize = 80;

/// The first heading of a text, or its first words.
fn title_of(text: &str) -> String {
    let heading = text.lines().find_map(|line| {
        let title = line.trim_start().strip_prefix('#')?;
        let title = excerpt(title.trim_start_matches('#'), MAX_TITLE);
        (!title.is_empty()).then_some(title)
    });
    heading.unwrap_or_else(|| excerpt(text, MAX_TITLE))
}

/// A full judgement has everything already, so `deep` is the same as `normal`.
pub(super) fn at_depth(input: Input, depth: Depth) -> Input {
    let mode = match depth {
        Depth::Normal | Depth::Deep => None,
        Depth::Quick => Some(Mode::Quick),
    };
    Input {
        mode: input.mode.or(mode),
        ..input
    }
}

pub(super) fn validate(
    input: Input,
    request: &Request,
    context: &Context<'_>,
) -> Result<Plan<Rules>, Vec<Fault>> {
    let mut faults = Vec::new();
    let cast = Cast::find(context.data, request.cast.as_ref(), Councils::CAST)
        .and_then(|text| Cast::of(&text));
    match &cast {
        Err(error) => faults.push(Fault::new("/cast", error.to_string())),
        Ok(cast) if cast.panel.is_none() => {
            let message = format!(
                "the cast '{}' is for '{}' and has no councils: a cast for councils needs a [panel] with its councils, judges and \
                 dimensions",
                cast.name, cast.protocol
            );
            faults.push(Fault::new("/cast", message));
        }
        Ok(_) => {}
    }
    let has_images = !input.images.is_empty();
    let parts = content(&request.question, input.parts, has_images, &mut faults);
    let (Ok(cast), true) = (cast, faults.is_empty()) else {
        return Err(faults);
    };
    let mode = input.mode.unwrap_or(Mode::Full);
    let cast = match mode {
        Mode::Full => cast,
        Mode::Fast | Mode::Quick => cast.on_the_fast_tier(),
    };
    let unnamed = parts.iter().find(|part| part.name == UNNAMED);
    let shown_title = unnamed
        .filter(|_| input.title.is_none())
        .map(|part| title_of(&part.text));
    let title = input.title.unwrap_or_else(|| {
        let images = input.images.iter().map(|image| image.name.clone());
        let images = images.filter(|_| parts.is_empty());
        let names = parts.iter().map(|part| part.name.clone()).chain(images);
        names.collect::<Vec<_>>().join(", ")
    });
    let limit = context.max_question_tokens;
    let question = shown_title.unwrap_or_else(|| title.clone());
    let (seats, images) = (cast.clone(), input.images);
    Ok(Plan::depending_on_models(
        question,
        cast,
        EmbedderUse::None,
        move |models, notes| {
            check_vision(&images, &seats, models)?;
            let contexts = models
                .values()
                .filter_map(|seat| seat.model.profile().context_tokens);
            // A quarter of the smallest context; the rest is for the replies about the content.
            let limit = contexts
                .min()
                .map_or(limit, |context| limit.min(u64::from(context) / 4));
            let package = Package::new(title, &parts, limit).with_images(images);
            notes.extend(package.left_out());
            Rules::new(mode, &seats, package)
                .map_err(|error| vec![Fault::new("/cast", error.to_string())])
        },
    ))
}

/// The last message is judged; what was said before it is metadata.
pub(super) fn converse(mut input: Input, said: Conversation) -> (String, Input) {
    input.images.extend(said.images);
    if let Some(context) = said.context {
        let part = |kind, name: &str, text| Given {
            kind,
            name: name.to_owned(),
            text,
        };
        if !said.question.trim().is_empty() {
            let text = said.question.clone();
            input.parts.push(part(Kind::Text, UNNAMED, text));
        }
        let context = part(Kind::Metadata, "the conversation", context);
        input.parts.push(context);
    }
    (said.question, input)
}

/// The parts that are given, or the question itself. Pictures need no text.
fn content(
    question: &str,
    mut parts: Vec<Given>,
    has_images: bool,
    faults: &mut Vec<Fault>,
) -> Vec<Given> {
    if parts.is_empty() && has_images && question.trim().is_empty() {
        return parts;
    }
    let is_question = parts.is_empty();
    if is_question {
        parts.push(Given {
            kind: Kind::Text,
            name: UNNAMED.into(),
            text: question.to_owned(),
        });
    }
    for (index, part) in parts.iter_mut().enumerate() {
        part.name = plain_name(&part.name);
        let at = if is_question {
            "/question".to_owned()
        } else {
            format!("/rules/parts/{index}")
        };
        if part.text.trim().is_empty() {
            let message = format!("{} is empty: there is nothing to judge", part.name);
            faults.push(Fault::new(at, message));
        } else if part.text.contains('\0') {
            faults.push(Fault::new(at, format!("{} is not text", part.name)));
        }
    }
    if !has_images && parts.iter().all(|part| part.kind == Kind::Metadata) {
        faults.push(Fault::new(
            "/rules/parts",
            "there is metadata but no content that it belongs to",
        ));
    }
    parts
}

/// Every judge gets the pictures, so the model of every judge needs vision.
fn check_vision(images: &[Image], cast: &Cast, models: &SeatModels) -> Result<(), Vec<Fault>> {
    let mut judges = cast.panel.iter().flat_map(CouncilsSpec::judges);
    let blind = judges.find(|(_, judge)| {
        let seat = models.get(&judge.seat);
        seat.is_some_and(|seat| !seat.model.sees())
    });
    match (images.first(), blind) {
        (Some(image), Some((_, judge))) => Err(vec![Fault::new(
            "/rules/images",
            format!(
                "{} is a picture, and the model of seat '{}' is not known to have vision: choose one that does with --model, set \
                 `vision = true` for its provider in the configuration if it has, or leave the picture out",
                image.name, judge.seat
            ),
        )]),
        _ => Ok(()),
    }
}
