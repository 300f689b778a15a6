use super::*;
use crate::event::Millis;
use crate::protocols::forecast::resolution::{Actual, Score, Scored};

const DAY: Millis = 24 * 60 * 60 * 1000;

fn yes(probability: f64) -> Distribution {
    Distribution::normalised(&[probability, 1.0 - probability]).unwrap()
}

/// A question on day `number`, forecast `said` after a blind `blind`, that came out on the same day; it was due 40 days later.
fn question(number: u64, blind: f64, said: f64, happened: usize) -> Scored {
    let forecast = yes(said);
    let score = |forecast: &Distribution| Score::of(forecast, happened, None).unwrap();
    let seat = |agent: &str, group: &str| Seat {
        agent: agent.to_owned(),
        group: Some(group.to_owned()),
    };
    Scored {
        debate_id: format!("d{number}"),
        question: format!("Q{number}"),
        domain: Some(
            if number.is_multiple_of(2) {
                "sport"
            } else {
                "law"
            }
            .to_owned(),
        ),
        outcome: ["yes", "no"][happened].to_owned(),
        known_at: number * DAY + 1,
        due_at: (number + 40) * DAY,
        debate: score(&forecast),
        accuracy_pool: None,
        blind_first_round: Some(score(&yes(blind))),
        roles: BTreeMap::new(),
        panel: vec![
            (seat("lab:x", "judge"), forecast.clone()),
            (seat("crowd", "crowd"), yes(0.5)),
        ],
        happened,
        actual: None,
        forecast_at: number * DAY,
        uniform: score(&yes(0.5)),
        simulation: None,
        crowd: Some(score(&yes(0.5))),
        forecasts: vec![(said, happened == 0), (1.0 - said, happened == 1)],
        movement: Movement::of(&[blind, 1.0 - blind], &[said, 1.0 - said], happened),
        outcomes: vec!["yes".into(), "no".into()],
        families: BTreeMap::from([("judge".to_owned(), "claude".to_owned())]),
        extra_cost: Some(0.25),
        forecast,
    }
}

fn record<'c>(calibration: &'c Calibration, source: &str) -> &'c Record {
    let mut records = calibration.records.iter();
    records.find(|record| record.source == source).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// Twenty questions: 0.5 blind, then 0.8 with yes in three of four.
fn twenty() -> Calibration {
    let questions = (1..=20).map(|number| question(number, 0.5, 0.8, usize::from(number % 4 == 0)));
    Calibration::of(questions.collect(), 30 * DAY)
}

#[test]
fn b09_skill_is_measured_against_crowd_base_rate_and_blind_round() {
    let calibration = twenty();
    let debate = 0.75 * 0.04 + 0.25 * 0.64;
    close(record(&calibration, "debate").brier, debate);
    assert_eq!(record(&calibration, "debate").skill, None);
    for source in ["crowd", "blind first round", "uniform"] {
        let other = record(&calibration, source);
        assert_eq!(other.questions, 20);
        close(other.skill.unwrap(), 1.0 - debate / 0.25);
        close(other.difference.unwrap(), debate - 0.25);
        let interval = other.interval.unwrap();
        assert!(interval.low < debate - 0.25 && interval.high > debate - 0.25);
    }
    // From the sixth question on, when five outcomes were known; the sixth sees 4 of 5 yes, so (4 + 1) / (5 + 2).
    let base = record(&calibration, "base rate");
    assert_eq!(base.questions, 15);
    let five = (1..=6).map(|number| question(number, 0.5, 0.8, usize::from(number % 4 == 0)));
    let sixth = base_rates(&five.collect::<Vec<_>>());
    assert_eq!(sixth[4], None);
    close(sixth[5].unwrap().brier, (2.0_f64 / 7.0).powi(2));
}

#[test]
fn b09_deliberation_is_called_worth_it_only_if_the_interval_excludes_0() {
    let own = twenty().deliberation.unwrap();
    close(own.gain, 0.25 - 0.19);
    close(own.moved, 0.3);
    close(own.cost.unwrap(), 0.25);
    assert_eq!(own.was_worth_it, WasWorthIt::Undecided);
    let all = |happened| {
        let questions = (1..=8).map(|number| question(number, 0.5, 0.8, happened));
        Calibration::of(questions.collect(), 30 * DAY)
            .deliberation
            .unwrap()
    };
    assert_eq!(all(0).was_worth_it, WasWorthIt::Better);
    assert_eq!(all(1).was_worth_it, WasWorthIt::Worse);
    // Gain 0.21, squared movement 0.09.
    close(all(0).efficiency_interval.unwrap().low, 0.21 / 0.09);
    let one = Calibration::of(vec![question(1, 0.5, 0.8, 0)], 30 * DAY);
    let one = one.deliberation.unwrap();
    assert_eq!(
        (one.gain_interval, one.was_worth_it),
        (None, WasWorthIt::Undecided)
    );
}

#[test]
fn b09_groups_have_counts_and_intervals() {
    let calibration = twenty();
    let shown: Vec<_> = calibration
        .groups
        .iter()
        .map(|group| (group.by, group.name.as_str(), group.questions))
        .collect();
    assert_eq!(
        shown,
        [
            (Grouping::Domain, "law", 10),
            (Grouping::Domain, "sport", 10),
            (Grouping::Horizon, "31 to 90 days", 20),
            (Grouping::Role, "judge", 20),
            (Grouping::Family, "claude", 20),
        ]
    );
    let law = &calibration.groups[0];
    close(law.brier, 0.04);
    close(law.right, 1.0);
    close(law.said, 0.8);
    close(law.reliability, 0.04);
    assert!(law.right_interval.low < 0.8);
    assert_eq!(law.bins.iter().map(|bin| bin.count).sum::<usize>(), 20);
}

/// Both sides of each border between horizons.
#[test]
fn b09_horizons_are_whole_days() {
    let at = |days: u64| {
        let mut own = question(1, 0.5, 0.8, 0);
        own.due_at = own.forecast_at + days * DAY + DAY / 2;
        groups(&[own])[1].name.clone()
    };
    let expected = [
        (0, "up to 7 days"),
        (7, "up to 7 days"),
        (8, "8 to 30 days"),
        (30, "8 to 30 days"),
        (31, "31 to 90 days"),
        (90, "31 to 90 days"),
        (91, "91 to 365 days"),
        (365, "91 to 365 days"),
        (366, "over a year"),
    ];
    for (days, name) in expected {
        assert_eq!(at(days), name, "{days}");
    }
    let mut own = question(1, 0.5, 0.8, 0);
    own.due_at = 0;
    assert_eq!(groups(&[own])[1].name, "no deadline");
}

#[test]
fn b09_the_calibration_report_says_what_to_do_with_it() {
    insta::assert_json_snapshot!(calibration_report(&twenty()));
}

/// B-09: CRPS of different units are compared as shares of the range of each question. By hand: F(x) = x/2 and the value 1 of 0 to 2
/// give 1/6, a twelfth of the range; the uniform forecast is the same here; 0.8 below 1 gives (0.8² + 0.2²)/3.
#[test]
fn b09_crps_is_compared_as_a_share_of_the_range() {
    use roundtable_core::forecast::{Bins, OpenEnds};
    let of = |number: u64, unit: f64| {
        let mut own = question(number, 0.5, 0.8, 0);
        let bins = Bins::new(vec![0.0, unit, 2.0 * unit], OpenEnds::default()).unwrap();
        let actual = Actual { bins, value: unit };
        let score = |shares: f64| Score::of(&yes(shares), 0, Some(&actual)).unwrap();
        (own.debate, own.uniform) = (score(0.8), score(0.5));
        own.actual = Some(actual);
        own
    };
    let plain = question(3, 0.5, 0.8, 0);
    let calibration = Calibration::of(vec![of(1, 1.0), of(2, 1000.0), plain], 30 * DAY);
    let debate = record(&calibration, "debate").crps.unwrap();
    assert_eq!((debate.questions, debate.skill), (2, None));
    close(debate.mean, 0.68 / 3.0 / 2.0);
    let uniform = record(&calibration, "uniform").crps.unwrap();
    close(uniform.mean, 1.0 / 12.0);
    close(uniform.skill.unwrap(), 1.0 - 0.34 * 4.0);
    assert_eq!(record(&calibration, "crowd").crps, None);
    let report = serde_json::to_string(&calibration_report(&calibration)).unwrap();
    assert!(report.contains("CRPS of numbers and dates"), "{report}");
    let without = Calibration::of(vec![question(1, 0.5, 0.8, 0)], 30 * DAY);
    assert_eq!(record(&without, "debate").crps, None);
}
