//! The prompt of a step as text. The texts are printed as they are: neither wrapped nor rendered.

use roundtable_engine::recorded_prompt::RecordedPrompt;

use super::super::output::{self, BOLD, QUIET, painted};

pub(crate) fn lines(prompt: &RecordedPrompt) -> Vec<String> {
    let hash = format!(
        "Rendered again from the journal; its hash is the recorded one ({})",
        prompt.request
    );
    let mut lines = vec![
        painted(BOLD, &output::harmless(&prompt.step)),
        painted(QUIET, &output::harmless(&prompt.about())),
        painted(QUIET, &hash),
    ];
    for (title, text) in prompt.texts() {
        lines.extend(part(title, text));
    }
    if !prompt.images.is_empty() {
        lines.extend(part("Images", &prompt.images.join(", ")));
    }
    let tools = prompt.tools.iter();
    let tools: Vec<String> = tools
        .map(|tool| format!("{}: {}", tool.name, tool.description))
        .collect();
    if !tools.is_empty() {
        lines.extend(part("Tools", &tools.join("\n")));
    }
    let schema = serde_json::to_string_pretty(&prompt.schema).unwrap_or_default();
    lines.extend(part("Schema of the reply", &schema));
    lines
}

fn part(title: &str, text: &str) -> [String; 3] {
    let title = painted(BOLD, title);
    [String::new(), title, output::harmless(text)]
}
