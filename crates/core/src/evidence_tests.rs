use proptest::prelude::*;

use super::*;
use EvidenceType::{Documented, Empirical, Logical, Precedent, Preferential, Speculative};

fn grounds(kinds: &[EvidenceType]) -> Vec<Ground> {
    let each = kinds.iter().enumerate().map(|(index, kind)| Ground {
        kind: *kind,
        source: Some(SourceId(index)),
    });
    each.collect()
}

fn with(changed: EvidenceType, percent: u8) -> Weights {
    Weights::each(|kind| {
        if kind == changed {
            Probability::percent(percent)
        } else {
            kind.prior_weight()
        }
    })
}

fn level(kinds: &[EvidenceType]) -> Level {
    grade(&grounds(kinds), &Weights::default()).level
}

#[test]
fn e01_the_six_types_have_their_prior_weights() {
    let weights = Weights::default();
    let all = EvidenceType::ALL.map(|kind| (kind.name(), weights.of(kind).value()));
    assert_eq!(
        all,
        [
            ("DOCUMENTED", 0.90),
            ("EMPIRICAL", 0.85),
            ("PRECEDENT", 0.70),
            ("LOGICAL", 0.60),
            ("PREFERENTIAL", 0.40),
            ("SPECULATIVE", 0.20),
        ]
    );
}

#[test]
fn e01_types_and_weights_are_serialized_by_name() {
    let written = serde_json::to_string(&Weights::default()).unwrap();
    assert_eq!(
        written,
        r#"{"DOCUMENTED":0.9,"EMPIRICAL":0.85,"PRECEDENT":0.7,"LOGICAL":0.6,"PREFERENTIAL":0.4,"SPECULATIVE":0.2}"#
    );
    assert_eq!(
        serde_json::from_str::<Weights>(&written).unwrap(),
        Weights::default()
    );
    for kind in EvidenceType::ALL {
        assert_eq!(EvidenceType::named(kind.name()), Some(kind));
    }
    assert_eq!(EvidenceType::named("ANECDOTAL"), None);
}

#[test]
fn e01_a_type_is_parsed_in_any_case_and_an_unknown_one_is_none() {
    assert_eq!(EvidenceType::named("documented"), Some(Documented));
    assert_eq!(EvidenceType::named(" [EMPIRICAL] "), Some(Empirical));
    assert_eq!(EvidenceType::named("ANECDOTAL"), None);
    assert_eq!(EvidenceType::named(""), None);
}

/// E-04: every rule, and a near miss for each.
#[test]
fn e04_evidence_determines_the_band() {
    let table: [(&[EvidenceType], Level); 15] = [
        (&[Documented, Documented], Level::High),
        (&[Documented, Documented, Speculative], Level::High),
        (&[Documented], Level::MediumHigh),
        (&[Empirical], Level::MediumHigh),
        (&[Empirical, Empirical], Level::MediumHigh),
        (&[Documented, Empirical, Logical], Level::MediumHigh),
        (&[Precedent, Logical], Level::Medium),
        (&[Precedent, Logical, Preferential], Level::Medium),
        (&[Precedent], Level::MediumLow),
        (&[Precedent, Preferential], Level::MediumLow),
        (&[Logical], Level::MediumLow),
        (&[Preferential], Level::Low),
        (&[Preferential, Speculative], Level::Low),
        (&[Speculative], Level::VeryLow),
        (&[], Level::VeryLow),
    ];
    for (kinds, expected) in table {
        assert_eq!(level(kinds), expected, "{kinds:?}");
    }
    let bands = Level::ALL.map(Level::band);
    assert_eq!(
        bands,
        [
            (0.85, 0.95),
            (0.70, 0.84),
            (0.55, 0.69),
            (0.40, 0.54),
            (0.25, 0.39),
            (0.10, 0.24)
        ]
    );
}

#[test]
fn e04_a_source_cited_twice_counts_once() {
    let twice = Ground {
        kind: Documented,
        source: Some(SourceId(3)),
    };
    assert_eq!(
        grade(&[twice, twice], &Weights::default()).level,
        Level::MediumHigh
    );
}

#[test]
fn e04_weak_empirical_evidence_counts_as_a_precedent() {
    let strong = with(Empirical, 70);
    let weak = with(Empirical, 69);
    let (alone, reasoned) = (grounds(&[Empirical]), grounds(&[Empirical, Logical]));
    assert_eq!(grade(&alone, &strong).level, Level::MediumHigh);
    assert_eq!(grade(&alone, &weak).level, Level::MediumLow);
    assert_eq!(grade(&reasoned, &weak).level, Level::Medium);
}

#[test]
fn e04_stated_confidence_is_compared_with_the_band() {
    use Calibration::{Overconfident, Underconfident, Within};
    let said = |value: f64, level| Calibration::of(Confidence::new(value).unwrap(), level);
    let table = [
        (Level::High, 0.84, Underconfident),
        (Level::High, 0.85, Within),
        (Level::High, 0.95, Within),
        (Level::High, 0.96, Overconfident),
        (Level::MediumHigh, 0.69, Underconfident),
        (Level::MediumHigh, 0.70, Within),
        (Level::MediumHigh, 0.84, Within),
        (Level::MediumHigh, 0.844, Within),
        (Level::MediumHigh, 0.845, Overconfident),
        (Level::Medium, 0.55, Within),
        (Level::Medium, 0.70, Overconfident),
        (Level::MediumLow, 0.39, Underconfident),
        (Level::MediumLow, 0.54, Within),
        (Level::Low, 0.25, Within),
        (Level::Low, 0.40, Overconfident),
        (Level::VeryLow, 0.09, Underconfident),
        (Level::VeryLow, 0.24, Within),
        (Level::VeryLow, 0.25, Overconfident),
    ];
    for (level, value, expected) in table {
        assert_eq!(said(value, level), expected, "{value} of {level:?}");
    }
}

proptest! {
    #[test]
    fn e04_strength_is_within_the_band_and_more_evidence_never_lowers_the_level(
        kinds in prop::collection::vec(0_usize..6, 0..6),
        more in 0_usize..6,
        weights in prop::array::uniform6(0_u8..=100),
    ) {
        let weights = Weights::each(|kind| Probability::percent(weights[kind as usize]));
        let mut kinds: Vec<EvidenceType> = kinds.into_iter().map(|index| EvidenceType::ALL[index]).collect();
        let before = grade(&grounds(&kinds), &weights);
        let (low, high) = before.level.band();
        prop_assert!((low..=high).contains(&before.strength));
        kinds.push(EvidenceType::ALL[more]);
        // `Level` is ordered from HIGH down.
        prop_assert!(grade(&grounds(&kinds), &weights).level <= before.level);
    }
}
