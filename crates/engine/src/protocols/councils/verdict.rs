//! The result of a councils debate: scores with their reasons, disagreements with both positions, the critic's findings with
//! their answers, and the comparison with the first round.

use roundtable_core::absence::scaled;
use roundtable_core::bounded::{Adjustment, Confidence, OutOfHundred};
use roundtable_core::councils::{BiasFigures, Overall, overall_confidence};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Deliberation;
use super::council_state::{CouncilState, SecondRound};
use super::disagreements::{AgreementResult, Disagreement, agreements, disagreements};
use super::findings::{AnsweredFinding, resolve_findings};
use super::judge_results::{
    AuthenticityResult, CouncilResult, UnscoredResult, authenticity, council_result, unscored,
};
use super::package::{Kind, LeftOut};
use super::replies::{Critique, Written};
use super::rules::{Mode, Rules};
use super::scorecard::{DimensionResult, Refused, finals, overall_of, scorecard, uncertainty_of};
use crate::cast::councils::{CouncilsSpec, Extra, ExtraKind, Part};
use crate::event::Spent;
use crate::protocols::outcome::Outcome;
use crate::protocols::scrutiny::Scrutiny;
use crate::remarks::for_people;
use crate::table::{Missing, Table};

/// How the debate ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    /// With the limit that was reached.
    Budget(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The executive summary; the councils' narratives if there is none.
    pub final_answer: Option<String>,
    pub executive_summary: Option<String>,
    pub cast: String,
    pub mode: Mode,
    pub content: Content,
    /// `null` if no component has a score.
    pub overall: Option<OverallResult>,
    /// The confidence in the overall score.
    pub confidence: Option<ConfidenceResult>,
    pub dimensions: Vec<DimensionResult>,
    pub councils: Vec<CouncilResult>,
    /// Judges more than 20 points apart, with both positions. Never averaged away.
    pub council_disagreements: Vec<Disagreement>,
    /// Dimensions on which all judges are within 10 points.
    pub high_confidence_agreements: Vec<AgreementResult>,
    pub critic: Option<CriticResult>,
    /// Indications of who wrote the content. Not part of any score, and not proof.
    pub authenticity: Option<AuthenticityResult>,
    /// Other judges whose scores are not part of the consensus.
    pub unscored: Vec<UnscoredResult>,
    pub bias: BiasFigures,
    /// Further outputs that the cast asks for, by name.
    pub extras: Map<String, Value>,
    /// Changes of scores that were asked for and rejected.
    pub refused: Vec<Refused>,
    pub worth: Worth,
    pub stop_reason: String,
    pub stop_explanation: String,
    pub missing: Vec<Missing>,
    /// Whether the answer was challenged; `None` in verdicts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrutiny: Option<Scrutiny>,
    /// Rules that a reply still broke after it was sent back.
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    pub title: String,
    pub parts: Vec<PartResult>,
    /// Names of the pictures.
    pub images: Vec<String>,
    /// Descriptions of what was not judged.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartResult {
    pub kind: Kind,
    pub name: String,
    pub left_out: Option<LeftOut>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverallResult {
    pub title: String,
    pub tier: String,
    /// One standard error, from the spread between judges of the same dimension.
    pub uncertainty: Option<f64>,
    #[serde(flatten)]
    pub overall: Overall,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfidenceResult {
    pub value: Confidence,
    /// The lowest of the dimensions' consensus confidences.
    pub lowest: Confidence,
    /// The critic's adjustment.
    pub adjustment: Option<Adjustment>,
    pub adjustment_reason: Option<String>,
    /// Failed steps. They lower the confidence further.
    pub missing: usize,
    pub asked: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CriticResult {
    pub review: String,
    pub checked: Vec<String>,
    pub findings: Vec<AnsweredFinding>,
}

/// The result compared with that of the first round (C-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// The result of the blind first round, by the same arithmetic.
    pub blind: Option<Side>,
    pub debated: Option<Side>,
    pub changed: Option<Change>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    pub score: OutOfHundred,
    pub tier: String,
    pub tokens: u64,
    pub cost: Option<Money>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The same score after rounding.
    Unchanged,
    /// Another score in the same tier.
    Moved,
    AnotherTier,
}

impl ConfidenceResult {
    /// The confidence if no step had failed.
    pub(super) fn unlowered(&self) -> Option<Confidence> {
        overall_confidence([self.lowest], self.adjustment)
    }
}

pub(super) fn faults_of_extras(extras: &[Extra], written: &[Written]) -> Vec<String> {
    let missing = extras
        .iter()
        .filter(|extra| written.iter().all(|written| written.name != extra.name));
    missing
        .map(|extra| format!("'{}' is missing in 'extras'.", extra.name))
        .collect()
}

impl Verdict {
    pub(super) fn of(
        table: &Table,
        rules: &Rules,
        deliberation: &Deliberation<'_>,
        ending: &Ending,
    ) -> Self {
        let panel = &rules.panel;
        let scorecards = deliberation
            .councils
            .iter()
            .map(|council| scorecard(panel, council));
        let (mut scorecards, refused): (Vec<_>, Vec<_>) = scorecards.unzip();
        let critique = deliberation.critique.as_ref().map(|turn| &turn.reply);
        let synthesis = deliberation.synthesis.as_ref().map(|turn| &turn.reply);
        let bias = deliberation.bias(table, &scorecards);
        let resolved = resolve_findings(
            critique.map_or(&[], |critique| &critique.findings),
            synthesis.map_or(&[], |synthesis| &synthesis.answers),
            finals(&scorecards.concat()),
        );
        for (dimension, change) in resolved.moves {
            let all = scorecards.iter_mut().flatten();
            for result in all.filter(|result| result.dimension == dimension) {
                result.final_score = Some(change.change.to);
                result.shown = Some(change.change.to.shown());
                result.moves.push(change.clone());
            }
        }
        let council_disagreements = disagreements(&scorecards, critique);
        let dimensions = scorecards.concat();
        let missing = table.missing();
        let overall = overall_of(panel, &dimensions, |result| result.final_score);
        let summary = synthesis.map(|synthesis| synthesis.executive_summary.clone());
        let (stop_reason, stop_explanation) = match ending {
            Ending::Complete => ("complete", "everyone was heard".to_owned()),
            Ending::Budget(limit) => ("budget", limit.clone()),
        };
        let mut verdict = Self {
            final_answer: summary
                .clone()
                .or_else(|| narratives(&deliberation.councils)),
            executive_summary: summary,
            cast: rules.cast.clone(),
            mode: rules.mode,
            content: content(rules),
            confidence: confidence(table, &dimensions, critique, missing.len()),
            worth: worth(table, panel, deliberation, &dimensions, overall.as_ref()),
            overall: overall.map(|overall| OverallResult {
                title: panel.overall.clone(),
                tier: panel.tiers.of(overall.score).to_owned(),
                uncertainty: uncertainty_of(&dimensions, &overall),
                overall,
            }),
            councils: deliberation
                .councils
                .iter()
                .map(|council| council_result(table, council))
                .collect(),
            high_confidence_agreements: agreements(&dimensions),
            dimensions,
            council_disagreements,
            critic: critique.map(|critique| CriticResult {
                review: critique.review.clone(),
                checked: critique.checked.clone(),
                findings: resolved.findings,
            }),
            authenticity: authenticity(table, rules, deliberation),
            unscored: unscored(table, panel, deliberation, Part::Unscored),
            bias,
            extras: extras(panel, synthesis.map_or(&[], |synthesis| &synthesis.extras)),
            refused: refused.concat(),
            stop_reason: stop_reason.to_owned(),
            stop_explanation,
            missing,
            scrutiny: None,
            remarks: remarks(deliberation),
        };
        verdict.scrutiny = Some(verdict.scrutiny());
        verdict.final_answer = verdict.marked_answer();
        verdict
    }

    /// Whether the scores were challenged (C-22): by the critic's findings and by judges who dispute a peer's score.
    fn scrutiny(&self) -> Scrutiny {
        let findings = self.critic.as_ref().map(|critic| &critic.findings);
        let found = findings.map_or(0, Vec::len);
        let unanswered = findings.into_iter().flatten();
        let unanswered = unanswered
            .filter(|finding| finding.answer.is_none())
            .count();
        let judges = self.councils.iter().flat_map(|council| &council.judges);
        let disputes: usize = judges.map(|judge| judge.disputes.len()).sum();
        if found + disputes > 0 {
            return Scrutiny::challenged(found + disputes, unanswered + disputes);
        }
        let critic = match findings {
            Some(_) => "the critic found no fault",
            None if self.mode == Mode::Quick => "a quick judgement has no critic",
            None => "the critic was absent",
        };
        let judges = match self.mode {
            Mode::Full => "no judge disputed a peer's score",
            Mode::Fast | Mode::Quick => "the judges did not read each other",
        };
        Scrutiny::not_challenged(format!("{critic}, and {judges}"))
    }

    /// The answer; of a partial debate with what is missing and the lowered confidence (C-21).
    fn marked_answer(&self) -> Option<String> {
        let lowered = self.confidence.as_ref().and_then(|confidence| {
            let whole = confidence.unlowered()?;
            let value = confidence.value;
            let is_lowered = value.value() < whole.value();
            let shown = |value: Confidence| format!("{:.2}", value.value());
            is_lowered.then(|| (shown(whole), shown(value)))
        });
        let answer = self.final_answer.as_deref()?;
        Some(self.outcome().marked(answer, lowered))
    }

    pub(super) fn outcome(&self) -> Outcome<'_> {
        Outcome {
            is_there: self.overall.is_some(),
            ran_out: (self.stop_reason == "budget").then_some(self.stop_explanation.as_str()),
            missing: &self.missing,
        }
    }
}

fn narratives(councils: &[CouncilState<'_>]) -> Option<String> {
    let narratives: Vec<String> = councils
        .iter()
        .filter_map(|council| {
            let narrative = &council.narrative.as_ref()?.reply.narrative;
            Some(format!("## {}\n\n{narrative}", council.spec.title))
        })
        .collect();
    (!narratives.is_empty()).then(|| narratives.join("\n\n"))
}

fn content(rules: &Rules) -> Content {
    let parts = rules.package.parts.iter();
    Content {
        title: rules.package.title.clone(),
        parts: parts
            .map(|part| PartResult {
                kind: part.kind,
                name: part.name.clone(),
                left_out: part.left_out,
            })
            .collect(),
        images: rules
            .package
            .images
            .iter()
            .map(|image| image.name.clone())
            .collect(),
        left_out: rules.package.left_out(),
    }
}

fn confidence(
    table: &Table,
    dimensions: &[DimensionResult],
    critique: Option<&Critique>,
    missing: usize,
) -> Option<ConfidenceResult> {
    let stated = || {
        dimensions
            .iter()
            .filter_map(|result| Some(result.consensus.as_ref()?.confidence))
    };
    let adjustment = critique.and_then(|critique| critique.confidence_adjustment.0);
    let adjusted = overall_confidence(stated(), adjustment)?;
    Some(ConfidenceResult {
        value: scaled(adjusted, table.asked(), missing),
        lowest: overall_confidence(stated(), None)?,
        adjustment,
        adjustment_reason: critique
            .filter(|_| adjustment.is_some())
            .map(|critique| critique.adjustment_reason.clone()),
        missing,
        asked: table.asked(),
    })
}

fn worth(
    table: &Table,
    panel: &CouncilsSpec,
    deliberation: &Deliberation<'_>,
    dimensions: &[DimensionResult],
    overall: Option<&Overall>,
) -> Worth {
    let side = |score: OutOfHundred, tokens, cost| Side {
        score,
        tier: panel.tiers.of(score).to_owned(),
        tokens,
        cost,
    };
    let judges = deliberation
        .councils
        .iter()
        .flat_map(|council| &council.judges);
    let spent: Vec<Spent> = judges
        .filter_map(|judge| Some(judge.first.as_ref()?.spent))
        .collect();
    let tokens = spent.iter().map(|spent| spent.usage.total()).sum();
    let cost = spent.iter().map(|spent| spent.cost).sum::<Option<Money>>();
    let blind = overall_of(panel, dimensions, |result| {
        result.blind.as_ref().map(|consensus| consensus.score)
    });
    let blind = blind.map(|blind| side(blind.score, tokens, cost));
    let sum = table.spent();
    let debated = overall.map(|overall| side(overall.score, sum.usage.total(), sum.cost));
    let changed = blind
        .as_ref()
        .zip(debated.as_ref())
        .map(|(blind, debated)| {
            if blind.tier != debated.tier {
                Change::AnotherTier
            } else if blind.score.shown() == debated.score.shown() {
                Change::Unchanged
            } else {
                Change::Moved
            }
        });
    Worth {
        blind,
        debated,
        changed,
    }
}

fn extras(panel: &CouncilsSpec, written: &[Written]) -> Map<String, Value> {
    let found = panel.extras.iter().filter_map(|extra| {
        let values = &written
            .iter()
            .find(|written| written.name == extra.name)?
            .values;
        let value = match extra.kind {
            ExtraKind::List => json!(values),
            ExtraKind::Text => json!(values.join("\n\n")),
        };
        Some((extra.name.clone(), value))
    });
    found.collect()
}

/// The remarks on replies that still broke a rule after they were sent back, by seat.
fn remarks(deliberation: &Deliberation<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |seat: &str, remarks: &[String]| {
        let shown = remarks.iter().map(|remark| for_people(remark));
        all.extend(shown.map(|remark| format!("{seat}: {remark}")));
    };
    for council in &deliberation.councils {
        for judge in &council.judges {
            if let Some(turn) = &judge.first {
                add(&format!("{}, round 1", judge.spec.seat), &turn.remarks);
            }
            if let SecondRound::Given(turn) = &judge.second {
                add(&format!("{}, round 2", judge.spec.seat), &turn.remarks);
            }
        }
        for remarks in [
            council.narrative.as_ref().map(|turn| &turn.remarks),
            council.response.as_ref().map(|turn| &turn.remarks),
        ] {
            add(&council.spec.lead, remarks.map_or(&[], Vec::as_slice));
        }
    }
    if let Some(turn) = &deliberation.critique {
        add("critic", &turn.remarks);
    }
    if let Some(turn) = &deliberation.synthesis {
        add("orchestrator", &turn.remarks);
    }
    all
}
