//! Patterns with `*` for any text, such as `openai:*`.

/// Whether the whole text matches. Case matters; every character but `*` stands for itself.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    // The first place of each part leaves the most text for those after it.
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_text() {
        for (pattern, text, expected) in [
            ("openai:gpt-5", "openai:gpt-5", true),
            ("openai:gpt-5", "openai:gpt-5-mini", false),
            ("openai:*", "openai:gpt-5", true),
            ("openai:*", "openai:", true),
            ("openai:*", "openai-proxy:gpt-5", false),
            ("*:gpt-*-mini", "lab:gpt-5-mini", true),
            ("*:gpt-*-mini", "lab:gpt-mini", false),
            ("a*a", "a", false),
            ("a*ab", "aab", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("OPENAI:*", "openai:x", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
