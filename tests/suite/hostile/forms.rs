//! Every field of every form of the pages, and uploaded files.

use super::Target;
use super::attack::Input;
use super::values::{long_values, short_values};
use crate::harness::Scale;

/// The fields of every form by path; those of the start form are in its page. In a name, `*` becomes the value.
pub(super) const FORMS: [(&str, &[&str]); 19] = [
    ("/arenas/{arena}/votes", &["pair", "choice"]),
    ("/debates", &[]),
    ("/estimate", &["question", "model", "depth", "way.*", "*"]),
    ("/debates/delete", &["id.*"]),
    ("/debates/export", &["id.*"]),
    ("/debates/{id}/decision", &["choice", "note"]),
    (
        "/debates/{id}/events",
        &["event", "status", "date", "impact"],
    ),
    ("/debates/{id}/filing", &["pinned", "tags"]),
    ("/debates/{id}/follow-up", &["question", "protocol"]),
    (
        "/debates/{id}/post-mortem",
        &[
            "accuracy", "right", "wrong", "lessons", "missed", "skills", "domain",
        ],
    ),
    ("/debates/{id}/rating", &["rating", "comment"]),
    ("/debates/{id}/resolution", &["outcome", "withdraw"]),
    (
        "/debates/{id}/resume",
        &["max_tokens", "max_cost", "max_seconds"],
    ),
    ("/debates/{id}/say", &["text"]),
    ("/debates/{id}/shares", &["days"]),
    ("/models/test", &["model"]),
    ("/sign-in", &["token", "next"]),
    (
        "/tokens",
        &[
            "name",
            "scope",
            "reach",
            "max_cost_per_day",
            "max_running",
            "models",
            "expires_in_days",
        ],
    ),
    (
        "/tokens/{name}/limits",
        &["reach", "max_cost_per_day", "max_running", "models"],
    ),
];

/// The names of the fields in the forms of a page.
fn field_names(page: &str) -> Vec<String> {
    let mut names: Vec<String> = page
        .split(" name=\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .filter(|name| name != "viewport" && name != "color-scheme")
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Every field of every form.
#[test]
fn c20_no_form_harms_the_server() {
    let target = Target::start();
    let names = field_names(&target.serving.get("/").text());
    assert!(names.len() > 10, "{names:?}");
    let mut forms: Vec<(String, String)> = Vec::new();
    forms.extend(names.into_iter().map(|name| ("/debates".to_owned(), name)));
    for (path, names) in FORMS {
        let path = path.replace("{id}", &target.debate);
        let path = path.replace("{name}", "other").replace("{arena}", "none");
        forms.extend(names.iter().map(|name| (path.clone(), (*name).to_owned())));
    }
    let (short, long) = (short_values(&target.home), long_values());
    let is_full = Scale::asked_for() == Scale::Full;
    let mut cases = Vec::new();
    for (number, form) in forms.iter().enumerate() {
        let turn = |index: usize, of: usize| is_full || (index + number).is_multiple_of(of);
        let short = short.iter().enumerate();
        let short = short.filter(|(index, _)| *index < 3 || turn(*index, 6));
        cases.extend(short.map(|(_, value)| (form, value.as_str())));
        let long = long
            .iter()
            .enumerate()
            .filter(|(index, _)| turn(*index, 26));
        // Three bytes for each, where they are encoded.
        cases.extend(long.map(|(_, value)| (form, value.get(..400_000).unwrap_or(value))));
    }
    let mut attack = target.attack();
    attack.send_all(&cases, |((path, name), value)| {
        let name = name.replace('*', value);
        let mut fields = vec![
            ("question", "Why?"),
            ("model", "lab:x"),
            ("max_tokens", "1"),
        ];
        fields.retain(|(other, _)| *other != name && path == "/debates");
        fields.push((&name, value));
        Input::form(path, &fields)
    });
    attack.end("forms");
}

/// Files that a browser uploads, with hostile names and contents.
#[test]
fn c20_no_uploaded_file_harms_the_server() {
    let target = Target::start();
    let (short, long) = (short_values(&target.home), long_values());
    let part = match Scale::asked_for() {
        Scale::Full => 1,
        Scale::Tenth => 8,
    };
    let mut cases: Vec<(&str, &str, &str)> = Vec::new();
    for name in &short {
        cases.push(("files", name, "A text."));
        cases.push((name, "a.md", "A text."));
    }
    for content in long.iter().step_by(part) {
        cases
            .extend(["a.md", "a.html", "a.csv", "a.pdf"].map(|name| ("files", name, &content[..])));
    }
    let mut attack = target.attack();
    attack.send_all(&cases, |(field, name, content)| {
        Input::upload("/debates", field, name, content)
    });
    attack.end("uploads");
}
