use super::*;

/// P-07: calls in parallel count once, and a pause between two runs not at all.
#[test]
fn p07_overlaps_count_once_and_gaps_not_at_all() {
    assert_eq!(busy([(0, 10), (5, 15), (100, 110), (102, 104)]), 25);
    assert_eq!(busy([(10, 10), (9, 3)]), 0);
}

proptest::proptest! {
    #[test]
    fn order_does_not_matter_and_the_sum_bounds_it(mut spans in proptest::collection::vec((0..1000_u64, 0..100_u64), 0..20)) {
        let intervals = |spans: &[(u64, u64)]| spans.iter().map(|&(start, length)| (start, start + length)).collect::<Vec<_>>();
        let forward = busy(intervals(&spans));
        let sum: u64 = spans.iter().map(|span| span.1).sum();
        let longest = spans.iter().map(|span| span.1).max().unwrap_or(0);
        spans.reverse();
        proptest::prop_assert_eq!(forward, busy(intervals(&spans)));
        proptest::prop_assert!(forward <= sum && forward >= longest);
    }
}
