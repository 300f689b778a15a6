//! T-02: the statistics of 1 MB of text take less than 200 ms. Run with `cargo bench -p roundtable-core --bench forensics`.

use std::time::{Duration, Instant};

use roundtable_core::forensics::Forensics;

const LIMIT: Duration = Duration::from_millis(200);

/// Text with a large vocabulary and uneven sentences, so that it costs as much as real prose.
fn text(words: [&str; 6], megabytes: usize) -> String {
    let mut text = String::new();
    let mut state = 7_u64;
    while text.len() < megabytes << 20 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let draw = state >> 33;
        text.push_str(words[usize::try_from(draw % 6).unwrap_or(0)]);
        text.push_str(&(draw / 6 % 3000).to_string());
        text.push_str(match draw % 101 {
            0..=6 => ". ",
            7 => ".\n\n",
            8..=14 => ", ",
            _ => " ",
        });
    }
    text
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its results")]
fn main() {
    let texts = [
        (
            "Latin",
            text(["The", "under", "standing", "of", "Ways", "und"], 1),
        ),
        (
            "Cyrillic",
            text(["Быстрая", "лиса", "прыгает", "через", "и", "собаку"], 1),
        ),
        (
            "Han",
            text(["今日は", "天気", "とても", "良い", "友達", "公園"], 1),
        ),
    ];
    for (name, text) in texts {
        let best = (0..5)
            .map(|_| {
                let start = Instant::now();
                std::hint::black_box(Forensics::of(&text));
                start.elapsed()
            })
            .min()
            .unwrap_or_default();
        println!("forensics, 1 MB, {name}: {} ms", best.as_millis());
        assert!(
            best < LIMIT,
            "{name}: {best:?} exceeds the limit of {LIMIT:?}"
        );
    }
}
