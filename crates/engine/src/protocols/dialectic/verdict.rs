//! The result of a dialectic: the answer with its reasons, open issues, missing steps, and the comparison with the first answer.

use roundtable_core::absence::lowered;
use roundtable_core::bounded::{OutOfTen, Score};
use roundtable_core::format::counted;
use roundtable_core::issues::{Ledger, Status, Strategy};
use roundtable_core::quality::Marks;
use roundtable_core::stopping::{Stop, stopped_early};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::debate::Debate;
use super::replies::{Change, Marking, Synthesis};
use super::rules::Rules;
use crate::protocols::outcome::{Outcome, absences};
use crate::protocols::scrutiny::Scrutiny;
use crate::reasoning::Retrieval;
use crate::table::{Missing, Table, Turn};

/// Why the rounds ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Rule(Stop),
    /// With the limit that was reached.
    Budget(String),
    /// Two rounds running without this seat.
    SeatsAbsent {
        seat: &'static str,
    },
}

impl Ending {
    /// The budget limit that ended the debate, if one did.
    fn limit(&self) -> Option<&str> {
        match self {
            Self::Budget(limit) => Some(limit),
            Self::Rule(_) | Self::SeatsAbsent { .. } => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Rule(Stop::SkepticReady) => "skeptic_ready",
            Self::Rule(Stop::EarlyStopScore) => "early_stop_score",
            Self::Rule(Stop::RoundCap) => "round_cap",
            Self::Rule(Stop::NoCriticalIssue) => "no_critical_issue",
            Self::Budget(_) => "budget",
            Self::SeatsAbsent { .. } => "seats_absent",
        }
    }

    fn explanation(&self, open_critical: usize) -> String {
        match self {
            Self::Rule(stop @ (Stop::SkepticReady | Stop::EarlyStopScore)) if open_critical > 0 => {
                let open = counted(open_critical, "critical issue");
                format!("{} ({open} open)", stop.reason())
            }
            Self::Rule(stop) => stop.reason().to_owned(),
            Self::Budget(limit) => limit.clone(),
            Self::SeatsAbsent { seat } => {
                format!("the {seat} did not answer in two rounds in a row")
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The final answer in its fixed format; the latest proposal if there is no synthesis.
    pub final_answer: Option<String>,
    /// The answer alone.
    pub answer: Option<String>,
    /// Out of ten, lowered if steps are missing.
    pub confidence: Option<OutOfTen>,
    pub confidence_stated: Option<OutOfTen>,
    pub confidence_reason: Option<String>,
    pub insights: Vec<String>,
    pub caveats: Vec<String>,
    pub total_rounds: u32,
    pub early_stopped: bool,
    pub stop_reason: String,
    pub stop_explanation: String,
    /// The skeptic's last score.
    pub quality_score: Option<OutOfTen>,
    pub auto_score: Option<AutoScore>,
    pub issues: Ledger,
    /// Strategies that raised no issue in the whole debate.
    pub fruitless_strategies: Vec<Strategy>,
    pub retrieval: Retrieval,
    pub worth: Worth,
    pub missing: Vec<Missing>,
    /// Whether the answer was challenged; `None` in verdicts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrutiny: Option<Scrutiny>,
    /// Rules that a reply still broke after it was sent back.
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AutoScore {
    pub score: Score,
    #[serde(flatten)]
    pub marks: Marks,
    pub justification: String,
    pub would_benefit_from_finetune: bool,
}

/// The first answer compared with the final one (C-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// The blind first answer.
    pub first: Option<Side>,
    pub debated: Option<Side>,
    pub changed: Option<Change>,
    pub change_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    pub answer: String,
    pub tokens: u64,
    pub cost: Option<Money>,
}

impl Verdict {
    pub(super) fn of(
        table: &Table,
        rules: &Rules,
        debate: Debate,
        retrieval: Retrieval,
        ending: &Ending,
        synthesis: Option<&Turn<Synthesis>>,
        marking: Option<Turn<Marking>>,
    ) -> Self {
        let missing = table.missing();
        let answer = synthesis.map_or_else(
            || debate.latest_answer().map(str::to_owned),
            |turn| Some(turn.reply.answer.clone()),
        );
        let reply = synthesis.map(|turn| &turn.reply);
        let stated = reply.map(|reply| reply.confidence);
        let worth = Worth::of(table, &debate, answer.as_deref(), reply);
        let confidence = stated.map(|stated| lowered(stated, table.asked(), missing.len()));
        let stop_explanation = ending.explanation(debate.open_critical());
        let mut remarks = debate.broken_rules().to_vec();
        remarks.extend(synthesis.iter().flat_map(|turn| turn.remarks.clone()));
        let partial = Outcome {
            is_there: answer.is_some(),
            ran_out: ending.limit(),
            missing: &missing,
        }
        .partial_line();
        Self {
            final_answer: final_answer(reply, confidence, answer.as_deref(), partial, &missing),
            confidence,
            confidence_stated: stated,
            confidence_reason: reply.map(|reply| reply.confidence_reason.clone()),
            insights: reply.map_or_else(Vec::new, Synthesis::insights),
            caveats: reply.map_or_else(Vec::new, |reply| reply.caveats.clone()),
            total_rounds: debate.rounds(),
            early_stopped: matches!(ending, Ending::Rule(_))
                && stopped_early(debate.last_started(), &rules.limits()),
            stop_reason: ending.name().to_owned(),
            stop_explanation,
            quality_score: debate.last_quality(),
            auto_score: marking.map(|turn| AutoScore {
                score: turn.reply.marks.score(),
                marks: turn.reply.marks,
                justification: turn.reply.justification,
                would_benefit_from_finetune: turn.reply.would_benefit_from_finetune,
            }),
            scrutiny: Some(scrutiny(&debate, &missing)),
            fruitless_strategies: debate.ledger().fruitless(),
            remarks,
            issues: debate.into_ledger(),
            answer,
            retrieval,
            worth,
            missing,
        }
    }

    pub(super) fn outcome(&self) -> Outcome<'_> {
        Outcome {
            is_there: self.answer.is_some(),
            ran_out: (self.stop_reason == "budget").then_some(self.stop_explanation.as_str()),
            missing: &self.missing,
        }
    }
}

/// Whether the answer was challenged (C-22): by the issues that the skeptic raised.
fn scrutiny(debate: &Debate, missing: &[Missing]) -> Scrutiny {
    let issues = debate.ledger().all();
    if !issues.is_empty() {
        let open = issues
            .iter()
            .filter(|issue| issue.status != Status::Resolved);
        return Scrutiny::challenged(issues.len(), open.count());
    }
    let exchanges = debate.exchanges().iter();
    let criticised = exchanges.filter(|exchange| exchange.skeptic.is_some());
    match criticised.count() {
        0 if missing.iter().any(|step| step.seat == "skeptic") => {
            Scrutiny::not_challenged("the skeptic did not answer")
        }
        0 => Scrutiny::not_challenged("the debate ended before the skeptic spoke"),
        rounds => {
            let rounds = counted(rounds, "round");
            Scrutiny::not_challenged(format!("the skeptic raised no issue in {rounds}"))
        }
    }
}

/// The answer as every surface prints it. A partial one says so and what is missing, and carries the lowered confidence (C-21).
fn final_answer(
    synthesis: Option<&Synthesis>,
    confidence: Option<OutOfTen>,
    answer: Option<&str>,
    partial: Option<String>,
    missing: &[Missing],
) -> Option<String> {
    let text = match (synthesis, confidence) {
        (Some(reply), Some(confidence)) => {
            let is_lowered = confidence < reply.confidence;
            let why = is_lowered
                .then(|| format!("Lowered from {}: {}.", reply.confidence, absences(missing)));
            reply.text_with(confidence, why.as_deref())
        }
        _ => answer?.to_owned(),
    };
    Some(match partial {
        Some(line) => format!("{line}\n\n{text}"),
        None => text,
    })
}

impl Worth {
    fn of(
        table: &Table,
        debate: &Debate,
        answer: Option<&str>,
        synthesis: Option<&Synthesis>,
    ) -> Self {
        let sum = table.spent();
        Self {
            first: debate.first().map(|first| Side {
                answer: first.answer.clone(),
                tokens: first.spent.usage.total(),
                cost: first.spent.cost,
            }),
            debated: answer.map(|answer| Side {
                answer: answer.to_owned(),
                tokens: sum.usage.total(),
                cost: sum.cost,
            }),
            changed: synthesis.map(|reply| reply.change),
            change_reason: synthesis.map(|reply| reply.change_reason.clone()),
        }
    }
}
