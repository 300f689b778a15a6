//! The facts of the request as short lines for every role: base rates, simulation, key variables, data and its gaps.
//!
//! A fact is in the prompts as it was written, or not at all: cutting one would lose its figure. If they do not all fit, the
//! ones that share the most with question and outcomes stay, and a line says how many are missing.

use roundtable_core::format::percent;
use roundtable_core::sources::{Index, Passage, Place};
use roundtable_core::wording::one_line;
use serde::Serialize;

use super::contract::{DebateRequest, KeyVariable, PredictionContext};
use super::request::plain;
use super::text_budget::estimate_tokens;

/// The facts that fit, by title, and the number of those that do not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Facts {
    pub(super) lines: Vec<String>,
    pub(super) left_out: usize,
}

/// One fact. Those with the same title are one line.
struct Fact {
    title: &'static str,
    text: String,
    /// Base rates, the simulation's probabilities and the region are never left out.
    is_needed: bool,
}

impl Fact {
    fn tokens(&self) -> u64 {
        // With the separator.
        estimate_tokens(&self.text) + 1
    }
}

/// The facts in about `max_tokens` tokens; needed ones may take more.
pub(super) fn facts(request: &DebateRequest, question: &str, max_tokens: u64) -> Facts {
    let facts = all(&request.prediction_context);
    let max_tokens = without_margin(max_tokens);
    if tokens(&facts) <= max_tokens {
        return shown(facts.iter());
    }
    let mut is_kept: Vec<bool> = facts.iter().map(|fact| fact.is_needed).collect();
    let needed = facts.iter().filter(|fact| fact.is_needed);
    let mut used: u64 = titles(&facts) + needed.map(Fact::tokens).sum::<u64>();
    for index in by_relevance(&facts, &query(request, question)) {
        let size = facts[index].tokens();
        if !is_kept[index] && used + size <= max_tokens {
            is_kept[index] = true;
            used += size;
        }
    }
    let kept = facts.iter().zip(&is_kept);
    let mut shown = shown(kept.filter_map(|(fact, is_kept)| is_kept.then_some(fact)));
    shown.left_out = is_kept.iter().filter(|is_kept| !**is_kept).count();
    shown
}

/// The size of all facts.
pub(super) fn total_tokens(request: &DebateRequest) -> u64 {
    with_margin(tokens(&all(&request.prediction_context)))
}

/// Facts are mostly figures, of which a tokenizer makes more tokens than the estimate.
pub(super) const fn with_margin(estimate: u64) -> u64 {
    estimate + estimate.div_ceil(16)
}

/// The largest estimate that fits with its margin.
const fn without_margin(tokens: u64) -> u64 {
    tokens * 16 / 17
}

fn tokens(facts: &[Fact]) -> u64 {
    titles(facts) + facts.iter().map(Fact::tokens).sum::<u64>()
}

fn titles(facts: &[Fact]) -> u64 {
    let mut titles: Vec<&str> = facts.iter().map(|fact| fact.title).collect();
    titles.dedup();
    titles
        .into_iter()
        .map(|title| estimate_tokens(title) + 1)
        .sum()
}

fn shown<'f>(facts: impl Iterator<Item = &'f Fact>) -> Facts {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some((title, line)) if *title == fact.title => {
                line.push_str("; ");
                line.push_str(&fact.text);
            }
            _ => lines.push((fact.title, fact.text.clone())),
        }
    }
    let lines = lines
        .into_iter()
        .map(|(title, line)| format!("{title} {line}"));
    Facts {
        lines: lines.collect(),
        left_out: 0,
    }
}

fn all(context: &PredictionContext) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |title, is_needed, texts: Vec<String>| {
        let texts = texts.into_iter().map(|text| one_line(&text));
        let texts = texts.filter(|text| !text.is_empty());
        facts.extend(texts.map(|text| Fact {
            title,
            text,
            is_needed,
        }));
    };
    add("Scope:", true, scope(context));
    add("Base rates:", true, context.base_rates.clone());
    if let Some(simulation) = &context.simulation_summary {
        let outcomes = simulation.final_distribution.iter();
        let shares = outcomes.map(|outcome| {
            let probability = percent(outcome.probability.value());
            format!("{} {probability}", outcome.outcome_id)
        });
        add("Simulation:", true, shares.collect());
        add("Simulation found:", false, simulation.key_findings.clone());
    }
    let variables = context.key_variables.iter().map(variable);
    add("Key variables:", false, variables.collect());
    if let Some(data) = &context.data_summary {
        add("Economy:", false, data.economic_highlights.clone());
        add("Sentiment:", false, data.sentiment_highlights.clone());
        let gaps = data.data_gaps.clone();
        add("No data on, so do not assume it:", false, gaps);
    }
    facts
}

/// The region and domain of the question, and the period of the data.
fn scope(context: &PredictionContext) -> Vec<String> {
    let task = &context.task;
    let mut scope = vec![plain(task.get("region"))];
    let data = context.data_summary.as_ref();
    let region = data.and_then(|data| data.region.clone());
    scope.extend(region.filter(|region| *region != scope[0]));
    scope.push(plain(task.get("type")));
    if let Some(timeframe) = data.and_then(|data| data.timeframe.as_ref()) {
        let ends = [&timeframe.start, &timeframe.end];
        let ends = ends.map(|date| date.as_deref().unwrap_or("?"));
        scope.push(format!("data from {}", ends.join(" to ")));
    }
    scope
}

fn variable(variable: &KeyVariable) -> String {
    let mut text = variable.name.clone();
    let value = plain(Some(&variable.current_value));
    if !value.is_empty() {
        text = format!("{text} = {value}");
    }
    let importance = plain(Some(&variable.importance));
    if !importance.is_empty() {
        text = format!("{text} ({importance})");
    }
    text
}

/// The words that facts are compared with.
fn query(request: &DebateRequest, question: &str) -> String {
    let outcomes = request.prediction_context.outcomes.iter();
    let outcomes = outcomes.flat_map(|outcome| {
        [
            &outcome.label,
            &outcome.description,
            &outcome.boundary_conditions,
        ]
    });
    let words: Vec<&str> = outcomes.map(String::as_str).collect();
    format!("{question} {}", words.join(" "))
}

/// The indices of the facts, the most relevant first; of equal ones those with a figure, then in their order.
fn by_relevance(facts: &[Fact], query: &str) -> Vec<usize> {
    let passages = facts.iter().map(|fact| {
        let place = Place::Lines { from: 1, to: 1 };
        Passage::new("", place, None, fact.text.clone())
    });
    let passages: Vec<Passage> = passages.collect();
    let mut scores = vec![0.0; facts.len()];
    for hit in Index::of(&passages).search(query, facts.len()) {
        scores[hit.at] = hit.score;
    }
    let has_figure = |index: usize| facts[index].text.contains(|c: char| c.is_ascii_digit());
    let mut order: Vec<usize> = (0..facts.len()).collect();
    order.sort_by(|&a, &b| {
        scores[b]
            .total_cmp(&scores[a])
            .then(has_figure(b).cmp(&has_figure(a)))
            .then(a.cmp(&b))
    });
    order
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
