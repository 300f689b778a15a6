//! How a bench was run.

use roundtable_core::bench::{EqualBudget, Weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bench::judge::JudgeInfo;

/// The questions on which budgets are measured; the number of samples is fixed after them.
pub(crate) const MEASURED_QUESTIONS: usize = 20;

/// How a bench was run, so that it can be repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunInfo {
    pub folder: String,
    pub seed: u64,
    /// The models that answered, as `provider:model`.
    pub models: Vec<String>,
    /// Debates and calls that have not ended: interrupted, failed, or out of budget.
    pub unfinished: usize,
    /// The date of the built-in prices that costs are computed with; your own prices come before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices_as_of: Option<String>,
    pub budgets: Vec<BudgetLine>,
    /// The weights of tokens if prices are unknown.
    pub weights: Weights,
    /// The accuracy of the vote of k samples, over all ways to draw them.
    pub vote_of_k: Vec<VoteOfK>,
    /// The judge of open answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeInfo>,
}

/// Self-consistency against the debate whose budget it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BudgetLine {
    pub arm: String,
    pub debate: String,
    #[serde(flatten)]
    pub plan: EqualBudget,
    /// The actual spending of the arm, as a share of the debate's.
    pub spent: f64,
    /// Within 5%.
    pub is_equal: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VoteOfK {
    pub samples: usize,
    pub accuracy: f64,
    pub questions: usize,
}

/// What qualifies the figures.
pub(super) fn common_notes(run: &RunInfo) -> Vec<String> {
    let mut notes = vec![
        "Same question text, answer format and extraction for all arms. Answers that could not be parsed count as wrong; their share is listed per arm.".to_owned(),
        "The blind vote is the first round of the debate itself and costs nothing more; the best seat is chosen on other questions (10 parts).".to_owned(),
    ];
    for line in run.budgets.iter().filter(|line| !line.is_equal) {
        notes.push(format!(
            "{} spent {:.2} times what {} did: more than 5% apart, so this is not an equal budget.",
            line.arm, line.spent, line.debate
        ));
    }
    if run
        .judge
        .as_ref()
        .is_some_and(|judge| judge.agreement.is_none())
    {
        notes.push("The judge has not been checked: grade some of the answers by hand and pass them with --graded.".to_owned());
    }
    if run.unfinished > 0 {
        notes.push(format!(
            "{} of the debates and calls have not ended; questions count for an arm only if it answered them.",
            run.unfinished
        ));
    }
    notes
}
