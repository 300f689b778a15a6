//! The time in which 100,000 forecasts are pooled and learned from, in the order of their dates (B-09).
//!
//! ```text
//! cargo run --release -p roundtable-core --example pool_speed
//! ```
#![expect(clippy::print_stdout, reason = "prints its measurement")]

use std::time::Instant;

use roundtable_core::forecast::{Distribution, PoolError, PoolResult, Question, Seat, live};

const QUESTIONS: i64 = 10_000;
const SEATS: usize = 10;

fn main() -> Result<(), PoolError> {
    let questions: Vec<Question> = (0..QUESTIONS).map(question).collect();
    let started = Instant::now();
    let (results, pool) = live(&questions)?;
    let seconds = started.elapsed().as_secs_f64();
    let brier = PoolResult::score(&results, &questions).map_or(f64::NAN, |score| score.brier);
    println!(
        "{} forecasts of {} questions in {seconds:.3} s; Brier {brier:.4}, factor {:.3}",
        results.len() * SEATS,
        results.len(),
        pool.factor()
    );
    Ok(())
}

/// Seats of different accuracy in five domains and three groups; an outcome is known 30 questions later.
fn question(number: i64) -> Question {
    let outcome = usize::from(number % 10 < 4);
    let forecasts = (0..SEATS).filter_map(|seat| {
        let place = u16::try_from(seat).ok()?;
        // Fixed, and without a pattern across questions and seats.
        let noise =
            f64::from(u16::try_from((number * 7919 + i64::from(place) * 104_729) % 1000).ok()?);
        let noise = noise / 1000.0 - 0.5;
        let centre = if outcome == 1 { 0.7 } else { 0.3 };
        let width = 0.2 + 0.05 * f64::from(place);
        let yes = (centre + noise * width).clamp(0.01, 0.99);
        let seat = Seat {
            agent: format!("agent {seat}"),
            group: Some(format!("group {}", seat % 3)),
        };
        Some((seat, Distribution::normalised(&[1.0 - yes, yes]).ok()?))
    });
    Question {
        id: number.to_string(),
        domain: Some(format!("domain {}", number % 5)),
        cluster: number.to_string(),
        forecasts: forecasts.collect(),
        forecast_at: number,
        resolved_at: number + 30,
        outcome,
    }
}
