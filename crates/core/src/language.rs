//! Cheap language detection: by script, and for the Latin script by stop words. Returns `None` rather than a doubtful guess.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Greek,
    /// Russian, Ukrainian, Bulgarian, …: not told apart, because no caller needs it.
    Cyrillic,
    Hebrew,
    Arabic,
    Devanagari,
    Thai,
    Korean,
    Japanese,
    Chinese,
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::English => "English",
            Self::German => "German",
            Self::French => "French",
            Self::Spanish => "Spanish",
            Self::Italian => "Italian",
            Self::Portuguese => "Portuguese",
            Self::Dutch => "Dutch",
            Self::Greek => "Greek",
            Self::Cyrillic => "Cyrillic letters",
            Self::Hebrew => "Hebrew",
            Self::Arabic => "Arabic letters",
            Self::Devanagari => "Devanagari letters",
            Self::Thai => "Thai",
            Self::Korean => "Korean",
            Self::Japanese => "Japanese",
            Self::Chinese => "Chinese",
        })
    }
}

/// Stop words of the languages in Latin script. Languages share some of them.
const STOP_WORDS: [(Language, &str); 7] = [
    (
        Language::English,
        "the of and to is that it for with as are this be our its should not we on which have but from they or would",
    ),
    (
        Language::German,
        "der die das und ist nicht ein eine zu mit auf für den dem des sich auch wir sollte oder von aber werden es unsere",
    ),
    (
        Language::French,
        "le la les des est et une dans pour que qui pas sur avec nous ce il plus par au du mais ou être notre",
    ),
    (
        Language::Spanish,
        "el la los las es y una para que por con no se del como más pero su debe nuestra nuestro al está",
    ),
    (
        Language::Italian,
        "il lo la gli è e una per che non con del della di si come più ma sono nella dei alla nostra nostro",
    ),
    (
        Language::Portuguese,
        "o os as é e uma para que não com do da dos das em se por mais mas nossa nosso são deve",
    ),
    (
        Language::Dutch,
        "de het een en is niet van voor met op dat zijn wij aan ook maar moet onze of te er door",
    ),
];

/// Bytes of the longest stop word.
const MAX_WORD_BYTES: usize = 8;

/// Stop words needed if the next best language has some too.
const MIN_HITS: usize = 3;
/// Required ratio to the hits of the next best language; the Romance languages share many stop words.
const MIN_LEAD: (usize, usize) = (3, 2);
/// Stop words needed if no other language has any: enough for a short question.
const MIN_HITS_ALONE: usize = 2;

/// `None` if the language is uncertain.
pub fn of(text: &str) -> Option<Language> {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let mut latin = 0_usize;
    let mut all = 0_usize;
    let mut counts: Vec<(Language, usize)> = Vec::new();
    for letter in letters {
        all += 1;
        let Some(language) = by_script(letter) else {
            latin += 1;
            continue;
        };
        match counts.iter_mut().find(|(own, _)| *own == language) {
            Some((_, count)) => *count += 1,
            None => counts.push((language, 1)),
        }
    }
    if latin * 2 > all {
        return by_words(text);
    }
    let has_kana = counts.iter().any(|(own, _)| *own == Language::Japanese);
    let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    if count * 2 <= all && !has_kana {
        return None;
    }
    // Japanese uses Chinese characters too, but never without kana.
    if most == Language::Chinese && has_kana {
        return Some(Language::Japanese);
    }
    Some(most)
}

/// Both languages if question and answer are in different ones. `None` if either is uncertain.
pub fn differs(asked: &str, answered: &str) -> Option<(Language, Language)> {
    let (asked, answered) = (of(asked)?, of(answered)?);
    (asked != answered).then_some((asked, answered))
}

fn by_script(letter: char) -> Option<Language> {
    match letter {
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Language::Greek),
        '\u{400}'..='\u{52f}' => Some(Language::Cyrillic),
        '\u{590}'..='\u{5ff}' => Some(Language::Hebrew),
        '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => Some(Language::Arabic),
        '\u{900}'..='\u{97f}' => Some(Language::Devanagari),
        '\u{e00}'..='\u{e7f}' => Some(Language::Thai),
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Some(Language::Korean),
        '\u{3040}'..='\u{30ff}' => Some(Language::Japanese),
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => Some(Language::Chinese),
        _ => None,
    }
}

/// Indices into `STOP_WORDS` of the languages that have this stop word.
static LANGUAGES_OF: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut languages = HashMap::<_, Vec<usize>>::new();
    for (index, (_, words)) in STOP_WORDS.iter().enumerate() {
        for word in words.split(' ') {
            languages.entry(word).or_default().push(index);
        }
    }
    languages
});

fn by_words(text: &str) -> Option<Language> {
    let mut hits = STOP_WORDS.map(|(language, _)| (0_usize, language));
    for word in text.split(|c: char| !c.is_alphabetic()) {
        // Most words are too long to be stop words: skip the lookup.
        if word.is_empty() || word.len() > MAX_WORD_BYTES {
            continue;
        }
        for index in LANGUAGES_OF
            .get(word.to_lowercase().as_str())
            .into_iter()
            .flatten()
        {
            hits[*index].0 += 1;
        }
    }
    hits.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let [(best, language), (next, _), ..] = hits;
    let (lead, of) = MIN_LEAD;
    let is_clear = best >= MIN_HITS && best * of >= next * lead;
    let is_alone = best >= MIN_HITS_ALONE && next == 0;
    (is_clear || is_alone).then_some(language)
}

#[cfg(test)]
#[path = "language_tests.rs"]
mod tests;
