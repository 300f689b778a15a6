use super::*;

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

fn of(rows: &[&[f64]], is_binary: bool, shrinkage: Shrinkage) -> Independence {
    let errors: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|row| row.iter().map(|error| Some(*error)).collect())
        .collect();
    let groups: Vec<usize> = (0..rows.len()).collect();
    independence(&errors, &groups, is_binary, shrinkage).unwrap()
}

#[test]
fn b08_correlated_seats_are_worth_fewer() {
    is_near(effective_seats(5.0, 0.0), 5.0);
    is_near(effective_seats(5.0, 0.5), 1.666_667);
    is_near(effective_seats(5.0, 0.909), 1.078_516);
}

#[test]
fn b08_wrong_choices_give_the_effective_number_of_seats() {
    let wrong: [&[f64]; 6] = [
        &[1.0, 1.0, 0.0],
        &[0.0, 0.0, 0.0],
        &[1.0, 0.0, 1.0],
        &[0.0, 1.0, 0.0],
        &[1.0, 1.0, 1.0],
        &[0.0, 0.0, 0.0],
    ];
    let found = of(&wrong, true, Shrinkage::of_choices(false));
    is_near(found.correlation.unwrap(), 0.346_813);
    is_near(found.shrunk, 0.387_726);
    is_near(found.effective_seats, 1.689_710);
    let interval = found.interval.unwrap();
    assert!(interval.low < found.effective_seats && found.effective_seats < interval.high);
}

#[test]
fn b08_errors_of_forecasts_give_the_effective_number_of_seats() {
    let errors: [&[f64]; 4] = [
        &[0.8, 0.7, 0.9],
        &[0.1, -0.2, 0.0],
        &[-0.3, 0.2, -0.4],
        &[0.5, 0.6, 0.1],
    ];
    // Four questions are too few for the product: it shows the prior.
    let found = of(&errors, false, Shrinkage::of_forecasts(false));
    assert_eq!(found.correlation, None);
    is_near(found.shrunk, 0.9);
    let options: Vec<Vec<Option<f64>>> = errors
        .iter()
        .map(|row| row.iter().map(|error| Some(*error)).collect())
        .collect();
    let sums = product_sums(&options, &[0, 1, 2, 3], 4);
    let (correlation, _) = jackknifed(&sums);
    is_near(correlation.unwrap(), 0.786_207);
    let shrunk = Shrinkage::of_forecasts(false).apply(correlation.unwrap(), 4);
    is_near(shrunk, 0.881_034);
    is_near(effective_seats(3.0, shrunk), 1.086_142);
}

#[test]
fn b08_absent_seats_are_left_out() {
    let rows = vec![
        vec![Some(1.0), None],
        vec![None, None],
        vec![Some(0.0), Some(1.0)],
    ];
    let found = independence(&rows, &[0, 1, 2], true, Shrinkage::of_choices(true)).unwrap();
    assert_eq!((found.questions, found.correlation), (1, None));
    is_near(found.shrunk, 0.5);
    assert_eq!(
        independence(&[], &[], true, Shrinkage::of_choices(true)),
        None
    );
    let alone = [vec![Some(1.0)]];
    assert_eq!(
        independence(&alone, &[0], true, Shrinkage::of_choices(true)),
        None
    );
}
