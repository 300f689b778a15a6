//! The start page: four tasks, one box and one button. Everything else has a default and is under the options.

use askama::Template;
use roundtable_engine::depth::Depth;
use roundtable_engine::form::Task;
use roundtable_engine::transcript::capital;

use super::debates::Row;
use super::fields::{Control, FieldGroup};
use super::start_form::StartForm;
use super::{Choice, Frame, percent};

/// Everything the form offers, with the fields already filled in.
pub(crate) struct FormOptions {
    pub tasks: Vec<TaskPanel>,
    pub providers: Vec<ProviderModels>,
    /// The model of a debate that names none.
    pub default_model: Option<String>,
    pub advice: Option<String>,
    pub recent: Vec<Row>,
}

/// The part of the form that is shown while a task is chosen.
pub(crate) struct TaskPanel {
    pub task: Task,
    pub ways: Vec<Way>,
    pub groups: Vec<FieldGroup>,
    is_chosen: bool,
}

/// A cast or a preset: a way to do the task.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// The name of a cast, or `preset:NAME`.
    pub value: String,
    pub protocol: &'static str,
    pub title: String,
    pub summary: String,
    pub seats: Vec<SeatField>,
    pub is_chosen: bool,
}

/// The input for the model of a seat.
#[derive(Debug, Clone)]
pub(crate) struct SeatField {
    pub name: String,
    pub title: String,
    pub value: String,
}

/// The models of one provider.
#[derive(Debug, Clone)]
pub(crate) struct ProviderModels {
    pub provider: String,
    pub models: Vec<ModelOption>,
}

#[derive(Debug, Clone)]
pub(crate) struct ModelOption {
    /// `provider:model`
    pub value: String,
    pub label: String,
    /// Models of one family make the same mistakes.
    pub family: String,
    pub is_chosen: bool,
}

pub(crate) struct HomeView {
    pub problems: Vec<String>,
    /// The expected usage of the form's debate, if it was requested.
    pub estimate: Option<String>,
    form: StartForm,
    options: FormOptions,
}

#[derive(Template)]
#[template(path = "home.html")]
struct Page {
    frame: Frame,
    view: HomeView,
}

/// A question that fills the box.
struct Example {
    title: &'static str,
    link: String,
}

impl TaskPanel {
    pub(crate) fn new(task: Task, ways: Vec<Way>, groups: Vec<FieldGroup>) -> Self {
        Self {
            task,
            ways,
            groups,
            is_chosen: false,
        }
    }

    /// The name of the field that chooses the way.
    pub(crate) fn field(task: Task) -> String {
        format!("way.{}", task.name())
    }

    fn summary(&self) -> &'static str {
        match self.task {
            Task::Answer => {
                "A model answers, others attack the answer, and you read what survived."
            }
            Task::Debate => {
                "A panel with different views argues over several rounds and concludes."
            }
            Task::Forecast => "Several roles argue about what will happen and give probabilities.",
            Task::Judge => "Two councils score a text, argue about the scores and say why.",
        }
    }

    fn question_of_ways(&self) -> &'static str {
        match self.task {
            Task::Judge => "Kind of text",
            Task::Answer | Task::Debate | Task::Forecast => "Method",
        }
    }

    /// The kind of text decides how it is judged, so that choice is not an option among others.
    fn has_essential_ways(&self) -> bool {
        self.task == Task::Judge && self.ways.len() > 1
    }

    fn examples(&self) -> Vec<Example> {
        let questions: &[(&str, &str)] = match self.task {
            Task::Answer => &[
                (
                    "REST or GraphQL?",
                    "Should a five-person team pick REST or GraphQL for an eight-week dashboard?",
                ),
                (
                    "A four-day week?",
                    "Is a four-day week good for a support team of six that answers seven days a week?",
                ),
            ],
            Task::Debate => &[
                (
                    "Split the monolith?",
                    "Should a team of twelve split its monolith into services this year?",
                ),
                (
                    "Open plan or rooms?",
                    "Open-plan office or small rooms for a company of forty that meets on two days a week?",
                ),
            ],
            Task::Forecast => &[
                (
                    "Inflation",
                    "Will euro area inflation (HICP) be above 2% in December?",
                ),
                (
                    "A launch",
                    "Will a small team that is two weeks behind ship its release by the end of the quarter?",
                ),
            ],
            Task::Judge => &[(
                "A short post",
                "# Write it down\n\nMeetings feel productive because everyone talks. A written proposal feels slow because everyone reads. Yet the \
                 proposal is still there next year, and the meeting is not.",
            )],
        };
        let examples = questions.iter().map(|(title, question)| Example {
            title,
            link: format!("/?task={}&question={}", self.task.name(), percent(question)),
        });
        examples.collect()
    }
}

impl HomeView {
    /// The form, filled in with what was submitted.
    pub(crate) fn new(mut options: FormOptions, form: StartForm) -> Self {
        let chosen = Task::named(form.get("task")).unwrap_or_default();
        for panel in &mut options.tasks {
            panel.is_chosen = panel.task == chosen;
            let way = form.get(&TaskPanel::field(panel.task));
            let known = panel.ways.iter().position(|known| known.value == way);
            for (index, way) in panel.ways.iter_mut().enumerate() {
                way.is_chosen = index == known.unwrap_or(0);
            }
        }
        let providers = options.providers.iter_mut();
        for model in providers.flat_map(|provider| &mut provider.models) {
            model.is_chosen = model.value == form.get("model");
        }
        Self {
            problems: Vec::new(),
            estimate: None,
            form,
            options,
        }
    }

    /// Adds that files have to be chosen again: a page cannot fill in that input.
    pub(crate) fn with_problems(mut self, problems: Vec<String>) -> Self {
        self.problems = problems;
        if !self.form.files.is_empty() {
            self.problems
                .push("The files were not kept. Choose them again.".into());
        }
        self
    }

    fn default_model(&self) -> String {
        match &self.options.default_model {
            Some(model) => format!("Default: {model}"),
            None => "No model found".into(),
        }
    }

    fn depths(&self) -> Vec<Choice> {
        let chosen = Depth::named(self.form.get("depth")).unwrap_or_default();
        let depths = Depth::ALL.into_iter();
        let choices = depths.map(|depth| Choice {
            value: depth.name().to_owned(),
            label: match depth {
                Depth::Quick => "Quick: at most three calls deep".to_owned(),
                Depth::Normal => "Normal".to_owned(),
                Depth::Deep => "Deep: more rounds".to_owned(),
            },
            is_chosen: depth == chosen,
        });
        choices.collect()
    }

    /// Whether something under the options was set, or may have to be corrected.
    fn has_options(&self) -> bool {
        let form = &self.form;
        let limits = ["model", "max_cost", "max_tokens", "max_minutes"];
        !self.problems.is_empty()
            || limits.iter().any(|name| !form.get(name).is_empty())
            || form.with_prefix("seat.").next().is_some()
            || !["", Depth::default().name()].contains(&form.get("depth"))
    }

    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}

/// `expert-panel` → `Expert panel`, `rfc` → `RFC`
pub(crate) fn cast_title(cast: &str) -> String {
    if cast.len() <= 3 {
        return cast.to_uppercase();
    }
    capital(&cast.replace(['-', '_'], " "))
}
