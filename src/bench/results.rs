//! From the journals of a bench to its report: answers are extracted and graded, arms built and compared.

mod blind_round;
mod run_info;

use std::collections::BTreeSet;

use roundtable_core::bench::{
    Arm, Decision, EqualBudget, Key, Measure, Outcome, Question, Spent, Ties, Weights, agreement,
    is_equal,
};
use roundtable_core::spread::{mean, real};
use roundtable_core::usage::{Money, Usage};
use roundtable_engine::event::Entry;
use roundtable_engine::protocols;
use roundtable_engine::totals::Totals;
use roundtable_engine::transcript::Transcript;

use super::comparison::Outcomes;
use super::judge::{self, Answers};
use super::plan::{DebateArm, LONG_CALL, MODELS, ONE_CALL, Unit};
use super::questions::BenchQuestion;
use super::run::Journals;
use super::{BenchReport, Evaluation, Source, VERSION, baseline};
use crate::failure::Failure;
use run_info::common_notes;
pub(crate) use run_info::{BudgetLine, MEASURED_QUESTIONS, RunInfo, VoteOfK};

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
    pub with_noise: bool,
    pub seed: u64,
    /// The judge of open answers.
    pub judge: Option<&'a str>,
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
            spent: spent_of(sum.usage, sum.cost.map(Money::dollars), busy),
            weighted: weighted(sum.usage, sum.cost.map(Money::dollars)),
        })
    }

    /// `None` for an open answer that is not graded yet.
    fn outcome(&self, place: usize, answer: Option<&str>, spent: Spent) -> Option<Outcome> {
        let mut outcome = self.questions[place].key.outcome(answer, spent);
        if let Some((answer, judge)) = answer.zip(self.judge) {
            outcome.credit = judge::credit(self.journals, place, answer, judge)?;
        }
        Some(outcome)
    }

    /// The answers that the arms gave, for a judge.
    pub(crate) fn open_answers(&self, units: &[Unit<'_>]) -> Answers {
        let noise = self.debates.iter().filter(|_| self.with_noise);
        let units: Vec<Unit<'_>> = units
            .iter()
            .copied()
            .chain(noise.map(|debate| Unit::Noise(debate)))
            .collect();
        let places = 0..self.questions.len();
        places
            .flat_map(|place| units.iter().map(move |unit| (place, unit)))
            .filter_map(|(place, unit)| Some((place, self.graded(place, unit)?.answer?)))
            .collect()
    }

    /// Probabilities are scored by their Brier score.
    fn measure(&self) -> Measure {
        let first = self.questions.first().map(|question| &question.key);
        match first {
            Some(Key::Probability { .. }) => Measure::Brier,
            _ => Measure::Accuracy,
        }
    }

    /// The price of the market, for questions of ForecastBench.
    fn market(&self) -> Option<Arm> {
        let free = Spent {
            tokens: Some(0.0),
            cost: Some(0.0),
            seconds: Some(0.0),
        };
        self.arm("market price", |place| {
            let price = self.questions[place].price?.to_string();
            self.outcome(place, Some(&price), free)
        })
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
            self.outcome(place, graded.answer.as_deref(), graded.spent)
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
            let debated = self.graded(place, &Unit::Debate(debate));
            let share = real(count) / real(samples.len().max(1));
            let spent = Spent::sum(samples.iter().map(|one| one.spent)).scaled(share);
            let outcome = question.key.together(count, &answers, spent);
            if outcome.is_some()
                && let Some(debated) = &debated
            {
                let all: f64 = samples.iter().map(|one| one.weighted).sum();
                own += all * share;
                reference += debated.weighted;
            }
            outcomes.push(outcome);
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
            let spent = Spent::sum(graded.iter().map(|one| one.spent));
            let key = &self.questions[place].key;
            key.together(answers.len(), &answers, spent)
        })
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
                        Some(key.together(k, answers, Spent::default())?.credit)
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

    /// All arms; the first debate's blind round also gives agreement and independence.
    pub(crate) fn report(
        &self,
        source: (&str, String),
        mut run: RunInfo,
        wanted: Option<&str>,
        with_long: bool,
    ) -> Result<BenchReport, Failure> {
        let mut arms: Vec<Arm> = Vec::new();
        arms.extend(self.market());
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
            if let Some(record) = self.blind(debate).filter(|_| self.judge.is_none()) {
                for (from, to) in [
                    ("vote", "blind vote"),
                    ("mean", "blind mean"),
                    ("best seat", "best seat"),
                ] {
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
            if self.with_noise {
                arms.extend(self.noise(debate));
            }
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
        let measure = self.measure();
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
            movements: self
                .debates
                .iter()
                .filter(|_| self.judge.is_none())
                .flat_map(|debate| self.movements(debate))
                .collect(),
            agreement: first
                .map(|(_, record)| agreement(record))
                .unwrap_or_default(),
            any_right: first
                .filter(|_| measure == Measure::Accuracy)
                .and_then(|(_, record)| record.any_right()),
            independence: first.and_then(|(_, record)| record.independence()),
            seats: first
                .map(|(_, record)| record.seat_figures())
                .unwrap_or_default(),
            notes: self.notes(&run),
            run: Some(run),
            outcomes: Outcomes::new(&questions, &arms),
        })
    }

    fn notes(&self, run: &RunInfo) -> Vec<String> {
        let mut notes = common_notes(run);
        if self.with_noise {
            notes.push("A noise control is its debate from the blind round on, in which all blind answers are replaced by those to another question. A debate in which nothing was read is its own control.".to_owned());
        }
        notes
    }

    /// The models that answered.
    pub(crate) fn served(&self) -> Vec<String> {
        let calls = self.journals.values().flatten();
        let calls = calls.filter_map(|entry| entry.event.call());
        let models: BTreeSet<String> = calls.map(|call| call.model.clone()).collect();
        models.into_iter().collect()
    }
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
