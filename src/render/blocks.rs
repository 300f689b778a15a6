//! Report sections and their blocks as HTML.

use askama::Template;
use roundtable_engine::report::{
    Align, Block, Card, Cell, Gauge, Place, Position, Report, Section, Table, Tone,
};

use super::chart;
use super::html::Html;
use super::markdown;
use super::roles::Roles;

/// A section with its blocks rendered.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub title: String,
    /// Fragment identifier, unique within a page.
    pub anchor: String,
    pub body: Html,
}

pub(crate) fn panels(report: &Report, place: Place, roles: &Roles) -> Vec<Panel> {
    let sections = report
        .sections
        .iter()
        .filter(|section| place_of(section) == place);
    sections.map(|section| panel(section, roles)).collect()
}

/// All sections of a report that belongs to no debate and so has no roles.
pub(crate) fn all_panels(report: &Report) -> Vec<Panel> {
    let sections = report.sections.iter();
    sections
        .map(|section| panel(section, &Roles::default()))
        .collect()
}

pub(crate) fn panel(section: &Section, roles: &Roles) -> Panel {
    let blocks = section.blocks.iter();
    let body = blocks.map(|block| render(block, section, roles).to_string());
    Panel {
        title: section.title.clone(),
        anchor: anchor(&section.title),
        body: Html::trusted(body.collect()),
    }
}

/// The section's place, except that tables of numbers too wide for the sidebar go to the main column.
fn place_of(section: &Section) -> Place {
    const MAX_SIDE_COLUMNS: usize = 4;
    let is_wide = |block: &Block| match block {
        Block::Table(table) => table.columns.len() > MAX_SIDE_COLUMNS && !is_text_only(table),
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

/// `How it ended` → `how-it-ended`
fn anchor(title: &str) -> String {
    let words = title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-")
}

fn render(block: &Block, section: &Section, roles: &Roles) -> Html {
    match block {
        Block::Text { markdown } => Html::of(&Text {
            text: markdown::html(markdown),
        }),
        Block::Note { text, tone } => Html::of(&Note {
            text,
            tone: tone_class(*tone),
        }),
        // The sidebar is too narrow for columns of text.
        Block::Table(texts) if section.place == Place::Side && is_text_only(texts) => items(texts),
        Block::Table(figures) => table(figures, figures.caption == section.title),
        Block::Chart(chart) => chart::figure(chart, roles),
        Block::Opposed { positions: sides } => positions(sides, roles),
        Block::Gauges { gauges } => table(&Gauge::table(&section.title, gauges), true),
        Block::Cards { cards } => {
            let sides: Vec<Position> = cards.iter().map(Card::as_position).collect();
            positions(&sides, roles)
        }
    }
}

fn is_text_only(table: &Table) -> bool {
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
struct ItemsView {
    grid: Grid,
}

#[derive(Template)]
#[template(path = "table.html")]
struct TableView {
    grid: Grid,
    /// The heading above repeats the caption, so the caption is visually hidden.
    is_titled: bool,
}

/// A table with a class for each cell.
struct Grid {
    caption: String,
    columns: Vec<CellView>,
    rows: Vec<Vec<CellView>>,
}

struct CellView {
    class: String,
    /// Name of its column, for lists, which have no header row.
    column: String,
    text: String,
}

impl Grid {
    fn new(table: &Table, class: impl Fn(usize, &Cell) -> String) -> Self {
        let align = |index: usize| table.columns.get(index).map(|column| column.align);
        let name = |index: usize| table.columns.get(index).map(|column| column.name.clone());
        let columns = table.columns.iter().map(|column| CellView {
            class: align_class(Some(column.align)).to_owned(),
            column: String::new(),
            text: column.name.clone(),
        });
        let rows = table.rows.iter().map(|row| {
            let cells = row.iter().enumerate().map(|(index, cell)| CellView {
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

/// A table; `is_titled` if the heading above repeats its caption.
pub(super) fn table(table: &Table, is_titled: bool) -> Html {
    let class = |_: usize, cell: &Cell| match cell.tone {
        Tone::Plain => String::new(),
        Tone::Quiet | Tone::Good | Tone::Caution | Tone::Critical => {
            tone_class(cell.tone).to_owned()
        }
    };
    Html::of(&TableView {
        grid: Grid::new(table, class),
        is_titled,
    })
}

/// A table as a list: the last column is the description on its own line, a cell with a tone is a tag.
fn items(table: &Table) -> Html {
    let last = table.columns.len().saturating_sub(1);
    let class = |index: usize, cell: &Cell| {
        if index == last {
            "description".to_owned()
        } else if cell.tone == Tone::Plain {
            "id".to_owned()
        } else {
            format!("tag {}", tone_class(cell.tone))
        }
    };
    Html::of(&ItemsView {
        grid: Grid::new(table, class),
    })
}

#[derive(Template)]
#[template(path = "positions.html")]
struct PositionsView {
    positions: Vec<PositionView>,
}

struct PositionView {
    class: String,
    speaker: String,
    stance: String,
    text: Html,
}

fn positions(positions: &[Position], roles: &Roles) -> Html {
    let views = positions.iter().map(|position| PositionView {
        class: roles.class(&position.role),
        speaker: roles.title(&position.role),
        stance: position.stand.clone(),
        text: markdown::html(&position.markdown),
    });
    Html::of(&PositionsView {
        positions: views.collect(),
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
