use super::*;

/// M-03: people read what is wrong, not what the model was told to do.
#[test]
fn m03_the_instruction_is_left_out() {
    for (remark, shown) in [
        (
            "labels: [FACT] without a citation: \"It rains. Often.\". Cite a reference of your list.",
            "labels: [FACT] without a citation: \"It rains. Often.\".",
        ),
        (
            "citations: \"(a)\" is not a citation. Write [1], [1][2] or [1-3]",
            "citations: \"(a)\" is not a citation.",
        ),
        (
            "structure: the heading \"Risks\" is missing in the argument.",
            "structure: the heading \"Risks\" is missing in the argument.",
        ),
        (
            "citations: and 7 more of the same.",
            "citations: and 7 more of the same.",
        ),
        ("about 0.5 of it. yes", "about 0.5 of it. yes"),
    ] {
        assert_eq!(for_people(remark), shown);
    }
}
