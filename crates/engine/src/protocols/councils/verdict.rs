//! What the councils return: the scores, what stands behind them, every disagreement with both positions, every finding of the
//! critic with its answer, and what all of it was worth.

use roundtable_core::absence::scaled;
use roundtable_core::bounded::{Adjustment, Confidence, OutOfHundred};
use roundtable_core::councils::{Agreement, BiasFigures, Overall, overall_confidence};
use roundtable_core::forensics::{Forensics, LIMITS};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Hearing;
use super::council_state::{Bench, CouncilState, Second};
use super::findings::{AnsweredFinding, settle};
use super::package::{Kind, LeftOut};
use super::prompt_context::seat_title;
use super::replies::{Critique, Ruling, SubScore, Written};
use super::rules::{Mode, Rules};
use super::scorecard::{
    DimensionResult, JudgeScore, Refused, card, finals, judge_scores, overall_of, uncertainty_of,
};
use crate::cast::councils::{CouncilsSpec, Extra, ExtraKind, Part};
use crate::event::{Spent, State};
use crate::protocols::outcome::Outcome;
use crate::table::{Missing, Table};

/// How the hearing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Heard,
    /// With the limit that was reached, for people.
    Budget(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The executive summary; the councils' own accounts where nobody could write one.
    pub final_answer: Option<String>,
    pub executive_summary: Option<String>,
    pub cast: String,
    pub mode: Mode,
    pub content: Content,
    /// `null` where no component has a score.
    pub overall: Option<OverallResult>,
    /// How far the overall score can be relied on.
    pub confidence: Option<ConfidenceResult>,
    pub dimensions: Vec<DimensionResult>,
    pub councils: Vec<CouncilResult>,
    /// Judges more than 20 points apart, with both positions. Never averaged away.
    pub council_disagreements: Vec<Disagreement>,
    /// Dimensions on which all judges are within 10 points.
    pub high_confidence_agreements: Vec<AgreementResult>,
    pub critic: Option<CriticResult>,
    /// What can be said about who wrote it. It enters no score and proves nothing.
    pub authenticity: Option<AuthenticityResult>,
    /// Other judges whose scores enter no consensus.
    pub unscored: Vec<UnscoredResult>,
    pub bias: BiasFigures,
    /// What the cast asks for beyond that, by name.
    pub extras: Map<String, Value>,
    /// Changes that were asked for and not made.
    pub refused: Vec<Refused>,
    pub worth: Worth,
    pub stop_reason: String,
    pub stop_explanation: String,
    pub missing: Vec<Missing>,
    /// Rules that a reply broke even after it was sent back.
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    pub title: String,
    pub parts: Vec<PartResult>,
    /// Names of the pictures.
    pub images: Vec<String>,
    /// What was not judged, in words.
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
    /// One standard error, from how far judges of the same dimension are apart.
    pub uncertainty: Option<f64>,
    #[serde(flatten)]
    pub overall: Overall,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfidenceResult {
    pub value: Confidence,
    /// The lowest of the dimensions' consensus confidences.
    pub lowest: Confidence,
    /// What the critic did to it.
    pub adjustment: Option<Adjustment>,
    pub adjustment_reason: Option<String>,
    /// Steps that were asked and are missing; they lower it further.
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
    /// Why nothing changed in round 2, in the judge's words.
    pub stands_because: Option<String>,
    pub disputes: Vec<String>,
    /// What the judge left unexplained even after it was sent back.
    pub unexplained: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attendance {
    Absent,
    /// There was no second round for it.
    OneRound,
    BothRounds,
    /// Absent in round 2: its round 1 stands.
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
    /// What the average would say alone.
    pub consensus: Option<OutOfHundred>,
    /// All who scored it, from the lowest to the highest.
    pub positions: Vec<PositionResult>,
    /// What the critic says to it.
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
    /// `null` where the judge was absent.
    pub judgement: Option<UnscoredResult>,
    /// Computed by the program, over the whole text.
    pub statistics: Forensics,
    /// What all of this cannot show.
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

/// What the debate was worth (C-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// The blind first round, by the same arithmetic.
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
    /// The same number as it is shown.
    Unchanged,
    /// Another number in the same tier.
    Moved,
    AnotherTier,
}

impl Disagreement {
    pub(super) fn is_severe(&self) -> bool {
        self.severity == DisagreementSeverity::High
    }
}

/// All disagreements of all councils, numbered in the order of the cast (T-06).
pub(super) fn disagreements(
    cards: &[Vec<DimensionResult>],
    critique: Option<&Critique>,
) -> Vec<Disagreement> {
    let rulings: &[Ruling] = critique.map_or(&[], |critique| &critique.disagreements);
    let apart = cards.iter().flatten().filter_map(|result| {
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
                .find(|it| it.disagreement.trim().eq_ignore_ascii_case(&id));
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
                consensus: result.consensus.as_ref().map(|it| it.score),
                positions: positions(result),
                critic: ruling.map(|it| it.answer.clone()),
                id,
            }
        })
        .collect()
}

fn positions(result: &DimensionResult) -> Vec<PositionResult> {
    let judges = result.judges.iter();
    let mut positions: Vec<_> = judges
        .filter_map(|it| {
            Some(PositionResult {
                judge: it.judge.clone(),
                score: it.last()?,
                reasoning: it.reasoning.clone(),
                evidence: it.evidence.clone(),
            })
        })
        .collect();
    positions.sort_by(|a, b| a.score.value().total_cmp(&b.score.value()));
    positions
}

/// A critic that finds nothing says what it checked; every grave disagreement gets an answer (T-06, T-10).
pub(super) fn faults_of_critique(reply: &Critique, grave: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    if reply.findings.is_empty() && reply.checked.iter().all(|it| it.trim().is_empty()) {
        faults.push("You found nothing and do not say in 'checked' what you looked at.".into());
    }
    for id in grave {
        let mut answers = reply.disagreements.iter();
        if !answers.any(|it| it.disagreement.trim().eq_ignore_ascii_case(id)) {
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
        .filter(|extra| written.iter().all(|it| it.name != extra.name));
    missing
        .map(|extra| format!("'{}' is missing in 'extras'.", extra.name))
        .collect()
}

impl Verdict {
    pub(super) fn of(table: &Table, rules: &Rules, hearing: &Hearing<'_>, ending: &Ending) -> Self {
        let panel = &rules.panel;
        let made = hearing.sittings.iter().map(|sitting| card(panel, sitting));
        let (mut cards, refused): (Vec<_>, Vec<_>) = made.unzip();
        let critique = hearing.critique.as_ref().map(|turn| &turn.reply);
        let synthesis = hearing.synthesis.as_ref().map(|turn| &turn.reply);
        let bias = hearing.bias(table, &cards);
        let settled = settle(
            critique.map_or(&[], |critique| &critique.findings),
            synthesis.map_or(&[], |synthesis| &synthesis.answers),
            finals(&cards.concat()),
        );
        for (dimension, change) in settled.moves {
            let all = cards.iter_mut().flatten();
            for result in all.filter(|it| it.dimension == dimension) {
                result.final_score = Some(change.change.to);
                result.shown = Some(change.change.to.shown());
                result.moves.push(change.clone());
            }
        }
        let council_disagreements = disagreements(&cards, critique);
        let dimensions = cards.concat();
        let missing = table.missing();
        let overall = overall_of(panel, &dimensions, |it| it.final_score);
        let summary = synthesis.map(|synthesis| synthesis.executive_summary.clone());
        let (stop_reason, stop_explanation) = match ending {
            Ending::Heard => ("complete", "everyone was heard".to_owned()),
            Ending::Budget(limit) => ("budget", limit.clone()),
        };
        Self {
            final_answer: summary.clone().or_else(|| accounts(&hearing.sittings)),
            executive_summary: summary,
            cast: rules.cast.clone(),
            mode: rules.mode,
            content: content(rules),
            confidence: confidence(table, &dimensions, critique, missing.len()),
            worth: worth(table, panel, hearing, &dimensions, overall.as_ref()),
            overall: overall.map(|overall| OverallResult {
                title: panel.overall.clone(),
                tier: panel.tiers.of(overall.score).to_owned(),
                uncertainty: uncertainty_of(&dimensions, &overall),
                overall,
            }),
            councils: hearing
                .sittings
                .iter()
                .map(|it| council_result(table, it))
                .collect(),
            high_confidence_agreements: agreements(&dimensions),
            dimensions,
            council_disagreements,
            critic: critique.map(|critique| CriticResult {
                review: critique.review.clone(),
                checked: critique.checked.clone(),
                findings: settled.findings,
            }),
            authenticity: authenticity(table, rules, hearing),
            unscored: unscored(table, panel, hearing, Part::Unscored),
            bias,
            extras: extras(panel, synthesis.map_or(&[], |synthesis| &synthesis.extras)),
            refused: refused.concat(),
            stop_reason: stop_reason.to_owned(),
            stop_explanation,
            missing,
            remarks: remarks(hearing),
        }
    }

    fn played(&self) -> Outcome<'_> {
        Outcome {
            is_there: self.overall.is_some(),
            ran_out: (self.stop_reason == "budget").then_some(self.stop_explanation.as_str()),
            missing: &self.missing,
        }
    }

    pub fn state(&self) -> State {
        self.played().state()
    }

    /// Why it is not complete, for people.
    pub fn reason(&self) -> Option<String> {
        self.played().reason()
    }
}

fn accounts(sittings: &[CouncilState<'_>]) -> Option<String> {
    let told: Vec<String> = sittings
        .iter()
        .filter_map(|sitting| {
            let narrative = &sitting.narrative.as_ref()?.reply.narrative;
            Some(format!("## {}\n\n{narrative}", sitting.council.title))
        })
        .collect();
    (!told.is_empty()).then(|| told.join("\n\n"))
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
            .filter_map(|it| Some(it.consensus.as_ref()?.confidence))
    };
    let adjustment = critique.map(|critique| critique.confidence_adjustment);
    let adjusted = overall_confidence(stated(), adjustment)?;
    Some(ConfidenceResult {
        value: scaled(adjusted, table.asked(), missing),
        lowest: overall_confidence(stated(), None)?,
        adjustment,
        adjustment_reason: critique.map(|critique| critique.adjustment_reason.clone()),
        missing,
        asked: table.asked(),
    })
}

fn worth(
    table: &Table,
    panel: &CouncilsSpec,
    hearing: &Hearing<'_>,
    dimensions: &[DimensionResult],
    overall: Option<&Overall>,
) -> Worth {
    let side = |score: OutOfHundred, tokens, cost| Side {
        score,
        tier: panel.tiers.of(score).to_owned(),
        tokens,
        cost,
    };
    let benches = hearing.sittings.iter().flat_map(|sitting| &sitting.benches);
    let spent: Vec<Spent> = benches
        .filter_map(|bench| Some(bench.first.as_ref()?.spent))
        .collect();
    let tokens = spent.iter().map(|it| it.usage.total()).sum();
    let cost = spent.iter().map(|it| it.cost).sum::<Option<Money>>();
    let blind = overall_of(panel, dimensions, |it| it.blind.as_ref().map(|it| it.score));
    let blind = blind.map(|blind| side(blind.score, tokens, cost));
    let sum = table.spent();
    let debated = overall.map(|it| side(it.score, sum.usage.total(), sum.cost));
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

fn council_result(table: &Table, sitting: &CouncilState<'_>) -> CouncilResult {
    let council = sitting.council;
    CouncilResult {
        name: council.name.clone(),
        title: council.title.clone(),
        lead: council.lead.clone(),
        narrative: sitting
            .narrative
            .as_ref()
            .map(|turn| turn.reply.narrative.clone()),
        exchange: sitting.response.as_ref().map(|turn| ExchangeResult {
            view: turn.reply.view.clone(),
            tensions: turn.reply.tensions.clone(),
            missed: turn.reply.missed.clone(),
        }),
        judges: sitting
            .benches
            .iter()
            .map(|bench| judge_result(table, bench))
            .collect(),
    }
}

fn judge_result(table: &Table, bench: &Bench<'_>) -> JudgeResult {
    let said = bench.said();
    let revision = match &bench.second {
        Second::Given(turn) => Some(turn),
        Second::NotAsked | Second::Absent => None,
    };
    let why = revision.map(|turn| turn.reply.stands_because.trim().to_owned());
    let disputes = revision.iter().flat_map(|turn| &turn.reply.disputes);
    JudgeResult {
        judge: bench.judge.seat.clone(),
        title: seat_title(table.setup(), &bench.judge.seat),
        attendance: match (&bench.first, &bench.second) {
            (None, _) => Attendance::Absent,
            (Some(_), Second::NotAsked) => Attendance::OneRound,
            (Some(_), Second::Given(_)) => Attendance::BothRounds,
            (Some(_), Second::Absent) => Attendance::RoundOneStands,
        },
        assessment: said.map(|said| said.assessment.to_owned()),
        key_observations: said.map_or_else(Vec::new, |said| said.key_observations.to_vec()),
        sub_scores: said.map_or_else(Vec::new, |said| said.sub_scores.to_vec()),
        stands_because: why.filter(|why| !why.is_empty()),
        disputes: disputes
            .map(|it| format!("{} ({}): {}", it.peer, it.about, it.reason))
            .collect(),
        unexplained: revision.map_or_else(Vec::new, |turn| turn.remarks.clone()),
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

fn authenticity(table: &Table, rules: &Rules, hearing: &Hearing<'_>) -> Option<AuthenticityResult> {
    let mut judges = rules.panel.judges();
    judges
        .any(|(_, judge)| judge.part == Part::Authenticity)
        .then(|| {
            let mut judgements = unscored(table, &rules.panel, hearing, Part::Authenticity);
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
    hearing: &Hearing<'_>,
    part: Part,
) -> Vec<UnscoredResult> {
    let places = hearing
        .sittings
        .iter()
        .flat_map(|sitting| sitting.benches.iter().map(move |bench| (sitting, bench)));
    places
        .filter(|(_, bench)| bench.judge.part == part)
        .filter_map(|(sitting, bench)| {
            let said = bench.said()?;
            let scores = bench.judge.dimensions.iter().flat_map(|dimension| {
                judge_scores(sitting, dimension)
                    .into_iter()
                    .filter(|it| it.judge == bench.judge.seat)
                    .map(|score| UnscoredScore {
                        dimension: dimension.clone(),
                        title: super::council_state::title_of(panel, dimension).to_owned(),
                        score,
                    })
            });
            Some(UnscoredResult {
                judge: bench.judge.seat.clone(),
                title: seat_title(table.setup(), &bench.judge.seat),
                assessment: said.assessment.to_owned(),
                key_observations: said.key_observations.to_vec(),
                scores: scores.collect(),
            })
        })
        .collect()
}

fn extras(panel: &CouncilsSpec, written: &[Written]) -> Map<String, Value> {
    let found = panel.extras.iter().filter_map(|extra| {
        let values = &written.iter().find(|it| it.name == extra.name)?.values;
        let value = match extra.kind {
            ExtraKind::List => json!(values),
            ExtraKind::Text => json!(values.join("\n\n")),
        };
        Some((extra.name.clone(), value))
    });
    found.collect()
}

/// Everything that was sent back and still broke a rule, by seat.
fn remarks(hearing: &Hearing<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |seat: &str, remarks: &[String]| {
        all.extend(remarks.iter().map(|remark| format!("{seat}: {remark}")));
    };
    for sitting in &hearing.sittings {
        for bench in &sitting.benches {
            if let Some(turn) = &bench.first {
                add(&format!("{}, round 1", bench.judge.seat), &turn.remarks);
            }
            if let Second::Given(turn) = &bench.second {
                add(&format!("{}, round 2", bench.judge.seat), &turn.remarks);
            }
        }
        for remarks in [
            sitting.narrative.as_ref().map(|turn| &turn.remarks),
            sitting.response.as_ref().map(|turn| &turn.remarks),
        ] {
            add(&sitting.council.lead, remarks.map_or(&[], Vec::as_slice));
        }
    }
    if let Some(turn) = &hearing.critique {
        add("critic", &turn.remarks);
    }
    if let Some(turn) = &hearing.synthesis {
        add("orchestrator", &turn.remarks);
    }
    all
}
