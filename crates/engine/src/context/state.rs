//! Renders the debate state within a token budget.
//!
//! Every item has several lengths. While the text is too long, the next item in a fixed order is shortened: settled items
//! first, oldest first. The shortest form of a contested claim is its id; a BLOCKER always keeps its first words.

use std::fmt::Write;

use roundtable_core::spread::Spread;
use roundtable_core::state::{Blocker, Claim, ClaimStatus, DebateState, Decision, Evidence};
use roundtable_core::votes::Vote;

use crate::mode::Visibility;
use crate::tokens;

/// Token limits for the words of a claim and of a piece of evidence.
const CLAIM_TEXT: u64 = 30;
pub const EVIDENCE_TEXT: u64 = 25;
const SHORT: u64 = 12;
const BRIEF: u64 = 7;

/// An item with its texts, the longest first.
struct Item {
    group: Group,
    lengths: Vec<String>,
    /// Index into `lengths`; past the end, the item is left out.
    chosen: usize,
    is_optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Blockers,
    Contested,
    Accepted,
    Open,
    Retracted,
    Decisions,
    Evidence,
}

impl Group {
    const ALL: [Self; 7] = [
        Self::Blockers,
        Self::Contested,
        Self::Accepted,
        Self::Open,
        Self::Retracted,
        Self::Decisions,
        Self::Evidence,
    ];

    /// The order in which groups are shortened.
    const SHORTENING_ORDER: [Self; 7] = [
        Self::Retracted,
        Self::Evidence,
        Self::Accepted,
        Self::Open,
        Self::Decisions,
        Self::Contested,
        Self::Blockers,
    ];

    const fn title(self) -> &'static str {
        match self {
            Self::Blockers => "Open BLOCKERs:",
            Self::Contested => "Contested claims:",
            Self::Accepted => "Accepted claims:",
            Self::Open => "Claims nobody has contested yet:",
            Self::Retracted => "Retracted claims:",
            Self::Decisions => "Decisions:",
            Self::Evidence => "Evidence:",
        }
    }
}

impl Item {
    fn new(group: Group, lengths: Vec<String>, is_optional: bool) -> Self {
        Self {
            group,
            lengths,
            chosen: 0,
            is_optional,
        }
    }

    fn text(&self) -> Option<&str> {
        self.lengths.get(self.chosen).map(String::as_str)
    }

    /// Size of its text plus one for the line break.
    fn cost(&self, measure: fn(&str) -> u64) -> u64 {
        self.text().map_or(0, |text| measure(text) + 1)
    }

    /// Selects the next shorter text; false if there is none.
    fn shorten(&mut self) -> bool {
        let last = if self.is_optional {
            self.lengths.len()
        } else {
            self.lengths.len().saturating_sub(1)
        };
        let can_shorten = self.chosen < last;
        self.chosen += usize::from(can_shorten);
        can_shorten
    }
}

/// The state in at most `budget` tokens, unless the contested claims and BLOCKERs alone are longer.
pub fn render_state(state: &DebateState, visibility: Visibility, budget: u64) -> String {
    let head = standings(state, visibility);
    let mut items = items(state, visibility);
    let size = |measure: fn(&str) -> u64| {
        let titles = Group::ALL.iter().map(|group| measure(group.title()) + 2);
        let items = items.iter().map(|item| item.cost(measure));
        measure(&head) + titles.chain(items).sum::<u64>()
    };
    // A token has at least one byte, so a short text needs no tokenizer.
    if size(|text| text.len() as u64) <= budget {
        return join(&head, &items);
    }
    let mut total = size(tokens::count);
    'fitting: for group in Group::SHORTENING_ORDER {
        // Shorten all items of the group by one length, oldest first, before the next length.
        loop {
            let mut changed = false;
            for item in items.iter_mut().filter(|item| item.group == group) {
                if total <= budget {
                    break 'fitting;
                }
                let before = item.cost(tokens::count);
                if item.shorten() {
                    changed = true;
                    total = total - before + item.cost(tokens::count);
                }
            }
            if !changed {
                break;
            }
        }
    }
    join(&head, &items)
}

fn join(head: &str, items: &[Item]) -> String {
    let mut text = head.to_owned();
    for group in Group::ALL {
        let of_group: Vec<&str> = items
            .iter()
            .filter(|item| item.group == group)
            .filter_map(Item::text)
            .collect();
        if of_group.is_empty() {
            continue;
        }
        text.push_str("\n\n");
        text.push_str(group.title());
        // Bare ids share one line.
        let (ids, lines): (Vec<&str>, Vec<&str>) =
            of_group.into_iter().partition(|text| !text.contains(' '));
        for line in lines {
            text.push('\n');
            text.push_str(line);
        }
        if !ids.is_empty() {
            text.push_str("\nearlier: ");
            text.push_str(&ids.join(" "));
        }
    }
    text.trim().to_owned()
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

fn items(state: &DebateState, visibility: Visibility) -> Vec<Item> {
    let blockers = state.open_blockers().map(|b| blocker_item(b, visibility));
    let claims = state.claims.iter().map(|c| claim_item(c, visibility));
    let decisions = state.decisions.iter().map(decision_item);
    let evidence = state.evidence.iter().map(evidence_item);
    blockers
        .chain(claims)
        .chain(decisions)
        .chain(evidence)
        .collect()
}

fn blocker_item(blocker: &Blocker, visibility: Visibility) -> Item {
    let who = match visibility {
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
    Item::new(Group::Blockers, vec![at(60), at(20), at(BRIEF)], false)
}

fn claim_item(claim: &Claim, visibility: Visibility) -> Item {
    let group = match claim.status {
        ClaimStatus::Contested => Group::Contested,
        ClaimStatus::Accepted => Group::Accepted,
        ClaimStatus::Open => Group::Open,
        ClaimStatus::Retracted => Group::Retracted,
    };
    let at = |limit| {
        format!(
            "{} {} {}",
            claim.id,
            claim.tag(),
            tokens::shorten(&claim.text, limit)
        )
    };
    let mut full = at(CLAIM_TEXT);
    if !claim.support.is_empty() {
        let _ = write!(full, " ({})", claim.support.join(", "));
    }
    if group == Group::Contested {
        full.push_str(&sides(claim, visibility));
    }
    let mut lengths = vec![full, at(SHORT), at(BRIEF), claim.id.clone()];
    if group == Group::Retracted {
        lengths.truncate(1);
    }
    Item::new(group, lengths, group == Group::Retracted)
}

/// Supporters, opponents and the newest objection.
fn sides(claim: &Claim, visibility: Visibility) -> String {
    let last = claim.opponents.iter().max_by_key(|opponent| opponent.round);
    let objection = last.map_or_else(String::new, |opponent| {
        format!(
            "; {}: {}",
            opponent.ground.name(),
            tokens::shorten(&opponent.because, EVIDENCE_TEXT)
        )
    });
    let against = if claim.opposition.is_empty() {
        String::new()
    } else {
        format!(", see {}", claim.opposition.join(", "))
    };
    match visibility {
        Visibility::Named => {
            let supporters: Vec<&str> = claim.supporters.iter().map(String::as_str).collect();
            let opponents: Vec<&str> = claim.opponents.iter().map(|o| o.seat.as_str()).collect();
            format!(
                " | for: {} | against: {}{objection}{against}",
                supporters.join(", "),
                opponents.join(", ")
            )
        }
        Visibility::Anonymous => format!(
            " | for: {} | against: {}{objection}{against}",
            claim.supporters.len(),
            claim.opponents.len()
        ),
    }
}

fn decision_item(decision: &Decision) -> Item {
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
    Item::new(
        Group::Decisions,
        vec![at(CLAIM_TEXT), at(SHORT), decision.id.clone()],
        !decision.adopted,
    )
}

fn evidence_item(evidence: &Evidence) -> Item {
    let short = format!(
        "{} {}",
        evidence.id,
        tokens::shorten(&evidence.title, SHORT)
    );
    let mut full = format!(
        "{} {}",
        evidence.id,
        tokens::shorten(&evidence.title, EVIDENCE_TEXT)
    );
    if !evidence.gist.is_empty() {
        let _ = write!(full, ": {}", tokens::shorten(&evidence.gist, EVIDENCE_TEXT));
    }
    Item::new(
        Group::Evidence,
        vec![full, short, evidence.id.clone()],
        true,
    )
}
