use std::sync::Arc;

use super::*;
use crate::journal::MemoryJournal;
use crate::protocols::forecast::tests::{good, played, script};
use crate::protocols::forecast::{Calibration, calibration_report};
use crate::scripted::entries;

/// The end of 2027-12-31 in UTC.
const END_OF_2027: Millis = 1_830_297_600_000;

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
                value: None,
            },
        });
    }
    entries
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// A forecast is scored from the end of its resolution date on, to the millisecond.
#[tokio::test]
async fn a_forecast_is_scored_only_after_its_resolution_date() {
    let entries = resolved(&[Some("within")], 5_000_000).await;
    assert_eq!(scored("d", &entries, END_OF_2027 - 1), None);
    let late = scored("d", &entries, END_OF_2027).unwrap();
    assert_eq!(
        late.known_at, END_OF_2027,
        "recorded early, known at the end of the day"
    );
    let entries = resolved(&[Some("within")], END_OF_2027 + 7).await;
    assert_eq!(
        scored("d", &entries, END_OF_2027 + 8).unwrap().known_at,
        END_OF_2027 + 7
    );
}

/// Brier and log scores of the debate, the roles, the blind first round and the baselines, computed by hand.
#[tokio::test]
async fn a_resolved_forecast_is_scored_with_its_baselines() {
    let entries = resolved(&[Some("within")], END_OF_2027).await;
    let scored = scored("d", &entries, END_OF_2027).unwrap();
    // The optimist's forecast is 0.1, 0.7, 0.2.
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

/// A later resolution replaces an earlier one; a retraction leaves nothing to score.
#[tokio::test]
async fn the_last_resolution_counts() {
    let entries = resolved(&[Some("above"), Some("below")], END_OF_2027).await;
    assert_eq!(scored("d", &entries, END_OF_2027).unwrap().outcome, "below");
    let entries = resolved(&[Some("above"), None], END_OF_2027).await;
    assert_eq!(resolution_of(&entries), None);
    assert_eq!(scored("d", &entries, END_OF_2027), None);
}

/// The calibration over all debates: counts, standings and report.
#[tokio::test]
async fn the_calibration_adds_up() {
    let mut all = Vec::new();
    for outcome in ["within", "within", "below"] {
        let entries = resolved(&[Some(outcome)], END_OF_2027).await;
        all.push(scored("d", &entries, END_OF_2027).unwrap());
    }
    let calibration = Calibration::of(all, END_OF_2027);
    let counted: usize = calibration.reliability.iter().map(|bin| bin.count).sum();
    assert_eq!((calibration.questions, counted), (3, 9));
    let sources: Vec<_> = calibration
        .records
        .iter()
        .map(|record| record.source.as_str())
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
        standings
            .clone()
            .find(|standing| standing.role == role)
            .unwrap()
            .weight
    };
    assert!(
        weight("historian") > weight("contrarian"),
        "{:?}",
        calibration.standings
    );
    // The debate against the blind first round, on the same questions.
    let (debate, blind) = (&calibration.records[0], &calibration.records[1]);
    assert_eq!((debate.difference, debate.interval), (None, None));
    close(blind.difference.unwrap(), debate.brier - blind.brier);
    // All three have the same question, so there is nothing to resample.
    close(blind.interval.unwrap().low, blind.difference.unwrap());
    let deliberation = calibration.deliberation.unwrap();
    assert_eq!(deliberation.questions, 3);
    close(deliberation.gain, blind.brier - debate.brier);
    assert!(deliberation.efficiency > 0.0, "{deliberation:?}");
    insta::assert_json_snapshot!(calibration_report(&calibration));
    assert_eq!(Calibration::of(Vec::new(), END_OF_2027).questions, 0);
}
