//! The replies of the seats. Models write the fields in this order; doc comments and names are part of the schema they get.

use std::fmt::Write;

use roundtable_core::bounded::OutOfTen;
use roundtable_core::issues::{Action, Answer, Finding, Ledger, Verdict as IssueVerdict, id_after};
use roundtable_core::quality::Marks;
use roundtable_core::stopping::Assessment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reply::Reply;

/// The proposer's first answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The answer itself with its reasoning, in Markdown.
    #[schemars(length(min = 1, max = 40_000))]
    pub answer: String,
    /// What the answer takes for granted.
    #[schemars(length(max = 12))]
    pub assumptions: Vec<String>,
}

/// The proposer's later answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// One for every issue, by its id.
    pub responses: Vec<Answer>,
    /// The whole revised answer, in Markdown.
    #[schemars(length(min = 1, max = 40_000))]
    pub answer: String,
}

/// The skeptic's first attack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Critique {
    /// The answer as a whole, in Markdown.
    #[schemars(length(min = 1, max = 20_000))]
    pub assessment: String,
    #[schemars(length(max = 40))]
    pub issues: Vec<Finding>,
    /// The answer as it stands, from 1 to 10.
    pub quality_score: OutOfTen,
    /// True only if nothing that matters is left to mend.
    pub ready_for_synthesis: bool,
}

/// The skeptic's later turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// The answer as it now stands, in Markdown.
    #[schemars(length(min = 1, max = 20_000))]
    pub assessment: String,
    /// One for every earlier issue that was open.
    pub verdicts: Vec<IssueVerdict>,
    /// Flaws that the revision brought in or that were overlooked before.
    #[schemars(length(max = 40))]
    pub new_issues: Vec<Finding>,
    /// The answer as it stands, from 1 to 10.
    pub quality_score: OutOfTen,
    /// True only if nothing that matters is left to mend.
    pub ready_for_synthesis: bool,
}

/// The final answer in its fixed format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Synthesis {
    /// The answer in Markdown, complete in itself.
    #[schemars(length(min = 1, max = 40_000))]
    pub answer: String,
    /// How far a person may rely on it, from 1 to 10.
    pub confidence: OutOfTen,
    /// Why not more and why not less.
    #[schemars(length(min = 1, max = 4000))]
    pub confidence_reason: String,
    /// What came out only because the answer was challenged.
    #[schemars(length(min = 1, max = 3))]
    pub insights: Vec<String>,
    /// What remains uncertain or out of scope.
    #[schemars(length(max = 12))]
    pub caveats: Vec<String>,
    pub change: Change,
    /// What made the difference to the first answer.
    #[schemars(length(max = 4000))]
    pub change_reason: String,
}

/// How the final answer relates to the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Change {
    Unchanged,
    /// The same conclusion, better founded or qualified.
    Refined,
    /// Another conclusion.
    Reversed,
}

/// The judge's marks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Marking {
    /// Two or three sentences that name the strongest and the weakest point.
    #[schemars(length(min = 1, max = 4000))]
    pub justification: String,
    pub marks: Marks,
    /// Whether the pair would be a good example for training a model.
    pub would_benefit_from_finetune: bool,
}

impl Revision {
    /// The reply without responses that do not count, as the other seats read it.
    pub fn usable(&self, ledger: &Ledger) -> Self {
        Self {
            responses: ledger.usable(&self.responses),
            answer: self.answer.clone(),
        }
    }
}

impl Critique {
    /// The turn's text with the ids of its issues. `known` is the number of issues raised before.
    pub fn numbered(&self, known: usize) -> String {
        let mut text = self.assessment.clone();
        list(&mut text, "Issues", &findings(&self.issues, known));
        overall(&mut text, self.overall());
        text
    }

    pub fn overall(&self) -> Assessment {
        Assessment {
            quality: self.quality_score,
            ready: self.ready_for_synthesis,
        }
    }
}

impl Review {
    /// The turn's text, with the ids of its new issues and without verdicts on issues that do not exist.
    pub fn numbered(&self, ledger: &Ledger) -> String {
        let known = ledger.all().len();
        let mut text = self.assessment.clone();
        let verdicts: Vec<_> = self
            .verdicts
            .iter()
            .filter(|verdict| known == 0 || ledger.has(&verdict.issue))
            .map(|verdict| {
                format!(
                    "{} {}: {}",
                    verdict.issue,
                    verdict.status.name(),
                    verdict.reason
                )
            })
            .collect();
        list(&mut text, "Earlier issues", &verdicts);
        list(&mut text, "New issues", &findings(&self.new_issues, known));
        overall(&mut text, self.overall());
        text
    }

    pub fn overall(&self) -> Assessment {
        Assessment {
            quality: self.quality_score,
            ready: self.ready_for_synthesis,
        }
    }
}

impl Reply for Opening {
    const NAME: &'static str = "opening";
    const MAIN: &'static str = "answer";

    fn text(&self) -> String {
        let mut text = self.answer.clone();
        list(&mut text, "Assumptions", &self.assumptions);
        text
    }
}

impl Reply for Revision {
    const NAME: &'static str = "revision";
    const MAIN: &'static str = "answer";

    fn text(&self) -> String {
        let mut text = self.answer.clone();
        let responses: Vec<_> = self
            .responses
            .iter()
            .map(|response| {
                let action = match response.action {
                    Action::Accept => "accepted",
                    Action::Defend => "defended",
                };
                format!("{} {action}: {}", response.issue, response.explanation)
            })
            .collect();
        list(&mut text, "Answers to the critique", &responses);
        text
    }
}

impl Reply for Critique {
    const NAME: &'static str = "critique";
    const MAIN: &'static str = "assessment";

    fn text(&self) -> String {
        self.numbered(0)
    }
}

impl Reply for Review {
    const NAME: &'static str = "review";
    const MAIN: &'static str = "assessment";

    fn text(&self) -> String {
        self.numbered(&Ledger::default())
    }
}

impl Reply for Synthesis {
    const NAME: &'static str = "synthesis";
    const MAIN: &'static str = "answer";

    fn text(&self) -> String {
        self.text_with(self.confidence, None)
    }
}

impl Synthesis {
    /// The answer in its fixed format, with this confidence; `lowered` says why it is not the stated one.
    pub fn text_with(&self, confidence: OutOfTen, lowered: Option<&str>) -> String {
        let mut text = self.answer.clone();
        let lowered = lowered.map(|why| format!("{why} ")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n\n## Confidence: {confidence}/10\n\n{lowered}{}",
            self.confidence_reason
        );
        section(&mut text, "Key insights", &self.insights());
        section(&mut text, "Remaining caveats", &self.caveats);
        text
    }

    /// The insights that say something.
    pub fn insights(&self) -> Vec<String> {
        let said = self.insights.iter().filter(|text| !text.trim().is_empty());
        said.cloned().collect()
    }
}

impl Reply for Marking {
    const NAME: &'static str = "marking";
    const MAIN: &'static str = "justification";

    fn text(&self) -> String {
        let marks = &self.marks;
        format!(
            "{}\n\nCorrectness {}, completeness {}, clarity {}, depth {}: {} out of 10.",
            self.justification,
            marks.correctness,
            marks.completeness,
            marks.clarity,
            marks.depth,
            marks.score()
        )
    }
}

fn findings(findings: &[Finding], known: usize) -> Vec<String> {
    let numbered = findings.iter().zip(known..);
    numbered
        .map(|(finding, before)| {
            let mut line = format!(
                "{} {} ({}): {}",
                id_after(before),
                finding.severity.name(),
                finding.strategy.title(),
                finding.problem.trim()
            );
            let details: Vec<_> = [
                ("where", &finding.location),
                ("why it matters", &finding.why_it_matters),
                ("fix", &finding.suggested_fix),
            ]
            .into_iter()
            .map(|(label, part)| (label, part.trim().trim_end_matches('.')))
            .filter(|(_, part)| !part.is_empty())
            .map(|(label, part)| format!("{label}: {part}"))
            .collect();
            if !details.is_empty() {
                let _ = write!(line, " ({})", details.join("; "));
            }
            line
        })
        .collect()
}

fn overall(text: &mut String, overall: Assessment) {
    let ready = if overall.ready {
        ", ready for synthesis"
    } else {
        ""
    };
    let _ = write!(text, "\n\nQuality: {}/10{ready}", overall.quality);
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = write!(text, "\n\n**{title}**\n");
        points(text, items);
    }
}

fn section(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = write!(text, "\n\n## {title}\n");
        points(text, items);
    }
}

fn points(text: &mut String, items: &[String]) {
    for item in items {
        // One point, one line: a model's line break must not end the list.
        let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(text, "\n- {item}");
    }
}
