//! The result of a councils debate: scores with their reasons, disagreements with both positions, the critic's findings with
//! their answers, and the comparison with the first round.

use roundtable_core::absence::scaled;
use roundtable_core::bounded::{Adjustment, Confidence, OutOfHundred};
use roundtable_core::councils::{Agreement, BiasFigures, Overall, overall_confidence};
use roundtable_core::forensics::{Forensics, LIMITS};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Deliberation;
use super::council_state::{CouncilState, JudgeState, SecondRound};
use super::findings::{AnsweredFinding, resolve_findings};
use super::package::{Kind, LeftOut};
use super::prompt_context::seat_title;
use super::replies::{Critique, Finding, Ruling, SubScore, Written, finding_id};
use super::rules::{Mode, Rules};
use super::scorecard::{
    DimensionResult, JudgeScore, Refused, finals, judge_scores, overall_of, scorecard,
    uncertainty_of,
};
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
pub struct CouncilResult {
    pub name: String,
    pub title: String,
    pub lead: String,
    pub narrative: Option<String>,
    /// Its answer to the other councils.
    pub exchange: Option<ExchangeResult>,
    pub judges: Vec<JudgeResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeResult {
    pub view: String,
    pub tensions: String,
    pub missed: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeResult {
    pub judge: String,
    pub title: String,
    pub attendance: Attendance,
    pub assessment: Option<String>,
    pub key_observations: Vec<String>,
    pub sub_scores: Vec<SubScore>,
    /// The judge's reason for changing nothing in round 2.
    pub stands_because: Option<String>,
    pub disputes: Vec<String>,
    /// Changes that the judge still did not explain after the reply was sent back.
    pub unexplained: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attendance {
    Absent,
    /// There was no second round for the judge.
    OneRound,
    BothRounds,
    /// Absent in round 2: round 1 counts.
    RoundOneStands,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    pub id: String,
    pub council: String,
    pub dimension: String,
    pub title: String,
    pub points: f64,
    pub severity: DisagreementSeverity,
    /// The weighted mean.
    pub consensus: Option<OutOfHundred>,
    /// All judges of the dimension, from the lowest score to the highest.
    pub positions: Vec<PositionResult>,
    /// The critic's answer.
    pub critic: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisagreementSeverity {
    /// More than 20 points.
    Ordinary,
    /// More than 30 points: the critic must answer it.
    High,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PositionResult {
    pub judge: String,
    pub score: OutOfHundred,
    pub reasoning: String,
    pub evidence: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreementResult {
    pub council: String,
    pub dimension: String,
    pub title: String,
    pub points: f64,
    pub judges: usize,
    pub score: Option<OutOfHundred>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CriticResult {
    pub review: String,
    pub checked: Vec<String>,
    pub findings: Vec<AnsweredFinding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuthenticityResult {
    /// `null` if the judge was absent.
    pub judgement: Option<UnscoredResult>,
    /// Computed by the program, over the whole text.
    pub statistics: Forensics,
    /// The limits of these methods.
    pub limits: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnscoredResult {
    pub judge: String,
    pub title: String,
    pub assessment: String,
    pub key_observations: Vec<String>,
    pub scores: Vec<UnscoredScore>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnscoredScore {
    pub dimension: String,
    pub title: String,
    #[serde(flatten)]
    pub score: JudgeScore,
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

impl Disagreement {
    pub(super) fn is_severe(&self) -> bool {
        self.severity == DisagreementSeverity::High
    }
}

/// All disagreements of all councils, numbered in the order of the cast (T-06).
pub(super) fn disagreements(
    scorecards: &[Vec<DimensionResult>],
    critique: Option<&Critique>,
) -> Vec<Disagreement> {
    let rulings: &[Ruling] = critique.map_or(&[], |critique| &critique.disagreements);
    let apart = scorecards.iter().flatten().filter_map(|result| {
        let spread = result.spread.as_ref()?;
        spread
            .agreement
            .is_disagreement()
            .then_some((result, spread))
    });
    apart
        .enumerate()
        .map(|(index, (result, spread))| {
            let id = format!("D{}", index + 1);
            let ruling = rulings
                .iter()
                .find(|ruling| ruling.disagreement.trim().eq_ignore_ascii_case(&id));
            Disagreement {
                council: result.council.clone(),
                dimension: result.dimension.clone(),
                title: result.title.clone(),
                points: spread.points,
                severity: if spread.agreement == Agreement::SevereDisagreement {
                    DisagreementSeverity::High
                } else {
                    DisagreementSeverity::Ordinary
                },
                consensus: result.consensus.as_ref().map(|consensus| consensus.score),
                positions: positions(result),
                critic: ruling.map(|ruling| ruling.answer.clone()),
                id,
            }
        })
        .collect()
}

fn positions(result: &DimensionResult) -> Vec<PositionResult> {
    let judges = result.judges.iter();
    let mut positions: Vec<_> = judges
        .filter_map(|judge| {
            Some(PositionResult {
                judge: judge.judge.clone(),
                score: judge.last()?,
                reasoning: judge.reasoning.clone(),
                evidence: judge.evidence.clone(),
            })
        })
        .collect();
    positions.sort_by(|a, b| a.score.value().total_cmp(&b.score.value()));
    positions
}

/// A critic without findings must list what it checked; every severe disagreement needs an answer (T-06, T-10).
pub(super) fn faults_of_critique(reply: &Critique, severe: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    if reply.findings.is_empty() && reply.checked.iter().all(|check| check.trim().is_empty()) {
        faults.push("There are no findings, and 'checked' does not say what was looked at.".into());
    }
    match reply.confidence_adjustment.0 {
        None => faults.push("'confidence_adjustment' is not a number from -0.2 to +0.1.".into()),
        Some(_) if reply.adjustment_reason.trim().is_empty() => {
            faults.push("'adjustment_reason' is empty.".into());
        }
        Some(_) => {}
    }
    let texts = |finding: &Finding| {
        let texts = [&finding.about, &finding.problem, &finding.evidence];
        texts.into_iter().any(|text| text.trim().is_empty())
    };
    for (index, _) in reply.findings.iter().enumerate().filter(|(_, f)| texts(f)) {
        let id = finding_id(index);
        faults.push(format!(
            "The finding {id} lacks 'about', 'problem' or 'evidence'."
        ));
    }
    for id in severe {
        let mut answers = reply.disagreements.iter();
        let is_answer = |answer: &Ruling| {
            answer.disagreement.trim().eq_ignore_ascii_case(id) && !answer.answer.trim().is_empty()
        };
        if !answers.any(is_answer) {
            faults.push(format!(
                "The disagreement {id} is of high severity and has no answer in 'disagreements'."
            ));
        }
    }
    faults
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

fn council_result(table: &Table, council: &CouncilState<'_>) -> CouncilResult {
    let spec = council.spec;
    CouncilResult {
        name: spec.name.clone(),
        title: spec.title.clone(),
        lead: spec.lead.clone(),
        narrative: council
            .narrative
            .as_ref()
            .map(|turn| turn.reply.narrative.clone()),
        exchange: council.response.as_ref().map(|turn| ExchangeResult {
            view: turn.reply.view.clone(),
            tensions: turn.reply.tensions.clone(),
            missed: turn.reply.missed.clone(),
        }),
        judges: council
            .judges
            .iter()
            .map(|judge| judge_result(table, judge))
            .collect(),
    }
}

fn judge_result(table: &Table, judge: &JudgeState<'_>) -> JudgeResult {
    let opinion = judge.last_opinion();
    let revision = match &judge.second {
        SecondRound::Given(turn) => Some(turn),
        SecondRound::NotAsked | SecondRound::Absent => None,
    };
    let why = revision.map(|turn| turn.reply.stands_because.trim().to_owned());
    let disputes = revision.iter().flat_map(|turn| &turn.reply.disputes);
    JudgeResult {
        judge: judge.spec.seat.clone(),
        title: seat_title(table.setup(), &judge.spec.seat),
        attendance: match (&judge.first, &judge.second) {
            (None, _) => Attendance::Absent,
            (Some(_), SecondRound::NotAsked) => Attendance::OneRound,
            (Some(_), SecondRound::Given(_)) => Attendance::BothRounds,
            (Some(_), SecondRound::Absent) => Attendance::RoundOneStands,
        },
        assessment: opinion.map(|opinion| opinion.assessment.to_owned()),
        key_observations: opinion
            .map_or_else(Vec::new, |opinion| opinion.key_observations.to_vec()),
        sub_scores: opinion.map_or_else(Vec::new, |opinion| opinion.sub_scores.to_vec()),
        stands_because: why.filter(|why| !why.is_empty()),
        disputes: disputes
            .map(|dispute| format!("{} ({}): {}", dispute.peer, dispute.about, dispute.reason))
            .collect(),
        unexplained: revision.map_or_else(Vec::new, |turn| {
            let remarks = turn.remarks.iter();
            remarks
                .map(|remark| for_people(remark).to_owned())
                .collect()
        }),
    }
}

fn agreements(dimensions: &[DimensionResult]) -> Vec<AgreementResult> {
    let agreed = dimensions.iter().filter_map(|result| {
        let spread = result.spread.as_ref()?;
        (spread.agreement == Agreement::HighConfidence).then_some((result, spread))
    });
    agreed
        .map(|(result, spread)| AgreementResult {
            council: result.council.clone(),
            dimension: result.dimension.clone(),
            title: result.title.clone(),
            points: spread.points,
            judges: result.judges.len(),
            score: result.final_score,
        })
        .collect()
}

fn authenticity(
    table: &Table,
    rules: &Rules,
    deliberation: &Deliberation<'_>,
) -> Option<AuthenticityResult> {
    let mut judges = rules.panel.judges();
    judges
        .any(|(_, judge)| judge.part == Part::Authenticity)
        .then(|| {
            let mut judgements = unscored(table, &rules.panel, deliberation, Part::Authenticity);
            AuthenticityResult {
                judgement: judgements.pop(),
                statistics: rules.package.forensics.clone(),
                limits: LIMITS.to_owned(),
            }
        })
}

fn unscored(
    table: &Table,
    panel: &CouncilsSpec,
    deliberation: &Deliberation<'_>,
    part: Part,
) -> Vec<UnscoredResult> {
    let judges = deliberation
        .councils
        .iter()
        .flat_map(|council| council.judges.iter().map(move |judge| (council, judge)));
    judges
        .filter(|(_, judge)| judge.spec.part == part)
        .filter_map(|(council, judge)| {
            let opinion = judge.last_opinion()?;
            let scores = judge.spec.dimensions.iter().flat_map(|dimension| {
                judge_scores(council, dimension)
                    .into_iter()
                    .filter(|score| score.judge == judge.spec.seat)
                    .map(|score| UnscoredScore {
                        dimension: dimension.clone(),
                        title: super::council_state::title_of(panel, dimension).to_owned(),
                        score,
                    })
            });
            Some(UnscoredResult {
                judge: judge.spec.seat.clone(),
                title: seat_title(table.setup(), &judge.spec.seat),
                assessment: opinion.assessment.to_owned(),
                key_observations: opinion.key_observations.to_vec(),
                scores: scores.collect(),
            })
        })
        .collect()
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
