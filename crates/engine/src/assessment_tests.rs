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

/// E-14: the four sentences of the design's form mark the pieces of their type.
#[test]
fn e14_what_became_of_a_type_is_read_from_the_designs_sentences() {
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
    for nothing in [
        "All went well",
        "EMPIRICAL evidence",
        "LOGICAL and PRECEDENT evidence validated",
    ] {
        assert_eq!(read(nothing), None, "{nothing}");
    }
    let silent = Finding {
        validation: None,
        ..finding("")
    };
    assert_eq!(silent.mark(), None);
}

#[test]
fn e14_how_far_a_type_held_is_read_in_percent_or_as_missed() {
    let read = |text: &str| TypeAccuracy::new(text).map(|it| (it.kind, it.verdict.held()));
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
    let said = |text: &str| TypeAccuracy::new(text).unwrap_err().to_string();
    assert_eq!(
        said("PRECEDENTS: 50%"),
        "there is no type of evidence 'PRECEDENTS'; did you mean 'PRECEDENT'?"
    );
    assert_eq!(
        said("LOGICAL: 101%"),
        "101% is no share: it must be from 0% to 100%"
    );
    assert_eq!(
        said("LOGICAL: half"),
        "'LOGICAL: half' does not say which type of evidence held how far; write it like 'LOGICAL: 50%' or 'PRECEDENT: missed'"
    );
}

/// The form with and without the tracking around it; what is written is what was read.
#[test]
fn e14_the_designs_form_goes_through_yaml_unchanged() {
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
