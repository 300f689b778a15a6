//! From the journals of a bench to its report: answers are extracted and graded, arms built and compared.

use std::collections::{BTreeSet, HashMap};

use roundtable_core::bench::{
    Arm, Cell, Decision, EqualBudget, Measure, Moves, Outcome, Question, Record, RoundMoves, Seat,
    Spent, Ties, Weights, agreement, is_equal, vote_of_samples,
};
use roundtable_core::spread::{mean, real};
use roundtable_core::usage::Usage;
use roundtable_engine::event::{Entry, FinishedStep};
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;
use roundtable_engine::totals::Totals;
use roundtable_engine::transcript::Transcript;
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{DebateArm, LONG_CALL, MODELS, ONE_CALL, Unit};
use super::questions::BenchQuestion;
use super::run::Journals;
use super::{BenchReport, Evaluation, Source, VERSION, baseline};
use crate::failure::Failure;

/// The questions on which budgets are measured; the number of samples is fixed after them.
pub(crate) const MEASURED_QUESTIONS: usize = 20;

/// How a bench was run, so that it can be repeated.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RunInfo {
    pub folder: String,
    pub seed: u64,
    /// The models that answered, as `provider:model`.
    pub models: Vec<String>,
    /// Debates and calls that have not ended: interrupted, failed, or out of budget.
    pub unfinished: usize,
    pub budgets: Vec<BudgetLine>,
    /// The weights of tokens if prices are unknown.
    pub weights: Weights,
    /// The accuracy of the vote of k samples, over all ways to draw them.
    pub vote_of_k: Vec<VoteOfK>,
}

/// Self-consistency against the debate whose budget it was given.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct VoteOfK {
    pub samples: usize,
    pub accuracy: f64,
    pub questions: usize,
}

/// The graded answer of one debate or call.
struct Graded {
    answer: Option<String>,
    spent: Spent,
    /// In dollars, or in weighted tokens.
    weighted: f64,
}

/// Everything that the arms are computed from.
pub(crate) struct Results<'a> {
    pub questions: &'a [BenchQuestion],
    pub debates: &'a [&'a DebateArm],
    pub models: &'a [String],
    pub journals: &'a Journals,
    /// Whether self-consistency was asked for.
    pub with_samples: bool,
}

impl Results<'_> {
    fn journal(&self, place: usize, unit: &Unit<'_>) -> Option<&[Entry]> {
        let entries = self.journals.get(&(place, unit.key()))?;
        Some(entries)
    }

    fn graded(&self, place: usize, unit: &Unit<'_>) -> Option<Graded> {
        let entries = self.journal(place, unit)?;
        let question = &self.questions[place];
        let report = protocols::report(entries);
        let typed = report
            .verdict
            .and_then(|verdict| verdict.answer)
            .and_then(|answer| answer.headline);
        let text = report.answer.unwrap_or_default();
        let answer = question.key.extract(typed.as_deref(), &text);
        let sum = Totals::of(entries).debate;
        let busy = Transcript::of("", entries).map_or(0, |transcript| transcript.busy_ms);
        Some(Graded {
            answer: answer.filter(|_| typed.is_some() || !text.is_empty()),
            spent: spent_of(
                sum.usage,
                sum.cost.map(roundtable_core::usage::Money::dollars),
                busy,
            ),
            weighted: weighted(
                sum.usage,
                sum.cost.map(roundtable_core::usage::Money::dollars),
            ),
        })
    }

    fn outcome(&self, place: usize, answer: Option<&str>, spent: Spent) -> Outcome {
        let is_right = answer.is_some_and(|answer| self.questions[place].key.is_right(answer));
        Outcome {
            credit: f64::from(u8::from(is_right)),
            is_answered: answer.is_some(),
            brier: None,
            log: None,
            spent,
        }
    }

    fn arm(&self, name: &str, of: impl Fn(usize) -> Option<Outcome>) -> Option<Arm> {
        let outcomes: Vec<Option<Outcome>> = (0..self.questions.len()).map(of).collect();
        let has_any = outcomes.iter().any(Option::is_some);
        has_any.then(|| Arm {
            name: name.to_owned(),
            outcomes,
        })
    }

    fn single(&self, name: &str, unit: &Unit<'_>) -> Option<Arm> {
        self.arm(name, |place| {
            let graded = self.graded(place, unit)?;
            Some(self.outcome(place, graded.answer.as_deref(), graded.spent))
        })
    }

    /// The number of samples at the budget of a debate, measured on the first questions.
    pub(crate) fn plan(&self, debate: &DebateArm) -> Option<EqualBudget> {
        let measured = 0..self.questions.len().min(MEASURED_QUESTIONS);
        let (mut own, mut call) = (0.0, 0.0);
        for place in measured {
            let debate = self.graded(place, &Unit::Debate(debate));
            let sample = self.graded(place, &Unit::Sample(1));
            if let Some((debate, sample)) = debate.zip(sample) {
                own += debate.weighted;
                call += sample.weighted;
            }
        }
        EqualBudget::of(own, call)
    }

    /// The samples of a question, up to the first that is missing.
    fn samples(&self, place: usize) -> Vec<Graded> {
        let all = (1..).map(|number| self.graded(place, &Unit::Sample(number)));
        all.map_while(|graded| graded).collect()
    }

    /// Self-consistency at the budget of a debate, and what it really spent.
    fn consistency(&self, debate: &DebateArm) -> Option<(Arm, BudgetLine)> {
        let plan = self.plan(debate)?;
        let (mut own, mut reference) = (0.0, 0.0);
        let mut outcomes = Vec::new();
        for (place, question) in self.questions.iter().enumerate() {
            let samples = self.samples(place);
            let count = plan.samples_for(&question.question.id);
            let answers: Vec<Option<String>> =
                samples.iter().map(|one| one.answer.clone()).collect();
            let right = vote_of_samples(count, &answers, |answer| question.key.is_right(answer));
            let debated = self.graded(place, &Unit::Debate(debate));
            let share = real(count) / real(samples.len().max(1));
            outcomes.push(right.map(|credit| {
                if let Some(debated) = &debated {
                    let all: f64 = samples.iter().map(|one| one.weighted).sum();
                    own += all * share;
                    reference += debated.weighted;
                }
                let spent = Spent::sum(samples.iter().map(|one| one.spent));
                Outcome {
                    credit,
                    is_answered: answers.iter().any(Option::is_some),
                    brier: None,
                    log: None,
                    spent: spent.scaled(share),
                }
            }));
        }
        let is_equal = is_equal(own, reference);
        let spent = own / reference;
        let budget = if is_equal {
            format!("equal budget with {}", debate.name)
        } else {
            format!("{spent:.2} of the budget of {}", debate.name)
        };
        let name = format!("vote of k ({budget})");
        outcomes.iter().any(Option::is_some).then(|| {
            let line = BudgetLine {
                arm: name.clone(),
                debate: debate.name.clone(),
                plan,
                spent,
                is_equal,
            };
            (Arm { name, outcomes }, line)
        })
    }

    /// One call to each of several models; ties are shared.
    fn vote_of_models(&self) -> Option<Arm> {
        self.arm(MODELS, |place| {
            let units = self.models.iter().map(|model| Unit::Model(model));
            let graded: Option<Vec<Graded>> = units.map(|unit| self.graded(place, &unit)).collect();
            let graded = graded.filter(|graded| !graded.is_empty())?;
            let answers: Vec<Option<String>> =
                graded.iter().map(|one| one.answer.clone()).collect();
            let key = &self.questions[place].key;
            let credit = vote_of_samples(answers.len(), &answers, |answer| key.is_right(answer))?;
            Some(Outcome {
                credit,
                is_answered: answers.iter().any(Option::is_some),
                brier: None,
                log: None,
                spent: Spent::sum(graded.iter().map(|one| one.spent)),
            })
        })
    }

    /// The blind answers of a debate, if it has them: nothing is asked again.
    fn blind(&self, debate: &DebateArm) -> Option<Record> {
        let mut seats: Vec<Seat> = Vec::new();
        let mut rows: Vec<(usize, usize, Option<String>, Spent)> = Vec::new();
        for (place, question) in self.questions.iter().enumerate() {
            let Some(entries) = self.journal(place, &Unit::Debate(debate)) else {
                continue;
            };
            for (step, typed) in blind_steps(entries) {
                let name = &step.call.seat;
                let seat = seats.iter().position(|seat| seat.name == *name);
                let seat = seat.unwrap_or_else(|| {
                    seats.push(Seat {
                        name: name.clone(),
                        family: None,
                    });
                    seats.len() - 1
                });
                let answer = question.key.extract(typed, &step.text);
                let spent = &step.call.spent;
                let cost = spent.cost.map(roundtable_core::usage::Money::dollars);
                let spent = spent_of(spent.usage, cost, spent.latency_ms);
                rows.push((place, seat, answer, spent));
            }
        }
        if seats.len() < 2 {
            return None;
        }
        // The right answer of every question is 0; others are numbered by question.
        let questions = self.questions.iter().map(|one| (one.question.clone(), 0));
        let mut record = Record::new(questions.collect(), seats, 1, false);
        let mut numbers: HashMap<(usize, String), u32> = HashMap::new();
        for (place, seat, answer, spent) in rows {
            let key = &self.questions[place].key;
            let answer = answer.map(|answer| {
                if key.is_right(&answer) {
                    return 0;
                }
                let next = u32::try_from(numbers.len() + 1).unwrap_or(u32::MAX);
                *numbers.entry((place, answer)).or_insert(next)
            });
            let cell = Cell {
                answer,
                probability: None,
                spent,
            };
            record.set(place, 0, seat, cell);
        }
        Some(record)
    }

    /// The accuracy of the vote of every number of samples that all questions have.
    fn votes_of_k(&self) -> Vec<VoteOfK> {
        let samples: Vec<(usize, Vec<Option<String>>)> = (0..self.questions.len())
            .map(|place| {
                let graded = self.samples(place);
                (place, graded.into_iter().map(|one| one.answer).collect())
            })
            .filter(|(_, answers): &(usize, Vec<_>)| !answers.is_empty())
            .collect();
        let most = samples.iter().map(|(_, answers)| answers.len()).min();
        (1..=most.unwrap_or(0))
            .filter_map(|k| {
                let credits: Option<Vec<f64>> = samples
                    .iter()
                    .map(|(place, answers)| {
                        let key = &self.questions[*place].key;
                        vote_of_samples(k, answers, |answer| key.is_right(answer))
                    })
                    .collect();
                Some(VoteOfK {
                    samples: k,
                    accuracy: mean(&credits?)?,
                    questions: samples.len(),
                })
            })
            .collect()
    }

    /// Corrections and collapses from the blind round to the result.
    fn moves(&self, debate: &DebateArm, record: &Record) -> RoundMoves {
        let blind = record.arms(Ties::First);
        let blind = blind.iter().find(|arm| arm.name == "vote");
        let mut panel = Moves::default();
        for place in 0..self.questions.len() {
            let before = blind.and_then(|arm| arm.outcomes[place]);
            let after = self.graded(place, &Unit::Debate(debate));
            if let Some((before, after)) = before.zip(after) {
                let is_right = |answer: &str| self.questions[place].key.is_right(answer);
                let after = after.answer.is_some_and(|answer| is_right(&answer));
                panel.add(
                    Some(u32::from(before.credit < 0.5)),
                    Some(u32::from(!after)),
                    0,
                );
            }
        }
        RoundMoves {
            round: 2,
            panel,
            seats: Moves::default(),
        }
    }

    /// All arms; the first debate's blind round also gives agreement and independence.
    pub(crate) fn report(
        &self,
        source: (&str, String),
        mut run: RunInfo,
        wanted: Option<&str>,
        with_long: bool,
    ) -> Result<BenchReport, Failure> {
        let mut arms: Vec<Arm> = Vec::new();
        arms.extend(self.single(ONE_CALL, &Unit::Sample(1)));
        if with_long {
            arms.extend(self.single(LONG_CALL, &Unit::Long));
        }
        arms.extend(self.vote_of_models());
        let mut records = Vec::new();
        for debate in self.debates {
            if self.with_samples
                && let Some((arm, line)) = self.consistency(debate)
            {
                arms.push(arm);
                run.budgets.push(line);
            }
            if let Some(record) = self.blind(debate) {
                for (from, to) in [("vote", "blind vote"), ("best seat", "best seat")] {
                    let found = record.arms(Ties::Shared);
                    let found = found.into_iter().find(|arm| arm.name == from);
                    arms.extend(found.map(|arm| Arm {
                        name: format!("{to} of {}", debate.name),
                        ..arm
                    }));
                }
                records.push((*debate, record));
            }
            arms.extend(self.single(&debate.name, &Unit::Debate(debate)));
        }
        if arms.is_empty() {
            return Err(Failure::other("no debate of the bench has ended yet"));
        }
        run.vote_of_k = self.votes_of_k();
        let questions: Vec<Question> = self
            .questions
            .iter()
            .map(|one| one.question.clone())
            .collect();
        let baseline = baseline(&arms, wanted)?;
        let measure = Measure::Accuracy;
        let (rows, comparisons, conclusion) = Evaluation {
            questions: &questions,
            arms: &arms,
            measure,
            baseline,
        }
        .run();
        let clusters: BTreeSet<&str> = questions.iter().map(|one| one.cluster.as_str()).collect();
        let first = records.first();
        Ok(BenchReport {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            source: Source {
                file: source.0.to_owned(),
                sha256: source.1,
                questions: questions.len(),
                clusters: clusters.len(),
                seats: first.map_or(1, |(_, record)| record.seats.len()),
                rounds: 1,
            },
            measure,
            ties: Ties::Shared,
            baseline: baseline.to_owned(),
            is_decided: comparisons
                .iter()
                .any(|one| one.decision != Decision::NotDecided),
            conclusion,
            arms: rows,
            comparisons,
            rounds: records
                .iter()
                .map(|(debate, record)| self.moves(debate, record))
                .collect(),
            movements: Vec::new(),
            agreement: first
                .map(|(_, record)| agreement(record))
                .unwrap_or_default(),
            any_right: first.and_then(|(_, record)| record.any_right()),
            independence: first.and_then(|(_, record)| record.independence()),
            seats: first
                .map(|(_, record)| record.seat_figures())
                .unwrap_or_default(),
            notes: notes(&run),
            run: Some(run),
        })
    }

    /// The models that answered.
    pub(crate) fn served(&self) -> Vec<String> {
        let calls = self.journals.values().flatten();
        let calls = calls.filter_map(|entry| entry.event.call());
        let models: BTreeSet<String> = calls.map(|call| call.model.clone()).collect();
        models.into_iter().collect()
    }
}

fn notes(run: &RunInfo) -> Vec<String> {
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
    if run.unfinished > 0 {
        notes.push(format!(
            "{} of the debates and calls have not ended; questions count for an arm only if it answered them.",
            run.unfinished
        ));
    }
    notes
}

/// The blind answers of a debate, each with its typed answer.
fn blind_steps(entries: &[Entry]) -> Vec<(&FinishedStep, Option<&str>)> {
    let blind = protocols::of_journal(entries).and_then(AnyProtocol::blind);
    let Some(blind) = blind else {
        return Vec::new();
    };
    let steps = entries.iter().filter_map(|entry| entry.event.finished());
    let is_blind = |step: &FinishedStep| step.call.step.rsplit('/').next() == Some(blind.verb);
    let mut found: Vec<(&FinishedStep, Option<&str>)> = steps
        .filter(|step| is_blind(step))
        .map(|step| (&**step, step.reply[blind.field].as_str()))
        .collect();
    // In the order of the cast, not of the replies: the first seat wins ties.
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let place = |name: &str| {
        let mut seats = setup.map(|setup| setup.seats.iter()).into_iter().flatten();
        seats.position(|seated| seated.seat.name == name)
    };
    found.sort_by_key(|(step, _)| place(&step.call.seat));
    found
}

fn spent_of(usage: Usage, cost: Option<f64>, ms: u64) -> Spent {
    Spent {
        tokens: Some(count(usage.total())),
        cost,
        seconds: Some(count(ms) / 1000.0),
    }
}

/// Money if the price is known, otherwise weighted tokens.
fn weighted(usage: Usage, cost: Option<f64>) -> f64 {
    let tokens = Weights::default().tokens(usage.input, usage.output, usage.cached);
    cost.filter(|cost| *cost > 0.0).unwrap_or(tokens)
}

fn count(value: u64) -> f64 {
    real(usize::try_from(value).unwrap_or(usize::MAX))
}
