//! Posts of the API of Metaculus: single questions, groups, and conditional pairs.

use roundtable_core::forecast::{Bins, Distribution, OpenEnds};
use roundtable_engine::protocols::forecast::{Edge, Scale};
use serde_json::Value;

use super::{Parsed, day, day_of, items, number, text};
use crate::questions::{Condition, Kind, Question};

/// The bins of a number or a date, without those for open ends.
const BINS: usize = 8;

pub(super) fn parse(json: &Value, parsed: &mut Parsed) {
    for (number, post) in (1..).zip(items(json)) {
        let place = format!("post {number}");
        let group = post
            .pointer("/group_of_questions/questions")
            .and_then(Value::as_array);
        if let Some(conditional) = post.get("conditional").filter(|own| own.is_object()) {
            pair(post, conditional, &place, parsed);
        } else if let Some(group) = group {
            for (index, own) in (1..).zip(group) {
                let place = format!("{place}, question {index}");
                add(parsed, &place, own, question(own, post));
            }
        } else if let Some(own) = post.get("question").filter(|own| own.is_object()) {
            add(parsed, &place, own, question(own, post));
        } else if post.get("possibilities").is_some() || post.get("type").is_some() {
            add(parsed, &place, post, question(post, post));
        } else {
            parsed.leave_out("posts without a question");
        }
    }
}

fn add(parsed: &mut Parsed, place: &str, own: &Value, question: Result<Question, String>) {
    match kind_of(own).as_deref() {
        Some("binary" | "multiple_choice" | "numeric" | "date" | "discrete" | "continuous") => {
            parsed.add(place, question);
        }
        Some(other) => parsed.leave_out(&format!("questions of the type {other}")),
        None => parsed.faults.push(format!("{place}: it has no type")),
    }
}

fn kind_of(own: &Value) -> Option<String> {
    let older = || text(own.get("possibilities")?, "type");
    older().or_else(|| text(own, "type"))
}

fn pair(post: &Value, conditional: &Value, place: &str, parsed: &mut Parsed) {
    let condition = conditional
        .get("condition")
        .and_then(|own| text(own, "title"));
    let Some(condition) = condition else {
        parsed
            .faults
            .push(format!("{place}: the conditional has no condition"));
        return;
    };
    let sides = [("question_yes", true), ("question_no", false)];
    let id = |name: &str| {
        conditional
            .get(name)
            .and_then(|own| text(own, "id"))
            .unwrap_or_default()
    };
    let child = conditional.get("condition_child");
    for ((name, holds), (other, _)) in sides.into_iter().zip([sides[1], sides[0]]) {
        let Some(own) = conditional.get(name) else {
            parsed
                .faults
                .push(format!("{place}: the conditional has no {name}"));
            continue;
        };
        let question = question(own, post).map(|question| Question {
            // The title of the side repeats the condition.
            question: child
                .and_then(|child| text(child, "title"))
                .unwrap_or(question.question),
            condition: Some(Condition {
                text: condition.clone(),
                holds,
                other: id(other),
            }),
            ..question
        });
        add(parsed, &format!("{place}, {name}"), own, question);
    }
}

fn question(own: &Value, post: &Value) -> Result<Question, String> {
    let id = text(own, "id")
        .or_else(|| text(post, "id"))
        .ok_or("it has no id")?;
    let asked = text(own, "title")
        .or_else(|| text(post, "title"))
        .ok_or("it has no title")?;
    let category = post
        .pointer("/projects/category/0/name")
        .and_then(Value::as_str);
    let criteria = [text(own, "resolution_criteria"), text(own, "fine_print")];
    let criteria: Vec<String> = criteria.into_iter().flatten().collect();
    let deadline = [
        "scheduled_resolve_time",
        "resolve_time",
        "scheduled_close_time",
        "close_time",
    ];
    let deadline = deadline
        .iter()
        .find_map(|name| own.get(*name).and_then(day));
    let kind = kind_of(own).unwrap_or_default();
    let mut question = Question {
        background: text(own, "description").or_else(|| text(post, "description")),
        criteria: (!criteria.is_empty()).then(|| criteria.join("\n")),
        url: text(post, "page_url").or_else(|| {
            let post = text(post, "id")?;
            Some(format!("https://www.metaculus.com/questions/{post}/"))
        }),
        resolves_on: deadline,
        domain: category.map(str::to_owned),
        ..Question::new(&id, "metaculus", &asked, Kind::Binary)
    };
    let latest = own.pointer("/aggregations/recency_weighted/latest");
    let values = latest.and_then(|latest| latest.get("forecast_values")?.as_array());
    let values: Option<Vec<f64>> = values.and_then(|values| values.iter().map(number).collect());
    let resolution = text(own, "resolution");
    match kind.as_str() {
        "multiple_choice" => {
            let options = own.get("options").and_then(Value::as_array);
            let options = options.ok_or("it has no options")?;
            let outcomes = options
                .iter()
                .map(|own| own.as_str().unwrap_or_default().to_owned());
            question.kind = Kind::MultipleChoice {
                outcomes: outcomes.collect(),
            };
            question.crowd = values;
            question.resolution = resolution;
        }
        "numeric" | "date" | "discrete" | "continuous" => {
            let range = Range::of(own, &kind)?;
            question.crowd = values
                .and_then(|cdf| range.crowd(&cdf))
                .map(|own| own.values().to_vec());
            let labels = range.scale.labels().map_err(|error| error.to_string())?;
            question.resolution = resolution.and_then(|value| match value.as_str() {
                "above_upper_bound" => labels.last().cloned(),
                "below_lower_bound" => labels.first().cloned(),
                _ => Some(value),
            });
            question.kind = Kind::Scale { scale: range.scale };
        }
        _ => {
            let older = own
                .pointer("/community_prediction/full/q2")
                .and_then(number);
            let centre = latest.and_then(|latest| number(latest.pointer("/centers/0")?));
            let yes = values.and_then(|values| values.last().copied());
            question.crowd = centre.or(yes).or(older).map(|share| vec![share]);
            question.resolution = resolution;
        }
    }
    Ok(question)
}

/// The range of a number or a date.
struct Range {
    ends: (f64, f64),
    zero: Option<f64>,
    bins: Bins,
    scale: Scale,
}

const DAY_S: f64 = 86_400.0;

impl Range {
    fn of(own: &Value, kind: &str) -> Result<Self, String> {
        let is_date = kind == "date";
        let end = |name: &str, older: &str| {
            let value = own.pointer(&format!("/scaling/{name}"));
            let value = value.or_else(|| own.pointer(&format!("/possibilities/scale/{older}")));
            let value = value
                .and_then(number)
                .ok_or_else(|| format!("it has no {name}"))?;
            // Dates are seconds there, and days here.
            Ok::<f64, String>(if is_date {
                (value / DAY_S).floor()
            } else {
                value
            })
        };
        let ends = (end("range_min", "min")?, end("range_max", "max")?);
        let zero = own.pointer("/scaling/zero_point").and_then(number);
        let zero = zero.map(|zero| if is_date { zero / DAY_S } else { zero });
        let flag = |name: &str| {
            let scaling = own.get("scaling").and_then(|scaling| scaling.get(name));
            let found = own.get(name).or(scaling).and_then(Value::as_bool);
            found.unwrap_or(false)
        };
        let open = OpenEnds {
            below: flag("open_lower_bound"),
            above: flag("open_upper_bound"),
        };
        let bins = Bins::spaced(ends, BINS, zero, open).map_err(|error| error.to_string())?;
        let edges = bins.edges().iter().map(|edge| {
            if !is_date {
                return Some(Edge::Number(*edge));
            }
            Some(Edge::Date(day_of(edge * DAY_S * 1000.0)?))
        });
        let scale = Scale {
            edges: edges
                .collect::<Option<_>>()
                .ok_or("its range is not one of dates")?,
            unit: text(own, "unit"),
            open_below: open.below,
            open_above: open.above,
        };
        // Days may fall together in a short range.
        let bins = scale.bins().map_err(|error| error.to_string())?;
        Ok(Self {
            ends,
            zero,
            bins,
            scale,
        })
    }

    /// The crowd's cumulative distribution, at equal steps from one end to the other.
    #[expect(clippy::cast_precision_loss, reason = "a few hundred steps")]
    fn crowd(&self, cdf: &[f64]) -> Option<Distribution> {
        let steps = cdf.len().checked_sub(1).filter(|steps| *steps > 0)?;
        let (from, to) = self.ends;
        let points = cdf.iter().enumerate().map(|(step, share)| {
            let along = step as f64 / steps as f64;
            let value = match self.zero {
                None => from + (to - from) * along,
                Some(zero) => zero + (from - zero) * ((to - zero) / (from - zero)).powf(along),
            };
            (value, *share)
        });
        self.bins.of_cdf(&points.collect::<Vec<_>>()).ok()
    }
}
