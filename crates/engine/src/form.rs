//! The page's form as data: the tasks that a newcomer chooses from, and the fields that a protocol adds.

/// The result that a person wants from a debate: the first choice on the start page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Task {
    /// An answer to a question, after others have challenged it.
    #[default]
    Answer,
    /// A panel that argues over several rounds.
    Debate,
    /// Probabilities of outcomes.
    Forecast,
    /// Scores of a text, with reasons.
    Judge,
}

impl Task {
    pub const ALL: [Self; 4] = [Self::Answer, Self::Debate, Self::Forecast, Self::Judge];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Debate => "debate",
            Self::Forecast => "forecast",
            Self::Judge => "judge",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::Debate => "Debate",
            Self::Forecast => "Forecast",
            Self::Judge => "Judge a text",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|task| task.name() == name)
    }
}

/// A field of the page's form. Its name is the property of the input that it sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormField {
    pub name: &'static str,
    pub label: &'static str,
    pub hint: &'static str,
    pub placeholder: &'static str,
    /// The value of a form that was not filled in yet.
    pub initial: &'static str,
    /// Whether the field is next to the question instead of among the options.
    pub is_essential: bool,
    pub kind: FieldKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    /// Several lines, each an item of a list.
    Lines,
    Checkbox,
    /// A whole number from `least` to `most`.
    Number {
        least: u32,
        most: u32,
    },
    /// A day, as in 2027-06-30.
    Date,
    /// One of these, or none if the first is empty.
    Choice(Vec<FormChoice>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormChoice {
    pub value: String,
    pub summary: String,
}

impl FormField {
    pub const fn new(name: &'static str, label: &'static str, kind: FieldKind) -> Self {
        Self {
            name,
            label,
            hint: "",
            placeholder: "",
            initial: "",
            is_essential: false,
            kind,
        }
    }

    #[must_use]
    pub fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    #[must_use]
    pub fn placeholder(self, placeholder: &'static str) -> Self {
        Self {
            placeholder,
            ..self
        }
    }

    #[must_use]
    pub fn initially(self, initial: &'static str) -> Self {
        Self { initial, ..self }
    }

    #[must_use]
    pub fn essential(self) -> Self {
        Self {
            is_essential: true,
            ..self
        }
    }
}
