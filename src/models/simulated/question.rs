//! The question in a prompt, and the answers that it names.

use super::texts;

/// The lines of a prompt before the question.
const MARKS: [&str; 3] = ["## Question\n\n", "## Question\n", "Question: "];

/// More options than the letters of the alphabet are no options.
const MAX_OPTIONS: usize = 26;

/// The question in one of the texts of a request; without a question the first text.
pub(super) fn find<'a>(mut texts: impl Iterator<Item = &'a str> + Clone) -> &'a str {
    let marked = texts.clone().find_map(|text| {
        let (at, mark) = MARKS
            .iter()
            .filter_map(|mark| Some((text.find(mark)?, mark)))
            .min_by_key(|(at, _)| *at)?;
        let rest = &text[at + mark.len()..];
        let ends = ["\n## ", "\nOutcomes, ", "\n\n<"];
        let end = ends.iter().filter_map(|end| rest.find(end)).min();
        Some(rest[..end.unwrap_or(rest.len())].trim())
    });
    marked.or_else(|| texts.next()).unwrap_or_default()
}

/// The answers that a question names: lettered, numbered or listed lines, otherwise yes and no, otherwise general ones.
pub(super) fn options(question: &str) -> Vec<String> {
    let listed: Vec<String> = question.lines().filter_map(option).collect();
    if (2..=MAX_OPTIONS).contains(&listed.len()) {
        return listed;
    }
    if is_yes_or_no(question) {
        return ["Yes", "No"].map(str::to_owned).to_vec();
    }
    texts::general_answers().to_vec()
}

/// `(B) Paris`, `B. Paris` and `2) Paris` are called by their label, `- Paris` by its text.
fn option(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(text) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        let words: Vec<&str> = text.split_whitespace().take(6).collect();
        return (!words.is_empty()).then(|| words.join(" "));
    }
    let opened = line.strip_prefix('(');
    let end = line.find([')', '.', ':'])?;
    let label = opened.map_or(&line[..end], |rest| {
        rest.split(')').next().unwrap_or_default()
    });
    let rest = line.get(end + 1..)?;
    let is_letter = label.len() == 1 && label.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_number =
        (1..=2).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_digit());
    (rest.starts_with(' ') && (is_letter || is_number)).then(|| label.to_owned())
}

fn is_yes_or_no(question: &str) -> bool {
    const VERBS: [&str; 14] = [
        "are", "can", "could", "did", "do", "does", "has", "have", "is", "may", "must", "should",
        "will", "would",
    ];
    let last = question.trim_end().rsplit(['.', '\n']).next();
    let starts = [question.trim_start(), last.unwrap_or_default().trim_start()];
    let first = |text: &str| {
        text.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase()
    };
    starts
        .iter()
        .any(|text| VERBS.contains(&first(text).as_str()))
        && !question.contains(" or ")
}
