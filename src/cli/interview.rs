//! Asks a person on the terminal how a decision came out.

use std::io::{self, BufRead, IsTerminal};

use roundtable_core::bounded::Probability;
use roundtable_core::learning::Mark;
use roundtable_engine::retrospective::{
    AgentVerdict, Assessment, DebateRecord, Finding, LessonLearned, Marked, MarkedEvidence,
    NewQuestion, QuestionAsked, WantedSkill, evidence_items,
};

use super::output;
use crate::failure::Failure;

/// Nobody can be asked where nobody sits.
pub(super) fn ask(record: &DebateRecord) -> Result<Assessment, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask on; give the assessment with --from FILE",
        ));
    }
    let mut input = io::stdin().lock();
    Interview {
        input: &mut input,
        say: &mut output::stream,
    }
    .held(record)
}

struct Interview<'a, R: BufRead> {
    input: &'a mut R,
    say: &'a mut dyn FnMut(&str),
}

impl<R: BufRead> Interview<'_, R> {
    fn held(&mut self, record: &DebateRecord) -> Result<Assessment, Failure> {
        let decision = record.final_consensus.as_ref();
        let decision = decision.map_or("", |it| it.decision.as_str());
        (self.say)(&output::harmless(&format!(
            "{}\nDecision: {decision}\n\nAn empty line skips a question or ends a list.\n\n",
            record.topic
        )));
        let accuracy = loop {
            match self.share("How right was the decision, in percent? ")? {
                Some(accuracy) => break accuracy,
                None => (self.say)("That one is needed.\n"),
            }
        };
        Ok(Assessment {
            decision_accuracy: accuracy,
            evidence: self.marks(record)?,
            agents: self.agents(record)?,
            what_went_right: self.findings("What went right?")?,
            what_went_wrong: self.findings("What went wrong?")?,
            lessons_learned: self
                .list("What is to be learned from it?")?
                .into_iter()
                .map(|lesson| LessonLearned {
                    lesson,
                    actionable: None,
                    estimated_impact: None,
                })
                .collect(),
            questions_asked: self.asked(record)?,
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
                    evidence: None,
                    expected_improvement: None,
                })
                .collect(),
        })
    }

    fn marks(&mut self, record: &DebateRecord) -> Result<Vec<MarkedEvidence>, Failure> {
        let pieces = evidence_items(record);
        if !pieces.is_empty() {
            (self.say)(
                "What became of the evidence? [v]alidated, [r]efuted, [d]ismissed but relevant, [i]ncomplete\n",
            );
        }
        let mut marks = Vec::new();
        for piece in pieces {
            let of = match &piece.claims[..] {
                [] => String::new(),
                claims => format!(" ({})", claims.join(", ")),
            };
            let question = format!("  {} {}{of}: ", piece.kind, piece.citation);
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

    fn agents(&mut self, record: &DebateRecord) -> Result<Vec<AgentVerdict>, Failure> {
        let mut verdicts = Vec::new();
        for agent in record.agents() {
            let question = format!("How right was {agent}, in percent? ");
            verdicts.extend(self.share(&question)?.map(|accuracy| AgentVerdict {
                agent: agent.to_owned(),
                accuracy,
                note: None,
            }));
        }
        Ok(verdicts)
    }

    fn asked(&mut self, record: &DebateRecord) -> Result<Vec<QuestionAsked>, Failure> {
        let mut asked = Vec::new();
        for question in &record.required_questions {
            let helped = self.choice(
                &format!("Did it help to ask '{question}'? [y]es, [n]o: "),
                |letter| match letter {
                    'y' => Some(true),
                    'n' => Some(false),
                    _ => None,
                },
            )?;
            asked.extend(helped.map(|helped| QuestionAsked {
                question: question.clone(),
                helped,
            }));
        }
        Ok(asked)
    }

    fn findings(&mut self, question: &str) -> Result<Vec<Finding>, Failure> {
        let findings = self.list(question)?.into_iter().map(|aspect| Finding {
            aspect,
            validation: None,
            note: None,
            evidence_type_accuracy: None,
        });
        Ok(findings.collect())
    }

    fn list(&mut self, question: &str) -> Result<Vec<String>, Failure> {
        (self.say)(&format!("{question}\n"));
        let mut lines = Vec::new();
        loop {
            let line = self.line("  - ")?;
            if line.is_empty() {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    fn share(&mut self, question: &str) -> Result<Option<Probability>, Failure> {
        loop {
            let line = self.line(question)?;
            if line.is_empty() {
                return Ok(None);
            }
            let percent = line.trim_end_matches('%').trim().parse::<f64>().ok();
            let share = percent.and_then(|percent| Probability::new(percent / 100.0).ok());
            if share.is_some() {
                return Ok(share);
            }
            (self.say)("A number from 0 to 100, please.\n");
        }
    }

    fn choice<T>(
        &mut self,
        question: &str,
        read: impl Fn(char) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        loop {
            let line = self.line(question)?;
            let Some(letter) = line.chars().next() else {
                return Ok(None);
            };
            if let Some(chosen) = read(letter.to_ascii_lowercase()) {
                return Ok(Some(chosen));
            }
            (self.say)("One of the letters in brackets, please.\n");
        }
    }

    fn line(&mut self, question: &str) -> Result<String, Failure> {
        (self.say)(&output::harmless(question));
        let mut line = String::new();
        let read = self.input.read_line(&mut line);
        match read {
            Ok(0) => Err(Failure::usage(
                "the answers ended before the last question; nothing was recorded",
            )),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(error) => Err(Failure::other(format!("cannot read the answer: {error}"))),
        }
    }
}

#[cfg(test)]
#[path = "interview_tests.rs"]
mod tests;
