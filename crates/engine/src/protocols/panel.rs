//! A panel (N-01 … N-06): several models answer blind, each ranks the others' anonymised answers, the ranks are pooled, and a
//! chair writes the answer. If the blind answers agree and are sure, it stops there unless the full panel is requested.

mod input;
mod outline;
mod record;
mod replies;
mod report;
mod state;
mod verdict;

use roundtable_core::estimate::Outline;
use roundtable_core::value::{self, RoundValue};
use serde_json::Value;

pub use input::{Input, Rules};
pub use record::Record;
pub use replies::{Answer, Conclusion, Point, RankedAnswer, RankedAnswers};
pub use state::PanelState;
pub use verdict::Verdict;

use crate::cast::Part;
use crate::data::Data;
use crate::depth::Depth;
use crate::event::{End, Entry, Setup};
use crate::form::FormField;
use crate::prompt::given;
use crate::protocol::{BlindAnswers, Context, Fault, Needs, Plan, Protocol, Request};
use crate::report::Report;
use crate::round_value;
use crate::table::{Halt, Table, each};
use verdict::Ending;

/// With fewer answers every reader would read a single one, which ranks nothing.
const MIN_RANKED: usize = 3;

/// See the module's documentation.
#[derive(Debug)]
pub struct Panel;

impl Protocol for Panel {
    const NAME: &'static str = "panel";
    const TITLE: &'static str = "Panel";
    const COMMAND: &'static str = "panel";
    const SUMMARY: &'static str =
        "Several models answer blind, rank each other, and a chair concludes";
    const CAST: &'static str = "panel";
    const ANSWER_PHASE: &'static str = "synthesis";
    const NEEDS: Needs = Needs {
        value: true,
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

    fn blind(_: &Rules) -> Option<BlindAnswers> {
        Some(BlindAnswers {
            verb: "answer",
            field: "position",
            round: 1,
            are_read: true,
            again: None,
        })
    }

    fn outline(rules: &Rules, setup: &Setup) -> Outline {
        outline::outline(rules, setup)
    }

    async fn play(table: &Table, rules: &Rules) -> Result<End, Halt> {
        let mut state = PanelState::new(table.setup());
        let ending = match deliberate(table, rules, &mut state).await {
            Ok(ending) => ending,
            Err(Halt::Budget(limit)) => Ending::Budget(limit.to_string()),
            Err(halt) => return Err(halt),
        };
        let verdict = Verdict::new(table, &state, &ending);
        verdict.outcome().end(&verdict)
    }

    fn headline(result: &Value) -> Option<String> {
        result["position"].as_str().map(str::to_owned)
    }

    fn report(entries: &[Entry]) -> Report {
        report::report(entries)
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        serde_json::to_value(Record::of(id, timestamp, entries)?).ok()
    }

    fn record_schema() -> Option<Value> {
        Some(record::schema())
    }

    fn form(_: &Data) -> Vec<FormField> {
        input::form()
    }
}

async fn deliberate(table: &Table, rules: &Rules, state: &mut PanelState) -> Result<Ending, Halt> {
    table.round(1, "answers");
    answer(table, state).await?;
    if !rules.full
        && let Some(unanimous) = state.unanimous(rules.early_stop_confidence.value())
    {
        return Ok(Ending::Unanimous(unanimous));
    }
    if state.answers().len() < 2 {
        return Ok(Ending::TooFewAnswers);
    }
    if let Some(value) = measure_value(table, rules, state)?.filter(|value| value.stops) {
        return Ok(Ending::NotWorthIt(value.stop_text(1)));
    }
    if rules.ranks && state.answers().len() >= MIN_RANKED {
        state.hear(table.interlude("r2").await?);
        table.round(2, "rankings");
        rank(table, state).await?;
    }
    state.hear(table.interlude("synthesis").await?);
    conclude(table, state).await?;
    if rules.value.is_some()
        && let Some(concluded) = state.concluded()
    {
        // The next debates learn from it whether the blind answers changed.
        table.memoize(&round_value::key(2), || concluded)?;
    }
    Ok(Ending::Concluded)
}

/// The value of comparing the blind answers (B-10). Its cost is taken to be that of the answers.
fn measure_value(
    table: &Table,
    rules: &Rules,
    state: &PanelState,
) -> Result<Option<RoundValue>, Halt> {
    let Some(rules) = &rules.value else {
        return Ok(None);
    };
    let price = round_value::price_of(state.answers().iter().map(|answer| &answer.spent));
    let record = &rules.history.record;
    let value = state
        .leading()
        .and_then(|leading| value::of_answers(leading, record, price, rules.max_price));
    crate::protocols::note_value(table, 1, value)
}

/// Round 1: every seat answers blind. Answers that came in are kept if one of the seats halts.
async fn answer(table: &Table, state: &mut PanelState) -> Result<(), Halt> {
    let question = &table.setup().question;
    let seats = state.panelists().iter();
    let asks = seats.map(|seat| async {
        let turn = table
            .ask::<Answer>(seat, "answer")
            .in_round(1)
            .prompt("panel/answer", given!({ "question": question }))
            .send()
            .await?;
        Ok((seat.clone(), turn))
    });
    let (turns, halted) = each(asks).await;
    for (seat, turn) in turns.into_iter().flatten() {
        if let Some(turn) = turn {
            state.add_answer(&seat, turn.reply, turn.spent);
        }
    }
    halted
}

/// Round 2: every seat that answered ranks the others' answers, in an order of its own. No seat ranks its own answer.
async fn rank(table: &Table, state: &mut PanelState) -> Result<(), Halt> {
    let question = &table.setup().question;
    let readers = state.readers();
    let view: &PanelState = state;
    let asks = readers.iter().map(|reader| async {
        let turn = table
            .ask::<RankedAnswers>(&reader.seat, "rank")
            .in_round(2)
            .prompt(
                "panel/rank",
                given!({
                    "question": question,
                    "person": view.person(),
                    "answers": view.shown_to(reader),
                    "labels": reader.labels(),
                }),
            )
            .choices("answer", reader.labels())
            .items("ranking", reader.labels().len())
            .demand(|reply: &RankedAnswers| view.unusable_ranking(reader, reply))
            .check(|reply: &RankedAnswers| view.ranking_faults(reader, reply))
            .send()
            .await?;
        Ok((reader.clone(), turn))
    });
    let (turns, halted) = each(asks).await;
    for (reader, turn) in turns.into_iter().flatten() {
        if let Some(turn) = turn {
            state.add_ranking(reader, turn.reply);
        }
    }
    halted
}

/// The chair writes the answer from all answers and their pooled ranks.
async fn conclude(table: &Table, state: &mut PanelState) -> Result<(), Halt> {
    let seats = &table.setup().seats;
    let chair = seats.iter().find(|seated| seated.seat.part == Part::Chair);
    let Some(chair) = chair else {
        return Ok(());
    };
    let labels = state.labels();
    let turn = table
        .ask::<Conclusion>(&chair.seat.name, "conclude")
        .in_phase("synthesis", state.rounds())
        .prompt(
            "panel/conclude",
            given!({
                "question": table.setup().question,
                "person": state.person(),
                "answers": state.for_chair(),
                "comparisons": state.comparisons(),
                "labels": labels,
            }),
        )
        .choices("answers", labels)
        .send()
        .await?;
    if let Some(turn) = turn {
        state.set_conclusion(turn.reply);
    }
    Ok(())
}

#[cfg(test)]
#[path = "panel_tests.rs"]
mod tests;
