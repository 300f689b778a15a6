use std::time::Duration;

use super::*;

#[test]
fn refused_requests_are_recorded_at_a_limited_rate() {
    let mut bound = Bound::full();
    let start = bound.updated_at;
    let admitted = (0..1000).filter(|_| bound.admit(start).is_some()).count();
    assert_eq!(admitted, 100);
    // The next one that is recorded says how many were not.
    let later = start + Duration::from_secs(5);
    assert_eq!(bound.admit(later), Some(900));
    assert_eq!(bound.admit(later), None);
    assert_eq!(bound.admit(later + Duration::from_secs(6)), Some(1));
}
