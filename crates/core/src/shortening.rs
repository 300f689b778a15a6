//! Decides in how much detail each item of a bounded text is shown (M-12, M-16): items and a token budget in, a level of detail
//! per item out.
//!
//! Every item starts at its least detail and is raised, the most important step first, as long as the budget allows. Hence:
//! - an item that is named by another one that is shown has words of its own;
//! - a contested claim keeps words, and with them its objections;
//! - nothing is left out as long as there is room for it;
//! - only items that must not be left out can exceed the budget. Above the hard limit the oldest contested claims become ids.

/// How much of an item is shown. The caller renders the texts; `Short` and `Full` may name other items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    Gone,
    Id,
    /// The fewest words. A contested claim keeps one objection.
    Least,
    /// A few words. A contested claim keeps all its objections.
    Brief,
    Short,
    Full,
}

impl Detail {
    /// The next more detailed level with words.
    const fn next(self) -> Option<Self> {
        match self {
            Self::Gone | Self::Id => Some(Self::Least),
            Self::Least => Some(Self::Brief),
            Self::Brief => Some(Self::Short),
            Self::Short => Some(Self::Full),
            Self::Full => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    Blocker,
    Contested,
    Accepted,
    Open,
    Retracted,
    Decision,
    Concern,
    Evidence,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub group: Group,
    /// The round in which it last changed: newer items are raised first.
    pub round: u32,
    /// Put forward in the last round, so that its text is shown nowhere else.
    pub is_new: bool,
    /// Named by another part of the text.
    pub is_named: bool,
    pub tokens: Tokens,
    /// Indices of the items that its `Short` and `Full` texts name.
    pub names: Vec<usize>,
}

/// The length of an item's line at each level of detail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub id: u64,
    pub least: u64,
    pub brief: u64,
    pub short: u64,
    pub full: u64,
}

impl Tokens {
    const fn at(&self, detail: Detail) -> u64 {
        match detail {
            Detail::Gone => 0,
            Detail::Id => self.id,
            Detail::Least => self.least,
            Detail::Brief => self.brief,
            Detail::Short => self.short,
            Detail::Full => self.full,
        }
    }
}

impl Item {
    const fn is_claim(&self) -> bool {
        matches!(
            self.group,
            Group::Contested | Group::Accepted | Group::Open | Group::Retracted
        )
    }

    /// The detail below which only the hard limit pushes an item.
    const fn least(&self) -> Detail {
        match self.group {
            Group::Blocker | Group::Contested => Detail::Least,
            Group::Accepted | Group::Open | Group::Retracted if self.is_new => Detail::Least,
            Group::Accepted
            | Group::Open
            | Group::Retracted
            | Group::Decision
            | Group::Concern
            | Group::Evidence => Detail::Gone,
        }
    }
}

/// Raises the items that meet a condition up to a detail.
type Pass = (fn(&Item) -> bool, Detail);

/// In their order.
const PASSES: [Pass; 13] = [
    (|item| item.group == Group::Blocker, Detail::Full),
    (|item| item.is_named, Detail::Brief),
    (|item| item.group == Group::Contested, Detail::Brief),
    (|item| item.is_claim() && item.is_new, Detail::Short),
    (|item| item.group == Group::Contested, Detail::Short),
    (
        |item| item.is_new && matches!(item.group, Group::Concern | Group::Decision),
        Detail::Short,
    ),
    (
        |item| matches!(item.group, Group::Accepted | Group::Decision),
        Detail::Brief,
    ),
    (|item| item.group == Group::Concern, Detail::Brief),
    (|item| item.group == Group::Contested, Detail::Full),
    (|item| item.is_claim() && item.is_new, Detail::Full),
    (
        |item| matches!(item.group, Group::Accepted | Group::Decision),
        Detail::Short,
    ),
    // Unanswered claims: the newest with their sources, rather than all without.
    (|item| item.group == Group::Open, Detail::Short),
    (|_| true, Detail::Full),
];

/// The detail of each item. The items take at most `budget` tokens, unless those that must not be left out are longer; they take
/// at most `limit` tokens, unless even the ids of contested claims and the shortest BLOCKERs do not fit.
pub fn choose(items: &[Item], budget: u64, limit: u64) -> Vec<Detail> {
    let mut chosen = Chosen::least(items);
    let mut newest_first: Vec<usize> = (0..items.len()).collect();
    newest_first.sort_by_key(|&index| std::cmp::Reverse((items[index].round, index)));
    chosen.reduce_to_ids(&newest_first, limit);
    for (is_meant, detail) in PASSES {
        for &index in newest_first
            .iter()
            .filter(|&&index| is_meant(&items[index]))
        {
            chosen.raise(index, detail, budget);
        }
    }
    chosen.details
}

struct Chosen<'a> {
    items: &'a [Item],
    details: Vec<Detail>,
    total: u64,
}

impl<'a> Chosen<'a> {
    fn least(items: &'a [Item]) -> Self {
        let details: Vec<Detail> = items.iter().map(Item::least).collect();
        let lengths = items.iter().zip(&details);
        Self {
            items,
            total: lengths.map(|(item, detail)| item.tokens.at(*detail)).sum(),
            details,
        }
    }

    /// Raises an item step by step up to `detail`, as far as the budget allows, together with the items it then names.
    fn raise(&mut self, index: usize, detail: Detail, budget: u64) {
        while let Some(next) = self.details[index].next().filter(|next| *next <= detail) {
            let mut steps = vec![(index, next)];
            if next >= Detail::Short {
                let names = self.items[index].names.iter();
                let wordless = names.filter(|&&named| self.details[named] < Detail::Least);
                steps.extend(wordless.map(|&named| (named, Detail::Least)));
            }
            steps.sort_unstable();
            steps.dedup_by_key(|(index, _)| *index);
            let length = |&(index, detail): &(usize, Detail)| self.items[index].tokens.at(detail);
            let after: u64 = steps.iter().map(length).sum();
            let before: u64 = steps
                .iter()
                .map(|(index, _)| self.items[*index].tokens.at(self.details[*index]))
                .sum();
            let total = (self.total + after).saturating_sub(before);
            if total > budget.max(self.total) {
                return;
            }
            for (index, detail) in steps {
                self.details[index] = detail;
            }
            self.total = total;
        }
    }

    /// Above the hard limit: contested claims become ids, the oldest first, then the new ones.
    fn reduce_to_ids(&mut self, newest_first: &[usize], limit: u64) {
        let is_contested = |item: &Item| item.group == Group::Contested;
        let is_other = |item: &Item| item.group != Group::Contested && item.is_claim();
        for is_meant in [is_contested as fn(&Item) -> bool, is_other] {
            for &index in newest_first.iter().rev() {
                if self.total <= limit {
                    return;
                }
                let item = &self.items[index];
                if is_meant(item) && self.details[index] == Detail::Least {
                    self.details[index] = Detail::Id;
                    self.total = self.total + item.tokens.id - item.tokens.least;
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "shortening_tests.rs"]
mod tests;
