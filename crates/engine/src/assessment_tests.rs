use EvidenceType::{Documented, Empirical, Logical, Precedent};

use super::*;

fn finding(validation: &str) -> Finding {
    Finding {
        aspect: "x".into(),
        validation: Some(validation.into()),
        note: None,
        evidence_type_accuracy: None,
    }
}

/// E-14: the sentences of the design's format mark all evidence of their type.
#[test]
fn e14_marks_of_a_type_are_read_from_the_designs_sentences() {
    let read = |text: &str| finding(text).mark();
    assert_eq!(
        read("EMPIRICAL evidence validated"),
        Some((Empirical, Mark::Validated))
    );
    assert_eq!(
        read("PRECEDENT evidence was dismissed but relevant"),
        Some((Precedent, Mark::DismissedButRelevant))
    );
    assert_eq!(
        read("LOGICAL evidence incomplete"),
        Some((Logical, Mark::Incomplete))
    );
    assert_eq!(
        read("Documented evidence was not validated"),
        Some((Documented, Mark::Refuted))
    );
    for neither in [
        "All went well",
        "EMPIRICAL evidence",
        "LOGICAL and PRECEDENT evidence validated",
    ] {
        assert_eq!(read(neither), None, "{neither}");
    }
    let without = Finding {
        validation: None,
        ..finding("")
    };
    assert_eq!(without.mark(), None);
}

#[test]
fn e14_accuracy_of_a_type_is_a_percentage_or_missed() {
    let read = |text: &str| {
        TypeAccuracy::try_from(text.to_owned())
            .map(|accuracy| (accuracy.kind, accuracy.verdict.held()))
    };
    assert_eq!(read("EMPIRICAL: 100%"), Ok((EvidenceType::Empirical, 1.0)));
    assert_eq!(
        read("LOGICAL: 50% (incomplete reasoning)"),
        Ok((EvidenceType::Logical, 0.5))
    );
    assert_eq!(
        read("PRECEDENT: missed (should have weighted higher)"),
        Ok((EvidenceType::Precedent, 1.0))
    );
    assert_eq!(read("LOGICAL: 0%"), Ok((EvidenceType::Logical, 0.0)));
    let error = |text: &str| {
        TypeAccuracy::try_from(text.to_owned())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("PRECEDENTS: 50%"),
        "unknown evidence type 'PRECEDENTS'; did you mean 'PRECEDENT'?"
    );
    assert_eq!(
        error("LOGICAL: 101%"),
        "invalid share 101%: expected 0% to 100%"
    );
    assert_eq!(
        error("LOGICAL: half"),
        "invalid evidence accuracy 'LOGICAL: half': expected a type and a share, such as 'LOGICAL: 50%', or 'PRECEDENT: missed'"
    );
}

/// With and without the tracking around the assessment.
#[test]
fn e14_the_designs_format_round_trips_through_yaml() {
    let text = include_str!("../fixtures/dashboard/assessment.yaml");
    let file: AssessmentFile = serde_saphyr::from_str(text).unwrap();
    let written = serde_saphyr::to_string(&file).unwrap();
    assert_eq!(
        serde_saphyr::from_str::<AssessmentFile>(&written).unwrap(),
        file
    );
    let alone = AssessmentFile {
        implementation_tracking: None,
        post_mortem_assessment: file.assessment().cloned(),
    };
    assert_eq!(alone.assessment(), file.assessment());
    assert_eq!((alone.timeline().len(), file.timeline().len()), (0, 6));
}
