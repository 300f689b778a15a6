//! The blocks of a report as HTML.

use askama::Template;
use roundtable_engine::report::{
    Align, Block, Card, Cell, Gauge, Place, Position, Report, Section, Table, Tone,
};

use super::chart;
use super::html::Html;
use super::markdown;
use super::roles::Roles;

/// A section with its blocks written out.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub title: String,
    /// For links to it.
    pub anchor: String,
    pub body: Html,
}

pub(crate) fn panels(report: &Report, place: Place, roles: &Roles) -> Vec<Panel> {
    let here = report
        .sections
        .iter()
        .filter(|section| placed(section) == place);
    here.map(|section| panel(section, roles)).collect()
}

pub(crate) fn panel(section: &Section, roles: &Roles) -> Panel {
    let blocks = section.blocks.iter();
    let body = blocks.map(|block| write(block, section, roles).to_string());
    Panel {
        title: section.title.clone(),
        anchor: anchor(&section.title),
        body: Html::trusted(body.collect()),
    }
}

/// Where on a page it stands: a table of many figures finds no room beside the text.
fn placed(section: &Section) -> Place {
    const MOST_COLUMNS: usize = 4;
    let is_wide = |block: &Block| match block {
        Block::Table(table) => table.columns.len() > MOST_COLUMNS && !is_of_words(table),
        Block::Text { .. }
        | Block::Note { .. }
        | Block::Chart(_)
        | Block::Opposed { .. }
        | Block::Gauges { .. }
        | Block::Cards { .. } => false,
    };
    if section.blocks.iter().any(is_wide) {
        Place::Main
    } else {
        section.place
    }
}

/// `What the debate was worth` → `what-the-debate-was-worth`
fn anchor(title: &str) -> String {
    let words = title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-")
}

fn write(block: &Block, section: &Section, roles: &Roles) -> Html {
    match block {
        Block::Text { markdown } => Html::of(&Text {
            text: markdown::html(markdown),
        }),
        Block::Note { text, tone } => Html::of(&Note {
            text,
            tone: tone_class(*tone),
        }),
        // Beside the text there is no room for columns of words.
        Block::Table(words) if section.place == Place::Side && is_of_words(words) => items(words),
        Block::Table(figures) => table(figures, figures.caption == section.title),
        Block::Chart(chart) => chart::figure(chart, roles),
        Block::Opposed { positions } => opposed(positions, roles),
        Block::Gauges { gauges } => table(&Gauge::table(&section.title, gauges), true),
        Block::Cards { cards } => {
            let positions: Vec<Position> = cards.iter().map(Card::as_position).collect();
            opposed(&positions, roles)
        }
    }
}

fn is_of_words(table: &Table) -> bool {
    table
        .columns
        .iter()
        .all(|column| column.align == Align::Text)
}

#[derive(Template)]
#[template(source = "<div class=\"prose\">{{ text }}</div>", ext = "html")]
struct Text {
    text: Html,
}

#[derive(Template)]
#[template(source = "<p class=\"note {{ tone }}\">{{ text }}</p>", ext = "html")]
struct Note<'a> {
    text: &'a str,
    tone: &'static str,
}

#[derive(Template)]
#[template(path = "items.html")]
struct Items {
    grid: Grid,
}

#[derive(Template)]
#[template(path = "table.html")]
struct Figures {
    grid: Grid,
    /// Whether a title above says already what the table is.
    is_titled: bool,
}

/// A table with the classes of its cells.
struct Grid {
    caption: String,
    columns: Vec<Written>,
    rows: Vec<Vec<Written>>,
}

struct Written {
    class: String,
    /// The name of its column, for lists that show none.
    column: String,
    text: String,
}

impl Grid {
    fn new(table: &Table, class: impl Fn(usize, &Cell) -> String) -> Self {
        let align = |index: usize| table.columns.get(index).map(|column| column.align);
        let name = |index: usize| table.columns.get(index).map(|column| column.name.clone());
        let columns = table.columns.iter().map(|column| Written {
            class: align_class(Some(column.align)).to_owned(),
            column: String::new(),
            text: column.name.clone(),
        });
        let rows = table.rows.iter().map(|row| {
            let cells = row.iter().enumerate().map(|(index, cell)| Written {
                class: format!("{} {}", class(index, cell), align_class(align(index)))
                    .trim()
                    .to_owned(),
                column: name(index).unwrap_or_default(),
                text: cell.text.clone(),
            });
            cells.collect()
        });
        Self {
            caption: table.caption.clone(),
            columns: columns.collect(),
            rows: rows.collect(),
        }
    }
}

/// A table under a title that says already what it is, or with its own.
pub(super) fn table(table: &Table, is_titled: bool) -> Html {
    let class = |_: usize, cell: &Cell| match cell.tone {
        Tone::Plain => String::new(),
        Tone::Quiet | Tone::Good | Tone::Caution | Tone::Critical => {
            tone_class(cell.tone).to_owned()
        }
    };
    Html::of(&Figures {
        grid: Grid::new(table, class),
        is_titled,
    })
}

/// The last column is what it is about and gets a line of its own; a cell with a tone is a tag.
fn items(table: &Table) -> Html {
    let last = table.columns.len().saturating_sub(1);
    let class = |index: usize, cell: &Cell| {
        if index == last {
            "what".to_owned()
        } else if cell.tone == Tone::Plain {
            "id".to_owned()
        } else {
            format!("tag {}", tone_class(cell.tone))
        }
    };
    Html::of(&Items {
        grid: Grid::new(table, class),
    })
}

#[derive(Template)]
#[template(path = "opposed.html")]
struct Opposed {
    positions: Vec<Side>,
}

struct Side {
    class: String,
    who: String,
    stand: String,
    text: Html,
}

fn opposed(positions: &[Position], roles: &Roles) -> Html {
    let sides = positions.iter().map(|position| Side {
        class: roles.class(&position.role),
        who: roles.title(&position.role),
        stand: position.stand.clone(),
        text: markdown::html(&position.markdown),
    });
    Html::of(&Opposed {
        positions: sides.collect(),
    })
}

pub(super) fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Quiet => "soft",
        Tone::Good => "good",
        Tone::Caution => "mid",
        Tone::Critical => "bad",
    }
}

fn align_class(align: Option<Align>) -> &'static str {
    match align {
        Some(Align::Number) => "number",
        Some(Align::Text) | None => "",
    }
}
