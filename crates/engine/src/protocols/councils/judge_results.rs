//! The judges in the verdict: each with assessment, changes and disputes, by council; and the judges without a score.

use roundtable_core::forensics::{Forensics, LIMITS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Deliberation;
use super::council_state::{CouncilState, JudgeState, SecondRound, title_of};
use super::prompt_context::seat_title;
use super::replies::SubScore;
use super::rules::Rules;
use super::scorecard::{JudgeScore, judge_scores};
use crate::cast::councils::{CouncilsSpec, Part};
use crate::remarks::for_people;
use crate::table::Table;

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

pub(super) fn council_result(table: &Table, council: &CouncilState<'_>) -> CouncilResult {
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

pub(super) fn authenticity(
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

pub(super) fn unscored(
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
                        title: title_of(panel, dimension).to_owned(),
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
