//! Questions in CSV, our own format.

use roundtable_engine::protocols::forecast::{Edge, Scale};
use serde::Deserialize;

use super::{Parsed, id_of, pair};
use crate::failure::Failure;
use crate::questions::{Kind, Question};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    question: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    background: Option<String>,
    #[serde(default)]
    criteria: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    resolves: Option<String>,
    /// `a|b|c`
    #[serde(default)]
    outcomes: Option<String>,
    /// `0|1|2` or `2027-01-01|2027-07-01`; a `!` at an end means that nothing is possible beyond it.
    #[serde(default)]
    edges: Option<String>,
    #[serde(default)]
    unit: Option<String>,
    /// `0.3`, `30%`, `0.3|0.5|0.2`, or quantiles `5%:1.2|50%:2|95%:4`
    #[serde(default)]
    crowd: Option<String>,
    #[serde(default)]
    domain: Option<String>,
    #[serde(default)]
    base_rate: Option<String>,
    #[serde(default)]
    condition: Option<String>,
    /// What happened; only `questions resolve` reads it.
    #[serde(default)]
    outcome: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Parsed, Failure> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let header = reader.headers().cloned();
    let header =
        header.map_err(|error| Failure::usage(format!("the header is not CSV: {error}")))?;
    if !header.iter().any(|name| name == "question") {
        return Err(Failure::usage(
            "the file has no column 'question': expected CSV with a header, or JSON. Help: roundtable questions import --help",
        ));
    }
    let mut parsed = Parsed::default();
    for (number, row) in (2..).zip(reader.deserialize::<Row>()) {
        let place = format!("row {number}");
        match row {
            Err(error) => parsed.faults.push(format!("{place}: {error}")),
            Ok(row) => {
                let condition = given(&row.condition).map(str::to_owned);
                match (question(&row), condition) {
                    (Ok(question), Some(condition)) => {
                        for one in pair(&question, &condition) {
                            parsed.add(&place, Ok(one));
                        }
                    }
                    (question, _) => parsed.add(&place, question),
                }
            }
        }
    }
    Ok(parsed)
}

#[expect(clippy::ref_option, reason = "called on the fields of a row")]
fn given(field: &Option<String>) -> Option<&str> {
    field
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

fn question(row: &Row) -> Result<Question, String> {
    let owned = |field: &Option<String>| given(field).map(str::to_owned);
    let kind = kind(row)?;
    let crowd = given(&row.crowd)
        .map(|text| crowd(text, &kind))
        .transpose()?;
    let id = owned(&row.id).unwrap_or_else(|| id_of(row.question.trim()));
    let day = |text: &str| {
        let found = text.get(..10).and_then(|day| day.parse().ok());
        found.ok_or_else(|| format!("resolves: '{text}' is not a date such as 2027-06-30"))
    };
    Ok(Question {
        background: owned(&row.background),
        criteria: owned(&row.criteria),
        url: owned(&row.url),
        resolves_on: given(&row.resolves).map(day).transpose()?,
        domain: owned(&row.domain),
        base_rates: owned(&row.base_rate).into_iter().collect(),
        crowd,
        resolution: owned(&row.outcome),
        ..Question::new(&id, "csv", &row.question, kind)
    })
}

fn kind(row: &Row) -> Result<Kind, String> {
    match (given(&row.outcomes), given(&row.edges)) {
        (Some(_), Some(_)) => Err("it has outcomes and edges; give only one of them".into()),
        (None, None) => Ok(Kind::Binary),
        (Some(outcomes), None) => Ok(Kind::MultipleChoice {
            outcomes: outcomes
                .split('|')
                .map(|label| label.trim().to_owned())
                .collect(),
        }),
        (None, Some(edges)) => {
            let open_below = !edges.starts_with('!');
            let open_above = !edges.ends_with('!');
            let edges = edges.trim_matches('!').split('|').map(|text| {
                Edge::parse(text)
                    .ok_or_else(|| format!("edges: '{text}' is not a number or a date"))
            });
            Ok(Kind::Scale {
                scale: Scale {
                    edges: edges.collect::<Result<_, _>>()?,
                    unit: given(&row.unit).map(str::to_owned),
                    open_below,
                    open_above,
                },
            })
        }
    }
}

fn crowd(text: &str, kind: &Kind) -> Result<Vec<f64>, String> {
    let wrong = || {
        format!(
            "crowd: '{text}' is not a probability such as 0.3 or 30%, one per outcome separated by |, or quantiles such as 5%:1|95%:4"
        )
    };
    if let Kind::Scale { scale } = kind
        && text.contains(':')
    {
        let points = text.split('|').map(|part| {
            let (share, value) = part.split_once(':')?;
            Some((Edge::parse(value)?.position(), share_of(share)?))
        });
        let points: Vec<(f64, f64)> = points.collect::<Option<_>>().ok_or_else(wrong)?;
        let bins = scale.bins().map_err(|error| error.to_string())?;
        let forecast = bins
            .of_cdf(&points)
            .map_err(|error| format!("crowd: {error}"))?;
        return Ok(forecast.values().to_vec());
    }
    let parts = text.split('|').map(share_of);
    parts.collect::<Option<_>>().ok_or_else(wrong)
}

/// `0.3` or `30%`.
fn share_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
    };
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    }
}
