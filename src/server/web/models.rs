//! The models page: default models, available providers and settings.

use askama::Template;

use super::Frame;

pub(crate) struct ModelsView {
    pub problems: Vec<String>,
    pub test: Option<TestResult>,
    /// The usage of test calls.
    pub test_account: Option<String>,
    pub tiers: Vec<Tier>,
    pub advice: Option<String>,
    pub providers: Vec<ProviderRow>,
    /// For administrators only: it contains addresses and paths.
    pub settings: Option<Settings>,
}

pub(crate) struct Settings {
    /// Location of the configuration file.
    pub source: String,
    pub rows: Vec<Setting>,
}

/// Result of a test call.
#[derive(Debug, Clone)]
pub(crate) struct TestResult {
    pub text: String,
    pub succeeded: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Tier {
    pub title: String,
    pub model: String,
    pub why: String,
    pub price: Option<String>,
    pub can_test: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ProviderRow {
    pub provider: String,
    pub note: String,
    pub models: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub key: String,
    pub value: String,
    pub origin: String,
}

#[derive(Template)]
#[template(path = "models.html")]
struct Page {
    frame: Frame,
    view: ModelsView,
}

impl ModelsView {
    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}
