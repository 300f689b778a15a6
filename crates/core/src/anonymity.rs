//! Masks self-identification in anonymous debates (M-18): "I am GPT-4 by OpenAI", "As the auditor, I …".
//!
//! A name is masked only where a first-person phrase attributes it to the speaker. The same name anywhere else ("OpenAI's prices
//! rose", "the auditor was right") is content and stays as it is.

/// Names by which a speaker could give itself away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Names and titles of seats. Often ordinary words, so they count only with an article ("I, the auditor,").
    pub seats: Vec<String>,
    /// Names of models: `lab:special`, `special`.
    pub models: Vec<String>,
}

impl Names {
    /// Names of models that are not ordinary words: `lab:special`, `qwen2.5`, not `special`.
    fn distinctive_models(&self) -> impl Iterator<Item = &str> {
        let names = self.models.iter().map(String::as_str);
        names.filter(|name| !name.chars().all(char::is_alphabetic))
    }
}

/// Well-known families of models and their vendors.
const FAMILIES: [&str; 44] = [
    "ChatGPT",
    "GPT",
    "o1",
    "o3",
    "o4",
    "OpenAI",
    "Claude",
    "Opus",
    "Sonnet",
    "Haiku",
    "Anthropic",
    "Gemini",
    "Gemma",
    "Bard",
    "PaLM",
    "Google DeepMind",
    "DeepMind",
    "Google",
    "Llama",
    "Meta AI",
    "Meta",
    "Mistral AI",
    "Mistral",
    "Mixtral",
    "Magistral",
    "Ministral",
    "Codestral",
    "Qwen",
    "Alibaba",
    "DeepSeek",
    "Grok",
    "xAI",
    "Command R",
    "Cohere",
    "Phi",
    "Copilot",
    "Microsoft",
    "Kimi",
    "Moonshot",
    "GLM",
    "MiniMax",
    "Nova",
    "Granite",
    "Perplexity",
];

/// Phrases that say who the speaker is, with what replaces the name after them.
const OPENERS: [(&str, &str); 25] = [
    ("I am", PARTICIPANT),
    ("I'm", PARTICIPANT),
    ("I’m", PARTICIPANT),
    ("I,", PARTICIPANT),
    ("my name is", PARTICIPANT),
    ("speaking as", PARTICIPANT),
    ("signed,", PARTICIPANT),
    ("ich bin", PARTICIPANT),
    ("ich,", PARTICIPANT),
    ("je suis", PARTICIPANT),
    ("yo soy", PARTICIPANT),
    ("io sono", PARTICIPANT),
    ("eu sou", PARTICIPANT),
    ("ik ben", PARTICIPANT),
    ("I run on", MODEL),
    ("I am running on", MODEL),
    ("I'm running on", MODEL),
    ("I am powered by", MODEL),
    ("I'm powered by", MODEL),
    ("I am based on", MODEL),
    ("I'm based on", MODEL),
    ("I was trained by", COMPANY),
    ("I was made by", COMPANY),
    ("my model is", MODEL),
    ("ich laufe auf", MODEL),
];

/// Openers that need a first-person pronoun after the name: "As Claude, I think", but not "As Claude Shannon showed".
const ROLE_OPENERS: [&str; 4] = ["as", "als", "en tant que", "como"];
const PRONOUNS: [&str; 12] = [
    "I", "I'm", "I’m", "I've", "I’ve", "I'd", "I’d", "my", "ich", "mein", "je", "yo",
];

const PARTICIPANT: &str = "a participant";
const MODEL: &str = "a model";
const COMPANY: &str = "a company";

const ARTICLES: [&str; 9] = ["the", "a", "an", "your", "der", "die", "das", "le", "la"];
/// Words between the opener and a name: "a large language model called".
const FILLERS: [&str; 21] = [
    "the",
    "a",
    "an",
    "your",
    "large",
    "language",
    "AI",
    "model",
    "assistant",
    "system",
    "called",
    "named",
    "trained",
    "made",
    "built",
    "developed",
    "by",
    "from",
    "der",
    "die",
    "das",
];
/// Words between two names: "GPT-4 by OpenAI".
const LINKS: [&str; 8] = [
    "by",
    "from",
    "of",
    "made",
    "built",
    "trained",
    "developed",
    "von",
];
/// Words that may follow a seat's title in "I am the auditor of this panel".
const AFTER_TITLE: [&str; 8] = ["here", "in", "on", "of", "and", "at", "so", "who"];

/// The text with self-identifications replaced by "a participant", "a model" or "a company".
pub fn mask_self_identification(text: &str, names: &Names) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut kept_to = 0;
    let mut at = 0;
    while let Some(next) = next_word(text, at) {
        if let Some((from, to, replacement)) = identification(text, next, names) {
            masked.push_str(&text[kept_to..from]);
            masked.push_str(replacement);
            kept_to = to;
            at = to;
        } else {
            at = word_end(text, next);
        }
    }
    masked.push_str(&text[kept_to..]);
    masked
}

/// The name of an identification that starts at this word, with its article, and what replaces it.
fn identification(text: &str, at: usize, names: &Names) -> Option<(usize, usize, &'static str)> {
    let openers = OPENERS.iter().filter_map(|(opener, replacement)| {
        let end = phrase(text, at, opener)?;
        // `special` may be a model or a word: after "I am" it is a word, after "I run on" a model.
        let models: Vec<&str> = match *replacement {
            PARTICIPANT => names.distinctive_models().collect(),
            _ => names.models.iter().map(String::as_str).collect(),
        };
        let (from, to) = attributed(text, end, (&names.seats, &models), is_end_of_title)?;
        Some((from, to, *replacement))
    });
    let roles = ROLE_OPENERS.iter().filter_map(|opener| {
        let end = phrase(text, at, opener)?;
        let models: Vec<&str> = names.distinctive_models().collect();
        let (from, to) = attributed(text, end, (&names.seats, &models), |_, _| true)?;
        precedes_pronoun(text, to).then_some((from, to, PARTICIPANT))
    });
    openers.chain(roles).max_by_key(|(_, to, _)| *to)
}

/// The names after an opener: of models after any fillers, or a seat's title after an article.
fn attributed(
    text: &str,
    opener_end: usize,
    (seats, models): (&[String], &[&str]),
    is_title: fn(&str, usize) -> bool,
) -> Option<(usize, usize)> {
    let start = next_in_clause(text, opener_end)?;
    let after_article = any_phrase(text, start, &ARTICLES).and_then(|to| next_in_clause(text, to));
    let title = after_article
        .and_then(|at| any_phrase(text, at, seats))
        .filter(|to| is_title(text, *to));
    if let Some(to) = title {
        return Some((start, to));
    }
    let mut at = start;
    loop {
        if let Some(to) = model_name(text, at, models) {
            return (!is_part_of_other_name(text, to))
                .then(|| (start, with_links(text, to, models)));
        }
        at = next_in_clause(text, any_phrase(text, at, &FILLERS)?)?;
    }
}

/// The end of a model's name with its version: `GPT-4 Turbo` ends after `GPT-4`, `Claude 3.5 Sonnet` after `Sonnet`.
fn model_name(text: &str, at: usize, models: &[&str]) -> Option<usize> {
    let family = FAMILIES.iter().filter_map(|family| {
        let end = at + text.get(at..)?.get(..family.len())?.len();
        // A version may follow directly: `GPT-4o`, `llama3`. Without one, `copilot` is a word and `Copilot` a name.
        let rest = text[end..].trim_start_matches('-').chars().next();
        let has_version = rest.is_some_and(|c| c.is_ascii_digit());
        let is_same =
            text[at..end] == **family || has_version && text[at..end].eq_ignore_ascii_case(family);
        let is_whole = text[end..]
            .chars()
            .next()
            .is_none_or(|c| !c.is_alphabetic());
        (is_same && is_whole).then(|| token_end(text, end))
    });
    let given = models.iter().filter_map(|name| phrase(text, at, name));
    family.chain(given).max()
}

/// Extends a name by versions, further names and vendors: "GPT-4 by OpenAI", "Claude 3.5 Sonnet".
fn with_links(text: &str, mut end: usize, models: &[&str]) -> usize {
    while let Some(mut next) =
        next_in_clause(text, end).filter(|next| text[end..*next].trim().is_empty())
    {
        if text[next..].starts_with(|c: char| c.is_ascii_digit()) {
            end = token_end(text, next);
            continue;
        }
        while let Some(after) =
            any_phrase(text, next, &LINKS).and_then(|to| next_in_clause(text, to))
        {
            next = after;
        }
        match model_name(text, next, models) {
            Some(to) => end = to,
            None => break,
        }
    }
    end
}

/// "Claude Shannon", "OpenAI's" and "Google-funded" are other names.
fn is_part_of_other_name(text: &str, end: usize) -> bool {
    let rest = &text[end..];
    let follows = |mark: &str| rest.starts_with(mark);
    let next = rest.strip_prefix(' ').and_then(|rest| rest.chars().next());
    let is_capital = next.is_some_and(char::is_uppercase);
    let word = next_word(text, end).map(|at| &text[at..word_end(text, at)]);
    let is_known = word.is_some_and(|word| {
        PRONOUNS.contains(&word)
            || FAMILIES
                .iter()
                .any(|family| family.eq_ignore_ascii_case(word))
    });
    follows("'s") || follows("’s") || (is_capital && !is_known)
}

/// Whether the phrase ends here, or continues with a word that fits after a title.
fn is_end_of_title(text: &str, end: usize) -> bool {
    let rest = &text[end..];
    let is_genitive = rest.starts_with("'s") || rest.starts_with("’s") || rest.starts_with('-');
    match next_in_clause(text, end) {
        Some(next) => any_phrase(text, next, &AFTER_TITLE).is_some(),
        None => !is_genitive,
    }
}

fn precedes_pronoun(text: &str, end: usize) -> bool {
    let rest = text[end..].trim_start_matches([',', ' ']);
    let is_separated = rest.len() < text.len() - end;
    is_separated && any_phrase(text, text.len() - rest.len(), &PRONOUNS).is_some()
}

/// The end of a phrase that starts here, in any case, as whole words. A space matches any white space on one line.
fn phrase(text: &str, at: usize, phrase: &str) -> Option<usize> {
    let end = at + phrase.len();
    let found = text.get(at..end)?;
    let is_word = |c: char| c.is_alphanumeric();
    let is_whole = !phrase.ends_with(is_word) || !text[end..].starts_with(is_word);
    (!phrase.is_empty() && is_whole && same_letters(found, phrase)).then_some(end)
}

fn same_letters(a: &str, b: &str) -> bool {
    a.chars()
        .flat_map(char::to_lowercase)
        .eq(b.chars().flat_map(char::to_lowercase))
}

fn any_phrase(text: &str, at: usize, phrases: &[impl AsRef<str>]) -> Option<usize> {
    let ends = phrases
        .iter()
        .filter_map(|one| phrase(text, at, one.as_ref()));
    ends.max()
}

/// The start of the next word at or after `at`.
fn next_word(text: &str, at: usize) -> Option<usize> {
    let start = text.get(at..)?.find(char::is_alphanumeric)?;
    Some(at + start)
}

/// The start of the next word of the same clause: only spaces, quotes or an opening bracket lie between.
fn next_in_clause(text: &str, at: usize) -> Option<usize> {
    let next = next_word(text, at)?;
    let between = &text[at..next];
    between
        .chars()
        .all(|c| c == ' ' || "*_\"“„«(".contains(c))
        .then_some(next)
}

fn word_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let end = rest.find(|c: char| !c.is_alphanumeric());
    at + end.unwrap_or(rest.len())
}

/// The end of a version: letters, digits and the marks between them, as in `-4o`, `3.5`, `-70B`.
fn token_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let end = rest.find(|c: char| !c.is_alphanumeric() && !"-._:/".contains(c));
    let token = &rest[..end.unwrap_or(rest.len())];
    at + token.trim_end_matches(|c: char| !c.is_alphanumeric()).len()
}

#[cfg(test)]
#[path = "anonymity_tests.rs"]
mod tests;
