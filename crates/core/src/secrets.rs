//! Likely secrets in a text: private keys, tokens with a known prefix, and secret settings with random values.
//!
//! The rules prefer precision: hashes, UUIDs, placeholders and references to variables are not secrets. Every rule is linear in
//! the length of the text. A finding never contains a character of the secret itself.

use std::fmt;

/// A likely secret, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 1.
    pub line: usize,
    /// Such as `GitHub token`.
    pub kind: &'static str,
    /// The part that is not secret: the prefix of a token, or the name of a setting.
    pub known: String,
    /// The number of characters of the whole value.
    pub length: usize,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            known,
            length,
            ..
        } = self;
        write!(f, "{kind} ({known}… {length} characters)")
    }
}

/// More findings add nothing for the reader.
const MAX_FINDINGS: usize = 20;

/// The likely secrets of a text, in order, at most one per line.
pub fn find(text: &str) -> Vec<Finding> {
    let is_service_account = text.contains("\"service_account\"");
    let mut findings = Vec::new();
    let mut offset = 0;
    for (index, line) in text.split('\n').enumerate() {
        let rest = &text[offset..];
        offset += line.len() + 1;
        let found = private_key(line, rest, is_service_account)
            .or_else(|| words(line).find_map(token))
            .or_else(|| slack_webhook(line))
            .or_else(|| password_in_url(line))
            .or_else(|| setting(line));
        if let Some(found) = found {
            findings.push(Finding {
                line: index + 1,
                ..found
            });
            if findings.len() == MAX_FINDINGS {
                break;
            }
        }
    }
    findings
}

fn finding(kind: &'static str, known: &str, value: &str) -> Finding {
    Finding {
        line: 0,
        kind,
        known: known.to_owned(),
        length: value.chars().count(),
    }
}

/// A PEM header with the beginning of a key below it, also within a JSON string. A header alone is only mentioned.
fn private_key(line: &str, rest: &str, is_service_account: bool) -> Option<Finding> {
    const BEGIN: &str = "-----BEGIN ";
    /// Characters of a key that make it one.
    const MIN_BODY: usize = 32;
    let start = line.find(BEGIN)?;
    let name = &line[start + BEGIN.len()..];
    let name = &name[..name.find("-----")?];
    if !name.ends_with("PRIVATE KEY") && !name.ends_with("PRIVATE KEY BLOCK") {
        return None;
    }
    let header = BEGIN.len() + name.len() + "-----".len();
    let mut body = &rest[start + header..];
    // A diff marks every line; JSON writes line breaks as `\n`.
    while let Some(next) = [
        "\\n", "\\r", "\n", "\r", " ", "\t", "+", "-", "\"", "'", "|",
    ]
    .iter()
    .find_map(|skipped| body.strip_prefix(skipped))
    {
        body = next;
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let length = body.chars().take_while(|c| is_base64(*c)).count();
    let has_headers = body.starts_with("Proc-Type:") || body.starts_with("Version:");
    if length < MIN_BODY && !has_headers {
        return None;
    }
    let kind = if is_service_account {
        "private key of a Google service account"
    } else {
        "private key"
    };
    let known = format!("{BEGIN}{name}-----");
    let end = body.find("-----END").unwrap_or(length);
    Some(finding(kind, &known, &body[..end]))
}

/// Tokens with a prefix: what they are, the prefix, and the length of the rest.
const TOKENS: [(&str, &str, usize, usize); 33] = [
    ("Anthropic API key", "sk-ant-", 32, 200),
    ("OpenAI API key", "sk-proj-", 32, 220),
    ("OpenAI API key", "sk-svcacct-", 32, 220),
    ("OpenAI API key", "sk-admin-", 32, 220),
    ("OpenRouter API key", "sk-or-v1-", 32, 100),
    ("API key", "sk-", 20, 220),
    ("GitHub token", "ghp_", 30, 255),
    ("GitHub token", "gho_", 30, 255),
    ("GitHub token", "ghu_", 30, 255),
    ("GitHub token", "ghs_", 30, 255),
    ("GitHub token", "ghr_", 30, 255),
    ("GitHub token", "github_pat_", 40, 255),
    ("GitLab token", "glpat-", 20, 100),
    ("Slack token", "xoxb-", 20, 255),
    ("Slack token", "xoxa-", 20, 255),
    ("Slack token", "xoxp-", 20, 255),
    ("Slack token", "xoxr-", 20, 255),
    ("Slack token", "xoxs-", 20, 255),
    ("AWS access key", "AKIA", 16, 16),
    ("AWS access key", "ASIA", 16, 16),
    ("Google API key", "AIza", 35, 35),
    ("Google access token", "ya29.", 20, 2048),
    ("npm token", "npm_", 36, 36),
    ("PyPI token", "pypi-", 50, 255),
    ("Hugging Face token", "hf_", 30, 60),
    ("Stripe key", "sk_live_", 16, 255),
    ("Stripe key", "rk_live_", 16, 255),
    ("SendGrid key", "SG.", 40, 100),
    ("Groq API key", "gsk_", 40, 100),
    ("DigitalOcean token", "dop_v1_", 64, 64),
    ("Shopify token", "shpat_", 32, 32),
    ("Google client secret", "GOCSPX-", 20, 60),
    ("age secret key", "AGE-SECRET-KEY-1", 50, 70),
];

/// The shortest header and payload of a JSON web token.
const MIN_JWT_PART: usize = 10;

/// Runs of characters that tokens are made of.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .map(|word| word.trim_matches(['.', '-']))
        .filter(|word| word.len() >= 20)
}

fn token(word: &str) -> Option<Finding> {
    if let Some(found) = json_web_token(word) {
        return Some(found);
    }
    let (kind, prefix, min, max) = TOKENS
        .iter()
        .find(|(_, prefix, ..)| word.starts_with(prefix))?;
    let rest = &word[prefix.len()..];
    let fits = (*min..=*max).contains(&rest.len());
    let is_key_id = !prefix.ends_with("IA") || rest.chars().all(is_upper_or_digit);
    (fits && is_key_id && is_random_token(rest)).then(|| finding(kind, prefix, word))
}

fn is_upper_or_digit(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

fn json_web_token(word: &str) -> Option<Finding> {
    let mut parts = word.split('.');
    let (header, payload, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let is_token = parts.next().is_none()
        && header.starts_with("eyJ")
        && payload.starts_with("eyJ")
        && header.len() >= MIN_JWT_PART
        && payload.len() >= MIN_JWT_PART
        && signature.len() >= 20
        && !is_placeholder(signature);
    is_token.then(|| finding("JSON web token", "eyJ", word))
}

/// `https://hooks.slack.com/services/T…/B…/…`
fn slack_webhook(line: &str) -> Option<Finding> {
    const HOST: &str = "hooks.slack.com/services/";
    let start = line.find(HOST)?;
    let path = &line[start + HOST.len()..];
    let end = path.find(|c: char| !(c.is_ascii_alphanumeric() || c == '/'));
    let path = &path[..end.unwrap_or(path.len())];
    let mut parts = path.split('/');
    let (team, bot, secret) = (parts.next()?, parts.next()?, parts.next()?);
    let is_webhook = team.starts_with('T')
        && bot.starts_with('B')
        && secret.len() >= 20
        && !is_placeholder(secret);
    is_webhook.then(|| finding("Slack webhook", HOST, path))
}

/// `postgres://user:password@host`, unless the password is an ordinary word.
fn password_in_url(line: &str) -> Option<Finding> {
    const MIN_LENGTH: usize = 10;
    line.match_indices("://").find_map(|(start, separator)| {
        let rest = &line[start + separator.len()..];
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '`' | '<'));
        let authority = &rest[..end.unwrap_or(rest.len())];
        let (user, password) = authority.rsplit_once('@')?.0.split_once(':')?;
        let is_secret = password.len() >= MIN_LENGTH
            && password.is_ascii()
            && !password.starts_with(['$', '{', '%', '*'])
            && !is_placeholder(password)
            && has_digit_and_letter(password)
            && entropy(password) >= 3.0;
        is_secret.then(|| finding("password in a URL", user, password))
    })
}

/// Ends of names whose values are secret.
const SECRET_NAMES: [&str; 7] = [
    "secret",
    "token",
    "password",
    "passwd",
    "key",
    "credential",
    "credentials",
];
/// Words of names that end like a secret and are none.
const PUBLIC_NAMES: [&str; 14] = [
    "public",
    "publishable",
    "primary",
    "foreign",
    "partition",
    "sort",
    "cache",
    "idempotency",
    "site",
    "translation",
    "lookup",
    "index",
    "group",
    "object",
];

/// `NAME_TOKEN=value`, `name_secret: "value"` and the like, with a random value.
fn setting(line: &str) -> Option<Finding> {
    let line = line.trim_start_matches(['+', '-', ' ', '\t', '"', '\'', '{', ',']);
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))?;
    let (name, rest) = line.split_at(end);
    if !is_secret_name(name) {
        return None;
    }
    let rest = rest.trim_start_matches(['"', '\'', ' ', '\t']);
    let value = rest
        .strip_prefix(":=")
        .or_else(|| rest.strip_prefix('='))
        .or_else(|| rest.strip_prefix(':'))?
        .trim();
    let value = unquoted(value);
    is_random_value(value).then(|| finding("secret setting", &format!("{name}="), value))
}

fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(['_', '-']).rev();
    let last = words.next().unwrap_or_default();
    let is_whole_name = last.len() == name.len();
    SECRET_NAMES.contains(&last)
        && !(is_whole_name && last == "key")
        && !words.any(|word| PUBLIC_NAMES.contains(&word))
}

/// The first word of a value, or the content of its quotes.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\'', '`'] {
        if let Some(inner) = value.strip_prefix(quote) {
            return inner.split(quote).next().unwrap_or_default();
        }
    }
    let end = value.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '#'));
    &value[..end.unwrap_or(value.len())]
}

/// The rest of a token: not a placeholder, and with an unbroken part that is not a word.
fn is_random_token(rest: &str) -> bool {
    const MIN_SEGMENT: usize = 8;
    let is_no_word = |segment: &str| {
        let has = |is: fn(&char) -> bool| segment.chars().skip(1).any(|c| is(&c));
        segment.len() >= MIN_SEGMENT
            && (has(char::is_ascii_digit)
                || has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase))
    };
    !is_placeholder(rest)
        && segments(rest).any(is_no_word)
        && has_digit_and_letter(rest)
        && entropy(rest) >= 3.0
}

fn is_random_value(value: &str) -> bool {
    const MIN_LENGTH: usize = 12;
    const MAX_LENGTH: usize = 4096;
    let is_reference = value.starts_with(['$', '<', '{', '%', '/', '.', '~', '@', '&', '*'])
        || value.contains("://")
        || value.contains(['(', '[', ' ', '{'])
        || value.contains("::");
    if is_reference
        || !(MIN_LENGTH..=MAX_LENGTH).contains(&value.len())
        || !value.is_ascii()
        || is_placeholder(value)
        || !has_digit_and_letter(value)
        || entropy(value) < 3.0
    {
        return false;
    }
    let has_symbol = value
        .chars()
        .any(|c| c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '.' | ':' | '/'));
    has_symbol || segments(value).any(|segment| segment.len() >= MIN_LENGTH)
}

fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
}

fn has_digit_and_letter(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.contains(|c: char| c.is_ascii_alphabetic())
}

/// Placeholders that people write instead of a secret.
fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "example",
        "changeme",
        "change-me",
        "change_me",
        "placeholder",
        "your-",
        "your_",
        "yourkey",
        "dummy",
        "redacted",
        "sample",
        "insert",
        "replace",
        "fake",
        "secret-here",
        "xxxx",
    ];
    let lower = text.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) || text.contains("...") || longest_run(text) >= 6
}

/// The length of the longest repetition of one character.
fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    let mut last = None;
    for c in text.chars() {
        run = if Some(c) == last { run + 1 } else { 1 };
        last = Some(c);
        longest = longest.max(run);
    }
    longest
}

/// Shannon entropy in bits per character.
#[expect(clippy::cast_precision_loss, reason = "lengths of one value")]
fn entropy(text: &str) -> f64 {
    let mut counts = [0_usize; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f64;
    let share = |count: &usize| *count as f64 / total;
    let used = counts.iter().filter(|count| **count > 0).map(share);
    -used.map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "secrets_held_out_tests.rs"]
mod held_out;
