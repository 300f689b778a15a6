use super::*;

#[test]
fn e01_the_six_types_have_the_designs_weights() {
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
fn e01_types_and_weights_are_written_by_their_names() {
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
