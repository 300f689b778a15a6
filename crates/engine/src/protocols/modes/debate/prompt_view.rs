//! The parts of the debate that prompts show: context, earlier turns, passages, ids, within their token limits. In anonymous
//! modes they name no seat.

use roundtable_core::state::{Claim, ClaimStatus};
use sha2::{Digest, Sha256};

use super::{Debate, Round, SeatTurn, WITHHELD};
use crate::context::{Context, Fixed, Limits, Material, PastTurn, RoundSummary, Shown};
use crate::event::Words;
use crate::mode::{SpeakingOrder, Visibility};
use crate::protocols::modes::enhanced::PromptEvidence;
use crate::protocols::modes::panel::Panelist;
use crate::tokens;
use crate::tools::{self, Toolbox};

/// Tokens of the templates, without the texts of the mode.
const TEMPLATE_TOKENS: u64 = 1100;
const MAX_USER_INPUT_TOKENS: u64 = 600;
const MIN_USER_INPUT_TOKENS: u64 = 8;
/// Passages of the user's sources, shown to seats that cannot search them.
const MAX_PASSAGE_TOKENS: u64 = 1200;
const MAX_PASSAGE_TOKENS_SMALL: u64 = 250;
const MAX_PASSAGES: usize = 8;
/// A position or a blocker as other seats read it.
const MAX_HEAD_TOKENS: u64 = 60;
const MAX_CLAIM_TOKENS: u64 = 30;
const MAX_CLAIM_IDS: usize = 80;

/// Whether a turn's new claims are shown by id or in full: in the current round they are not in the shown state yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimDetail {
    Id,
    Full,
}

impl Debate {
    /// Keeps what the user said, up to the limit; the newest messages take precedence.
    pub fn set_user_input(&mut self, words: Vec<Words>) {
        let mut left = MAX_USER_INPUT_TOKENS;
        let mut kept: Vec<Words> = Vec::new();
        for mut message in words.into_iter().rev() {
            if left < MIN_USER_INPUT_TOKENS {
                break;
            }
            message.text = tokens::shorten(&message.text, left);
            left = left.saturating_sub(tokens::count(&message.text));
            kept.insert(0, message);
        }
        self.user_input = kept;
    }

    /// Computes the prompt parts that all seats of this round share.
    pub fn prepare_prompts(&mut self, round: u32) {
        let enhanced = self.enhanced.as_ref();
        self.prompt_evidence = enhanced.map(|enhanced| PromptEvidence::of(enhanced, &self.state));
        self.passages = self.find_passages(round);
        self.context = self.compose_context(round);
    }

    /// The best passages for the question, the focus and the claims of the last round, within their token limit.
    fn find_passages(&self, round: u32) -> Vec<String> {
        let sources = &self.rules.sources;
        let all_search = self
            .panel
            .seats
            .iter()
            .all(|seat| self.rules.tool_seats.contains(&seat.name));
        if sources.is_empty() || all_search {
            return Vec::new();
        }
        let last = self.rounds.last().map_or(0, |round| round.number);
        let claims = self.state.claims.iter();
        let claims = claims.filter(|claim| last > 0 && claim.last_updated_round == last);
        let words: Vec<&str> = std::iter::once(self.question.as_str())
            .chain(self.rules.focus.get(&round).map(String::as_str))
            .chain(claims.map(|claim| claim.text.as_str()))
            .collect();
        let mut left = if self.panel.is_small() {
            MAX_PASSAGE_TOKENS_SMALL
        } else {
            MAX_PASSAGE_TOKENS
        };
        let mut passages = Vec::new();
        for passage in sources.search(&words.join(" "), MAX_PASSAGES) {
            let quoted = tools::quoted(passage, left);
            let count = tokens::count(&quoted);
            if count > left {
                break;
            }
            left -= count;
            passages.push(quoted);
        }
        passages
    }

    /// The passages found for a seat; none if the seat searches itself.
    pub fn passages_for(&self, seat: &str) -> &[String] {
        if self.rules.tool_seats.contains(seat) {
            &[]
        } else {
            &self.passages
        }
    }

    /// The tools of a seat whose model can call them.
    pub fn toolbox_of(&self, seat: &str) -> Option<Toolbox> {
        let has_tools = self.rules.tool_seats.contains(seat);
        has_tools.then(|| Toolbox::new(self.rules.sources.clone()))
    }

    fn compose_context(&mut self, round: u32) -> Context {
        let previous = self
            .rounds
            .last()
            .map_or_else(Vec::new, |round| self.past_turns(round, ClaimDetail::Id));
        let summaries: Vec<RoundSummary> = self
            .rounds
            .iter()
            .filter_map(|round| round.summary.clone())
            .collect();
        // The first prompt has no history to shorten, so the other parts need no counting.
        let fixed = if self.rounds.is_empty() {
            Fixed::default()
        } else {
            self.fixed_parts(round)
        };
        let material = Material {
            round,
            state: &self.state,
            summaries: &summaries,
            previous: &previous,
            visibility: self.rules.mode.visibility,
            fixed: &fixed,
        };
        let mut window = self.window.clone();
        let context = window.compose(&material);
        self.window = window;
        Context {
            state: self.anonymize(&context.state),
            summaries: context
                .summaries
                .into_iter()
                .map(|shown| Shown {
                    text: self.anonymize(&shown.text),
                    ..shown
                })
                .collect(),
            ..context
        }
    }

    /// The parts of a prompt that are not the debate itself.
    fn fixed_parts(&self, round: u32) -> Fixed<'_> {
        let user_input = self.user_input.iter().map(|words| words.text.as_str());
        let focus = self.rules.focus.get(&round).map(String::as_str);
        let passages = self.passages.iter().map(String::as_str);
        let current = match self.rules.mode.order {
            SpeakingOrder::Parallel => 0,
            SpeakingOrder::Sequence | SpeakingOrder::RedThenBlue => Limits::FULL.current,
        };
        let evidence = self
            .prompt_evidence
            .as_ref()
            .map_or(0, PromptEvidence::tokens);
        Fixed {
            texts: self
                .rules
                .mode
                .texts()
                .chain(user_input)
                .chain(focus)
                .chain(passages)
                .chain([self.question.as_str()])
                .collect(),
            others: TEMPLATE_TOKENS + current + evidence,
        }
    }

    /// The debate as every seat of this round reads it.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The debate as the chair reads it at the end.
    pub fn closing_context(&mut self) -> Context {
        let next = self.rounds.last().map_or(1, |round| round.number + 1);
        self.compose_context(next)
    }

    /// The turns of this round so far. Seats of one group do not hear each other.
    pub fn current_turns(&self) -> Vec<Shown> {
        let turns = self
            .rounds
            .last()
            .map_or_else(Vec::new, |round| self.past_turns(round, ClaimDetail::Full));
        self.window.current(&turns)
    }

    /// This round for the safety evaluator, which has to name seats in anonymous modes too.
    pub fn turns_for_evaluator(&self) -> Vec<Shown> {
        let turns = self.rounds.last().map_or_else(Vec::new, |round| {
            let turns = round.turns.iter();
            let past = turns.map(|turn| PastTurn {
                by: turn.seat.clone(),
                head: self.head(round, turn, ClaimDetail::Full),
                argument: turn.reply.argument.clone(),
            });
            past.collect()
        });
        self.window.in_full(&turns)
    }

    /// Arguments of the other seats in this round and the one before, to detect echoes.
    pub fn peers_of(&self, seat: &str) -> Vec<(String, String)> {
        let rounds = self.rounds.iter().rev().take(2);
        let turns = rounds
            .flat_map(|round| &round.turns)
            .filter(|turn| turn.seat != seat);
        turns
            .map(|turn| {
                let name = match self.rules.mode.visibility {
                    Visibility::Named => turn.seat.clone(),
                    Visibility::Anonymous => "another participant".to_owned(),
                };
                (name, turn.reply.argument.clone())
            })
            .collect()
    }

    /// Ids of claims that a reply may name: the newest, and all contested ones.
    pub fn claim_ids(&self) -> Vec<String> {
        let skipped = self.state.claims.len().saturating_sub(MAX_CLAIM_IDS);
        let is_kept = |(index, claim): &(usize, &Claim)| {
            *index >= skipped || claim.status == ClaimStatus::Contested
        };
        let claims = self.state.claims.iter().enumerate().filter(is_kept);
        claims.map(|(_, claim)| claim.id.clone()).collect()
    }

    /// Ids of claims and decisions.
    pub fn supportable_ids(&self) -> Vec<String> {
        let decisions = self.state.decisions.iter();
        let decisions = decisions.map(|decision| decision.id.clone());
        self.claim_ids().into_iter().chain(decisions).collect()
    }

    /// The turns of a round as other seats read them.
    fn past_turns(&self, round: &Round, detail: ClaimDetail) -> Vec<PastTurn> {
        let mut turns: Vec<PastTurn> = round
            .turns
            .iter()
            .map(|turn| self.past_turn(round, turn, detail))
            .collect();
        if self.rules.mode.visibility == Visibility::Anonymous {
            // An order that stays the same from round to round would identify the seats.
            let key = |turn: &PastTurn| {
                Sha256::digest(format!("{}/{}/{}", self.seed, round.number, turn.argument)).to_vec()
            };
            turns.sort_by_cached_key(key);
        }
        turns
    }

    fn past_turn(&self, round: &Round, turn: &SeatTurn, detail: ClaimDetail) -> PastTurn {
        let by = match self.rules.mode.visibility {
            Visibility::Named => format!("{}, round {}", self.label(&turn.seat), round.number),
            Visibility::Anonymous => "a participant".to_owned(),
        };
        if turn.is_hidden {
            return PastTurn {
                by,
                head: WITHHELD.to_owned(),
                argument: String::new(),
            };
        }
        let head = self.head(round, turn, detail);
        PastTurn {
            by,
            head: self.anonymize(&head),
            argument: self.anonymize(&turn.reply.argument),
        }
    }

    /// A seat with its team or stance.
    fn label(&self, seat: &str) -> String {
        match self.panel.seat(seat) {
            Some(Panelist {
                team: Some(team), ..
            }) => format!("{seat} of the {} team", team.name()),
            Some(Panelist {
                stance: Some(stance),
                ..
            }) => format!("{seat}, for {}", stance.name()),
            Some(_) | None => seat.to_owned(),
        }
    }

    /// Vote, position and claims of a turn, in a few lines.
    fn head(&self, round: &Round, turn: &SeatTurn, detail: ClaimDetail) -> String {
        let reply = &turn.reply;
        let shorten = |text: &str| tokens::shorten(text, MAX_HEAD_TOKENS);
        let mut lines = vec![
            format!(
                "{}, confidence {:.2}",
                reply.vote.name(),
                reply.confidence.value()
            ),
            format!("Position: {}", shorten(&reply.position)),
        ];
        let blocker = reply
            .blocker
            .as_deref()
            .filter(|text| !reply.vote.agrees() && !text.trim().is_empty());
        lines.extend(blocker.map(|text| format!("BLOCKER: {}", shorten(text))));
        if let Some(touched) = round.changes.touched.get(&turn.seat) {
            for (verb, ids) in [
                ("New", &touched.introduced),
                ("Supports", &touched.reinforced),
                ("Challenges", &touched.challenged),
                ("Retracts", &touched.retracted),
            ] {
                if !ids.is_empty() {
                    lines.push(format!("{verb}: {}", ids.join(", ")));
                }
            }
            if detail == ClaimDetail::Full {
                let ids = touched.introduced.iter();
                let new = ids.filter_map(|id| self.state.claim(id));
                lines.extend(new.map(|claim| {
                    let text = tokens::shorten(&claim.text, MAX_CLAIM_TOKENS);
                    format!("{} {} {text}", claim.id, claim.tag())
                }));
            }
        }
        lines.join("\n")
    }

    /// In anonymous modes, replaces all names and titles of seats, also those a seat wrote itself.
    fn anonymize(&self, text: &str) -> String {
        match self.rules.mode.visibility {
            Visibility::Named => text.to_owned(),
            Visibility::Anonymous => self.panel.seats.iter().fold(text.to_owned(), |text, seat| {
                let names = [seat.name.as_str(), seat.title.as_str(), seat.anchor.name()];
                names
                    .into_iter()
                    .fold(text, |text, name| replace_name(&text, name))
            }),
        }
    }
}

/// Replaces every mention of a name as a whole word, in any case, by "a participant".
fn replace_name(text: &str, name: &str) -> String {
    let lower = text.to_lowercase();
    let name = name.to_lowercase();
    // Byte offsets are the same in both texts only if no character changes its length.
    let keeps_length =
        |c: char| c.to_lowercase().map(char::len_utf8).sum::<usize>() == c.len_utf8();
    if name.is_empty() || !lower.contains(&name) || !text.chars().all(keeps_length) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(&name) {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_whole = !is_word(lower[..at].chars().next_back())
            && !is_word(lower[at + found.len()..].chars().next());
        if is_whole && at >= from {
            clean.push_str(&text[from..at]);
            clean.push_str("a participant");
            from = at + found.len();
        }
    }
    clean.push_str(&text[from..]);
    clean
}
