//! Formats numbers and short texts for people, the same on the terminal, in files and on pages.

use roundtable_core::characters::is_deceptive;
use roundtable_core::format::truncated;
pub(crate) use roundtable_core::format::{counted, grouped};
use roundtable_core::usage::{Money, Price};
use roundtable_engine::report::{Bar, Block, Cell, Chart, Section, Table};
use roundtable_engine::totals::shown_cost;
use roundtable_engine::transcript::Transcript;

/// The cost of calls with this usage.
pub(crate) fn money(cost: Option<Money>, tokens: u64) -> String {
    shown_cost(cost, tokens)
}

/// The price of a model.
pub(crate) fn per_million(price: Price) -> String {
    let Price { input, output, .. } = price;
    if input == 0.0 && output == 0.0 {
        return "free".into();
    }
    format!("${input} in, ${output} out per million tokens")
}

/// The cost of these tokens; nothing if nothing was used, because then it says nothing about the price.
pub(crate) fn cost(cost: Option<Money>, tokens: u64) -> Option<String> {
    (tokens > 0).then(|| money(cost, tokens))
}

/// `2.5 GB`, `98 MB`
pub(crate) fn size(bytes: u64) -> String {
    const TENTH: u64 = 100_000_000;
    if bytes < 10 * TENTH {
        return format!("{} MB", bytes.div_ceil(1_000_000));
    }
    let tenths = (bytes + TENTH / 2) / TENTH;
    format!("{}.{} GB", tenths / 10, tenths % 10)
}

pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..=119 => format!("{}.{} s", seconds, ms % 1000 / 100),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// The beginning of a text on one line.
pub(crate) fn short(text: &str, most: usize) -> String {
    truncated(&one_line(text), most)
}

/// Without line breaks and control characters.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace()
        .map(|word| {
            word.chars()
                .filter(|c| !is_deceptive(*c))
                .collect::<String>()
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Tokens and cost of each seat, and time of each round (C-11).
pub(crate) fn usage(transcript: &Transcript) -> Section {
    #[expect(
        clippy::cast_precision_loss,
        reason = "tokens and milliseconds of one debate"
    )]
    let bar = |label: String, value: u64, role: Option<&str>| Bar {
        label,
        value: value as f64,
        role: role.map(str::to_owned),
    };
    // In the order of the cast, which determines the colours.
    let mut seats: Vec<_> = transcript.totals.seats.iter().collect();
    let index = |name: &str| transcript.seats.iter().position(|seat| seat.seat == name);
    seats.sort_by_key(|(seat, _)| index(seat).unwrap_or(usize::MAX));
    let tokens = seats
        .iter()
        .map(|(seat, sum)| bar(transcript.title_of(seat), sum.usage.total(), Some(seat)));
    let times = transcript
        .rounds
        .iter()
        .map(|round| bar(round.title(), round.busy_ms, None));
    let columns = [
        "seat",
        "model",
        "#calls",
        "#tokens in",
        "#cached",
        "#tokens out",
        "#cost",
    ];
    let table = seats
        .iter()
        .fold(Table::new("By seat", &columns), |table, (seat, sum)| {
            let cells = [
                transcript.title_of(seat),
                transcript.model_of(seat).unwrap_or_default().to_owned(),
                sum.calls.to_string(),
                grouped(sum.usage.input),
                grouped(sum.usage.cached),
                grouped(sum.usage.output),
                money(sum.cost, sum.usage.total()),
            ];
            table.row(cells.into_iter().map(Cell::new).collect())
        });
    Section::main(
        "Figures",
        vec![
            Block::Chart(Chart::Bars {
                title: "Tokens by seat".into(),
                unit: "tokens".into(),
                bars: tokens.collect(),
            }),
            Block::Chart(Chart::Bars {
                title: "Time by round".into(),
                unit: "milliseconds".into(),
                bars: times.collect(),
            }),
            Block::Table(table),
        ],
    )
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
