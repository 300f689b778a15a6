//! The word lists, and what a script or a mark is.

pub(super) const HEDGES: [&str; 27] = [
    "apparently",
    "appear",
    "appears",
    "approximately",
    "arguably",
    "could",
    "generally",
    "largely",
    "likely",
    "may",
    "maybe",
    "might",
    "often",
    "perhaps",
    "possibly",
    "potentially",
    "presumably",
    "probably",
    "relatively",
    "seem",
    "seemingly",
    "seems",
    "somewhat",
    "suggest",
    "suggests",
    "typically",
    "usually",
];

pub(super) const TRANSITIONS: [&str; 20] = [
    "accordingly",
    "additionally",
    "consequently",
    "conversely",
    "furthermore",
    "hence",
    "importantly",
    "likewise",
    "moreover",
    "nevertheless",
    "nonetheless",
    "notably",
    "overall",
    "similarly",
    "specifically",
    "subsequently",
    "therefore",
    "thus",
    "ultimately",
    "whereas",
];

/// Transitions of more than one word, by their last two.
pub(super) const TRANSITION_PAIRS: [(&str, &str); 8] = [
    ("in", "addition"),
    ("in", "conclusion"),
    ("in", "contrast"),
    ("in", "essence"),
    ("in", "summary"),
    ("in", "particular"),
    ("a", "result"),
    ("other", "hand"),
];

/// The commonest words of English: about a third of any English prose, and rare in any other language.
pub(super) const COMMON_ENGLISH: [&str; 20] = [
    "a", "and", "are", "as", "be", "by", "for", "in", "is", "it", "not", "of", "on", "or", "that",
    "the", "this", "to", "was", "with",
];

/// Scripts that put no spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF          // Thai, Lao
        | 0x0F00..=0x0FFF        // Tibetan
        | 0x1000..=0x109F        // Myanmar
        | 0x1780..=0x17FF        // Khmer
        | 0x3040..=0x30FF        // Hiragana, Katakana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF // Han
        | 0x20000..=0x323AF)
}

pub(super) fn mark(c: char) -> Option<&'static str> {
    Some(match c {
        ',' | '，' | '、' | '،' => "comma",
        '.' | '。' | '।' => "full stop",
        ';' | '；' | '؛' => "semicolon",
        ':' | '：' => "colon",
        '!' | '！' => "exclamation mark",
        '?' | '？' | '؟' => "question mark",
        '…' => "ellipsis",
        '—' | '–' => "dash",
        '(' | ')' | '（' | '）' | '[' | ']' => "bracket",
        '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』' => {
            "quotation mark"
        }
        _ => return None,
    })
}
