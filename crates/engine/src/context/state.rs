//! Renders the debate state within a token budget. How much of each item is shown is decided by
//! [`roundtable_core::shortening`]; this module has the texts.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use roundtable_core::shortening::{self, Detail, Group, Item, Tokens};
use roundtable_core::spread::Spread;
use roundtable_core::state::{
    Blocker, Claim, ClaimStatus, Concern, DebateState, Decision, Evidence, Opponent, ids_in,
};
use roundtable_core::votes::Vote;
use roundtable_core::wording::normal;

use crate::mode::Visibility;
use crate::tokens;

/// Token limits for the words of a claim and of a piece of evidence.
const CLAIM_TEXT: u64 = 30;
pub(super) const EVIDENCE_TEXT: u64 = 25;
const SHORT: u64 = 12;
const BRIEF: u64 = 8;
/// Settled claims and sources that can be shown at all. Older ones do not fit in any case, so they need no texts.
const MAX_SETTLED: usize = 120;
/// The line that says what is left out.
const OMISSION_TOKENS: u64 = 16;

const GROUPS: [Group; 8] = [
    Group::Blocker,
    Group::Contested,
    Group::Accepted,
    Group::Open,
    Group::Retracted,
    Group::Decision,
    Group::Concern,
    Group::Evidence,
];

const fn title(group: Group) -> &'static str {
    match group {
        Group::Blocker => "Open BLOCKERs:",
        Group::Contested => "Contested claims:",
        Group::Accepted => "Accepted claims:",
        Group::Open => "Claims nobody has contested yet:",
        Group::Retracted => "Retracted claims:",
        Group::Decision => "Decisions:",
        Group::Concern => "Concerns raised so far:",
        Group::Evidence => "Evidence:",
    }
}

/// The parameters of the rendering besides the state.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub visibility: Visibility,
    /// The last round that was played.
    pub last_round: u32,
    /// Ids that other parts of the prompt name.
    pub named: &'a BTreeSet<String>,
    /// Remarks on claims by their id, such as the result of a source check.
    pub notes: &'a BTreeMap<String, String>,
}

/// An item's texts at each level of detail.
struct Line {
    /// Empty for a concern.
    id: String,
    group: Group,
    round: u32,
    is_new: bool,
    least: String,
    brief: String,
    short: String,
    full: String,
}

impl Line {
    fn at(&self, detail: Detail) -> Option<&str> {
        match detail {
            Detail::Gone => None,
            Detail::Id => Some(&self.id),
            Detail::Least => Some(&self.least),
            Detail::Brief => Some(&self.brief),
            Detail::Short => Some(&self.short),
            Detail::Full => Some(&self.full),
        }
    }
}

/// The state with the texts of its items, ready to be fitted into different budgets.
pub(super) struct StateText {
    head: String,
    lines: Vec<Line>,
    /// Items too old to be shown in any budget.
    skipped: usize,
    named: BTreeSet<String>,
    items: OnceCell<Vec<Item>>,
}

/// The state as a prompt shows it, with the ids that have a text in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StateShown {
    pub text: String,
    pub ids: BTreeSet<String>,
}

impl StateText {
    pub(super) fn of(state: &DebateState, view: &View<'_>) -> Self {
        let blockers = state.open_blockers().map(|b| blocker_line(b, view));
        let (claims, skipped) = shown_claims(state, view);
        let cited: BTreeSet<&str> = claims
            .iter()
            .flat_map(|claim| ids_in(&claim.full))
            .collect();
        let is_shown = |evidence: &&Evidence| {
            let id = evidence.id.as_str();
            cited.contains(id)
                || view.named.contains(id)
                || evidence.added_round + 1 >= view.last_round
        };
        let evidence: Vec<Line> = state
            .evidence
            .iter()
            .filter(is_shown)
            .map(evidence_line)
            .collect();
        let skipped = skipped + state.evidence.len() - evidence.len();
        let decisions = state.decisions.iter().map(|d| decision_line(d, view));
        let concerns = state.concerns.iter().map(|c| concern_line(c, view));
        let lines: Vec<Line> = blockers
            .chain(decisions)
            .chain(concerns)
            .collect::<Vec<_>>()
            .into_iter()
            .chain(claims)
            .chain(evidence)
            .collect();
        Self {
            head: standings(state, view.visibility),
            lines,
            skipped,
            named: view.named.clone(),
            items: OnceCell::new(),
        }
    }

    /// The state in at most `budget` tokens, or `limit` if what must not be left out is longer.
    pub(super) fn fit(&self, budget: u64, limit: u64) -> StateShown {
        let present = || {
            let is_present = |group: &&Group| self.lines.iter().any(|line| line.group == **group);
            GROUPS.iter().filter(is_present).map(|group| title(*group))
        };
        let titles = present().map(|title| title.len() + 2);
        let bytes: usize = self.lines.iter().map(|line| line.full.len() + 1).sum();
        let bytes = (self.head.len() + titles.sum::<usize>() + bytes) as u64 + OMISSION_TOKENS;
        // A token has at least one byte, so a short text needs no tokenizer.
        let details = if bytes <= budget {
            vec![Detail::Full; self.lines.len()]
        } else {
            let titles = present().map(|title| tokens::count(title) + 1);
            let fixed = tokens::count(&self.head) + titles.sum::<u64>() + OMISSION_TOKENS;
            let left = |tokens: u64| tokens.saturating_sub(fixed);
            shortening::choose(self.items(), left(budget), left(limit))
        };
        self.join(&details)
    }

    fn items(&self) -> &[Item] {
        self.items.get_or_init(|| {
            let places: HashMap<&str, usize> = self
                .lines
                .iter()
                .enumerate()
                .map(|(index, line)| (line.id.as_str(), index))
                .collect();
            let length = |text: &str| tokens::count(&format!("{text}\n"));
            let items = self.lines.iter().map(|line| Item {
                group: line.group,
                round: line.round,
                is_new: line.is_new,
                is_named: self.named.contains(&line.id),
                tokens: Tokens {
                    id: length(&line.id),
                    least: length(&line.least),
                    brief: length(&line.brief),
                    short: length(&line.short),
                    full: length(&line.full),
                },
                names: ids_in(&line.full)
                    .filter(|id| *id != line.id)
                    .filter_map(|id| places.get(id).copied())
                    .collect(),
            });
            items.collect()
        })
    }

    fn join(&self, details: &[Detail]) -> StateShown {
        let mut text = self.head.clone();
        let mut ids = BTreeSet::new();
        for group in GROUPS {
            let lines = self.lines.iter().zip(details);
            let of_group: Vec<(&Line, Detail)> = lines
                .filter(|(line, detail)| line.group == group && **detail != Detail::Gone)
                .map(|(line, detail)| (line, *detail))
                .collect();
            if of_group.is_empty() {
                continue;
            }
            text.push_str("\n\n");
            text.push_str(title(group));
            let (bare, worded): (Vec<_>, Vec<_>) = of_group
                .into_iter()
                .partition(|(_, detail)| *detail == Detail::Id);
            for (line, detail) in worded {
                text.push('\n');
                text.push_str(line.at(detail).unwrap_or_default());
                ids.extend(Some(line.id.clone()).filter(|id| !id.is_empty()));
            }
            if !bare.is_empty() {
                let bare: Vec<String> = bare.iter().map(|(line, _)| line.id.clone()).collect();
                text.push_str("\nearlier: ");
                text.push_str(&bare.join(" "));
                ids.extend(bare);
            }
        }
        let gone = details.iter().filter(|detail| **detail == Detail::Gone);
        let gone = gone.count() + self.skipped;
        if gone > 0 {
            let _ = write!(text, "\n\nOlder and settled, not shown here: {gone}");
        }
        StateShown {
            text: text.trim().to_owned(),
            ids,
        }
    }
}

/// All claims that are open, new or named, and the newest others. The second value is the number of claims left out.
fn shown_claims(state: &DebateState, view: &View<'_>) -> (Vec<Line>, usize) {
    let is_kept = |claim: &&Claim| {
        claim.status == ClaimStatus::Contested
            || claim.introduced_round == view.last_round
            || view.named.contains(&claim.id)
    };
    let settled = state.claims.iter().filter(|claim| !is_kept(claim)).count();
    let skipped = settled.saturating_sub(MAX_SETTLED);
    let mut seen = 0;
    let lines = state.claims.iter().filter(|claim| {
        let is_settled = !is_kept(claim);
        seen += usize::from(is_settled);
        !is_settled || seen > skipped
    });
    let lines = lines.map(|claim| claim_line(claim, view)).collect();
    (lines, skipped)
}

/// Vote and confidence of each seat; for an anonymous panel, of the group.
fn standings(state: &DebateState, visibility: Visibility) -> String {
    if state.agent_status.is_empty() {
        return String::new();
    }
    match visibility {
        Visibility::Named => {
            let lines = state.agent_status.iter().map(|status| {
                let mut line = format!(
                    "{}: {}, confidence {:.2}",
                    status.agent,
                    status.vote.name(),
                    status.confidence.value()
                );
                if status.confidence_delta.abs() >= 0.005 {
                    let _ = write!(line, " ({:+.2})", status.confidence_delta);
                }
                if let Some(stance) = status.stance {
                    let _ = write!(line, ", stance {}", stance.name());
                }
                if let Some(answer) = &status.debate_alignment {
                    let _ = write!(line, ", stands for: {}", tokens::shorten(answer, SHORT));
                }
                line
            });
            format!("Seats:\n{}", lines.collect::<Vec<_>>().join("\n"))
        }
        Visibility::Anonymous => group_figures(state),
    }
}

/// Votes counted, numbers as median and quartiles (M-02).
fn group_figures(state: &DebateState) -> String {
    let votes: Vec<String> = Vote::ALL
        .into_iter()
        .map(|vote| {
            let count = state
                .agent_status
                .iter()
                .filter(|status| status.vote == vote)
                .count();
            format!("{} {count}", vote.name())
        })
        .collect();
    let mut lines = vec![
        format!("The group: {} participants", state.agent_status.len()),
        format!("Votes: {}", votes.join(", ")),
    ];
    let confidences = state.agent_status.iter().map(|s| s.confidence.value());
    let estimates = state.agent_status.iter().filter_map(|s| s.estimate);
    for (name, spread) in [
        ("Confidence", Spread::of(confidences)),
        ("Estimate", Spread::of(estimates)),
    ] {
        if let Some(spread) = spread {
            lines.push(format!(
                "{name}: median {}, quartiles {} and {}, from {} to {}",
                figure(spread.median),
                figure(spread.lower_quartile),
                figure(spread.upper_quartile),
                figure(spread.lowest),
                figure(spread.highest)
            ));
        }
    }
    lines.join("\n")
}

fn figure(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.strip_suffix(".00").unwrap_or(&text);
    text.to_owned()
}

fn blocker_line(blocker: &Blocker, view: &View<'_>) -> Line {
    let who = match view.visibility {
        Visibility::Named => format!(" ({})", blocker.seat),
        Visibility::Anonymous => String::new(),
    };
    let at = |limit| {
        format!(
            "{}{who}: {}",
            blocker.id,
            tokens::shorten(&blocker.text, limit)
        )
    };
    Line {
        id: blocker.id.clone(),
        group: Group::Blocker,
        round: blocker.raised_round,
        is_new: blocker.raised_round == view.last_round,
        least: at(BRIEF),
        brief: at(SHORT),
        short: at(EVIDENCE_TEXT),
        full: at(60),
    }
}

fn claim_line(claim: &Claim, view: &View<'_>) -> Line {
    let group = match claim.status {
        ClaimStatus::Contested => Group::Contested,
        ClaimStatus::Accepted => Group::Accepted,
        ClaimStatus::Open => Group::Open,
        ClaimStatus::Retracted => Group::Retracted,
    };
    let note = view.notes.get(&claim.id);
    let note = note.map_or_else(String::new, |note| format!(" [{note}]"));
    let at = |limit| {
        let text = tokens::shorten(&claim.text, limit);
        format!("{} {} {text}{note}", claim.id, claim.tag())
    };
    let (few, mut all) = (at(BRIEF), at(CLAIM_TEXT));
    if !claim.support.is_empty() {
        let _ = write!(all, " ({})", claim.support.join(", "));
    }
    let supporters = supporters(claim, view.visibility);
    let against = |words| objections(claim, view.visibility, words).join("; ");
    let is_contested = group == Group::Contested;
    let mut full = format!("{all} | for: {supporters}");
    if is_contested {
        let _ = write!(full, " | against: {}", against(CLAIM_TEXT));
    }
    Line {
        id: claim.id.clone(),
        group,
        round: claim.last_updated_round,
        is_new: claim.introduced_round == view.last_round,
        least: if is_contested {
            format!(
                "{few} | against: {}",
                newest_objection(claim, view.visibility)
            )
        } else {
            few.clone()
        },
        brief: if is_contested {
            format!("{few} | against: {}", against(BRIEF))
        } else {
            few
        },
        short: if is_contested {
            format!("{all} | for: {supporters} | against: {}", against(SHORT))
        } else {
            all
        },
        full,
    }
}

fn supporters(claim: &Claim, visibility: Visibility) -> String {
    match visibility {
        Visibility::Named => {
            let names: Vec<&str> = claim.supporters.iter().map(String::as_str).collect();
            names.join(", ")
        }
        Visibility::Anonymous => claim.supporters.len().to_string(),
    }
}

/// Each distinct objection with its seats, its ground, its reason and its counter id.
fn objections(claim: &Claim, visibility: Visibility, words: u64) -> Vec<String> {
    let mut distinct: Vec<(&Opponent, Vec<&str>)> = Vec::new();
    for opponent in &claim.opponents {
        let is_same = |known: &&mut (&Opponent, Vec<&str>)| {
            known.0.ground == opponent.ground
                && known.0.counter == opponent.counter
                && normal(&known.0.because) == normal(&opponent.because)
        };
        match distinct.iter_mut().find(is_same) {
            Some((_, seats)) => seats.push(&opponent.seat),
            None => distinct.push((opponent, vec![&opponent.seat])),
        }
    }
    let texts = distinct.into_iter().map(|(opponent, seats)| {
        let who = match visibility {
            Visibility::Named => seats.join(", "),
            Visibility::Anonymous => seats.len().to_string(),
        };
        objection(&who, opponent, words)
    });
    texts.collect()
}

fn objection(who: &str, opponent: &Opponent, words: u64) -> String {
    let reason = tokens::shorten(&opponent.because, words);
    if words <= BRIEF {
        return format!("{who}: {reason}");
    }
    let mut text = format!("{who} ({}): {reason}", opponent.ground.name());
    if let Some(counter) = &opponent.counter {
        let _ = write!(text, ", see {counter}");
    }
    text
}

fn newest_objection(claim: &Claim, visibility: Visibility) -> String {
    let newest = claim.opponents.iter().max_by_key(|opponent| opponent.round);
    newest.map_or_else(String::new, |newest| {
        let who = match visibility {
            Visibility::Named => newest.seat.as_str(),
            Visibility::Anonymous => "1",
        };
        let text = objection(who, newest, BRIEF);
        match claim.opponents.len() - 1 {
            0 => text,
            more => format!("{text} (and {more} more)"),
        }
    })
}

fn decision_line(decision: &Decision, view: &View<'_>) -> Line {
    let mark = if decision.adopted {
        "adopted"
    } else {
        "proposed"
    };
    let at = |limit| {
        format!(
            "{} {mark}: {}",
            decision.id,
            tokens::shorten(&decision.text, limit)
        )
    };
    let (few, all) = (at(SHORT), at(CLAIM_TEXT));
    let full = match view.visibility {
        Visibility::Named => {
            let names: Vec<&str> = decision.backed_by.iter().map(String::as_str).collect();
            format!("{all} | for: {}", names.join(", "))
        }
        Visibility::Anonymous => format!("{all} | for: {}", decision.backed_by.len()),
    };
    Line {
        id: decision.id.clone(),
        group: Group::Decision,
        round: decision.round,
        is_new: decision.round == view.last_round,
        least: few.clone(),
        brief: few,
        short: all,
        full,
    }
}

fn concern_line(concern: &Concern, view: &View<'_>) -> Line {
    let who = match view.visibility {
        Visibility::Named => format!("{}: ", concern.seat),
        Visibility::Anonymous => String::new(),
    };
    let at = |limit| format!("- {who}{}", tokens::shorten(&concern.text, limit));
    let few = at(SHORT);
    Line {
        id: String::new(),
        group: Group::Concern,
        round: concern.round,
        is_new: concern.round == view.last_round,
        least: few.clone(),
        brief: few,
        short: at(EVIDENCE_TEXT),
        full: at(60),
    }
}

fn evidence_line(evidence: &Evidence) -> Line {
    let at = |limit| {
        format!(
            "{} {}",
            evidence.id,
            tokens::shorten(&evidence.title, limit)
        )
    };
    let (few, all) = (at(SHORT), at(EVIDENCE_TEXT));
    let mut full = all.clone();
    if !evidence.gist.is_empty() {
        let _ = write!(full, ": {}", tokens::shorten(&evidence.gist, EVIDENCE_TEXT));
    }
    Line {
        id: evidence.id.clone(),
        group: Group::Evidence,
        round: evidence.added_round,
        is_new: false,
        least: few.clone(),
        brief: few,
        short: all,
        full,
    }
}
