use super::*;
use proptest::prelude::*;

/// P-02: exact, and an item with several vectors counts once, by its best.
#[test]
fn p02_the_best_vector_of_an_item_counts() {
    let mut index = Index::new(2);
    index.add(0, &[0.0, 2.0]).unwrap();
    index.add(1, &[1.0, 1.0]).unwrap();
    index.add(0, &[3.0, 0.0]).unwrap();
    let items: Vec<_> = index
        .nearest(&[1.0, 0.0], 5)
        .unwrap()
        .iter()
        .map(|hit| (hit.item, (hit.cosine * 1000.0).round()))
        .collect();
    assert_eq!(items, [(0, 1000.0), (1, 707.0)]);
}

#[test]
fn vectors_of_another_dimension_are_rejected() {
    let mut index = Index::new(3);
    let wrong = WrongDimension {
        found: 2,
        expected: 3,
    };
    assert_eq!(index.add(0, &[1.0, 0.0]), Err(wrong.clone()));
    assert_eq!(index.nearest(&[1.0, 0.0], 1), Err(wrong));
}

#[test]
fn a_vector_without_direction_is_similar_to_nothing() {
    let mut vector = [0.0, f32::NAN];
    normalise(&mut vector);
    assert!(vector.iter().all(|x| x.abs() < f32::EPSILON));
}

proptest! {
    #[test]
    fn nearest_agrees_with_sorting_everything(
        vectors in proptest::collection::vec(proptest::collection::vec(-1.0..1.0_f32, 11), 1..60),
        query in proptest::collection::vec(-1.0..1.0_f32, 11),
        count in 1..8_usize,
    ) {
        let mut index = Index::new(11);
        let mut unit_query = query.clone();
        normalise(&mut unit_query);
        let mut all = Vec::new();
        for (item, vector) in vectors.iter().enumerate() {
            index.add(item, vector).unwrap();
            let mut unit = vector.clone();
            normalise(&mut unit);
            all.push((item, cosine(&unit, &unit_query)));
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let expected: Vec<_> = all.iter().take(count).map(|hit| hit.0).collect();
        let found: Vec<_> = index.nearest(&query, count).unwrap().iter().map(|hit| hit.item).collect();
        prop_assert_eq!(found, expected);
    }
}
