//! The parts of the debate that prompts show: context, earlier turns, passages, ids, within their token limits. In anonymous
//! modes they name no seat.

use std::collections::{BTreeMap, BTreeSet};

use roundtable_core::anonymity::mask_self_identification;
use sha2::{Digest, Sha256};

use super::turn_view::Reader;
use super::{Debate, Round, SeatTurn, WITHHELD};
use crate::context::{Context, Fixed, Material, PastTurn, RoundSummary, Shown, View};
use crate::event::Words;
use crate::mode::{SpeakingOrder, Visibility};
use crate::prompt::QuoteTag;
use crate::protocols::modes::enhanced::{PromptEvidence, claim_notes};
use crate::protocols::modes::panel::Panelist;
use crate::tokens;
use crate::tools::{self, Toolbox};

/// Tokens of the templates, without the texts of the mode.
const TEMPLATE_TOKENS: u64 = 850;
const TEMPLATE_TOKENS_SMALL: u64 = 350;
const MAX_USER_INPUT_TOKENS: u64 = 600;
const MIN_USER_INPUT_TOKENS: u64 = 8;
/// Passages of the user's sources, shown to seats that cannot search them.
const MAX_PASSAGE_TOKENS: u64 = 1200;
const MAX_PASSAGE_TOKENS_SMALL: u64 = 250;
const MAX_PASSAGES: usize = 8;

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
            let quoted = tools::quoted(passage, left, &self.quote_tag());
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

    fn quote_tag(&self) -> QuoteTag {
        QuoteTag::of(self.seed, &self.question)
    }

    /// The tools of a seat whose model can call them.
    pub fn toolbox_of(&self, seat: &str) -> Option<Toolbox> {
        let has_tools = self.rules.tool_seats.contains(seat);
        has_tools.then(|| Toolbox::new(self.rules.sources.clone(), self.quote_tag()))
    }

    fn compose_context(&mut self, round: u32) -> Context {
        let previous = self
            .rounds
            .last()
            .map_or_else(Vec::new, |round| self.past_turns(round, Reader::Later));
        let summaries: Vec<RoundSummary> = self
            .rounds
            .iter()
            .filter_map(|round| round.summary.clone())
            .collect();
        // The first prompt has no history to shorten, so the other parts need no counting.
        let fixed = if self.rounds.is_empty() {
            Fixed::default()
        } else {
            let mut fixed = self.fixed_parts(round);
            fixed.others += self.reserved_for_current();
            fixed
        };
        let material = Material {
            state: &self.state,
            summaries: &summaries,
            previous: &previous,
            view: View {
                visibility: self.rules.mode.visibility,
                last_round: round.saturating_sub(1),
                named: &BTreeSet::new(),
                notes: &self.claim_notes(),
            },
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

    /// Findings of the program about claims, by their ids.
    pub(super) fn claim_notes(&self) -> BTreeMap<String, String> {
        let enhanced = self.enhanced.as_ref();
        enhanced.map_or_else(BTreeMap::new, |enhanced| claim_notes(&enhanced.checks))
    }

    /// Tokens that the context of a round leaves to the earlier speakers of the round.
    fn reserved_for_current(&self) -> u64 {
        match self.rules.order() {
            SpeakingOrder::Parallel => 0,
            SpeakingOrder::Sequence | SpeakingOrder::RedThenBlue => self.window.limits().current,
        }
    }

    /// The parts of a prompt that are not the debate itself.
    fn fixed_parts(&self, round: u32) -> Fixed<'_> {
        let user_input = self.user_input.iter().map(|words| words.text.as_str());
        let focus = self.rules.focus.get(&round).map(String::as_str);
        let passages = self.passages.iter().map(String::as_str);
        let mode = &self.rules.mode;
        let (mode_texts, template): (Vec<&str>, u64) = if self.panel.is_small() {
            let role = vec![mode.role.identity.as_str(), mode.role.mission.as_str()];
            (role, TEMPLATE_TOKENS_SMALL)
        } else {
            (mode.texts().collect(), TEMPLATE_TOKENS)
        };
        let evidence = self
            .prompt_evidence
            .as_ref()
            .map_or(0, PromptEvidence::tokens);
        Fixed {
            texts: mode_texts
                .into_iter()
                .chain(user_input)
                .chain(focus)
                .chain(passages)
                .chain([self.question.as_str()])
                .collect(),
            others: template + evidence + self.parent_tokens,
            reserved: if self.rules.tool_seats.is_empty() {
                0
            } else {
                tools::MAX_TOKENS
            },
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
        let Some(round) = self.rounds.last().filter(|round| !round.turns.is_empty()) else {
            return Vec::new();
        };
        let turns = self.past_turns(round, Reader::SameRound);
        let fixed = self.fixed_parts(round.number);
        self.window.current(&turns, &self.context, &fixed)
    }

    /// This round for the safety evaluator, which has to name seats in anonymous modes too and reads all that users read.
    pub fn turns_for_evaluator(&self) -> Vec<Shown> {
        let turns = self.rounds.last().map_or_else(Vec::new, |round| {
            let turns = round.turns.iter();
            let past = turns.map(|turn| PastTurn {
                by: turn.seat.clone(),
                head: self.head(round, turn, Reader::Evaluator),
                points: self.points(round, turn, Reader::Evaluator),
                argument: turn.heard.argument.clone(),
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

    /// Ids of claims that a reply may name: those in its prompt.
    pub fn claim_ids(&self) -> Vec<String> {
        let new = self.rounds.last().map(|round| &round.changes.new_claims);
        let is_shown =
            |id: &String| self.context.ids.contains(id) || new.is_some_and(|new| new.contains(id));
        let ids = self.state.claims.iter().map(|claim| claim.id.clone());
        ids.filter(is_shown).collect()
    }

    /// Ids of claims and decisions.
    pub fn supportable_ids(&self) -> Vec<String> {
        let new = self.rounds.last().map(|round| &round.changes.new_decisions);
        let is_shown =
            |id: &String| self.context.ids.contains(id) || new.is_some_and(|new| new.contains(id));
        let decisions = self.state.decisions.iter().map(|d| d.id.clone());
        let decisions = decisions.filter(is_shown);
        self.claim_ids().into_iter().chain(decisions).collect()
    }

    /// The turns of a round as other seats read them.
    fn past_turns(&self, round: &Round, reader: Reader) -> Vec<PastTurn> {
        let mut turns: Vec<PastTurn> = round
            .turns
            .iter()
            .map(|turn| self.past_turn(round, turn, reader))
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

    fn past_turn(&self, round: &Round, turn: &SeatTurn, reader: Reader) -> PastTurn {
        let by = match self.rules.mode.visibility {
            Visibility::Named => format!("{}, round {}", self.label(&turn.seat), round.number),
            Visibility::Anonymous => "a participant".to_owned(),
        };
        if turn.is_hidden {
            return PastTurn {
                by,
                head: WITHHELD.to_owned(),
                points: Vec::new(),
                argument: String::new(),
            };
        }
        let points = self.points(round, turn, reader);
        PastTurn {
            by,
            head: self.anonymize(&self.head(round, turn, reader)),
            points: points.iter().map(|point| self.anonymize(point)).collect(),
            argument: self.anonymize(&turn.heard.argument),
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

    /// In anonymous modes, masks who a seat says it is. All other words stay.
    fn anonymize(&self, text: &str) -> String {
        match self.rules.mode.visibility {
            Visibility::Named => text.to_owned(),
            Visibility::Anonymous => mask_self_identification(text, &self.panel.own_names()),
        }
    }
}
