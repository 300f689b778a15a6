//! Diversity of the positions in early rounds, one of the triggers of a groupthink check (M-08). Journaled, so that a replay
//! needs no embedder.

use roundtable_core::convergence::same_option;
use roundtable_core::groupthink::{Diversity, EARLY_ROUND, premise_overlap};
use roundtable_core::opposition::are_opposed;
use roundtable_core::similarity::cosine;
use roundtable_core::wording;

use super::debate::Debate;
use crate::table::{Halt, Table};

/// Positions at least this similar count as one cluster.
const MIN_SIMILARITY: f64 = 0.80;
/// The same for word overlap, which is used if there is no embedder.
const MIN_WORD_OVERLAP: f64 = 0.5;

/// `None` once agreement is no longer early.
pub(super) async fn measure(
    table: &Table,
    debate: &Debate,
    round: u32,
) -> Result<Option<Diversity>, Halt> {
    let speakers = debate.state.agent_status.len();
    if round > EARLY_ROUND || speakers == 0 {
        return Ok(None);
    }
    // With the number of speakers: if an absent seat is retried and speaks, the round is measured again.
    let key = format!("r{round}/diversity-of-{speakers}");
    let measured = match table.embedder() {
        Some(embedder) => {
            let measuring = table.note(&key, || async {
                let positions = positions(debate).map(str::to_owned).collect();
                let vectors = embedder.embed(positions).await.ok();
                diversity(table, debate, vectors.as_deref())
            });
            measuring.await?
        }
        None => table.memoize(&key, || diversity(table, debate, None))?,
    };
    Ok(Some(measured))
}

/// The round of a journaled measurement, by its key.
pub(super) fn round_of_key(key: &str) -> Option<u32> {
    let (round, _) = key.strip_prefix('r')?.split_once("/diversity-of-")?;
    round.parse().ok()
}

fn positions(debate: &Debate) -> impl Iterator<Item = &str> {
    let status = debate.state.agent_status.iter();
    status.map(|status| status.position.as_str())
}

fn diversity(table: &Table, debate: &Debate, vectors: Option<&[Vec<f32>]>) -> Diversity {
    let statuses = &debate.state.agent_status;
    let premises: Vec<_> = statuses
        .iter()
        .map(|status| debate.state.premises(&status.agent))
        .collect();
    let positions: Vec<&str> = positions(debate).collect();
    // Similar wording with different answers is not agreement.
    let differ = |a: usize, b: usize| {
        let (a, b) = (&statuses[a], &statuses[b]);
        match (&a.debate_alignment, &b.debate_alignment) {
            (Some(a), Some(b)) => !same_option(a, b),
            (Some(_) | None, _) => are_opposed(&a.position, &b.position),
        }
    };
    let clusters = match vectors {
        Some(vectors) if vectors.len() == positions.len() => {
            wording::clusters(positions.len(), MIN_SIMILARITY, |a, b| {
                if differ(a, b) {
                    0.0
                } else {
                    table.scale().read(cosine(&vectors[a], &vectors[b])).scaled
                }
            })
        }
        _ => {
            let words: Vec<_> = positions
                .iter()
                .map(|text| wording::words(text).collect())
                .collect();
            wording::clusters(positions.len(), MIN_WORD_OVERLAP, |a, b| {
                if differ(a, b) {
                    0.0
                } else {
                    wording::jaccard(&words[a], &words[b])
                }
            })
        }
    };
    Diversity {
        sources: debate.state.evidence.len(),
        premise_overlap: premise_overlap(&premises),
        clusters,
    }
}
