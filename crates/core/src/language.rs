//! Which language a text is in, as far as that can be told cheaply: by its script, and in Latin letters by the small words
//! that every sentence has. It rather says nothing than something doubtful.

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
    /// Russian, Ukrainian, Bulgarian, …: one script, and telling them apart serves nobody here.
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

/// Small words of each language that is written in Latin letters. Some stand in several.
const SMALL_WORDS: [(Language, &str); 7] = [
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

/// In bytes, of all of them.
const LONGEST: usize = 8;

/// So many small words are enough to believe it, if they are clearly more than those of the next best…
const ENOUGH: usize = 3;
/// …by this factor: the Romance languages share many.
const CLEARLY: (usize, usize) = (3, 2);
/// A short question has fewer; they count where no other language has any.
const ENOUGH_ALONE: usize = 2;

/// `None` where it cannot be told.
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
    // Japanese is written in Chinese characters too, but never in them alone.
    if most == Language::Chinese && has_kana {
        return Some(Language::Japanese);
    }
    Some(most)
}

/// Asked in one language, answered in another, where both can be told.
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

/// In which of the languages a word is a small one, by their places in the list.
static LANGUAGES_OF: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut languages = HashMap::<_, Vec<usize>>::new();
    for (place, (_, small)) in SMALL_WORDS.iter().enumerate() {
        for word in small.split(' ') {
            languages.entry(word).or_default().push(place);
        }
    }
    languages
});

fn by_words(text: &str) -> Option<Language> {
    let mut found = SMALL_WORDS.map(|(language, _)| (0_usize, language));
    for word in text.split(|c: char| !c.is_alphabetic()) {
        // No small word is longer, and most words are.
        if word.is_empty() || word.len() > LONGEST {
            continue;
        }
        for place in LANGUAGES_OF
            .get(word.to_lowercase().as_str())
            .into_iter()
            .flatten()
        {
            found[*place].0 += 1;
        }
    }
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let [(best, language), (next, _), ..] = found;
    let (times, of) = CLEARLY;
    let is_clear = best >= ENOUGH && best * of >= next * times;
    let is_alone = best >= ENOUGH_ALONE && next == 0;
    (is_clear || is_alone).then_some(language)
}

#[cfg(test)]
#[path = "language_tests.rs"]
mod tests;
