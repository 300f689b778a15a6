//! The home page: a form that starts a debate, with defaults for everything but the question.

use askama::Template;
use roundtable_engine::depth::Depth;
use roundtable_engine::transcript::capital;

use super::debates::Row;
use super::fields::{Control, FieldGroup, FieldValues};
use super::{Choice, Frame};

/// The submitted form; missing fields are empty.
#[derive(Debug, Clone, Default, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub(crate) struct StartForm {
    pub question: String,
    pub cast: String,
    pub model: String,
    pub depth: String,
    pub max_cost: String,
    pub max_tokens: String,
    pub max_minutes: String,
    /// Identifies the form that was shown, so that sending it twice starts one debate.
    pub form_key: String,
    /// The fields of protocols.
    #[serde(flatten)]
    pub fields: FieldValues,
}

/// Everything the form offers, with the fields already filled in.
pub(crate) struct FormOptions {
    pub casts: Vec<CastOption>,
    pub groups: Vec<FieldGroup>,
    pub providers: Vec<ProviderModels>,
    /// The default model and why it is the default.
    pub default_model: Option<(String, String)>,
    pub advice: Option<String>,
    pub recent: Vec<Row>,
}

/// A cast to choose from.
#[derive(Debug, Clone)]
pub(crate) struct CastOption {
    pub cast: String,
    /// Name of the protocol that the cast is for.
    pub protocol: &'static str,
    pub title: String,
    pub summary: String,
    pub estimate: String,
    pub is_chosen: bool,
}

/// The models of one provider.
#[derive(Debug, Clone)]
pub(crate) struct ProviderModels {
    pub provider: String,
    pub models: Vec<Choice>,
}

pub(crate) struct HomeView {
    pub problems: Vec<String>,
    /// What the debate of the form would use, if that was asked for.
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

impl HomeView {
    /// The form, filled in with what was submitted.
    pub(crate) fn new(mut options: FormOptions, form: StartForm) -> Self {
        let is_known = options.casts.iter().any(|option| option.cast == form.cast);
        for (index, option) in options.casts.iter_mut().enumerate() {
            option.is_chosen = if is_known {
                option.cast == form.cast
            } else {
                index == 0
            };
        }
        let providers = options.providers.iter_mut();
        for model in providers.flat_map(|provider| &mut provider.models) {
            model.is_chosen = model.value == form.model;
        }
        Self {
            problems: Vec::new(),
            estimate: None,
            form,
            options,
        }
    }

    fn default_model(&self) -> String {
        match &self.options.default_model {
            Some((model, why)) => format!("Default: {model} ({why})"),
            None => "No model found".into(),
        }
    }

    fn depths(&self) -> Vec<Choice> {
        let chosen = Depth::named(&self.form.depth).unwrap_or_default();
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

    fn has_limits(&self) -> bool {
        let form = &self.form;
        [&form.max_cost, &form.max_tokens, &form.max_minutes]
            .iter()
            .any(|limit| !limit.is_empty())
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
