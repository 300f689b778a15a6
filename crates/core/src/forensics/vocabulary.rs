//! Word lists, scripts without spaces, and kinds of punctuation.

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

/// Transitions of several words, by their last two.
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

/// The most common English words: about a third of English prose, and rare in other languages.
pub(super) const COMMON_ENGLISH: [&str; 20] = [
    "a", "and", "are", "as", "be", "by", "for", "in", "is", "it", "not", "of", "on", "or", "that",
    "the", "this", "to", "was", "with",
];

/// Whether the script has no spaces between words.
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
