use super::*;

#[test]
fn the_normal_form_ignores_case_punctuation_and_spacing_but_not_a_negation() {
    assert_eq!(normal(" The  queue, helps! "), normal("the queue helps"));
    assert_ne!(normal("The queue helps"), normal("The queue does not help"));
    assert_ne!(normal("Очередь помогает"), "");
    assert_ne!(normal("队列有帮助"), normal("队列没有帮助"));
}

#[test]
fn verbatim_repetition_is_measured() {
    let peer = "a queue in front of the database smooths the bursts that we see every morning";
    assert!(echo(peer, peer) > 0.99);
    assert!(
        echo(
            "something quite different about costs and the people who pay them",
            peer
        ) < 0.01
    );
    assert!(echo("too short", peer) < 0.01);
}

#[test]
fn the_jaccard_index_of_sets() {
    let set = |items: &[&str]| {
        items
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert!((jaccard(&set(&["a", "b"]), &set(&["b", "c"])) - 1.0 / 3.0).abs() < 1e-12);
    assert!(jaccard(&set(&[]), &set(&[])) < 1e-12);
}

#[test]
fn chains_are_one_cluster() {
    // 0 ~ 1 ~ 2, and 3 alone.
    let alike = |a: usize, b: usize| {
        if a.abs_diff(b) == 1 && a.max(b) < 3 {
            0.8
        } else {
            0.1
        }
    };
    assert_eq!(clusters(4, 0.8, alike), 2);
    assert_eq!(clusters(4, 0.81, alike), 4);
    assert_eq!(clusters(0, 0.5, alike), 0);
}

#[test]
fn the_first_sentence_is_found_behind_headings_and_marks() {
    for (text, first) in [
        ("Yes. But not now.", "Yes."),
        (
            "# Answer\n\n- Take version 1.5! It works.",
            "Take version 1.5!",
        ),
        ("One line without an end", "One line without an end"),
        ("# Only a heading", ""),
        ("", ""),
    ] {
        assert_eq!(first_sentence(text), first, "{text}");
    }
}

/// A reply of which half is the prompt parrots it; one that takes up the words of the question in a sentence of its own does not.
#[test]
fn a_reply_that_is_mostly_its_prompt_parrots_it() {
    let prompt = "Should schools ban phones during the day? Write two to four sentences. Say yes or no, and the main reason.";
    for parroted in [
        "Should schools ban phones during the day?",
        "Two to four sentences. Say yes or no, and the main reason.",
        "Say yes or no, and the main reason. Phones distract the children.",
    ] {
        assert!(parrots(parroted, prompt), "{parroted}");
    }
    for own in [
        "",
        "Yes.",
        "Say yes or no, and the main reason. Phones distract the school children.",
        "Schools should ban phones during the day, because they distract children from their lessons.",
    ] {
        assert!(!parrots(own, prompt), "{own}");
    }
}
