use std::sync::Arc;

use super::*;
use crate::journal::MemoryJournal;
use crate::protocols::forecast::tests::{good, played, script};
use crate::protocols::forecast::{Calibration, calibration_report};
use crate::scripted::entries;

/// 2027-12-31 is over when 2028 begins.
const OVER: Millis = 1_830_297_600_000;

async fn resolved(outcomes: &[Option<&str>], at: Millis) -> Vec<Entry> {
    let journal = Arc::<MemoryJournal>::default();
    played(&script(|request, _| good(request)), &journal).await;
    let mut entries = entries(&journal);
    for (number, outcome) in (1..).zip(outcomes) {
        entries.push(Entry {
            seq: entries.len() as u64 + 1,
            at,
            event: Event::Resolved {
                number,
                outcome: outcome.map(str::to_owned),
                by: Some("Ada".into()),
            },
        });
    }
    entries
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// Only questions past their resolution date are scored: on both sides of midnight.
#[tokio::test]
async fn nothing_is_scored_before_its_day_is_over() {
    let entries = resolved(&[Some("within")], 5_000_000).await;
    assert_eq!(scored("d", &entries, OVER - 1), None);
    let late = scored("d", &entries, OVER).unwrap();
    assert_eq!(
        late.known_at, OVER,
        "said early, known when the day was over"
    );
    let entries = resolved(&[Some("within")], OVER + 7).await;
    assert_eq!(scored("d", &entries, OVER + 8).unwrap().known_at, OVER + 7);
}

/// Brier and log score of the debate, each role, the blind first round and the baselines, by hand.
#[tokio::test]
async fn a_resolved_debate_is_scored_beside_its_baselines() {
    let entries = resolved(&[Some("within")], OVER).await;
    let scored = scored("d", &entries, OVER).unwrap();
    // The optimist said 0.1, 0.7, 0.2.
    close(scored.roles["optimist"].brier, (0.01 + 0.09 + 0.04) / 2.0);
    close(scored.roles["optimist"].log, -(0.7_f64.ln()));
    // Blind: 0.24, 0.45, 0.31.
    let blind = scored.blind_first_round.unwrap();
    close(blind.brier, (0.24 * 0.24 + 0.55 * 0.55 + 0.31 * 0.31) / 2.0);
    close(scored.uniform.brier, 1.0 / 3.0);
    close(scored.simulation.unwrap().brier, (0.04 + 0.25 + 0.09) / 2.0);
    assert_eq!(scored.roles.len(), 5);
    assert!(scored.debate.brier < blind.brier);
    assert!(scored.accuracy_pool.is_some());
}

/// A later word corrects an earlier one; taking it back leaves nothing to score.
#[tokio::test]
async fn the_last_word_on_what_happened_counts() {
    let entries = resolved(&[Some("above"), Some("below")], OVER).await;
    assert_eq!(scored("d", &entries, OVER).unwrap().outcome, "below");
    let entries = resolved(&[Some("above"), None], OVER).await;
    assert_eq!(resolution_of(&entries), None);
    assert_eq!(scored("d", &entries, OVER), None);
}

/// The calibration over all debates: counts add up, standings follow, and the report shows them.
#[tokio::test]
async fn the_calibration_adds_up() {
    let mut all = Vec::new();
    for outcome in ["within", "within", "below"] {
        let entries = resolved(&[Some(outcome)], OVER).await;
        all.push(scored("d", &entries, OVER).unwrap());
    }
    let calibration = Calibration::of(all, OVER);
    let counted: usize = calibration.reliability.iter().map(|bin| bin.count).sum();
    assert_eq!((calibration.questions, counted), (3, 9));
    let sources: Vec<_> = calibration
        .records
        .iter()
        .map(|it| it.source.as_str())
        .collect();
    assert_eq!(
        sources,
        [
            "debate",
            "blind first round",
            "accuracy pool",
            "uniform",
            "simulation",
            "contrarian",
            "historian",
            "judge",
            "optimist",
            "pessimist"
        ]
    );
    let weight = |role: &str| {
        let standings = calibration.standings["economy"].iter();
        standings.clone().find(|it| it.role == role).unwrap().weight
    };
    assert!(
        weight("historian") > weight("contrarian"),
        "{:?}",
        calibration.standings
    );
    insta::assert_json_snapshot!(calibration_report(&calibration));
    assert_eq!(Calibration::of(Vec::new(), OVER).questions, 0);
}
