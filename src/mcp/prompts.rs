//! Prompts that a person chooses in the client: what the agent should do with the tools.

use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The only argument, with its description. It replaces its name in double braces.
    argument: (&'static str, &'static str),
    text: &'static str,
    /// The text in place of an argument that is not given.
    default: &'static str,
}

const TEMPLATES: [Template; 3] = [
    Template {
        name: "second-opinion",
        title: "Second opinion",
        description: "Have other models answer the question at hand before relying on one answer",
        argument: (
            "question",
            "The question; by default the one being discussed",
        ),
        text: include_str!("prompts/second-opinion.md"),
        default: "the question we are discussing",
    },
    Template {
        name: "red-team",
        title: "Red team",
        description: "Have a plan attacked and defended before it is carried out",
        argument: ("plan", "The plan; by default the one being discussed"),
        text: include_str!("prompts/red-team.md"),
        default: "the plan we are discussing",
    },
    Template {
        name: "decide",
        title: "Decide",
        description: "Have a panel debate a decision with its alternatives",
        argument: (
            "question",
            "The decision; by default the one being discussed",
        ),
        text: include_str!("prompts/decide.md"),
        default: "the decision we are discussing",
    },
];

pub(super) fn all() -> Vec<Prompt> {
    let prompts = TEMPLATES.iter().map(|template| {
        let (name, about) = template.argument;
        let argument = PromptArgument::new(name)
            .with_description(about)
            .with_required(false);
        Prompt::new(
            template.name,
            Some(template.description),
            Some(vec![argument]),
        )
        .with_title(template.title)
    });
    prompts.collect()
}

pub(super) fn names() -> Vec<&'static str> {
    TEMPLATES.iter().map(|template| template.name).collect()
}

/// `None` for an unknown name.
pub(super) fn render(name: &str, arguments: Option<&JsonObject>) -> Option<GetPromptResult> {
    let template = TEMPLATES.iter().find(|template| template.name == name)?;
    let (argument, _) = template.argument;
    let given = arguments.and_then(|arguments| arguments.get(argument)?.as_str());
    let given = given.filter(|given| !given.trim().is_empty());
    let placeholder = format!("{{{{{argument}}}}}");
    let text = template
        .text
        .replace(&placeholder, given.unwrap_or(template.default));
    let message = PromptMessage::new_text(Role::User, text);
    Some(GetPromptResult::new(vec![message]).with_description(template.description))
}
