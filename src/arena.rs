//! An arena: two or more contestants answer the user's own questions, and the user prefers one of two answers without knowing whose
//! they are. Bradley–Terry turns the preferences into strengths (B-01).
//!
//! An arena is a folder: `arena.json` with the drawn pairs, `votes.jsonl` with one line per vote, and the store of its debates.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use roundtable_core::bench::{Battle, Strength, strengths, win_probability};
use roundtable_core::random::SplitMix64;
use roundtable_core::spread::{mean, real};
use roundtable_core::statistics::Interval;
use roundtable_engine::data::{closest, read_regular, read_regular_text};
use roundtable_engine::event::Millis;
use roundtable_engine::report::{Block, Cell, Fact, Report, Section, Table, Tone, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::format::counted;

/// The folder of all arenas in a data folder.
const ARENAS: &str = "arenas";
const ARENA: &str = "arena.json";
const VOTES: &str = "votes.jsonl";
const MAX_BYTES: u64 = 100_000_000;
const VERSION: u32 = 1;

/// The contestants with the pairs of their answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Arena {
    pub version: u32,
    pub id: String,
    pub created_at: Millis,
    pub program: String,
    /// The file of the questions, and the hash of its content.
    pub file: String,
    pub sha256: String,
    pub seed: u64,
    pub contestants: Vec<String>,
    pub pairs: Vec<Pair>,
}

/// Two answers to a question, in the order in which they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pair {
    /// From 1.
    pub number: usize,
    pub question: String,
    pub left: Answer,
    pub right: Answer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The place of the contestant.
    pub contestant: usize,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Choice {
    Left,
    Right,
    Tie,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Vote {
    /// The number of the pair.
    pub pair: usize,
    pub choice: Choice,
    pub at: Millis,
}

/// Why a vote was not recorded.
#[derive(Debug)]
pub(crate) enum VoteError {
    NoSuchPair,
    /// Each pair is voted on once.
    Voted,
    Storage(io::Error),
}

impl Arena {
    /// Draws the pairs of all contestants that answered a question. Which answer is on the left follows from the seed.
    pub(crate) fn draw(seed: u64, answered: &[(String, Vec<Option<String>>)]) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (question, answers) in answered {
            for first in 0..answers.len() {
                for second in first + 1..answers.len() {
                    let (Some(one), Some(two)) = (&answers[first], &answers[second]) else {
                        continue;
                    };
                    let number = pairs.len() + 1;
                    let mut sides =
                        [(first, one), (second, two)].map(|(contestant, text)| Answer {
                            contestant,
                            text: text.clone(),
                        });
                    if SplitMix64::stream(seed, number as u64).below(2) == 1 {
                        sides.reverse();
                    }
                    let [left, right] = sides;
                    pairs.push(Pair {
                        number,
                        question: question.clone(),
                        left,
                        right,
                    });
                }
            }
        }
        pairs
    }
}

/// The folder of an arena by its id.
pub(crate) fn folder(data: &Path, id: &str) -> PathBuf {
    data.join(ARENAS).join(id)
}

/// Writes a new arena. One that has votes is never overwritten.
pub(crate) fn save(folder: &Path, arena: &Arena) -> Result<(), Failure> {
    let path = folder.join(ARENA);
    if folder.join(VOTES).exists() {
        return Err(Failure::usage(format!(
            "{} has votes already; use another --id",
            folder.display()
        )));
    }
    let text = serde_json::to_string_pretty(arena)
        .map_err(|error| Failure::other(format!("cannot write JSON: {error}")))?;
    let new = folder.join(format!("{ARENA}.new"));
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
    written.map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))
}

/// The ids of all arenas, in alphabetical order.
pub(crate) fn ids(data: &Path) -> Vec<String> {
    let entries = fs::read_dir(data.join(ARENAS)).into_iter().flatten();
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = names
        .filter(|id| folder(data, id).join(ARENA).is_file())
        .collect();
    ids.sort();
    ids
}

/// An arena with its votes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stored {
    pub arena: Arena,
    /// At most one per pair: the first.
    pub votes: Vec<Vote>,
    folder: PathBuf,
}

impl Stored {
    /// `None` if there is no arena of this id, or if the id is not the name of a folder.
    pub(crate) fn get(data: &Path, id: &str) -> Option<Result<Self, Failure>> {
        let is_name = !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\\']);
        let folder = folder(data, id);
        (is_name && folder.join(ARENA).is_file()).then(|| Self::read(folder))
    }

    pub(crate) fn find(data: &Path, id: &str) -> Result<Self, Failure> {
        Self::get(data, id).unwrap_or_else(|| {
            let known = ids(data);
            let hint = match closest(id, known.iter().map(String::as_str)) {
                Some(close) => format!("did you mean '{close}'?"),
                None => "roundtable arena list shows all".to_owned(),
            };
            Err(Failure::usage(format!("no arena '{id}'; {hint}")))
        })
    }

    fn read(folder: PathBuf) -> Result<Self, Failure> {
        let path = folder.join(ARENA);
        let cannot = |error: &dyn std::fmt::Display| {
            Failure::other(format!("cannot read {}: {error}", path.display()))
        };
        let bytes = read_regular(&path, MAX_BYTES).map_err(|error| cannot(&error))?;
        let arena: Arena = serde_json::from_slice(&bytes).map_err(|error| cannot(&error))?;
        let lines = match read_regular_text(&folder.join(VOTES), MAX_BYTES) {
            Ok(lines) => lines,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot(&error)),
        };
        let mut votes: Vec<Vote> = Vec::new();
        // A line that was cut by a crash is no vote: its pair is still open.
        for vote in lines
            .lines()
            .filter_map(|line| serde_json::from_str::<Vote>(line).ok())
        {
            let is_known = (1..=arena.pairs.len()).contains(&vote.pair);
            if is_known && votes.iter().all(|own| own.pair != vote.pair) {
                votes.push(vote);
            }
        }
        Ok(Self {
            arena,
            votes,
            folder,
        })
    }

    /// The first pair without a vote.
    pub(crate) fn next(&self) -> Option<&Pair> {
        let voted = |pair: &&Pair| self.votes.iter().any(|vote| vote.pair == pair.number);
        self.arena.pairs.iter().find(|pair| !voted(pair))
    }

    pub(crate) fn vote(&self, vote: Vote) -> Result<(), VoteError> {
        if !(1..=self.arena.pairs.len()).contains(&vote.pair) {
            return Err(VoteError::NoSuchPair);
        }
        if self.votes.iter().any(|own| own.pair == vote.pair) {
            return Err(VoteError::Voted);
        }
        let line = serde_json::to_string(&vote)
            .map_err(|error| VoteError::Storage(io::Error::other(error)))?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(VOTES));
        // A leading line break ends a line that a crash has cut.
        let written = file.and_then(|mut file| {
            file.write_all(format!("\n{line}\n").as_bytes())?;
            file.sync_data()
        });
        written.map_err(VoteError::Storage)
    }

    pub(crate) fn standing(&self) -> Standing {
        let pairs: HashMap<usize, &Pair> = self
            .arena
            .pairs
            .iter()
            .map(|pair| (pair.number, pair))
            .collect();
        let battles: Vec<Battle> = self
            .votes
            .iter()
            .filter_map(|vote| {
                let pair = pairs.get(&vote.pair)?;
                Some(Battle {
                    first: pair.left.contestant,
                    second: pair.right.contestant,
                    result: credit(vote.choice),
                })
            })
            .collect();
        let lefts: Vec<f64> = battles.iter().map(|battle| battle.result).collect();
        let strengths = strengths(self.arena.contestants.len(), &battles);
        let contestants: Vec<ContestantRow> = self
            .arena
            .contestants
            .iter()
            .zip(strengths)
            .map(|(name, strength)| ContestantRow {
                name: name.clone(),
                beats_first: strength
                    .interval
                    .map(|_| win_probability(strength.log_odds)),
                beats_first_interval: strength.interval.map(|one| Interval {
                    low: win_probability(one.low),
                    high: win_probability(one.high),
                }),
                strength,
            })
            .collect();
        let (conclusion, is_decided) = conclusion(&contestants);
        Standing {
            version: VERSION,
            id: self.arena.id.clone(),
            file: self.arena.file.clone(),
            sha256: self.arena.sha256.clone(),
            seed: self.arena.seed,
            pairs: self.arena.pairs.len(),
            votes: self.votes.len(),
            left_share: mean(&lefts),
            contestants,
            conclusion,
            is_decided,
        }
    }
}

fn credit(choice: Choice) -> f64 {
    match choice {
        Choice::Left => 1.0,
        Choice::Right => 0.0,
        Choice::Tie => 0.5,
    }
}

/// What the votes of an arena say so far.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Standing {
    pub version: u32,
    pub id: String,
    pub file: String,
    pub sha256: String,
    pub seed: u64,
    pub pairs: usize,
    pub votes: usize,
    /// How often the answer on the left was preferred: far from 0.5, the order decided.
    pub left_share: Option<f64>,
    pub contestants: Vec<ContestantRow>,
    pub conclusion: String,
    pub is_decided: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ContestantRow {
    pub name: String,
    #[serde(flatten)]
    pub strength: Strength,
    /// The probability that its answer is preferred to the first contestant's, with its 95% interval.
    pub beats_first: Option<f64>,
    pub beats_first_interval: Option<Interval>,
}

/// The conclusion in one sentence, and whether anything is decided.
fn conclusion(contestants: &[ContestantRow]) -> (String, bool) {
    let Some((first, others)) = contestants.split_first() else {
        return ("Not decided: there are no contestants.".to_owned(), false);
    };
    let percent = |value: f64| Unit::Percent.write(value);
    let mut decided = Vec::new();
    let mut open = Vec::new();
    for other in others {
        let known = other.beats_first.zip(other.beats_first_interval);
        let Some((share, range)) = known.filter(|(_, range)| range.low > 0.5 || range.high < 0.5)
        else {
            open.push(other.name.as_str());
            continue;
        };
        let (winner, loser, share, low, high) = if share > 0.5 {
            (other, first, share, range.low, range.high)
        } else {
            (first, other, 1.0 - share, 1.0 - range.high, 1.0 - range.low)
        };
        decided.push(format!(
            "{} is preferred to {} in {} (95% {} to {})",
            winner.name,
            loser.name,
            percent(share),
            percent(low),
            percent(high)
        ));
    }
    let open = match (decided.is_empty(), open.is_empty()) {
        (_, true) => String::new(),
        (true, false) => format!(
            "Not decided between {} and {}.",
            first.name,
            open.join(", ")
        ),
        (false, false) => format!(" Not decided: {}.", open.join(", ")),
    };
    let is_decided = !decided.is_empty();
    let end = if is_decided { "." } else { "" };
    (format!("{}{end}{open}", decided.join("; ")), is_decided)
}

/// The standing for people.
pub(crate) fn report(standing: &Standing) -> Report {
    let tone = if standing.is_decided {
        Tone::Good
    } else {
        Tone::Caution
    };
    let mut facts = vec![
        Fact::new("Conclusion", standing.conclusion.clone()).toned(tone),
        Fact::new(
            "Votes",
            format!("{} of {}", standing.votes, counted(standing.pairs, "pair")),
        ),
    ];
    if let Some(share) = standing.left_share {
        facts.push(Fact::new(
            "The left answer preferred",
            Unit::Percent.write(share),
        ));
    }
    let data = format!("{}, sha256 {}", standing.file, standing.sha256);
    facts.push(Fact::new("Data", data));
    let first = standing
        .contestants
        .first()
        .map_or("", |one| one.name.as_str());
    let rows = standing.contestants.iter().map(|row| {
        let strength = &row.strength;
        let range = |interval: Option<Interval>| {
            interval.map_or_else(
                || "–".to_owned(),
                |one| {
                    format!(
                        "{} … {}",
                        Unit::Percent.write(one.low),
                        Unit::Percent.write(one.high)
                    )
                },
            )
        };
        vec![
            Cell::new(row.name.clone()),
            Cell::new(strength.battles.to_string()),
            Cell::new(format!(
                "{:.1}%",
                100.0 * strength.wins / real(strength.battles.max(1))
            )),
            Unit::Percent.cell(row.beats_first),
            Cell::new(range(row.beats_first_interval)),
        ]
    });
    let columns = ["contestant", "#battles", "#won", "#preferred", "95%"];
    let caption = format!("Preferred to {first}, by Bradley–Terry; ties count half");
    let table = Block::Table(Table::of(&caption, &columns, rows));
    Report {
        facts,
        sections: vec![Section::main("Standing", vec![table])],
        ..Report::default()
    }
}

#[cfg(test)]
#[path = "arena_tests.rs"]
mod tests;
