//! Lists without repetitions.

/// Each item once, in the order of first occurrence. For short lists: every item is compared with all before it.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}
