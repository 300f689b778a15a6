//! Chooses the model of each seat and says why: those that the user names, and for the other seats different families of those that
//! were found.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use roundtable_core::usage::{Money, Price};
use roundtable_engine::cast::dealing::{Candidate, DealPolicy, Diversity, Place, deal};
use roundtable_engine::cast::{Cast, Seat, Tier};
use roundtable_engine::event::Seated;
use roundtable_engine::model::Ability;
use roundtable_engine::protocol::SeatModels;
use roundtable_engine::table::{FastModel, SeatModel};
use roundtable_engine::transcript::capital;

use super::{Models, PreparedDebate, ProgressSink};
use crate::app_context::AppContext;
use crate::config::{ModelName, SeatSettings};
use crate::embedded::{self, Report};
use crate::failure::{Failure, Fault};
use crate::models::{
    Choice, Discovery, ModelPolicy, ModelPreferences, Offer, Search, discover, family,
    typical_price,
};

pub(super) struct Seating {
    pub seated: Vec<Seated>,
    pub models: SeatModels,
    /// Substitutions, for the result (C-18).
    pub notices: Vec<String>,
}

/// The models of a new debate. Reports which were chosen and why, and what would serve better (C-04).
pub(super) async fn choose(
    app: &AppContext,
    cast: &Cast,
    models: &Models,
    settings: &SeatSettings,
    (fallback_local, is_limited, policy): (bool, bool, &ModelPolicy),
    is_estimate: bool,
    progress: &ProgressSink,
) -> Result<Seating, Failure> {
    let mut notices = Vec::new();
    let mut chosen = named(app, cast, models, settings)?;
    let unnamed: Vec<_> = cast
        .seats
        .iter()
        .filter(|seat| !chosen.contains_key(&seat.name))
        .collect();
    if !unnamed.is_empty() {
        let preferences = preferences(&unnamed, fallback_local);
        let found = discover(&app.models, &preferences, Search::FirstFit).await;
        let dealer = Dealer {
            app,
            found: &found,
            policy,
            needs_prices: is_limited || policy.priced_only,
        };
        dealer.deal(cast, &mut chosen)?;
        explain(&found, progress);
        notices.extend(found.substitution());
        let left_out = found.left_out.iter().map(|why| format!("Left out: {why}"));
        for note in left_out.inspect(|note| (progress.say)(note)) {
            notices.push(note);
        }
        for note in dealer.too_dear(&chosen) {
            (progress.say)(&note);
        }
    }
    // Before anything is downloaded.
    check_allowed(chosen.values().map(|chosen| &chosen.model), policy)?;
    if is_estimate {
        check_present(app, chosen.values().map(|chosen| &chosen.model))?;
    }
    let mut seating = seat(app, cast, settings, &chosen, policy, progress).await?;
    seating.notices = notices;
    Ok(seating)
}

/// Refuses embedded models that would have to be downloaded.
fn check_present<'m>(
    app: &AppContext,
    models: impl Iterator<Item = &'m ModelName>,
) -> Result<(), Failure> {
    let mut embedded = models.filter(|model| model.provider() == embedded::PROVIDER);
    let missing = embedded.find_map(|model| {
        let wanted = model.model();
        let listed = app.local.list().into_iter();
        let mut missing = listed.filter(|one| one.file.is_none());
        missing.find(|one| one.name == wanted || (wanted == "auto" && one.is_auto))
    });
    match missing {
        None => Ok(()),
        Some(missing) => Err(Failure::no_model(format!(
            "the model {} is not on this machine, and an estimate downloads nothing. Download it with `roundtable pull`, or name \
             another model with --model",
            missing.name
        ))),
    }
}

/// A seat's model.
struct Chosen {
    model: ModelName,
    /// `None` if the user named it.
    why: Option<String>,
}

/// Deals the models that were found to the seats without one.
struct Dealer<'a> {
    app: &'a AppContext,
    found: &'a Discovery,
    policy: &'a ModelPolicy,
    /// The cost is limited, so only models with a known price count.
    needs_prices: bool,
}

impl Dealer<'_> {
    fn deal(&self, cast: &Cast, chosen: &mut BTreeMap<String, Chosen>) -> Result<(), Failure> {
        if self.found.deliberate.is_none() || self.found.fast.is_none() {
            return Err(no_model(self.found));
        }
        for seat in &cast.seats {
            let preferred = seat.prefers.as_deref();
            let is_wished = cast.seating.pin.is_some() || seat.seating.pin.is_some();
            if let Some(model) = preferred.and_then(|name| self.found.granted(name))
                && !is_wished
            {
                let why = Some(format!("the cast prefers {}", model.model()));
                let preferred = || Chosen { model, why };
                chosen.entry(seat.name.clone()).or_insert_with(preferred);
            }
        }
        let mut places = cast.places();
        for place in &mut places {
            let chosen = chosen.get(&place.seat);
            place.taken_by = chosen.map(|chosen| family(&chosen.model));
        }
        let candidates = self.candidates(&places);
        let dealt = deal(&places, &candidates, self.deal_policy());
        let dealt = dealt.map_err(|error| Failure::no_model(error.to_string()))?;
        for one in dealt {
            let model = self.app.config.model_name(&one.model)?;
            // The models of tiers are named by the user.
            let why = (!self.is_named()).then_some(one.why);
            chosen.insert(one.seat, Chosen { model, why });
        }
        Ok(())
    }

    fn deal_policy(&self) -> DealPolicy {
        let seating = &self.app.config.seating;
        DealPolicy {
            diversity: seating.diversity,
            max_price_ratio: seating.max_price_ratio,
        }
    }

    fn is_named(&self) -> bool {
        let tiers = &self.app.config.tiers;
        tiers.deliberate.is_some() || tiers.fast.is_some()
    }

    /// The choices for the tiers, which set the price classes, then all other models that were found, without those that the
    /// caller's token may not use.
    fn candidates(&self, places: &[Place]) -> Vec<Candidate> {
        let choice = |tier: Tier, choice: Option<&Choice>| {
            let model = choice.map(|choice| choice.model.clone());
            model.map(|model| self.candidate(&model, tier, 0))
        };
        let choices = [
            choice(Tier::Deliberate, self.found.deliberate.as_ref()),
            choice(Tier::Fast, self.found.fast.as_ref()),
        ];
        let offers = self.found.offers.iter();
        let offers = offers.map(|offer| self.candidate(&offer.model, offer.tier, offer.line));
        let offers = offers.filter(|one| !self.needs_prices || self.has_price(one));
        let mut all: Vec<Candidate> = Vec::new();
        for one in choices
            .into_iter()
            .flatten()
            .chain(offers)
            .chain(self.wished(places))
        {
            let is_known = |known: &Candidate| (&known.model, known.tier) == (&one.model, one.tier);
            if !all.iter().any(is_known) {
                all.push(one);
            }
        }
        let is_allowed = |one: &Candidate| {
            let name = self.app.config.model_name(&one.model);
            name.is_ok_and(|name| self.policy.allows(&name))
        };
        // If nothing is allowed, the refusal names the first choice.
        for tier in [Tier::Deliberate, Tier::Fast] {
            if all.iter().any(|one| one.tier == tier && is_allowed(one)) {
                all.retain(|one| one.tier != tier || is_allowed(one));
            }
        }
        all
    }

    /// Models that the cast wishes for by name, if a provider lists them. They are dealt to no other seat.
    fn wished(&self, places: &[Place]) -> Vec<Candidate> {
        let mut wished = Vec::new();
        for place in places.iter().filter(|place| place.taken_by.is_none()) {
            let wishes = place.wishes.pin.iter().chain(&place.wishes.prefer);
            for wish in wishes {
                for finding in &self.found.findings {
                    let names = finding.models.iter();
                    let names = names.map(|id| ModelName::new(&finding.provider, id));
                    let mut names =
                        names.filter(|name| *wish == name.to_string() || wish == name.model());
                    wished.extend(
                        names
                            .next()
                            .map(|name| self.candidate(&name, place.tier, u32::MAX)),
                    );
                }
            }
        }
        wished
    }

    fn candidate(&self, name: &ModelName, tier: Tier, line: u32) -> Candidate {
        Candidate {
            model: name.to_string(),
            family: family(name),
            tier,
            line,
            price: self.price(name),
        }
    }

    /// The typical price of a model, from the price lists or from its provider.
    fn price(&self, name: &ModelName) -> Option<f64> {
        let known = self.app.models.price(name);
        let known = known.map(|price| typical_price(price.input, price.output));
        known.or_else(|| {
            let mut offers = self.found.offers.iter();
            let offer = offers.find(|offer| offer.model == *name)?;
            offer.listed_price.map(Money::dollars)
        })
    }

    /// Whether calls of a model can be accounted.
    fn has_price(&self, one: &Candidate) -> bool {
        let name = self.app.config.model_name(&one.model);
        name.is_ok_and(|name| self.app.models.price(&name).is_some())
    }

    /// A note for each family that no seat has because of its price.
    fn too_dear(&self, chosen: &BTreeMap<String, Chosen>) -> Vec<String> {
        let policy = self.deal_policy();
        let Some(first) = self.found.deliberate.as_ref() else {
            return Vec::new();
        };
        if policy.diversity == Diversity::One {
            return Vec::new();
        }
        let price = |name: &ModelName| self.price(name);
        let seated = chosen.values().map(|chosen| family(&chosen.model));
        let mut families: BTreeSet<String> = seated.collect();
        let mut notes = Vec::new();
        for offer in &self.found.offers {
            let is_in_class = |other: &Offer| {
                (other.tier, &other.family) == (Tier::Deliberate, &offer.family)
                    && policy.is_in_price_class(price(&other.model), price(&first.model))
            };
            let is_other = offer.tier == Tier::Deliberate && !families.contains(&offer.family);
            if !is_other || self.found.offers.iter().any(is_in_class) {
                continue;
            }
            families.insert(offer.family.clone());
            let why = match (price(&offer.model), price(&first.model)) {
                (Some(price), Some(first)) => format!(
                    "it costs {:.1} times as much as the first model, more than seating.max_price_ratio ({})",
                    price / first,
                    policy.max_price_ratio
                ),
                (None, _) => "its price is unknown: add it to prices.toml".to_owned(),
                (Some(_), None) => format!(
                    "the price of {} is unknown: add it to prices.toml",
                    first.model
                ),
            };
            notes.push(format!("No seat for {}: {why}", offer.model));
        }
        notes
    }
}

/// Refuses models that the caller's token may not use.
pub(crate) fn check_allowed<'a>(
    models: impl IntoIterator<Item = &'a ModelName>,
    policy: &ModelPolicy,
) -> Result<(), Failure> {
    let refused = models.into_iter().find(|name| !policy.allows(name));
    match refused {
        None => Ok(()),
        Some(name) => Err(Failure::forbidden(format!(
            "this token may not use {name}; it may use {}",
            policy.models.join(", ")
        ))),
    }
}

fn preferences(seats: &[&Seat], fallback_local: bool) -> ModelPreferences {
    let prefers = |tier: Tier| -> Vec<String> {
        let seats = seats.iter().filter(|seat| seat.tier == tier);
        seats.filter_map(|seat| seat.prefers.clone()).collect()
    };
    ModelPreferences {
        model: None,
        deliberate: prefers(Tier::Deliberate),
        fast: prefers(Tier::Fast),
        fallback_local,
    }
}

/// The model of each seat of a cast, if the user names none, and why. Empty if there is none.
pub(crate) async fn proposed_models(
    app: &AppContext,
    cast: &Cast,
) -> Vec<(String, ModelName, Option<String>)> {
    let seats: Vec<&Seat> = cast.seats.iter().collect();
    let found = discover(&app.models, &preferences(&seats, false), Search::FirstFit).await;
    let dealer = Dealer {
        app,
        found: &found,
        policy: &ModelPolicy::default(),
        needs_prices: false,
    };
    let mut chosen = BTreeMap::new();
    if dealer.deal(cast, &mut chosen).is_err() {
        return Vec::new();
    }
    let proposed = seats.iter().filter_map(|seat| {
        let chosen = chosen.remove(&seat.name)?;
        Some((seat.name.clone(), chosen.model, chosen.why))
    });
    proposed.collect()
}

/// The models that a stored debate was opened with.
pub(super) async fn find_again(
    app: &AppContext,
    seated: &[Seated],
    policy: &ModelPolicy,
    report: &Report,
) -> Result<SeatModels, Failure> {
    let mut models = HashMap::new();
    for seated in seated {
        let name = app.config.model_name(&seated.model)?;
        let (_, model) = seat_model(app, &name, policy, report).await?;
        models.insert(seated.seat.name.clone(), model);
    }
    Ok(models)
}

/// The model that puts invalid replies into their schema: the configured fast tier, or that of a seat of the fast tier. `None`
/// leaves it to each seat's own model; so does a model whose price, or whose fallback's price, is unknown, if the cost is limited.
pub(crate) fn fast_model(app: &AppContext, prepared: &PreparedDebate) -> Option<FastModel> {
    let configured = app.config.tiers.fast.as_ref();
    // The embedded model would have to be loaded, and its own replies always fit.
    let configured = configured.filter(|name| name.provider() != embedded::PROVIDER);
    let fast = if let Some(name) = configured {
        FastModel {
            name: name.to_string(),
            seat_model: SeatModel {
                model: app.models.model_within(name, &prepared.policy).ok()?,
                price: app.models.price(name),
            },
        }
    } else {
        let seats = &mut prepared.setup.seats.iter();
        let seated = seats.find(|seated| seated.seat.tier == Tier::Fast)?;
        FastModel {
            name: seated.model.clone(),
            seat_model: prepared.seat_models.get(&seated.seat.name)?.clone(),
        }
    };
    // A token that may not use it has each seat's own model put its replies into form.
    let policy = &prepared.policy;
    let name = app.config.model_name(&fast.name).ok();
    let name = name.filter(|name| policy.allows(name))?;
    let has_prices =
        || fast.seat_model.price.is_some() && app.models.unpriced_fallback(&name, policy).is_none();
    let is_limited = prepared.budget.max_cost.is_some() || policy.priced_only;
    (!is_limited || has_prices()).then_some(fast)
}

async fn seat(
    app: &AppContext,
    cast: &Cast,
    settings: &SeatSettings,
    chosen: &BTreeMap<String, Chosen>,
    policy: &ModelPolicy,
    progress: &ProgressSink,
) -> Result<Seating, Failure> {
    let mut ready: HashMap<ModelName, (ModelName, SeatModel)> = HashMap::new();
    let mut seating = Seating {
        seated: Vec::new(),
        models: HashMap::new(),
        notices: Vec::new(),
    };
    for seat in &cast.seats {
        let Some(Chosen { model: name, why }) = chosen.get(&seat.name) else {
            return Err(Failure::usage(format!("no model for seat '{}'", seat.name)));
        };
        if !ready.contains_key(name) {
            let opened = seat_model(app, name, policy, &progress.fetching).await?;
            ready.insert(name.clone(), opened);
        }
        let Some((real, model)) = ready.get(name) else {
            continue;
        };
        let mut seat = seat.clone();
        let configured = settings.get(&seat.name);
        if let Some(temperature) = configured.and_then(|seat| seat.temperature) {
            seat.temperature = temperature;
        }
        let ability = model.model.profile().ability;
        if ability == Ability::Small {
            seat.max_output_tokens = seat.max_output_tokens.min(MAX_SMALL_REPLY_TOKENS);
        }
        seating.models.insert(seat.name.clone(), model.clone());
        seating.seated.push(Seated {
            family: Some(family(real)),
            why: why.clone(),
            ..Seated::new(seat, real.to_string(), ability)
        });
    }
    say_remarks(&seating, progress);
    Ok(seating)
}

/// Enough for a reply within the bounds of a small model's schema.
const MAX_SMALL_REPLY_TOKENS: u32 = 1024;

async fn seat_model(
    app: &AppContext,
    name: &ModelName,
    policy: &ModelPolicy,
    report: &Report,
) -> Result<(ModelName, SeatModel), Failure> {
    let real = if name.provider() == embedded::PROVIDER {
        app.local.ready_model(name.model(), report.clone()).await?
    } else {
        name.clone()
    };
    let model = app.models.model_within(&real, policy)?;
    let price: Option<Price> = app.models.price(&real);
    Ok((real, SeatModel { model, price }))
}

/// The models that the request or the configuration names. Reports every invalid name at once.
fn named(
    app: &AppContext,
    cast: &Cast,
    models: &Models,
    settings: &SeatSettings,
) -> Result<BTreeMap<String, Chosen>, Failure> {
    let by_user = |model| Chosen { model, why: None };
    let mut named = BTreeMap::new();
    let mut faults = Vec::new();
    for (seat, model) in &models.seats {
        let at = format!("/seats/{seat}");
        match cast.seat(seat) {
            Ok(seat) => match app.config.model_name(model) {
                Ok(model) => drop(named.insert(seat.name.clone(), by_user(model))),
                Err(error) => faults.push(Fault::new(at, error.to_string())),
            },
            Err(error) => faults.push(Fault::new(at, error.to_string())),
        }
    }
    let all = models.all.as_ref();
    let all = match all.map(|text| app.config.model_name(text)) {
        Some(Ok(model)) => Some(model),
        Some(Err(error)) => {
            faults.push(Fault::new("/model", error.to_string()));
            None
        }
        None => None,
    };
    if !faults.is_empty() {
        return Err(Failure::refused(faults));
    }
    for seat in &cast.seats {
        let configured = settings.get(&seat.name);
        let wanted = all
            .clone()
            .or_else(|| configured.and_then(|seat| seat.model.clone()));
        let pinned = || {
            let pin = seat.seating.pin.as_ref().or(cast.seating.pin.as_ref())?;
            let is_name = pin.contains(':') && !pin.contains('*');
            let model = app.config.model_name(pin).ok().filter(|_| is_name)?;
            let why = Some(format!("the cast pins {pin}"));
            Some(Chosen { model, why })
        };
        if let Some(chosen) = wanted.map(by_user).or_else(pinned) {
            named.entry(seat.name.clone()).or_insert(chosen);
        }
    }
    Ok(named)
}

pub(crate) fn no_model(found: &Discovery) -> Failure {
    let advice = found.advice.clone();
    let advice = advice.unwrap_or_else(|| "no usable model found".to_owned());
    if let Some(reason) = &found.unavailable {
        return Failure::no_model(format!("{reason}\n{advice}"));
    }
    let mut lines = vec![advice];
    for finding in &found.findings {
        lines.push(format!("  {}: {}", finding.provider, finding.note));
    }
    Failure::no_model(lines.join("\n"))
}

fn explain(found: &Discovery, progress: &ProgressSink) {
    if let Some(substitution) = found.substitution() {
        (progress.say)(&substitution);
    } else if let Some(choice) = &found.deliberate {
        (progress.say)(&format!("Using {} ({})", choice.model, choice.why));
    }
    if let Some(advice) = &found.advice {
        (progress.say)(&capital(advice));
    }
}

fn say_remarks(seating: &Seating, progress: &ProgressSink) {
    let models: BTreeSet<&str> = seating
        .seated
        .iter()
        .map(|seated| seated.model.as_str())
        .collect();
    for remark in models.into_iter().filter_map(embedded::remark) {
        (progress.say)(&remark);
    }
}
