use super::*;

fn parsed(text: &str) -> Option<DebatePolicy> {
    parse(text).unwrap()
}

/// The full form, the short form, and a constitution without a policy.
#[test]
fn e21_a_debate_policy_is_read_from_the_constitution() {
    let whole = "constitution:\n  values: [honesty]\n  debate_policy:\n    require_evidence: true\n    track_convergence: true\n    enable_learning: false\n";
    assert_eq!(
        parsed(whole),
        Some(DebatePolicy {
            require_evidence: Some(true),
            track_convergence: Some(true),
            enable_learning: Some(false),
        })
    );
    let short = "debate_policy: {require_evidence: true}\nother: 1\n";
    assert_eq!(
        parsed(short),
        Some(DebatePolicy {
            require_evidence: Some(true),
            ..DebatePolicy::default()
        })
    );
    assert_eq!(parsed(""), None);
    assert_eq!(parsed("values: [honesty]\n"), None);
}

#[test]
fn e21_an_invalid_policy_is_reported_with_line_and_valid_keys() {
    for text in [
        "debate_policy:\n  require_evidence: maybe\n",
        "debate_policy:\n  demand_evidence: true\n",
        "debate_policy: [1\n",
    ] {
        let (line, message) = parse(text).unwrap_err();
        assert!(line >= 1);
        // The place is given once, by the caller.
        assert!(
            !message.contains("line ") && !message.contains("error:"),
            "{message}"
        );
        assert!(
            message.contains("require_evidence, track_convergence and enable_learning"),
            "{message}"
        );
    }
}
