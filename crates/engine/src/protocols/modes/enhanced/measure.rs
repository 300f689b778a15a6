//! Measures a round with the embedder: similarity and shift of the positions. Journaled, so that a replay needs no embedder; a
//! missing embedder is journaled too.

use std::collections::BTreeMap;

use roundtable_core::convergence;
use roundtable_core::scale::Similarity;
use serde::{Deserialize, Serialize};

use crate::embedder::Embedder;
use crate::model::Ability;
use crate::protocols::modes::Debate;
use crate::table::{Halt, Table};
use crate::tokens;

/// Facts about a round that do not follow from its replies alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub embedder: Option<String>,
    /// Why the positions were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub similarity: Option<Similarity>,
    /// By seat, for seats that had spoken before.
    pub shifts: BTreeMap<String, Similarity>,
    /// Tokens that the enhanced debate added to the prompts of this round.
    pub prompt_tokens: u64,
    pub embedded_tokens: u64,
}

/// `None` in a plain debate.
pub async fn measure(
    table: &Table,
    debate: &Debate,
    round: u32,
) -> Result<Option<Measurement>, Halt> {
    let Some(enhanced) = &debate.enhanced else {
        return Ok(None);
    };
    let speakers = debate.rounds.last().map_or(0, |round| round.turns.len());
    // With the number of speakers: if an absent seat is retried and speaks, the round is measured again.
    let key = format!("r{round}/convergence-of-{speakers}");
    let prompt_tokens = prompt_tokens(table, debate)?;
    let measured = table
        .note(&key, || async {
            let measured = if enhanced.rules.is_measured() {
                measure_positions(table, debate).await
            } else {
                Measurement::default()
            };
            Measurement {
                prompt_tokens,
                ..measured
            }
        })
        .await?;
    Ok(Some(measured))
}

/// The round of a journaled measurement, by its key.
pub(crate) fn round_of_key(key: &str) -> Option<u32> {
    let (round, _) = key.strip_prefix('r')?.split_once("/convergence-of-")?;
    round.parse().ok()
}

async fn measure_positions(table: &Table, debate: &Debate) -> Measurement {
    let Some(embedder) = table.embedder() else {
        return Measurement {
            failure: Some("there is no embedder".into()),
            ..Measurement::default()
        };
    };
    let name = Some(embedder.name().to_owned());
    match compare_positions(table, debate, embedder.as_ref()).await {
        Ok(measured) => Measurement {
            embedder: name,
            ..measured
        },
        Err(reason) => Measurement {
            embedder: name,
            failure: Some(reason),
            ..Measurement::default()
        },
    }
}

async fn compare_positions(
    table: &Table,
    debate: &Debate,
    embedder: &dyn Embedder,
) -> Result<Measurement, String> {
    let Some(round) = debate.rounds.last() else {
        return Ok(Measurement::default());
    };
    let heard = round.turns.iter().filter(|turn| !turn.is_hidden);
    let now: Vec<(String, String)> = heard
        .map(|turn| (turn.seat.clone(), turn.reply.position.clone()))
        .collect();
    let before: Vec<Option<String>> = now
        .iter()
        .map(|(seat, _)| debate.position_before(seat, round.number))
        .collect();
    let texts: Vec<String> = now
        .iter()
        .map(|(_, text)| text.clone())
        .chain(before.iter().flatten().cloned())
        .collect();
    if texts.is_empty() {
        return Ok(Measurement::default());
    }
    let embedded_tokens = texts.iter().map(|text| tokens::count(text)).sum();
    let expected = texts.len();
    let vectors = embedder
        .embed(texts)
        .await
        .map_err(|error| error.to_string())?;
    if vectors.len() != expected {
        return Err("the embedder did not answer for every position".into());
    }
    let (current, mut earlier) = vectors.split_at(now.len());
    let mut shifts = BTreeMap::new();
    for (((seat, _), vector), position) in now.iter().zip(current).zip(&before) {
        if position.is_none() {
            continue;
        }
        let Some((own, rest)) = earlier.split_first() else {
            break;
        };
        earlier = rest;
        if let Some(shift) = convergence::shift(own, vector, table.scale()) {
            shifts.insert(seat.clone(), shift);
        }
    }
    Ok(Measurement {
        similarity: convergence::similarity(current, table.scale()),
        shifts,
        embedded_tokens,
        ..Measurement::default()
    })
}

/// Tokens that a plain debate would not have sent in this round, over all calls.
fn prompt_tokens(table: &Table, debate: &Debate) -> Result<u64, Halt> {
    let (Some(round), Some(evidence)) = (debate.rounds.last(), &debate.prompt_evidence) else {
        return Ok(0);
    };
    let mut added = BTreeMap::new();
    for ability in [Ability::Full, Ability::Small] {
        let mut sum = 0;
        for name in [
            "modes/evidence",
            "modes/evidence-table",
            "modes/evidence-own",
        ] {
            let context =
                serde_json::json!({ "enhanced": evidence, "small": ability == Ability::Small });
            sum += tokens::count(&table.render(name, context)?);
        }
        added.insert(ability == Ability::Small, sum);
    }
    let calls = round.turns.iter().map(|turn| {
        let ability = debate.panel.seat(&turn.seat).map(|seat| seat.ability);
        let tokens = added.get(&(ability == Some(Ability::Small)));
        u64::from(turn.spent.calls) * tokens.copied().unwrap_or_default()
    });
    Ok(calls.sum())
}
