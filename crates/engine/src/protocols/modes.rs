//! The seven modes of debate (M-01 … M-14): who speaks when and sees what is the mode's, as data; what is said is kept,
//! checked and bounded by the program.

mod checks;
mod debate;
pub mod enhanced;
mod follow;
mod input;
mod panel;
mod record;
mod references;
mod replies;
mod report;
mod rules;
mod verdict;

use futures::future::join;
use roundtable_core::groupthink::{Diversity, EARLY_ROUND, premise_overlap};
use roundtable_core::learning::Domain;
use roundtable_core::similarity::cosine;
use roundtable_core::verification::{HIGH_STAKES, Stakes, UNIVERSAL};
use roundtable_core::wording;
use serde_json::{Value, json};

pub use checks::Kind;
pub use debate::{Debate, Next, Round, Spoken, Watch};
pub use follow::followed;
pub use input::{DEFAULT_MODE, Focus, Input, Settings};
pub use panel::{Panel, Panelist};
pub use record::{Record, record};
pub use replies::{Ballot, Conclusion, Contribution, Evaluation, RiskLevel};
pub use rules::{MOST_ROUNDS, Rules, RulesError};
pub use verdict::{Ending, Groupthink, Poll, Verdict, Worth};

use crate::algorithm::Veto;
use crate::data::Data;
use crate::event::{Decision, End, Entry};
use crate::mode::{Estimates, SpeakingOrder, Stances, Visibility};
use crate::model::Ability;
use crate::protocol::{Context, Fault, FormField, Needs, Plan, Protocol, Request, end_of};
use crate::reply;
use crate::report::{Report, Section};
use crate::table::{Halt, Table, Turn, all};
use crate::tokens;
use checks::Against;
use enhanced::{Chosen, Matter, PersonDecision};

/// What a person chooses when critical objections came to nothing.
pub const ACCEPT: &str = "accept";
pub const ANOTHER_ROUND: &str = "another-round";

/// See the module's documentation.
#[derive(Debug)]
pub struct Modes;

impl Protocol for Modes {
    const NAME: &'static str = "modes";
    const TITLE: &'static str = "Debate";
    const CAST: &'static str = "modes";
    const ANSWER_PHASE: &'static str = "conclusion";
    const PHASE_NAMES_EVENTS: bool = false;
    const NEEDS: Needs = Needs {
        library: false,
        history: false,
        sources: true,
    };

    type Input = Input;
    type Rules = Rules;

    fn validate(
        input: Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Rules>, Vec<Fault>> {
        input::validate(input, request, context)
    }

    async fn play(table: &Table, rules: &Rules) -> Result<End, Halt> {
        let verdict = modes(table, rules).await?;
        end_of(verdict.outcome(), verdict.reason(), &verdict)
    }

    fn report(entries: &[Entry]) -> Report {
        report::report(entries)
    }

    fn domain(input: &Input) -> Option<Domain> {
        input::domain_of(input)
    }

    fn progress(entries: &[Entry]) -> Option<Section> {
        report::progress(entries)
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        serde_json::to_value(record::record(id, timestamp, entries)?).ok()
    }

    fn form(data: &Data) -> Vec<FormField> {
        input::form(data)
    }
}

pub async fn modes(table: &Table, rules: &Rules) -> Result<Verdict, Halt> {
    let mut debate = Debate::new(table.setup(), rules);
    let mut alarms = Vec::new();
    let ending = match argue(table, &mut debate, &mut alarms).await {
        Ok(ending) => ending,
        Err(Halt::Budget(limit)) => Ending::Budget(limit.to_string()),
        Err(halt) => return Err(halt),
    };
    let (conclusion, ending) = match conclude(table, &mut debate, &ending).await {
        Ok(conclusion) => (conclusion, ending),
        Err(Halt::Budget(limit)) => (None, Ending::Budget(limit.to_string())),
        Err(halt) => return Err(halt),
    };
    Ok(Verdict::of(
        table,
        &debate,
        &ending,
        alarms,
        conclusion.as_ref(),
    ))
}

/// The rounds, until one of the exit criteria holds or a person has had enough.
async fn argue(
    table: &Table,
    debate: &mut Debate,
    alarms: &mut Vec<Groupthink>,
) -> Result<Ending, Halt> {
    table.in_background(|| {
        reply::prepare::<Ballot>();
        reply::prepare::<Evaluation>();
        reply::prepare::<Conclusion>();
        // From round 2 on tokens are counted.
        tokens::load();
    });
    let mut cap = debate.rules.max_rounds;
    let mut kind = Kind::Ordinary;
    for round in 1.. {
        if round > 1 {
            debate.hear(table.interlude(&format!("r{round}")).await?);
        }
        table.round(round, kind.name());
        debate.compose(round);
        debate.begin(round, kind);
        speak_in_turn(table, debate, round).await?;
        watch_over(table, debate, round).await?;
        let diversity = diversity(table, debate, round).await?;
        let measured = enhanced::measure(table, debate, round).await?;
        debate.close(diversity, measured);
        if debate.is_silent() {
            return Ok(Ending::SeatsAbsent);
        }
        kind = match settle(table, debate, alarms, cap).await? {
            Settled::Ended(ending) => return Ok(ending),
            Settled::Goes(kind) => kind,
            Settled::GoesOn => {
                cap = cap.max(round + 1);
                Kind::Ordinary
            }
        };
    }
    Ok(Ending::SeatsAbsent)
}

/// What comes of a round.
enum Settled {
    Ended(Ending),
    Goes(Kind),
    /// Because a person wants it, past the last round too.
    GoesOn,
}

/// After a round: the next one, the end, or a person's decision and then one of these.
async fn settle(
    table: &Table,
    debate: &mut Debate,
    alarms: &mut Vec<Groupthink>,
    cap: u32,
) -> Result<Settled, Halt> {
    loop {
        let last = debate.rounds.last();
        let (round, diversity) = last.map_or((0, None), |it| (it.number, it.diversity));
        return Ok(match debate.next(cap) {
            Next::Round => Settled::Goes(Kind::Ordinary),
            Next::End(exit) => Settled::Ended(Ending::Exit(exit)),
            Next::Objection(trigger) => {
                alarms.push(Groupthink::suspected(round, trigger, diversity));
                Settled::Goes(Kind::Objection)
            }
            Next::Advocate => Settled::Goes(Kind::Objection),
            Next::Converged(status) => Settled::Ended(Ending::Converged(status)),
            Next::Person => {
                let decision = ask_the_person(table, round).await?;
                Groupthink::decided(alarms, &decision.choice);
                debate.decided(PersonDecision::of(round, Matter::Groupthink, &decision));
                if decision.choice == ACCEPT {
                    Settled::Ended(Ending::Person)
                } else {
                    Settled::GoesOn
                }
            }
            Next::Escalate(matter) => match escalate(table, debate, round, matter).await? {
                Some(settled) => settled,
                None => continue,
            },
        });
    }
}

/// A person decides what the panel could not (E-09). `None`: what stood in the way is gone, and the question is what now.
async fn escalate(
    table: &Table,
    debate: &mut Debate,
    round: u32,
    matter: Matter,
) -> Result<Option<Settled>, Halt> {
    let Some(question) = debate.enhanced.as_ref().map(|play| play.question(matter)) else {
        return Ok(Some(Settled::GoesOn));
    };
    let options: Vec<&str> = question.options.iter().map(String::as_str).collect();
    let decision = table
        .decision(&matter.key(round), &question.text, &options)
        .await?;
    let is_overridden = decision.choice == enhanced::OVERRIDE;
    let chosen = debate.decided(PersonDecision::of(round, matter, &decision));
    Ok(match chosen {
        Some(Chosen::WhatMostStandFor) => Some(Settled::Ended(Ending::Person)),
        Some(Chosen::Answer(answer)) => Some(Settled::Ended(Ending::Chosen(answer))),
        None if is_overridden => None,
        None => Some(Settled::GoesOn),
    })
}

/// All in parallel, or one after the other, or red before blue. Where round 1 is not blind, blind votes are cast beside it.
async fn speak_in_turn(table: &Table, debate: &mut Debate, round: u32) -> Result<(), Halt> {
    let order = debate.rules.mode.order;
    let groups: Vec<Vec<String>> = debate
        .panel
        .groups(order)
        .into_iter()
        .map(|group| group.into_iter().map(|seat| seat.name.clone()).collect())
        .collect();
    for (index, group) in groups.into_iter().enumerate() {
        let turns = all(group.iter().map(|seat| speak(table, debate, seat, round)));
        let turns = if round == 1 && index == 0 && order != SpeakingOrder::Parallel {
            let (ballots, turns) = join(vote_blindly(table, debate), turns).await;
            let turns = turns?;
            debate.ballots = ballots?;
            turns
        } else {
            turns.await?
        };
        let present = group.into_iter().zip(turns);
        debate.take(
            present
                .filter_map(|(seat, turn)| turn.map(|turn| (seat, turn)))
                .collect(),
        );
    }
    Ok(())
}

async fn speak(
    table: &Table,
    debate: &Debate,
    seat: &str,
    round: u32,
) -> Result<Option<Turn<Contribution>>, Halt> {
    let Some(me) = debate.panel.seat(seat) else {
        return Ok(None);
    };
    let rules = &debate.rules;
    let mode = &rules.mode;
    let kind = debate
        .rounds
        .last()
        .map_or(Kind::Ordinary, |round| round.kind);
    let against = Against {
        mode,
        question: &debate.question,
        stakes: rules.stakes,
        round,
        kind,
        seat: me,
        state: &debate.state,
        sources: &rules.sources,
        peers: &debate.peers_of(seat),
        evidence: debate
            .enhanced
            .as_ref()
            .filter(|play| play.rules.wants_evidence())
            .map(|play| &play.ledger),
    };
    let ask = unasked(rules, me.ability)
        .into_iter()
        .fold(table.ask(seat, "speak"), |ask, property| {
            ask.without(property)
        });
    ask.in_round(round)
        .prompt(
            "modes/speak",
            json!({
                "question": debate.question, "person": debate.person, "mode": mode, "me": me, "kind": kind.name(),
                "focus": rules.focus.get(&round), "context": debate.context(), "current": debate.current(),
                "mine": debate.last_position(seat), "sections": mode.structure_of(round), "round": round,
                "max_rounds": rules.max_rounds, "questions": questions(rules),
                "anonymous": mode.visibility == Visibility::Anonymous, "enhanced": debate.told,
                "sources": sources(debate, seat),
            }),
        )
        .tools(debate.toolbox_of(seat))
        .choices("claim", debate.claim_ids())
        .choices("retracts", debate.claim_ids())
        .choices("supports", debate.supportable_ids())
        .check(|reply: &Contribution| against.faults(reply))
        .send()
        .await
}

/// What a seat is told of the user's sources: their names, and whether it can search them or what was found for it.
fn sources(debate: &Debate, seat: &str) -> Value {
    let names = debate
        .rules
        .sources
        .list()
        .iter()
        .map(|it| it.name.as_str());
    json!({
        "names": names.collect::<Vec<_>>(),
        "tools": debate.toolbox_of(seat).is_some(),
        "passages": debate.passages_for(seat),
    })
}

/// The questions of verification with their names (M-10).
fn questions(rules: &Rules) -> Vec<Value> {
    let own = [
        ("mode_first", &rules.mode.verification.first),
        ("mode_second", &rules.mode.verification.second),
    ];
    let own = own
        .into_iter()
        .map(|(name, text)| json!({ "name": name, "text": text }));
    let more = match rules.stakes {
        Stakes::Ordinary => None,
        Stakes::High => Some(json!({ "name": "high_stakes", "text": HIGH_STAKES })),
    };
    let universal = UNIVERSAL
        .iter()
        .map(|(name, text)| json!({ "name": name, "text": text }));
    universal.chain(own).chain(more).collect()
}

/// What a mode has no use for, and what a small model cannot be asked.
fn unasked(rules: &Rules, ability: Ability) -> Vec<&'static str> {
    let mut unasked = Vec::new();
    // An assigned stance is known; asking for it only shows whether it is held to.
    if rules.mode.stances == Stances::None || ability == Ability::Small {
        unasked.push("stance");
    }
    if rules.mode.estimates == Estimates::None {
        unasked.push("estimate");
    }
    let enhanced = rules.enhanced.as_ref();
    if !enhanced.is_some_and(|it| it.algorithm.veto == Veto::Security) {
        unasked.push("security_objection");
    }
    match enhanced {
        Some(it) if it.wants_evidence() && ability == Ability::Full => unasked.push("opposes"),
        Some(it) if it.wants_evidence() => unasked.push("critiques"),
        Some(_) | None => unasked.extend(["backing", "critiques"]),
    }
    if ability == Ability::Small {
        unasked.extend([
            "blocker",
            "references",
            "retracts",
            "decisions",
            "moved_by",
            "steelman",
            "concern",
            "alternatives",
            "risks",
            "uncertainty",
            "verification",
        ]);
    }
    unasked
}

/// What each seat would say without a debate (C-17).
async fn vote_blindly(table: &Table, debate: &Debate) -> Result<Vec<debate::BlindVote>, Halt> {
    let ballots = debate.panel.seats.iter().map(|me| async move {
        let turn: Option<Turn<Ballot>> = table
            .ask(&me.name, "ballot")
            .in_round(0)
            .prompt(
                "modes/ballot",
                json!({ "question": debate.question, "me": me }),
            )
            .send()
            .await?;
        Ok(turn.map(|turn| debate::BlindVote {
            seat: me.name.clone(),
            ballot: turn.reply,
            spent: turn.spent,
        }))
    });
    Ok(all(ballots).await?.into_iter().flatten().collect())
}

/// The third tier of safety: an evaluator looks at the round, if something has raised an alarm, until it finds it clear.
async fn watch_over(table: &Table, debate: &mut Debate, round: u32) -> Result<(), Halt> {
    let Some(evaluator) = debate.panel.evaluator.clone() else {
        return Ok(());
    };
    if debate.watch == Watch::Away
        || debate
            .rounds
            .last()
            .is_none_or(|round| round.turns.is_empty())
    {
        return Ok(());
    }
    let reasons: Vec<String> = debate
        .alarms
        .iter()
        .map(crate::safety::Alarm::reason)
        .collect();
    let turn: Option<Turn<Evaluation>> = table
        .ask(&evaluator, "evaluate")
        .in_round(round)
        .prompt(
            "modes/evaluate",
            json!({ "question": debate.question, "reasons": reasons, "round": round, "turns": debate.for_evaluation() }),
        )
        .check(|reply: &Evaluation| unknown_seats(debate, &reply.withhold))
        .send()
        .await?;
    if let Some(turn) = turn {
        debate.heed(turn.reply);
    }
    Ok(())
}

fn unknown_seats(debate: &Debate, named: &[String]) -> Vec<String> {
    let unknown = named
        .iter()
        .filter(|name| debate.panel.seat(name).is_none());
    unknown
        .map(|name| {
            format!(
                "There is no seat '{name}'; there are: {}.",
                debate.panel.names().join(", ")
            )
        })
        .collect()
}

/// How different the positions are, as long as agreement would be early (M-08).
async fn diversity(table: &Table, debate: &Debate, round: u32) -> Result<Option<Diversity>, Halt> {
    if round > EARLY_ROUND || debate.state.agent_status.is_empty() {
        return Ok(None);
    }
    // A seat that was absent and is heard after all makes it another panel to measure.
    let speakers = debate.state.agent_status.len();
    let key = format!("r{round}/diversity-of-{speakers}");
    let measured = match table.embedder() {
        Some(embedder) => {
            table
                .note(&key, || async {
                    let positions = positions(debate).map(str::to_owned).collect();
                    let embedded = embedder.embed(positions).await.ok();
                    measure(table, debate, embedded.as_deref())
                })
                .await?
        }
        None => table.memoize(&key, || measure(table, debate, None))?,
    };
    Ok(Some(measured))
}

fn positions(debate: &Debate) -> impl Iterator<Item = &str> {
    let status = debate.state.agent_status.iter();
    status.map(|it| it.position.as_str())
}

/// Positions this alike are of one kind; by words alone, half of them shared is much.
const ALIKE: f64 = 0.80;
const ALIKE_IN_WORDS: f64 = 0.5;

fn measure(table: &Table, debate: &Debate, embedded: Option<&[Vec<f32>]>) -> Diversity {
    let status = &debate.state.agent_status;
    let premises: Vec<_> = status
        .iter()
        .map(|it| debate.state.premises(&it.agent))
        .collect();
    let positions: Vec<&str> = positions(debate).collect();
    let answers: Vec<Option<String>> = status
        .iter()
        .map(|it| it.debate_alignment.as_deref().map(wording::normal))
        .collect();
    // Alike words over different answers are no agreement.
    let differ =
        |a: usize, b: usize| matches!((&answers[a], &answers[b]), (Some(a), Some(b)) if a != b);
    let clusters = match embedded {
        Some(vectors) if vectors.len() == positions.len() => {
            wording::clusters(positions.len(), ALIKE, |a, b| {
                if differ(a, b) {
                    0.0
                } else {
                    table.scale().read(cosine(&vectors[a], &vectors[b])).scaled
                }
            })
        }
        _ => {
            let words: Vec<_> = positions
                .iter()
                .map(|text| wording::words(text).collect())
                .collect();
            wording::clusters(positions.len(), ALIKE_IN_WORDS, |a, b| {
                if differ(a, b) {
                    0.0
                } else {
                    wording::jaccard(&words[a], &words[b])
                }
            })
        }
    };
    Diversity {
        sources: debate.state.evidence.len(),
        premise_overlap: premise_overlap(&premises),
        clusters,
    }
}

/// The panel agrees, and its own objections changed nothing.
async fn ask_the_person(table: &Table, round: u32) -> Result<Decision, Halt> {
    let question = "The panel agrees, and a round of critical objections brought no new fact and changed nothing. \
                    Is its agreement good enough, or should it go on?";
    let key = Matter::Groupthink.key(round);
    table
        .decision(&key, question, &[ACCEPT, ANOTHER_ROUND])
        .await
}

/// After the rounds: what came out, for somebody who was not there.
async fn conclude(
    table: &Table,
    debate: &mut Debate,
    ending: &Ending,
) -> Result<Option<Turn<Conclusion>>, Halt> {
    let Some(chair) = debate.panel.chair.clone() else {
        return Ok(None);
    };
    if debate.state.agent_status.is_empty() || matches!(ending, Ending::Budget(_)) {
        return Ok(None);
    }
    debate.hear(table.interlude("conclusion").await?);
    let last = debate.rounds.last().map_or(1, |round| round.number);
    let context = debate.closing_context();
    table
        .ask(&chair, "conclude")
        .in_phase("conclusion", last)
        .prompt(
            "modes/conclude",
            json!({
                "question": debate.question, "person": debate.person, "context": context,
                "ending": ending.explanation(),
            }),
        )
        .last()
        .send()
        .await
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "debate",
            Self::Objection => "objection",
        }
    }

    pub fn named(name: &str) -> Self {
        if name == Self::Objection.name() {
            Self::Objection
        } else {
            Self::Ordinary
        }
    }
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
