//! The dialectic protocol (P-01 … P-08): a proposer answers, a skeptic criticises, the proposer revises until the skeptic is
//! satisfied. A synthesizer then writes the final answer for readers who have not seen the debate.

mod debate;
mod input;
mod outline;
mod replies;
mod report;
mod rules;
mod trace;
mod training;
mod verdict;

use roundtable_core::answer::traces_of_debate;
use roundtable_core::estimate::Outline;
use roundtable_core::stopping;
use serde_json::Value;

pub use debate::{Debate, Exchange, RoundTurn};
pub use input::{Input, Settings};
pub use replies::{Change, Critique, Marking, Opening, Review, Revision, Synthesis};
pub use rules::{Rules, RulesError};
pub use trace::{Timing, Trace};
pub use training::{Example, Preference, candidate, example, preference};
pub use verdict::{AutoScore, Ending, Verdict, Worth};

use crate::data::Data;
use crate::depth::Depth;
use crate::event::{End, Entry, Setup};
use crate::form::FormField;
use crate::prompt::given;
use crate::protocol::{Context, Fault, Needs, Plan, Protocol, Request};
use crate::reasoning::{Retrieval, Template};
use crate::reply::Reply;
use crate::report::Report;
use crate::table::{Exhausted, Halt, Table, Turn};

/// The number of templates offered to the proposer, and their minimum similarity to the question.
const MAX_TEMPLATES: usize = 3;
const MIN_SIMILARITY: f64 = 0.65;
/// The journal key of the retrieved templates.
const RETRIEVAL: &str = "r0/retrieval";

/// See the module's documentation.
#[derive(Debug)]
pub struct Dialectic;

impl Protocol for Dialectic {
    const NAME: &'static str = "dialectic";
    const TITLE: &'static str = "Dialectic";
    const COMMAND: &'static str = "ask";
    const SUMMARY: &'static str =
        "A proposer and a skeptic debate a question until the answer holds";
    const CAST: &'static str = "dialectic";
    const ANSWER_PHASE: &'static str = "synthesis";
    const NEEDS: Needs = Needs {
        library: true,
        ..Needs::NONE
    };

    type Input = Input;
    type Rules = Rules;

    fn at_depth(input: Input, depth: Depth) -> Input {
        input::at_depth(input, depth)
    }

    fn validate(
        input: Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Rules>, Vec<Fault>> {
        input::validate(&input, &request, &context)
    }

    fn outline(rules: &Rules, setup: &Setup) -> Outline {
        outline::outline(rules, setup)
    }

    async fn play(table: &Table, rules: &Rules) -> Result<End, Halt> {
        let verdict = dialectic(table, rules).await?;
        verdict.outcome().end(&verdict)
    }

    fn report(entries: &[Entry]) -> Report {
        report::report(entries)
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        serde_json::to_value(Trace::of(id, timestamp, entries)?).ok()
    }

    fn form(_: &Data) -> Vec<FormField> {
        input::form()
    }

    fn record_schema() -> Option<Value> {
        Some(trace::schema())
    }
}

pub async fn dialectic(table: &Table, rules: &Rules) -> Result<Verdict, Halt> {
    let retrieval = retrieve(table).await?;
    let mut debate = Debate::new(rules);

    let ending = match argue(table, rules, &retrieval, &mut debate).await {
        Ok(ending) => ending,
        Err(Halt::Budget(limit)) => return Ok(cut_short(table, rules, debate, retrieval, limit)),
        Err(halt) => return Err(halt),
    };
    if debate.latest_answer().is_some() {
        debate.set_person(table.interlude("synthesis").await?);
    }
    let synthesis = match synthesise(table, &debate).await {
        Ok(synthesis) => synthesis,
        Err(Halt::Budget(limit)) => return Ok(cut_short(table, rules, debate, retrieval, limit)),
        Err(halt) => return Err(halt),
    };
    let (marking, ending) = match mark(table, rules, &debate, synthesis.as_ref()).await {
        Ok(marking) => (marking, ending),
        // The answer is complete; only its score is missing.
        Err(Halt::Budget(limit)) => (None, Ending::Budget(limit.to_string())),
        Err(halt) => return Err(halt),
    };
    Ok(Verdict::of(
        table,
        rules,
        debate,
        retrieval,
        &ending,
        synthesis.as_ref(),
        marking,
    ))
}

/// Retrieves the reasoning templates that are similar to the question.
async fn retrieve(table: &Table) -> Result<Retrieval, Halt> {
    let question = &table.setup().question;
    table
        .note(RETRIEVAL, || async {
            let Some(embedder) = table.embedder() else {
                return Retrieval {
                    embedder: None,
                    hits: Vec::new(),
                    failure: Some("no embedder is at hand".into()),
                };
            };
            let found = table
                .library()
                .search(question, MAX_TEMPLATES, embedder.as_ref(), table.scale())
                .await;
            let (hits, failure) = match found {
                Ok(hits) => (hits, None),
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            Retrieval {
                embedder: Some(embedder.name().to_owned()),
                hits: hits
                    .into_iter()
                    .filter(|hit| hit.similarity.scaled >= MIN_SIMILARITY)
                    .collect(),
                failure,
            }
        })
        .await
}

/// The rounds. A seat that fails is asked again in the next round; two rounds without a critique end the debate.
async fn argue(
    table: &Table,
    rules: &Rules,
    retrieval: &Retrieval,
    debate: &mut Debate,
) -> Result<Ending, Halt> {
    for round in 1.. {
        if round > 1 {
            debate.set_person(table.interlude(&format!("r{round}")).await?);
        }
        table.round(round, if round == 1 { "opening" } else { "refinement" });
        debate.start_round(round);

        if debate.wants_opening() {
            if let Some(turn) = propose(table, retrieval, debate, round).await? {
                debate.apply(round, RoundTurn::Opening(turn));
            }
        } else if debate.wants_revision()
            && let Some(turn) = revise(table, rules, debate, round).await?
        {
            debate.apply(round, RoundTurn::Revision(turn));
        }

        if debate.wants_critique() {
            if let Some(turn) = criticise(table, rules, debate, round).await? {
                debate.apply(round, RoundTurn::Critique(turn));
            }
        } else if debate.wants_review()
            && let Some(turn) = review(table, rules, debate, round).await?
        {
            debate.apply(round, RoundTurn::Review(turn));
        }

        if debate.idle_rounds() == 2 {
            return Ok(Ending::SeatsAbsent {
                seat: debate.absent_seat(),
            });
        }
        let limits = rules.limits();
        if let Some(stop) = stopping::after_round(
            round,
            debate.assessment(round),
            debate.open_critical(),
            &limits,
        ) {
            return Ok(Ending::Rule(stop));
        }
    }
    Ok(Ending::Rule(stopping::Stop::RoundCap))
}

async fn propose(
    table: &Table,
    retrieval: &Retrieval,
    debate: &Debate,
    round: u32,
) -> Result<Option<Turn<Opening>>, Halt> {
    let library = table.library();
    let templates: Vec<&Template> = retrieval
        .hits
        .iter()
        .filter_map(|hit| library.get(&hit.id).ok())
        .collect();
    let question = &table.setup().question;
    table
        .ask("proposer", "propose")
        .in_round(round)
        .prompt(
            "dialectic/propose",
            given!({ "question": question, "person": debate.person(), "templates": templates }),
        )
        .send()
        .await
}

async fn criticise(
    table: &Table,
    rules: &Rules,
    debate: &Debate,
    round: u32,
) -> Result<Option<Turn<Critique>>, Halt> {
    let question = &table.setup().question;
    let mut ask = table.ask("skeptic", "criticise");
    if table.is_small("skeptic") {
        // Left free, small models write an empty list.
        ask = ask.items("issues", 1);
    }
    ask.in_round(round)
        .prompt(
            "dialectic/criticise",
            given!({ "question": question, "person": debate.person(), "proposal": debate.latest_proposal(), "max_rounds": rules.max_rounds, "early_stop_score": rules.early_stop_score.value() }),
        )
        .about(debate.latest_proposal().unwrap_or_default())
        .read_as(|reply: &Critique| reply.numbered(debate.ledger().all().len()))
        .send()
        .await
}

async fn revise(
    table: &Table,
    rules: &Rules,
    debate: &Debate,
    round: u32,
) -> Result<Option<Turn<Revision>>, Halt> {
    let question = &table.setup().question;
    let ids = debate.open_ids();
    let (critique_round, critique) = debate.latest_critique();
    table
        .ask("proposer", "revise")
        .in_round(round)
        .prompt(
            "dialectic/revise",
            given!({ "question": question, "person": debate.person(), "round": round, "critique_round": critique_round, "critique": critique, "previous_answer": debate.latest_answer(), "issues": debate.open_issues(), "unanswered": debate.neglected_before(round), "max_rounds": rules.max_rounds }),
        )
        .choices("issue", ids)
        .check(|reply: &Revision| debate.faults_of_revision(reply))
        .read_as(|reply: &Revision| reply.usable(debate.ledger()).text())
        .send()
        .await
}

async fn review(
    table: &Table,
    rules: &Rules,
    debate: &Debate,
    round: u32,
) -> Result<Option<Turn<Review>>, Halt> {
    let question = &table.setup().question;
    table
        .ask("skeptic", "review")
        .in_round(round)
        .prompt(
            "dialectic/review",
            given!({ "question": question, "person": debate.person(), "round": round, "history": debate.history_before(round), "proposal": debate.latest_proposal(), "issues": debate.open_issues(), "unanswered": debate.unanswered_in(round), "max_rounds": rules.max_rounds, "early_stop_score": rules.early_stop_score.value() }),
        )
        .choices("issue", debate.open_ids())
        .check(|reply: &Review| debate.faults_of_review(reply))
        .read_as(|reply: &Review| reply.numbered(debate.ledger()))
        .send()
        .await
}

/// After the rounds: one answer for a reader who has not seen them. Skipped without a proposal.
async fn synthesise(table: &Table, debate: &Debate) -> Result<Option<Turn<Synthesis>>, Halt> {
    if debate.latest_answer().is_none() {
        return Ok(None);
    }
    let question = &table.setup().question;
    table
        .ask("synthesizer", "synthesise")
        .in_phase("synthesis", debate.last_started())
        .prompt(
            "dialectic/synthesise",
            given!({ "question": question, "person": debate.person(), "history": debate.history(), "open_issues": debate.open_issues() }),
        )
        .check(|reply: &Synthesis| {
            let traces = traces_of_debate(&reply.answer, question).into_iter();
            let traces =
                traces.map(|words| format!("The answer must stand alone, but it says '{words}'."));
            let is_empty = reply.insights().len() < reply.insights.len();
            let empty = is_empty.then(|| "An insight is empty.".to_owned());
            traces.chain(empty).collect()
        })
        .send()
        .await
}

async fn mark(
    table: &Table,
    rules: &Rules,
    debate: &Debate,
    synthesis: Option<&Turn<Synthesis>>,
) -> Result<Option<Turn<Marking>>, Halt> {
    let Some(synthesis) = synthesis.filter(|_| rules.auto_score) else {
        return Ok(None);
    };
    let question = &table.setup().question;
    table
        .ask("judge", "mark")
        .in_phase("score", debate.last_started())
        .prompt(
            "dialectic/mark",
            given!({ "question": question, "answer": synthesis.reply.answer }),
        )
        .about(&synthesis.reply.answer)
        .last()
        .send()
        .await
}

/// The budget is spent: the latest proposal is the answer.
fn cut_short(
    table: &Table,
    rules: &Rules,
    debate: Debate,
    retrieval: Retrieval,
    limit: Exhausted,
) -> Verdict {
    let ending = Ending::Budget(limit.to_string());
    Verdict::of(table, rules, debate, retrieval, &ending, None, None)
}

#[cfg(test)]
#[path = "dialectic_tests.rs"]
mod tests;
