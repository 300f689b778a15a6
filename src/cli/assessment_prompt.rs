//! Asks the user on the terminal how a decision turned out.

use std::io::{self, BufRead, IsTerminal};

use roundtable_core::bounded::Probability;
use roundtable_core::learning::Mark;
use roundtable_engine::retrospective::{
    AgentVerdict, Assessment, DebateRecord, Finding, LessonLearned, Marked, MarkedEvidence,
    NewQuestion, QuestionAsked, WantedSkill, evidence_items,
};

use super::output;
use crate::failure::Failure;

pub(super) fn ask(record: &DebateRecord) -> Result<Assessment, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "cannot ask for the assessment: standard input is not a terminal. Pass a file with --from FILE",
        ));
    }
    let mut input = io::stdin().lock();
    Prompt {
        input: &mut input,
        print: &mut output::stream,
    }
    .assessment(record)
}

struct Prompt<'a, R: BufRead> {
    input: &'a mut R,
    print: &'a mut dyn FnMut(&str),
}

impl<R: BufRead> Prompt<'_, R> {
    fn assessment(&mut self, record: &DebateRecord) -> Result<Assessment, Failure> {
        let decision = record.final_consensus.as_ref();
        let decision = decision.and_then(|consensus| consensus.decision.as_deref());
        let decision = decision.unwrap_or("no decision was recorded");
        (self.print)(&output::harmless(&format!(
            "{}\nDecision: {decision}\n\nPress Enter to skip a question or to end a list.\n\n",
            record.topic
        )));
        let accuracy = loop {
            match self.percent("How accurate was the decision, in percent? ")? {
                Some(accuracy) => break accuracy,
                None => (self.print)("This answer is required.\n"),
            }
        };
        Ok(Assessment {
            decision_accuracy: accuracy,
            evidence: self.evidence_marks(record)?,
            agents: self.agent_verdicts(record)?,
            what_went_right: self.findings("What went right?")?,
            what_went_wrong: self.findings("What went wrong?")?,
            lessons_learned: self
                .list("What are the lessons?")?
                .into_iter()
                .map(|lesson| LessonLearned {
                    lesson,
                    ..LessonLearned::default()
                })
                .collect(),
            questions_asked: self.useful_questions(record)?,
            required_questions: self
                .list("Which questions should have been asked before the debate?")?
                .into_iter()
                .map(|question| NewQuestion {
                    question,
                    reason: format!("missed in '{}'", record.project_name),
                    effectiveness_estimate: None,
                })
                .collect(),
            skills: self
                .list("Which skills did the panel lack?")?
                .into_iter()
                .map(|skill_name| WantedSkill {
                    skill_name,
                    reason: format!("lacking in '{}'", record.project_name),
                    ..WantedSkill::default()
                })
                .collect(),
        })
    }

    fn evidence_marks(&mut self, record: &DebateRecord) -> Result<Vec<MarkedEvidence>, Failure> {
        let pieces = evidence_items(record);
        if !pieces.is_empty() {
            (self.print)(
                "How did the evidence turn out? [v]alidated, [r]efuted, [d]ismissed but relevant, [i]ncomplete\n",
            );
        }
        let mut marks = Vec::new();
        for piece in pieces {
            let claims = match &piece.claims[..] {
                [] => String::new(),
                claims => format!(" ({})", claims.join(", ")),
            };
            let question = format!("  {} {}{claims}: ", piece.kind, piece.citation);
            let mark = self.choice(&question, |letter| match letter {
                'v' => Some(Mark::Validated),
                'r' => Some(Mark::Refuted),
                'd' => Some(Mark::DismissedButRelevant),
                'i' => Some(Mark::Incomplete),
                _ => None,
            })?;
            marks.extend(mark.map(|mark| MarkedEvidence {
                of: Marked::Citation {
                    words: piece.citation,
                    kind: None,
                },
                mark,
                note: None,
            }));
        }
        Ok(marks)
    }

    fn agent_verdicts(&mut self, record: &DebateRecord) -> Result<Vec<AgentVerdict>, Failure> {
        let mut verdicts = Vec::new();
        for agent in record.agents() {
            let question = format!("How accurate was {agent}, in percent? ");
            verdicts.extend(self.percent(&question)?.map(|accuracy| AgentVerdict {
                agent: agent.to_owned(),
                accuracy,
                note: None,
            }));
        }
        Ok(verdicts)
    }

    fn useful_questions(&mut self, record: &DebateRecord) -> Result<Vec<QuestionAsked>, Failure> {
        let mut answers = Vec::new();
        for question in &record.required_questions {
            let helped = self.choice(
                &format!("Was the question '{question}' useful? [y]es, [n]o: "),
                |letter| match letter {
                    'y' => Some(true),
                    'n' => Some(false),
                    _ => None,
                },
            )?;
            answers.extend(helped.map(|helped| QuestionAsked {
                question: question.clone(),
                helped,
            }));
        }
        Ok(answers)
    }

    fn findings(&mut self, question: &str) -> Result<Vec<Finding>, Failure> {
        let findings = self.list(question)?.into_iter().map(|aspect| Finding {
            aspect,
            ..Finding::default()
        });
        Ok(findings.collect())
    }

    fn list(&mut self, question: &str) -> Result<Vec<String>, Failure> {
        (self.print)(&format!("{question}\n"));
        let mut lines = Vec::new();
        loop {
            let line = self.line("  - ")?;
            if line.is_empty() {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    fn percent(&mut self, question: &str) -> Result<Option<Probability>, Failure> {
        loop {
            let line = self.line(question)?;
            if line.is_empty() {
                return Ok(None);
            }
            let number = line.trim_end_matches('%').trim().parse::<f64>().ok();
            if number.is_some_and(|number| 0.0 < number && number < 1.0) && !line.ends_with('%') {
                (self.print)("Enter percent: 70 for 70%, or 0.7% for less than one percent.\n");
                continue;
            }
            let share = number.and_then(|percent| Probability::new(percent / 100.0).ok());
            if share.is_some() {
                return Ok(share);
            }
            (self.print)("Enter a number from 0 to 100.\n");
        }
    }

    fn choice<T>(
        &mut self,
        question: &str,
        parse: impl Fn(char) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        loop {
            let line = self.line(question)?;
            let Some(letter) = line.chars().next() else {
                return Ok(None);
            };
            if let Some(choice) = parse(letter.to_ascii_lowercase()) {
                return Ok(Some(choice));
            }
            (self.print)("Enter one of the letters in brackets.\n");
        }
    }

    fn line(&mut self, question: &str) -> Result<String, Failure> {
        (self.print)(&output::harmless(question));
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(0) => Err(Failure::usage(
                "the input ended before the last question; nothing was saved",
            )),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(error) => Err(Failure::other(format!(
                "cannot read standard input: {error}"
            ))),
        }
    }
}

#[cfg(test)]
#[path = "assessment_prompt_tests.rs"]
mod tests;
