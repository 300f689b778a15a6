//! Deals models to the seats of a debate: families in turn, and a seat that judges on another family than those it judges.
//!
//! A pure function: the same seats and candidates always give the same seating.

use std::collections::BTreeMap;
use std::fmt;

use roundtable_core::glob;

use super::Tier;
use super::seating::Wishes;

/// How different the models of a debate are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Diversity {
    /// Different families. With a single family, one model for all seats of a tier.
    #[default]
    Families,
    /// Different families. With a single family, different models.
    Models,
    /// One model for all seats of a tier.
    One,
}

impl Diversity {
    pub const ALL: [Self; 3] = [Self::Families, Self::Models, Self::One];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Families => "families",
            Self::Models => "models",
            Self::One => "one",
        }
    }
}

impl fmt::Display for Diversity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A model that can take seats.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// `provider:model`
    pub model: String,
    pub family: String,
    pub tier: Tier,
    /// The product line within the family, best first. Seats get models of the first line in the price class: those of a later
    /// line replace it, but are not its equals.
    pub line: u32,
    /// In dollars, for the same amount of work; `None` if unknown.
    pub price: Option<f64>,
}

/// A seat that needs a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub seat: String,
    pub tier: Tier,
    pub wishes: Wishes,
    /// The family of a seat whose model the user has named: it is not dealt, but those that judge it avoid its family.
    pub taken_by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DealPolicy {
    pub diversity: Diversity,
    /// The highest price of a model, relative to the first candidate of its tier.
    pub max_price_ratio: f64,
}

impl DealPolicy {
    /// Whether a model costs at most [`max_price_ratio`](Self::max_price_ratio) times as much as the first one of its tier. Known
    /// and unknown prices cannot be compared.
    pub fn is_in_price_class(&self, price: Option<f64>, first: Option<f64>) -> bool {
        match (price, first) {
            (Some(price), Some(first)) => price <= first * self.max_price_ratio,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// A seat's model, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dealt {
    pub seat: String,
    pub model: String,
    pub family: String,
    /// A fragment: "families in turn".
    pub why: String,
}

/// A seat without a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undealt {
    #[error("no model for seat '{seat}'")]
    NoModel { seat: String },
    #[error("the cast pins seat '{seat}' to '{pin}', but no such model was found")]
    Pin { seat: String, pin: String },
    #[error(
        "no model for seat '{seat}': the cast forbids {}, and no other model was found in the price class", forbid.join(", ")
    )]
    Forbidden { seat: String, forbid: Vec<String> },
}

/// Whether an entry of [`Wishes`] means this model.
pub fn is_meant(wish: &str, model: &str, family: &str) -> bool {
    let id = model.split_once(':').map_or(model, |(_, id)| id);
    wish == family
        || glob::matches(wish, model)
        || glob::matches(wish, id)
        || id.strip_suffix(":latest") == Some(wish)
}

/// Gives every place that is not taken a model. Candidates are in order of preference; the first one of a tier sets the price
/// class.
///
/// Pinned seats come first, then those that judge no other seat, then those that judge. Each gets the family with the fewest seats among
/// those that it judges, then the fewest seats in all. Within a family, the models of its first line take turns.
///
/// # Errors
/// [`Undealt`] if a pin cannot be met, or no model is left for a seat.
pub fn deal(
    places: &[Place],
    candidates: &[Candidate],
    policy: DealPolicy,
) -> Result<Vec<Dealt>, Undealt> {
    let taken = places.iter().filter_map(|place| {
        let family = place.taken_by.as_deref()?;
        Some((place.seat.as_str(), family))
    });
    let mut dealer = Dealer {
        candidates,
        policy,
        families: taken.collect(),
        uses: BTreeMap::new(),
    };
    let mut open: Vec<&Place> = places.iter().collect();
    open.retain(|place| place.taken_by.is_none());
    // Stable: seats of the same kind stay in the order of the cast.
    open.sort_by_key(|place| {
        let wishes = &place.wishes;
        (wishes.pin.is_none(), !wishes.judges.is_empty())
    });
    let mut dealt = BTreeMap::new();
    for place in open {
        dealt.insert(place.seat.as_str(), dealer.deal(place)?);
    }
    let in_order = places.iter();
    Ok(in_order
        .filter_map(|place| dealt.remove(place.seat.as_str()))
        .collect())
}

struct Dealer<'d> {
    candidates: &'d [Candidate],
    policy: DealPolicy,
    /// The family of each seat that has one.
    families: BTreeMap<&'d str, &'d str>,
    /// The number of seats of each model.
    uses: BTreeMap<&'d str, usize>,
}

impl<'d> Dealer<'d> {
    fn deal(&mut self, place: &'d Place) -> Result<Dealt, Undealt> {
        let (candidate, why) = match &place.wishes.pin {
            Some(pin) => self.pinned(place, pin)?,
            None => self.free(place)?,
        };
        self.families.insert(&place.seat, &candidate.family);
        *self.uses.entry(&candidate.model).or_default() += 1;
        Ok(Dealt {
            seat: place.seat.clone(),
            model: candidate.model.clone(),
            family: candidate.family.clone(),
            why,
        })
    }

    /// A pin wins over price and diversity.
    fn pinned(&self, place: &Place, pin: &str) -> Result<(&'d Candidate, String), Undealt> {
        let meant = |candidate: &&Candidate| is_meant(pin, &candidate.model, &candidate.family);
        let mut all = self.candidates.iter().filter(meant);
        let any = all.clone().next();
        let of_tier = all.find(|candidate| candidate.tier == place.tier);
        match of_tier.or(any) {
            Some(candidate) => Ok((candidate, format!("the cast pins {pin}"))),
            None => Err(Undealt::Pin {
                seat: place.seat.clone(),
                pin: pin.to_owned(),
            }),
        }
    }

    fn free(&self, place: &Place) -> Result<(&'d Candidate, String), Undealt> {
        let available = self.available(place);
        let (Some(first), Some(class)) = (available.first(), self.first_of(place.tier)) else {
            let (seat, forbid) = (place.seat.clone(), place.wishes.forbid.clone());
            return Err(if forbid.is_empty() {
                Undealt::NoModel { seat }
            } else {
                Undealt::Forbidden { seat, forbid }
            });
        };
        for wish in &place.wishes.prefer {
            let mut meant = available.iter();
            let meant = meant.find(|one| is_meant(wish, &one.model, &one.family));
            if let Some(candidate) = meant {
                return Ok((candidate, format!("the cast prefers {wish}")));
            }
        }
        let families = families(&available);
        if self.policy.diversity == Diversity::One {
            return Ok((first, "the first model found".to_owned()));
        }
        if let [only] = families.as_slice()
            && self.policy.diversity == Diversity::Families
        {
            let why = if *only == class.family {
                "the only family found"
            } else {
                "the only family left"
            };
            return Ok((first, why.to_owned()));
        }
        let family = self.rarest(place, &families).unwrap_or(&first.family);
        let why = self.reason(place, family);
        let candidate = self.least_used(&available, family).unwrap_or(first);
        Ok((candidate, why))
    }

    fn first_of(&self, tier: Tier) -> Option<&'d Candidate> {
        self.candidates.iter().find(|one| one.tier == tier)
    }

    /// The candidates of the seat's tier in the price class, without those that the cast forbids.
    fn available(&self, place: &Place) -> Vec<&'d Candidate> {
        let Some(first) = self.first_of(place.tier) else {
            return Vec::new();
        };
        let is_forbidden = |one: &Candidate| {
            let mut forbid = place.wishes.forbid.iter();
            forbid.any(|wish| is_meant(wish, &one.model, &one.family))
        };
        let all = self.candidates.iter();
        all.filter(|one| one.tier == place.tier && !is_forbidden(one))
            .filter(|one| self.policy.is_in_price_class(one.price, first.price))
            .collect()
    }

    /// The family with the fewest seats: among those that the seat judges, then in all. Among equals the first.
    fn rarest(&self, place: &Place, families: &[&'d str]) -> Option<&'d str> {
        let judged = |seat: &str| place.wishes.judges.iter().any(|judged| judged == seat);
        let count = |family: &str| {
            let seats = self.families.iter().filter(|(_, of)| **of == family);
            let all = seats.clone().count();
            (seats.filter(|(seat, _)| judged(seat)).count(), all)
        };
        families.iter().copied().min_by_key(|family| count(family))
    }

    fn reason(&self, place: &Place, family: &str) -> String {
        let judges = place.wishes.judges.iter();
        let mut judged = judges.filter_map(|seat| self.families.get(seat.as_str()));
        if place.wishes.judges.is_empty() {
            "families in turn".to_owned()
        } else if judged.any(|of| *of == family) {
            "every family is among those it judges".to_owned()
        } else {
            "another family than those it judges".to_owned()
        }
    }

    /// The model with the fewest seats in the first line of the family; among equals the first.
    fn least_used(&self, available: &[&'d Candidate], family: &str) -> Option<&'d Candidate> {
        let of_family = || available.iter().filter(|one| one.family == family);
        let line = of_family().map(|one| one.line).min()?;
        let uses = |one: &Candidate| self.uses.get(one.model.as_str()).copied();
        let equals = of_family().filter(|one| one.line == line);
        equals
            .min_by_key(|one| uses(one).unwrap_or_default())
            .copied()
    }
}

/// Each family once, in the order of the candidates.
fn families<'d>(candidates: &[&'d Candidate]) -> Vec<&'d str> {
    let mut families: Vec<&str> = Vec::new();
    for candidate in candidates {
        if !families.contains(&candidate.family.as_str()) {
            families.push(&candidate.family);
        }
    }
    families
}

#[cfg(test)]
#[path = "dealing_tests.rs"]
mod tests;
