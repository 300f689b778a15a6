//! The report of a forecast, at any point of its journal.

use super::contract::{Disagreement, KeyInsight, OutcomeForecast, Precedent, Round};
use super::extras::{Extras, JudgePart};
use super::resolution::{Scored, resolution_of, scored};
use super::result::ForecastSnapshot;
use super::rules::Rules;
use super::text_budget::percent;
use super::verdict::Verdict;
use crate::event::{Entry, State};
use crate::report::{
    Block, Cell, Chart, Dot, DotRow, Fact, Line, Report, Scale, Section, Table, Tone, Unit,
};

pub(super) fn report(entries: &[Entry]) -> Report {
    let Some(snapshot) = ForecastSnapshot::of(entries) else {
        return Report::default();
    };
    let (verdict, rules) = (&snapshot.verdict, &snapshot.rules);
    let is_over = snapshot.state != State::Running;
    let mut sections = Vec::new();
    if !verdict.probability_distribution.is_empty() {
        let chart = Block::Chart(outcomes(rules, &verdict.probability_distribution));
        sections.push(Section::main("Forecast", vec![chart]));
    }
    if is_over {
        sections.push(Section::ending(worth(verdict, rules)));
    }
    let now = entries.last().map_or(0, |entry| entry.at);
    if let Some(resolution) = resolution_of(entries) {
        let scores = scored("", entries, now);
        sections.push(Section::main(
            "What happened",
            resolved(rules, &resolution.outcome, scores),
        ));
    }
    sections.extend(movement(rules, verdict));
    if verdict
        .disagreement_map
        .iter()
        .any(|disagreement| !disagreement.positions.is_empty())
    {
        let table = Block::Table(disagreements(&verdict.disagreement_map));
        sections.push(Section::main("Disagreements", vec![table]));
    }
    if !verdict.key_insights.is_empty() {
        let table = Block::Table(insights(&verdict.key_insights));
        sections.push(Section::main("Key insights", vec![table]));
    }
    if !verdict.historical_precedents.is_empty() {
        let table = Block::Table(precedents(&verdict.historical_precedents));
        sections.push(Section::main("Precedents", vec![table]));
    }
    if !verdict.debate_log.rounds.is_empty() {
        let table = Block::Table(arguments(rules, &verdict.debate_log.rounds));
        sections.push(Section::side("Arguments and their scores", vec![table]));
    }
    Report {
        answer: verdict.final_answer.clone(),
        facts: if is_over {
            facts(rules, verdict)
        } else {
            Vec::new()
        },
        sections,
    }
}

const PERCENT: Scale = Scale {
    from: 0.0,
    to: 1.0,
    unit: Unit::Percent,
};

fn label<'r>(rules: &'r Rules, id: &'r str) -> &'r str {
    let outcomes = &rules.request.prediction_context.outcomes;
    let found = outcomes.iter().find(|outcome| outcome.id == id);
    found.map_or(id, |outcome| &outcome.label)
}

fn outcomes(rules: &Rules, forecasts: &[OutcomeForecast]) -> Chart {
    let rows = forecasts.iter().map(|forecast| DotRow {
        label: label(rules, &forecast.outcome_id).to_owned(),
        line: Some(forecast.probability),
        dots: forecast
            .role_assessments
            .iter()
            .map(|assessment| Dot {
                role: assessment.role.clone(),
                value: assessment.probability,
            })
            .collect(),
        remark: None,
    });
    Chart::Dots {
        title: "Probability of each outcome".into(),
        scale: PERCENT,
        rows: rows.collect(),
    }
}

/// Each role's probability of the likeliest outcome by round.
fn movement(rules: &Rules, verdict: &Verdict) -> Option<Section> {
    let rounds = u32::try_from(verdict.debate_log.rounds.len()).ok()?;
    let likeliest = verdict
        .probability_distribution
        .iter()
        .max_by(|a, b| a.probability.total_cmp(&b.probability))?;
    let notes = &verdict.roundtable.arguments;
    let roles = rules.request.config.roles.iter();
    let lines: Vec<Line> = roles
        .map(|role| Line {
            label: role.clone(),
            role: Some(role.clone()),
            values: (1..=rounds)
                .map(|round| {
                    let note = notes
                        .iter()
                        .find(|note| note.role == *role && note.round == round)?;
                    let given = note.probabilities.iter();
                    let mut given =
                        given.filter(|outcome| outcome.outcome_id == likeliest.outcome_id);
                    given.next().map(|outcome| outcome.probability.value())
                })
                .collect(),
        })
        .collect();
    let chart = Chart::Lines {
        title: format!("'{}' by round", label(rules, &likeliest.outcome_id)),
        scale: PERCENT,
        rounds: (1..=rounds).map(|round| format!("R{round}")).collect(),
        lines,
        thresholds: Vec::new(),
    };
    let mut blocks = vec![Block::Chart(chart)];
    let unexplained = verdict.roundtable.movement.iter().flat_map(|movement| {
        let steps = movement.steps.iter().filter(|step| !step.explained);
        steps.map(|step| {
            format!(
                "The {} moved by {} in round {} without naming a point of another role.",
                movement.role,
                percent(step.distance),
                step.to_round
            )
        })
    });
    blocks.extend(unexplained.map(|text| note(text, Tone::Caution)));
    Some(Section::side("Movement", blocks))
}

fn facts(rules: &Rules, verdict: &Verdict) -> Vec<Fact> {
    let mut facts = Vec::new();
    let best = verdict
        .probability_distribution
        .iter()
        .max_by(|a, b| a.probability.total_cmp(&b.probability));
    if let Some(best) = best {
        let text = format!(
            "{} {}",
            label(rules, &best.outcome_id),
            percent(best.probability)
        );
        facts.push(Fact::new("Likeliest", text));
    }
    if let Some(score) = verdict.consensus_score {
        facts.push(Fact::new("Consensus", format!("{score:.2} of 1")));
    }
    let extras = &verdict.roundtable;
    if let Some(confidence) = extras.confidence {
        let is_lowered = extras
            .confidence_stated
            .is_some_and(|stated| confidence < stated);
        let tone = if is_lowered {
            Tone::Caution
        } else {
            Tone::Plain
        };
        facts.push(Fact::new("Confidence", format!("{:.2} of 1", confidence.value())).toned(tone));
    }
    let rounds = verdict.debate_log.rounds.len();
    facts.push(Fact::new("Rounds", rounds.to_string()));
    facts
}

fn note(text: impl Into<String>, tone: Tone) -> Block {
    Block::Note {
        text: text.into(),
        tone,
    }
}

/// What the debate changed, what is missing, and the comparison of forecasts (C-17, F-18).
fn worth(verdict: &Verdict, rules: &Rules) -> Vec<Block> {
    let extras = &verdict.roundtable;
    let mut blocks = Vec::new();
    if let Some(worth) = &extras.worth {
        let text = if worth.changed_the_likeliest {
            format!(
                "The debate changed the likeliest outcome from '{}' to '{}'.",
                label(rules, &worth.blind.likeliest),
                label(rules, &worth.debated.likeliest)
            )
        } else {
            format!(
                "The debate kept the likeliest outcome of the blind first round and moved {} of probability.",
                percent(worth.moved)
            )
        };
        blocks.push(note(text, Tone::Plain));
        blocks.push(Block::Table(comparison(verdict, rules)));
    }
    blocks.extend(judge_note(extras));
    if !extras.absent_roles.is_empty() {
        let text = format!("Without any argument: {}.", extras.absent_roles.join(", "));
        blocks.push(note(text, Tone::Caution));
    }
    if let Some(share_above) = extras.quality.share
        && extras.quality.met == Some(false)
    {
        let text = format!(
            "{} of the arguments score above 0.4; the target is {}.",
            percent(share_above),
            percent(extras.quality.bar)
        );
        blocks.push(note(text, Tone::Caution));
    }
    if extras.precedents_dated < extras.precedents_required && !verdict.debate_log.rounds.is_empty()
    {
        let text = format!(
            "Only {} precedent(s) with a date; {} are required.",
            extras.precedents_dated, extras.precedents_required
        );
        blocks.push(note(text, Tone::Caution));
    }
    for missing in &extras.missing {
        let text = format!("{} is missing: {}", missing.step, missing.reason);
        blocks.push(note(text, Tone::Caution));
    }
    for remark in &extras.remarks {
        blocks.push(note(remark.clone(), Tone::Quiet));
    }
    blocks
}

fn judge_note(extras: &Extras) -> Option<Block> {
    match extras.judge {
        JudgePart::Spoke => None,
        JudgePart::Absent => Some(note(
            "The judge did not answer: the forecast is the roles' consensus alone.",
            Tone::Caution,
        )),
        JudgePart::NotAsked => Some(note(
            "The request has no judge: the forecast is the roles' consensus alone.",
            Tone::Quiet,
        )),
    }
}

/// The debate's forecast next to that of the first round, the accuracy pool and the baselines.
fn comparison(verdict: &Verdict, rules: &Rules) -> Table {
    let extras = &verdict.roundtable;
    let blind = extras
        .worth
        .as_ref()
        .map(|worth| &worth.blind.probabilities);
    let pool = extras
        .accuracy_pool
        .as_ref()
        .map(|pool| &pool.probabilities);
    let simulation = extras.baselines.simulation.as_ref();
    let table = Table::new(
        "Forecasts",
        &[
            "",
            "#debate",
            "#blind first round",
            "#accuracy pool",
            "#simulation",
            "#uniform",
        ],
    );
    verdict
        .probability_distribution
        .iter()
        .fold(table, |table, forecast| {
            let of = |given: Option<&Vec<super::contract::OutcomeProbability>>| {
                let found = given.and_then(|all| {
                    all.iter()
                        .find(|other| other.outcome_id == forecast.outcome_id)
                });
                Cell::new(found.map_or_else(
                    || "–".into(),
                    |outcome| percent(outcome.probability.value()),
                ))
            };
            table.row(vec![
                Cell::new(label(rules, &forecast.outcome_id)),
                Cell::new(percent(forecast.probability)),
                of(blind),
                of(pool),
                of(simulation),
                of(Some(&extras.baselines.uniform)),
            ])
        })
}

fn resolved(rules: &Rules, outcome: &str, scores: Option<Scored>) -> Vec<Block> {
    let mut blocks = vec![note(
        format!("Outcome: {}", label(rules, outcome)),
        Tone::Plain,
    )];
    let Some(scores) = scores else {
        blocks.push(note(
            "The forecast is scored after its resolution date.",
            Tone::Quiet,
        ));
        return blocks;
    };
    let mut rows = vec![("debate".to_owned(), Some(scores.debate))];
    rows.push(("blind first round".into(), scores.blind_first_round));
    rows.push(("accuracy pool".into(), scores.accuracy_pool));
    rows.push(("uniform".into(), Some(scores.uniform)));
    rows.push(("simulation".into(), scores.simulation));
    rows.extend(
        scores
            .roles
            .into_iter()
            .map(|(role, score)| (role, Some(score))),
    );
    let table = Table::new("Scores, lower is better", &["", "#Brier", "#log"]);
    let table = rows
        .into_iter()
        .fold(table, |table, (name, score)| match score {
            Some(score) => table.row(vec![
                Cell::new(name),
                Cell::new(format!("{:.3}", score.brier)),
                Cell::new(format!("{:.3}", score.log)),
            ]),
            None => table,
        });
    blocks.push(Block::Table(table));
    blocks
}

fn disagreements(all: &[Disagreement]) -> Table {
    let table = Table::new(
        "Disagreement map",
        &["topic", "role", "stance", "#strength", "state"],
    );
    all.iter().fold(table, |table, disagreement| {
        let (state, tone) = if disagreement.resolved {
            ("resolved", Tone::Good)
        } else {
            ("open", Tone::Caution)
        };
        disagreement
            .positions
            .iter()
            .fold(table, |table, position| {
                table.row(vec![
                    Cell::new(disagreement.topic.clone()),
                    Cell::new(position.role.clone()),
                    Cell::new(position.stance.clone()),
                    Cell::new(format!("{:.1}", position.strength.value())),
                    Cell::new(state).toned(tone),
                ])
            })
    })
}

fn insights(all: &[KeyInsight]) -> Table {
    let table = Table::new(
        "Insights by impact",
        &["impact", "insight", "from", "#round"],
    );
    all.iter().fold(table, |table, noted| {
        table.row(vec![
            Cell::new(noted.impact.name()),
            Cell::new(noted.insight.clone()),
            Cell::new(noted.source_role.clone()),
            Cell::new(noted.round.to_string()),
        ])
    })
}

fn precedents(all: &[Precedent]) -> Table {
    let columns = ["date", "event", "outcome", "#similarity", "relevance"];
    all.iter()
        .fold(Table::new("Precedents", &columns), |table, precedent| {
            let date = if precedent.is_dated() {
                Cell::new(precedent.date.clone())
            } else {
                Cell::new("undated").toned(Tone::Caution)
            };
            table.row(vec![
                date,
                Cell::new(precedent.event.clone()),
                Cell::new(precedent.outcome.clone()),
                Cell::new(format!("{:.2}", precedent.similarity_score.value())),
                Cell::new(precedent.relevance.clone()),
            ])
        })
}

fn arguments(rules: &Rules, rounds: &[Round]) -> Table {
    let criteria = rules.criteria.names();
    let names: Vec<String> = criteria
        .iter()
        .map(|name| format!("#{}", name.replace('_', " ")))
        .collect();
    let columns: Vec<&str> = ["#round", "role", "supports"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain(["#composite"])
        .collect();
    let all = rounds.iter().flat_map(|round| {
        round
            .arguments
            .iter()
            .map(move |argument| (round, argument))
    });
    all.fold(
        Table::new("Arguments", &columns),
        |table, (round, argument)| {
            let mut cells = vec![
                Cell::new(round.round_number.to_string()),
                Cell::new(argument.role.clone()),
                Cell::new(label(rules, &argument.outcome_supported)),
            ];
            let names = criteria.iter().map(String::as_str).chain(["composite"]);
            cells.extend(names.map(|name| {
                let score = argument
                    .scores
                    .as_ref()
                    .and_then(|scores| scores.get(name)?.as_f64());
                Cell::new(score.map_or_else(|| "–".into(), |score| format!("{score:.2}")))
            }));
            table.row(cells)
        },
    )
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
