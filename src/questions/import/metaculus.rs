//! Posts of the API of Metaculus: single questions, groups, and conditional pairs.

use roundtable_core::forecast::{Bins, Distribution, OpenEnds};
use roundtable_engine::protocols::forecast::{Edge, MAX_OUTCOMES, Scale};
use serde_json::Value;

use super::{Parsed, day, day_of, items, number, text};
use crate::questions::{Condition, Kind, Question};

/// The bins of a number or a date, without those for open ends.
const BINS: usize = 8;
/// Values of a count that each have a bin; with the open ends that is the most that a forecast can have.
const MAX_VALUES: usize = MAX_OUTCOMES - 2;

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
    let asked = title(own, post).ok_or("it has no title")?;
    let category = post
        .pointer("/projects/category/0/name")
        .and_then(Value::as_str);
    // A group has the texts of its questions once.
    let group = post.get("group_of_questions");
    let shared = |name: &str| text(own, name).or_else(|| text(group?, name));
    let criteria = [shared("resolution_criteria"), shared("fine_print")];
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
        background: shared("description").or_else(|| text(post, "description")),
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
    let listed = |name: &str| -> Option<Vec<f64>> {
        let values = latest?.get(name)?.as_array()?;
        let values: Vec<f64> = values.iter().map(number).collect::<Option<_>>()?;
        (!values.is_empty()).then_some(values)
    };
    let values = listed("forecast_values");
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
            question.crowd = values.or_else(|| listed("centers"));
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
            let first = |name: &str| listed(name)?.first().copied();
            let yes = first("centers").or_else(|| values?.last().copied());
            let yes = yes.or_else(|| first("means"));
            question.crowd = yes.or(older).map(|share| vec![share]);
            question.resolution = resolution;
        }
    }
    Ok(question)
}

/// The title of the question; those of groups may only say what differs, such as "By May?".
fn title(own: &Value, post: &Value) -> Option<String> {
    const WORDS: usize = 4;
    match (text(own, "title"), text(post, "title")) {
        (Some(own), Some(post)) if own.split_whitespace().count() < WORDS && own != post => {
            Some(format!("{post} — {own}"))
        }
        (own, post) => own.or(post),
    }
}

/// The range of a number or a date.
struct Range {
    ends: (f64, f64),
    zero: Option<f64>,
    bins: Bins,
    scale: Scale,
    /// The values at which the crowd's distribution is given, if the export has them.
    grid: Option<Vec<f64>>,
}

const DAY_S: f64 = 86_400.0;

impl Range {
    fn of(own: &Value, kind: &str) -> Result<Self, String> {
        let is_date = kind == "date";
        let end = |name: &str, older: &str| {
            let places = [
                format!("/scaling/{name}"),
                format!("/possibilities/scale/{older}"),
            ];
            let value = places.iter().find_map(|at| number(own.pointer(at)?));
            let value = value.ok_or_else(|| format!("it has no {name}"))?;
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
            let found = [own.get(name), scaling].into_iter().flatten();
            found.filter_map(Value::as_bool).any(|flag| flag)
        };
        let open = OpenEnds {
            below: flag("open_lower_bound"),
            above: flag("open_upper_bound"),
        };
        // A count with few values has a bin for each.
        let places = ["/scaling/inbound_outcome_count", "/inbound_outcome_count"];
        let count = places.iter().find_map(|at| own.pointer(at)?.as_u64());
        let count = count.and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| kind == "discrete" && (2..=MAX_VALUES).contains(count));
        let bins = Bins::spaced(ends, count.unwrap_or(BINS), zero, open);
        let bins = bins.map_err(|error| error.to_string())?;
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
            grid: grid(own),
        })
    }

    /// The crowd's cumulative distribution, at equal steps from one end to the other.
    #[expect(clippy::cast_precision_loss, reason = "a few hundred steps")]
    fn crowd(&self, cdf: &[f64]) -> Option<Distribution> {
        let steps = cdf.len().checked_sub(1).filter(|steps| *steps > 0)?;
        let (from, to) = self.ends;
        if let Some(grid) = self.grid.as_ref().filter(|grid| grid.len() == cdf.len()) {
            let points: Vec<_> = grid.iter().copied().zip(cdf.iter().copied()).collect();
            return self.bins.of_cdf(&points).ok();
        }
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

/// Numbers, or for dates times in ISO 8601, which are days here.
#[expect(clippy::cast_precision_loss, reason = "seconds since 1970")]
fn grid(own: &Value) -> Option<Vec<f64>> {
    let values = own.pointer("/scaling/continuous_range")?.as_array()?;
    let values = values.iter().map(|value| match value {
        Value::String(stamp) => {
            let at: jiff::Timestamp = stamp.parse().ok()?;
            Some(at.as_second() as f64 / DAY_S)
        }
        other => number(other),
    });
    values.collect()
}
