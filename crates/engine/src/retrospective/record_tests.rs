use super::*;

pub(crate) const DASHBOARD: &str = include_str!("../../fixtures/dashboard/record.yaml");

fn dashboard() -> RecordFile {
    serde_saphyr::from_str(DASHBOARD).unwrap()
}

/// E-12
#[test]
fn e12_the_designs_record_round_trips_through_yaml_and_json() {
    let record = dashboard();
    let yaml = serde_saphyr::to_string(&record).unwrap();
    assert_eq!(
        serde_saphyr::from_str::<RecordFile>(&yaml).unwrap(),
        record,
        "{yaml}"
    );
    let json = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<RecordFile>(&json).unwrap(), record);
    // The documents are equal too, not only the parsed records.
    let read: serde_json::Value = serde_saphyr::from_str(DASHBOARD).unwrap();
    assert_eq!(serde_json::to_value(&record).unwrap(), read);
}

#[test]
fn e12_every_field_of_the_designs_first_round_is_read() {
    let record = dashboard().debate_record;
    insta::assert_json_snapshot!(record.rounds[0]);
    assert_eq!(
        record.agents(),
        ["Claude-Sonnet-3.5", "GPT-4", "Gemini-Pro"]
    );
    let tokens = record
        .rounds
        .iter()
        .flat_map(|round| &round.agent_positions);
    assert_eq!(
        tokens.map(|position| position.tokens_used).sum::<u64>(),
        record.token_efficiency.total_tokens
    );
}

/// E-02: a citation without a type is speculative; a type without a citation is ignored.
#[test]
fn e12_citations_are_paired_with_their_types() {
    let mut position = dashboard().debate_record.rounds[0].agent_positions[1].clone();
    position.evidence_types.truncate(1);
    let kinds: Vec<_> = position.evidence().map(|(kind, _)| kind.name()).collect();
    assert_eq!(kinds, ["EMPIRICAL", "SPECULATIVE"]);
    position.evidence_citations.clear();
    assert_eq!(position.evidence().count(), 0);
}

#[test]
fn e12_unknown_fields_and_invalid_values_are_rejected() {
    let invalid = DASHBOARD.replace("duration_seconds: 180", "duration_second: 180");
    let error = serde_saphyr::from_str::<RecordFile>(&invalid).unwrap_err();
    assert!(error.to_string().contains("duration_second"), "{error}");
    let invalid = DASHBOARD.replace("confidence: 0.75", "confidence: 1.75");
    assert!(serde_saphyr::from_str::<RecordFile>(&invalid).is_err());
}
