//! Active time of a debate, from the intervals in which calls were running: idle time (a killed process, a night between two
//! sessions) does not count, and parallel calls count once.

/// Milliseconds since 1970.
pub type Millis = u64;

/// The length of the union of `[start, end)` intervals.
pub fn busy(intervals: impl IntoIterator<Item = (Millis, Millis)>) -> u64 {
    let mut sorted: Vec<_> = intervals
        .into_iter()
        .filter(|(start, end)| end > start)
        .collect();
    sorted.sort_unstable();
    let mut total = 0;
    let mut covered_to = 0;
    for (start, end) in sorted {
        let from = start.max(covered_to);
        if end > from {
            total += end - from;
            covered_to = end;
        }
    }
    total
}

#[cfg(test)]
#[path = "timing_tests.rs"]
mod tests;
