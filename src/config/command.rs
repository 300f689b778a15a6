//! Providers of `kind = "command"`: programs that read a prompt and print a reply. Presets for known programs are data
//! (`data/commands.toml`) and are read like a section of the configuration file.
//!
//! A program gets a clean environment: the variables of [`BASE_ENVIRONMENT`] and those that the preset or the file names.

mod values;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Fault;
use super::document::{Given, Reader, Section};
use super::environment::{Environment, Secret};
use values::{arguments, pairs, rules, texts};

const PRESETS: &str = include_str!("../../data/commands.toml");

/// The variables that every program needs to run and to reach the network. None of them is a key of a model provider.
const BASE_ENVIRONMENT: [&str; 30] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // Windows
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "TMP",
    "PATHEXT",
];

/// How a program is called and how its output is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandSpec {
    /// A name on the PATH, or an absolute path.
    pub program: String,
    /// The PATH.
    pub search_path: Option<String>,
    pub args: Vec<Argument>,
    pub prompt: PromptVia,
    pub output: Output,
    pub reply: Vec<ReplyRule>,
    /// Written for each call, by name and content.
    pub files: Vec<(String, String)>,
    /// Passed on from our environment.
    pub environment: Vec<(String, Secret)>,
    /// Set for the program; may contain placeholders.
    pub set_environment: Vec<(String, String)>,
    /// Texts in an error, in lower case, that mean that the program needs a login.
    pub login: Vec<String>,
    /// The command to log in.
    pub login_with: Option<String>,
    /// Texts in an error, in lower case, that mean that a later attempt may succeed.
    pub rate_limited: Vec<String>,
    pub schema_dialect: Option<SchemaDialect>,
    pub is_free: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Argument {
    Always(String),
    /// Left out if one of its placeholders has no value.
    Group(Vec<String>),
}

impl Argument {
    pub(crate) fn parts(&self) -> &[String] {
        match self {
            Self::Always(part) => std::slice::from_ref(part),
            Self::Group(parts) => parts,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PromptVia {
    #[default]
    Stdin,
    /// In place of `{prompt}`.
    Argument,
    /// The file named by `{prompt_file}`.
    File,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Standard output is the reply.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One JSON document per line.
    JsonLines,
}

/// The subset of JSON schema that the model behind the program accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaDialect {
    OpenAi,
    Anthropic,
    Gemini,
}

/// The values to read from a JSON document of the output, as JSON pointers; `*` matches every entry.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReplyRule {
    /// The rule applies to documents that have these values.
    pub when: Vec<(String, serde_json::Value)>,
    /// The text of the reply; a later document replaces it.
    pub text: Option<String>,
    /// A part of the text of the reply.
    pub append: Option<String>,
    /// The reply as JSON, if it was requested with a schema.
    pub json: Option<String>,
    pub error: Option<String>,
    /// Summed.
    pub input_tokens: Vec<String>,
    pub cached_tokens: Vec<String>,
    pub output_tokens: Vec<String>,
    /// The reply is incomplete without such a document.
    pub end: bool,
}

/// A known program.
pub(crate) struct ProgramPreset {
    /// Also the name of its provider.
    pub name: String,
    pub title: String,
    /// The possible cost of its calls.
    pub cost: String,
    keys: Keys,
}

impl ProgramPreset {
    /// All presets, in the order of their names.
    pub(crate) fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<ProgramPreset>> = OnceLock::new();
        ALL.get_or_init(|| read_presets(PRESETS).0)
    }

    /// By the preset's name, or its program's.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let all = Self::all().iter();
        all.clone()
            .find(|preset| preset.name == name)
            .or_else(|| all.clone().find(|preset| preset.program() == name))
    }

    pub(crate) fn names() -> String {
        let names: Vec<&str> = Self::all().iter().map(|one| one.name.as_str()).collect();
        names.join(", ")
    }

    pub(crate) fn program(&self) -> &str {
        self.keys.command.as_ref().map_or("", |given| &given.value)
    }

    /// A model to name in an example: the program's own choice, if it has one.
    pub(crate) fn example_model(&self) -> &'static str {
        let args = self.keys.args.iter().flat_map(|given| &given.value);
        let needs_model = |argument: &Argument| matches!(argument, Argument::Always(part) if part.contains("{model}"));
        if args.clone().any(needs_model) {
            "MODEL"
        } else {
            "default"
        }
    }

    /// The path of the program, if it is installed.
    pub(crate) fn find(&self, environment: &Environment) -> Option<PathBuf> {
        find_program(self.program(), environment.variable("PATH"))
    }
}

/// The presets of a text, and its faults.
fn read_presets(text: &str) -> (Vec<ProgramPreset>, Vec<Fault>) {
    let environment = Environment::default();
    let mut reader = Reader::new(text, None, &environment);
    let Ok(document) = toml_edit::Document::parse(text) else {
        reader.fault(1, "invalid TOML");
        return (Vec::new(), reader.faults);
    };
    let mut presets = Vec::new();
    let tables = Section::new(&mut reader, "", Some(document.as_table())).tables();
    for (name, table, _) in tables {
        let mut section = Section::new(&mut reader, name, Some(table));
        let text =
            |given: Option<Given<String>>| given.map_or_else(String::new, |given| given.value);
        presets.push(ProgramPreset {
            name: name.to_owned(),
            title: text(section.text("title")),
            cost: text(section.text("cost")),
            keys: Keys::read(&mut section),
        });
        section.finish();
    }
    presets.sort_by(|one, other| one.name.cmp(&other.name));
    (presets, reader.faults)
}

/// The keys of a preset or of a `[providers.…]` section.
struct Keys {
    command: Option<Given<String>>,
    args: Option<Given<Vec<Argument>>>,
    extra_args: Option<Given<Vec<String>>>,
    prompt: Option<Given<PromptVia>>,
    output: Option<Given<Output>>,
    reply: Option<Given<Vec<ReplyRule>>>,
    files: Option<Given<Vec<(String, String)>>>,
    env: Option<Given<Vec<String>>>,
    set_env: Option<Given<Vec<(String, String)>>>,
    login: Option<Given<Vec<String>>>,
    login_with: Option<Given<String>>,
    rate_limited: Option<Given<Vec<String>>>,
    schema_dialect: Option<Given<SchemaDialect>>,
    free: Option<Given<bool>>,
}

impl Keys {
    fn read(section: &mut Section<'_, '_>) -> Self {
        Self {
            command: section.text("command"),
            args: section.read("args", arguments),
            extra_args: section.read("extra_args", texts),
            prompt: section.read("prompt", |item| match item.as_str() {
                Some("stdin") => Ok(PromptVia::Stdin),
                Some("argument") => Ok(PromptVia::Argument),
                Some("file") => Ok(PromptVia::File),
                _ => Err(r#"expected "stdin", "argument" or "file""#.to_owned()),
            }),
            output: section.read("output", |item| match item.as_str() {
                Some("text") => Ok(Output::Text),
                Some("json") => Ok(Output::Json),
                Some("jsonl") => Ok(Output::JsonLines),
                _ => Err(r#"expected "text", "json" or "jsonl""#.to_owned()),
            }),
            reply: section.read("reply", rules),
            files: section.read("files", |item| {
                let files = pairs(item)?;
                let is_plain = |name: &str| !name.contains(['/', '\\']) && !name.starts_with('.');
                if files.iter().all(|(name, _)| is_plain(name)) {
                    Ok(files)
                } else {
                    Err("expected file names without a folder".to_owned())
                }
            }),
            env: section.read("env", texts),
            set_env: section.read("set_env", pairs),
            login: section.read("login", texts),
            login_with: section.text("login_with"),
            rate_limited: section.read("rate_limited", texts),
            schema_dialect: section.read("schema_dialect", |item| match item.as_str() {
                Some("openai") => Ok(SchemaDialect::OpenAi),
                Some("anthropic") => Ok(SchemaDialect::Anthropic),
                Some("gemini") => Ok(SchemaDialect::Gemini),
                _ => Err(r#"expected "openai", "anthropic" or "gemini""#.to_owned()),
            }),
            free: section.read("free", |item| {
                let expected = "expected true or false (whether its calls cost nothing)";
                item.as_bool().ok_or_else(|| expected.to_owned())
            }),
        }
    }
}

/// Reads the section of a command provider. `None` after a fault.
pub(super) fn read(section: &mut Section<'_, '_>, line: usize) -> Option<CommandSpec> {
    let faults_before = section.reader.faults.len();
    let preset = section.read("preset", |item| {
        let preset = item.as_str().and_then(ProgramPreset::named);
        preset.ok_or_else(|| format!("expected one of {}", ProgramPreset::names()))
    });
    let own = Keys::read(section);
    let of_preset = preset.as_ref().map(|given| &given.value.keys);
    let Some(program) = pick(own.command.as_ref(), of_preset, |keys| &keys.command) else {
        if section.reader.faults.len() == faults_before {
            let names = ProgramPreset::names();
            section.fault(
                line,
                format!(
                    "a command provider needs command = \"PROGRAM\", or preset = one of {names}"
                ),
            );
        }
        return None;
    };
    if let Some(given) = &preset {
        section.record("preset", Some(&given.value.name), Some(given.line));
    }
    let program = absolute(&program, section.reader);
    section.record(
        "command",
        Some(&program),
        own.command.as_ref().map(|given| given.line),
    );
    let spec = spec(program, &own, of_preset, section.reader.environment);
    if let Some(problem) = inconsistency(&spec) {
        section.fault(line, problem);
    }
    (section.reader.faults.len() == faults_before).then_some(spec)
}

fn pick<'k, T: Clone + 'k>(
    own: Option<&Given<T>>,
    preset: Option<&'k Keys>,
    key: impl Fn(&'k Keys) -> &'k Option<Given<T>>,
) -> Option<T> {
    let of_preset = || preset.and_then(|keys| key(keys).as_ref());
    own.map(|given| given.value.clone())
        .or_else(|| of_preset().map(|given| given.value.clone()))
}

fn spec(
    program: String,
    own: &Keys,
    preset: Option<&Keys>,
    environment: &Environment,
) -> CommandSpec {
    let mut args = pick(own.args.as_ref(), preset, |keys| &keys.args).unwrap_or_default();
    let extra = own.extra_args.iter().flat_map(|given| &given.value);
    args.extend(extra.cloned().map(Argument::Always));
    let mut names: Vec<&str> = BASE_ENVIRONMENT.to_vec();
    let mut set_environment = Vec::new();
    for keys in preset.into_iter().chain([own]) {
        let more = keys.env.iter().flat_map(|given| &given.value);
        names.extend(more.map(String::as_str));
        set_environment.extend(keys.set_env.iter().flat_map(|given| given.value.clone()));
    }
    names.sort_unstable();
    names.dedup();
    let value = |name: &str| Some((name.to_owned(), environment.secret(name)?.clone()));
    let lower = |texts: Option<Vec<String>>| -> Vec<String> {
        let texts = texts.unwrap_or_default();
        texts.iter().map(|text| text.to_lowercase()).collect()
    };
    CommandSpec {
        program,
        search_path: environment.variable("PATH").map(str::to_owned),
        args,
        prompt: pick(own.prompt.as_ref(), preset, |keys| &keys.prompt).unwrap_or_default(),
        output: pick(own.output.as_ref(), preset, |keys| &keys.output).unwrap_or_default(),
        reply: pick(own.reply.as_ref(), preset, |keys| &keys.reply).unwrap_or_default(),
        files: pick(own.files.as_ref(), preset, |keys| &keys.files).unwrap_or_default(),
        environment: names.iter().filter_map(|name| value(name)).collect(),
        set_environment,
        login: lower(pick(own.login.as_ref(), preset, |keys| &keys.login)),
        login_with: pick(own.login_with.as_ref(), preset, |keys| &keys.login_with),
        rate_limited: lower(pick(own.rate_limited.as_ref(), preset, |keys| {
            &keys.rate_limited
        })),
        schema_dialect: pick(own.schema_dialect.as_ref(), preset, |keys| {
            &keys.schema_dialect
        }),
        is_free: pick(own.free.as_ref(), preset, |keys| &keys.free).unwrap_or_default(),
    }
}

/// A contradiction between the keys.
fn inconsistency(spec: &CommandSpec) -> Option<String> {
    let needs = |placeholder: &str| {
        let mut parts = spec.args.iter().flat_map(Argument::parts);
        (!parts.any(|part| part.contains(placeholder)))
            .then(|| format!("args need {placeholder}, because of the key prompt"))
    };
    match (spec.prompt, spec.output) {
        (PromptVia::Argument, _) => needs("{prompt}"),
        (PromptVia::File, _) => needs("{prompt_file}"),
        (PromptVia::Stdin, _) => None,
    }
    .or_else(|| {
        let reads_text = |rule: &ReplyRule| {
            rule.text.is_some() || rule.append.is_some() || rule.json.is_some()
        };
        let is_unread = spec.output != Output::Text && !spec.reply.iter().any(reads_text);
        is_unread.then(|| {
            "output = \"json\" or \"jsonl\" needs reply = [{ text = \"/path\" }]: where the text is".to_owned()
        })
    })
}

/// A program with a folder is found relative to the configuration file, never to the working folder.
fn absolute(program: &str, reader: &Reader<'_>) -> String {
    let path = match (program.strip_prefix("~/"), &reader.environment.folders) {
        (Some(rest), Some(folders)) => folders.home.join(rest),
        _ if program.contains(['/', '\\']) => {
            let folder = reader.folder();
            let path = folder.join(program);
            std::path::absolute(&path).unwrap_or(path)
        }
        _ => return program.to_owned(),
    };
    path.to_string_lossy().into_owned()
}

/// The executable file of this name: on the PATH, or the path itself if it has a folder.
pub(crate) fn find_program(program: &str, search_path: Option<&str>) -> Option<PathBuf> {
    if program.contains(['/', '\\']) {
        return Some(PathBuf::from(program)).filter(|path| is_executable(path));
    }
    let names = if cfg!(windows) {
        vec![format!("{program}.exe"), format!("{program}.cmd")]
    } else {
        vec![program.to_owned()]
    };
    let folders = std::env::split_paths(search_path?);
    // A relative folder on the PATH would depend on the working folder.
    folders
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| {
            names
                .iter()
                .map(move |name| folder.join(name))
                .collect::<Vec<_>>()
        })
        .find(|path| is_executable(path))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
