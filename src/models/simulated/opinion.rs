//! The opinion of a simulated seat: its answer, drawn from its accuracy and from the answers it has read.

use roundtable_core::random::SplitMix64;
use roundtable_core::simulation::{Answer, Debater, Question, World, ability, leading};
use roundtable_engine::model::Request;
use sha2::{Digest, Sha256};

use super::question;
use crate::config::Simulation;

/// How a position names its answer, so that other simulated seats recognise it.
const ANSWER_IS: &str = "The answer is ";

/// A model of simulated seats.
pub(super) struct Seat {
    model: String,
    settings: Simulation,
    world: World,
    debater: Debater,
}

/// One seat's opinion in one call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Opinion {
    pub answer: String,
    pub other: String,
    /// The probability that it gives its answer.
    pub confidence: f64,
    /// Whether most of the others that it has read agree; `None` if it has read none.
    pub agrees: Option<bool>,
}

impl Seat {
    pub(super) fn new(model: &str, settings: Simulation, (within, between): (f64, f64)) -> Self {
        let world = World::MMLU_PRO.with_correlations(settings.accuracy, within, between);
        let world = world.unwrap_or(World::MMLU_PRO);
        let debater = Debater {
            stubbornness: settings.stubbornness,
            conformity: settings.conformity,
            ..Debater::new(ability(&world, settings.accuracy), 0)
        };
        Self {
            model: model.to_owned(),
            settings,
            world,
            debater,
        }
    }

    /// Random numbers of this call alone.
    pub(super) fn random(&self, request: &Request) -> SplitMix64 {
        SplitMix64::stream(hash(&[&self.model]), request.seed ^ self.settings.seed)
    }

    /// Its opinion of the question of this request, after it has read the answers in it.
    pub(super) fn opinion(&self, request: &Request, random: &mut SplitMix64) -> Opinion {
        let texts = request.messages.iter().map(|message| message.text.as_str());
        let question = question::find(texts.clone());
        let mut options = question::options(question);
        let seed = hash(&[question]) ^ self.settings.seed;
        // The first one counts as right.
        SplitMix64::stream(seed, 0).shuffle(&mut options);
        let world = World {
            options: u8::try_from(options.len()).unwrap_or(u8::MAX).max(2),
            ..self.world
        };
        let mut of_model = SplitMix64::stream(seed, hash(&[&self.model]));
        let drawn = Question::of_model(&world, &mut SplitMix64::stream(seed, 1), &mut of_model);
        let first = self.debater.first(&world, &drawn, random);
        let (own, others) = read(texts, &options);
        let own = own.or(first);
        let answers: Vec<Answer> = std::iter::once(own).chain(others.iter().copied()).collect();
        let next = if others.is_empty() {
            own
        } else {
            self.debater.revised(&world, &drawn, (&answers, 0), random)
        };
        let name = |answer: Answer| {
            let name = answer.and_then(|answer| options.get(usize::from(answer)));
            name.cloned().unwrap_or_default()
        };
        let other = u8::from(next == Some(0));
        Opinion {
            answer: name(next),
            other: name(Some(other)),
            confidence: self.confidence(drawn.probability(self.debater.ability, 0)),
            agrees: leading(&others).map(|lead| next == Some(lead)),
        }
    }

    /// Two decimals, and never quite sure.
    fn confidence(&self, probability: f64) -> f64 {
        let odds = (probability / (1.0 - probability)).ln() + self.settings.overconfidence;
        let stated = 1.0 / (1.0 + (-odds).exp());
        ((100.0 * stated).round() / 100.0).clamp(0.05, 0.99)
    }
}

/// The sentence that names an answer.
#[cfg(test)]
pub(super) fn sentence(answer: &str) -> String {
    format!("{ANSWER_IS}{answer}.")
}

/// The seat's own last answer, and those of the others, in the texts of a request.
fn read<'a>(texts: impl Iterator<Item = &'a str>, options: &[String]) -> (Answer, Vec<Answer>) {
    let (mut own, mut others) = (None, Vec::new());
    for text in texts {
        let (theirs, mine) = match text.split_once("Your own position in the last round:") {
            Some((before, after)) => (before, after),
            None => (text, ""),
        };
        own = own.or_else(|| named(mine, options).next());
        others.extend(named(theirs, options).map(Some));
    }
    (own, others)
}

/// The options that sentences of this text name.
fn named<'a>(text: &'a str, options: &'a [String]) -> impl Iterator<Item = u8> + 'a {
    text.split(ANSWER_IS).skip(1).filter_map(|rest| {
        let fits = |option: &&(usize, &String)| rest.starts_with(option.1.as_str());
        let options: Vec<(usize, &String)> = options.iter().enumerate().collect();
        let found = options
            .iter()
            .filter(fits)
            .max_by_key(|(_, name)| name.len());
        found.and_then(|(index, _)| u8::try_from(*index).ok())
    })
}

/// The first eight bytes of the hash of these texts.
pub(super) fn hash(texts: &[&str]) -> u64 {
    let digest = Sha256::digest(texts.join("\u{0}"));
    let first = digest.iter().take(8);
    first.fold(0, |number, byte| number << 8 | u64::from(*byte))
}
