//! The replies of seats. One type serves all modes; properties that a mode does not use or that are too much for a small model
//! are left out of the schema. Doc comments of these types are part of the schemas that are sent to models.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use roundtable_core::bounded::Confidence;
use roundtable_core::citations::{self, Reference};
use roundtable_core::stance::Stance;
use roundtable_core::state::{Moves, NewClaim, Objection};
use roundtable_core::verification::Answers;
use roundtable_core::votes::Vote;
use roundtable_core::wording::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::enhanced::{Backing, CritiqueReply};
use crate::reply::Reply;

/// One turn of one seat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contribution {
    /// Your argument in Markdown, under the headings that are asked for, at most 350 words.
    #[schemars(length(min = 1, max = 40_000))]
    pub argument: String,
    /// Your core position in one or two sentences.
    #[schemars(length(min = 1, max = 400))]
    pub position: String,
    /// The stance that you were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
    /// The answer you stand for, in at most six words; the same words as others who stand for the same.
    #[serde(default)]
    #[schemars(length(max = 80))]
    pub debate_alignment: Option<String>,
    /// Your number, where the question asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// How sure you are of your position, from 0 to 1.
    pub confidence: Confidence,
    pub vote: Vote,
    /// With BLOCKER: what must change first.
    #[serde(default)]
    #[schemars(length(max = 240))]
    pub blocker: Option<String>,
    /// New claims only.
    #[serde(default)]
    #[schemars(length(max = 3))]
    pub claims: Vec<NewClaim>,
    /// Your numbered list, from 1.
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub references: Vec<Reference>,
    /// Ids of claims and decisions on the table that you stand for.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub supports: Vec<String>,
    #[serde(default)]
    #[schemars(length(max = 4))]
    pub opposes: Vec<Objection>,
    /// Ids of claims that you no longer stand for.
    #[serde(default)]
    #[schemars(length(max = 4))]
    pub retracts: Vec<String>,
    /// Constraints on the answer that the panel should adopt.
    #[serde(default)]
    #[schemars(length(max = 2))]
    pub decisions: Vec<String>,
    /// Ids of the claims and evidence that changed your mind.
    #[serde(default)]
    #[schemars(length(max = 4))]
    pub moved_by: Vec<String>,
    /// The strongest form of the view that you criticise.
    #[serde(default)]
    #[schemars(length(max = 600))]
    pub steelman: Option<String>,
    /// A concern that nobody has raised yet.
    #[serde(default)]
    #[schemars(length(max = 300))]
    pub concern: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 4))]
    pub alternatives: Vec<Alternative>,
    #[serde(default)]
    #[schemars(length(max = 5))]
    pub risks: Vec<Risk>,
    /// What remains uncertain, and what would settle it.
    #[serde(default)]
    #[schemars(length(max = 400))]
    pub uncertainty: Option<String>,
    #[serde(default)]
    pub verification: Option<Answers>,
    /// What each of your claims rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub backing: Vec<Backing>,
    /// Criticism of claims on the table, in four steps each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub critiques: Vec<CritiqueReply>,
    /// What stands against the answer on grounds of security; null where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 300))]
    pub security_objection: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Alternative {
    #[schemars(length(min = 1, max = 200))]
    pub option: String,
    /// Why it is not the better one.
    #[schemars(length(max = 300))]
    pub rejected_because: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Risk {
    /// How it can fail.
    #[schemars(length(min = 1, max = 240))]
    pub failure: String,
    /// What is to be done about it.
    #[schemars(length(max = 300))]
    pub mitigation: String,
}

/// A vote before anybody has spoken: what the panel would have said without a debate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ballot {
    /// Your answer in one or two sentences.
    #[schemars(length(min = 1, max = 600))]
    pub position: String,
    /// The answer you stand for, in at most six words.
    #[serde(default)]
    #[schemars(length(max = 80))]
    pub debate_alignment: Option<String>,
    pub confidence: Confidence,
    pub vote: Vote,
}

/// What came out, written by the chair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// The answer in Markdown, complete in itself.
    #[schemars(length(min = 1, max = 20_000))]
    pub answer: String,
    /// Views that were not shared, each with its best reason.
    #[serde(default)]
    #[schemars(length(max = 5))]
    pub dissent: Vec<String>,
    /// What stayed open.
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub open_points: Vec<String>,
}

/// What the safety evaluator finds in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// What could do harm and to whom, or that nothing could.
    #[schemars(length(min = 1, max = 2000))]
    pub assessment: String,
    pub risk: RiskLevel,
    /// Seats whose turn should be kept from the others.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub withhold: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RiskLevel {
    /// Nothing is left to watch.
    Clear,
    /// To be watched further.
    Watch,
    /// Something must not be passed on.
    Harmful,
}

impl Contribution {
    /// Whether the reply argues against a claim.
    pub fn objects(&self) -> bool {
        !self.opposes.is_empty() || self.critiques.iter().any(|critique| !critique.concedes())
    }

    /// The numbers of its references that it cites: in the argument, a claim, a piece of evidence or a critique.
    pub(super) fn cited_numbers(&self) -> BTreeSet<u32> {
        let claims = self.claims.iter().map(|claim| claim.citations.as_str());
        let texts = self.claims.iter().map(|claim| claim.text.as_str());
        let backing = self.backing.iter().flat_map(|backing| &backing.evidence);
        let counter = self.critiques.iter().flat_map(|critique| &critique.counter);
        let pieces = backing.chain(counter).map(|piece| piece.source.as_str());
        let opposed = self
            .opposes
            .iter()
            .map(|objection| objection.because.as_str());
        [self.argument.as_str(), self.position.as_str()]
            .into_iter()
            .chain(claims)
            .chain(texts)
            .chain(pieces)
            .chain(opposed)
            .flat_map(|text| citations::parse(text).numbers)
            .collect()
    }

    /// The references that it cites. Others do not count as sources.
    pub(super) fn cited_references(&self) -> impl Iterator<Item = &Reference> {
        let cited = self.cited_numbers();
        let references = self.references.iter();
        references.filter(move |reference| cited.contains(&reference.number))
    }

    /// The reply with ids of evidence in place of the numbers of its own list.
    pub fn citing(mut self, references: &BTreeMap<u32, String>) -> Self {
        for text in self.texts_mut() {
            *text = citations::renumber(text, references);
        }
        self
    }

    /// All texts that may contain a citation.
    fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let claims = self.claims.iter_mut();
        let claims = claims.flat_map(|claim| [&mut claim.text, &mut claim.citations]);
        let alternatives = self.alternatives.iter_mut();
        let alternatives = alternatives.flat_map(|a| [&mut a.option, &mut a.rejected_because]);
        let risks = self.risks.iter_mut();
        let risks = risks.flat_map(|risk| [&mut risk.failure, &mut risk.mitigation]);
        let backing = self.backing.iter_mut();
        let backing = backing.flat_map(|backing| backing.evidence.iter_mut());
        let statements = [
            &mut self.blocker,
            &mut self.steelman,
            &mut self.concern,
            &mut self.uncertainty,
            &mut self.security_objection,
        ];
        [&mut self.argument, &mut self.position]
            .into_iter()
            .chain(statements.into_iter().flatten())
            .chain(claims)
            .chain(self.opposes.iter_mut().map(|o| &mut o.because))
            .chain(&mut self.decisions)
            .chain(alternatives)
            .chain(risks)
            .chain(backing.map(|piece| &mut piece.source))
            .chain(self.critiques.iter_mut().flat_map(CritiqueReply::texts_mut))
    }

    /// The reply as moves of the debate state, for a seat that was assigned this stance. Where it states another, that one
    /// counts.
    pub fn moves(&self, assigned: Option<Stance>) -> Moves {
        Moves {
            position: self.position.clone(),
            confidence: self.confidence,
            vote: self.vote,
            blocker: self.blocker.clone(),
            stance: assigned.map(|assigned| self.stance.unwrap_or(assigned)),
            alignment: self
                .debate_alignment
                .clone()
                .filter(|answer| !answer.trim().is_empty()),
            estimate: self.estimate.filter(|estimate| estimate.is_finite()),
            claims: self.claims.clone(),
            references: self.cited_references().cloned().collect(),
            supports: self.supports.clone(),
            opposes: self.opposes.clone(),
            retracts: self.retracts.clone(),
            decisions: self.decisions.clone(),
            concern: self.concern.clone(),
        }
    }
}

impl Reply for Contribution {
    const NAME: &'static str = "contribution";
    const MAIN: &'static str = "argument";

    fn text(&self) -> String {
        let mut text = self.argument.clone();
        let _ = write!(
            text,
            "\n\n**Position:** {}\n\n**Vote:** {}, confidence {:.2}",
            self.position,
            self.vote.name(),
            self.confidence.value()
        );
        if let Some(blocker) = self.blocker.as_ref().filter(|_| self.vote == Vote::Blocker) {
            let _ = write!(text, "\n\n**Must change first:** {blocker}");
        }
        let claims = self
            .claims
            .iter()
            .map(|claim| format!("{}[{}]{}", claim.text, claim.label.name(), claim.citations));
        list(&mut text, "Claims", claims);
        let references = self.references.iter().map(|cited| match &cited.url {
            Some(url) if !url.is_empty() => format!("[{}] {} {url}", cited.number, cited.title),
            _ => format!("[{}] {}", cited.number, cited.title),
        });
        list(&mut text, "References", references);
        let objections = self
            .opposes
            .iter()
            .map(|o| format!("{} ({}): {}", o.claim, o.ground.name(), o.because));
        list(&mut text, "Objections", objections);
        let risks = self
            .risks
            .iter()
            .map(|risk| format!("{} → {}", risk.failure, risk.mitigation));
        list(&mut text, "Risks", risks);
        let alternatives = self
            .alternatives
            .iter()
            .map(|a| format!("{}: {}", a.option, a.rejected_because));
        list(&mut text, "Alternatives", alternatives);
        list(&mut text, "New concern", self.concern.iter().cloned());
        list(&mut text, "Uncertain", self.uncertainty.iter().cloned());
        list(
            &mut text,
            "Evidence",
            self.backing.iter().map(Backing::line),
        );
        list(
            &mut text,
            "Critiques",
            self.critiques.iter().map(CritiqueReply::line),
        );
        list(
            &mut text,
            "Security objection",
            self.security_objection.iter().cloned(),
        );
        text
    }
}

impl Reply for Ballot {
    const NAME: &'static str = "ballot";
    const MAIN: &'static str = "position";

    fn text(&self) -> String {
        format!(
            "{}\n\n**Vote:** {}, confidence {:.2}",
            self.position,
            self.vote.name(),
            self.confidence.value()
        )
    }
}

impl Reply for Conclusion {
    const NAME: &'static str = "conclusion";
    const MAIN: &'static str = "answer";

    fn text(&self) -> String {
        let mut text = self.answer.clone();
        section(&mut text, "Dissent", &self.dissent);
        section(&mut text, "Open points", &self.open_points);
        text
    }
}

impl Reply for Evaluation {
    const NAME: &'static str = "evaluation";
    const MAIN: &'static str = "assessment";

    fn text(&self) -> String {
        let level = match self.risk {
            RiskLevel::Clear => "nothing left to watch",
            RiskLevel::Watch => "to be watched",
            RiskLevel::Harmful => "harmful",
        };
        let mut text = format!("{}\n\n**Risk:** {level}", self.assessment);
        list(&mut text, "To be withheld", self.withhold.iter().cloned());
        text
    }
}

fn section(text: &mut String, title: &str, items: &[String]) {
    if items.iter().any(|item| !item.trim().is_empty()) {
        let _ = write!(text, "\n\n## {title}\n");
        points(text, items.iter().cloned());
    }
}

fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut items = items.filter(|item| !item.trim().is_empty()).peekable();
    if items.peek().is_some() {
        let _ = write!(text, "\n\n**{title}**\n");
        points(text, items);
    }
}

fn points(text: &mut String, items: impl Iterator<Item = String>) {
    for item in items.filter(|item| !item.trim().is_empty()) {
        // A line break in an item would end the list.
        let _ = write!(text, "\n- {}", one_line(&item));
    }
}
