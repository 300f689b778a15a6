use super::*;

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

/// A worked example: 20 of 50 both right, 15 both wrong, 10 only the judge right, 5 only the person; kappa is .4.
#[test]
fn b01_a_judge_agrees_with_a_person_beyond_chance() {
    let part = |count: usize, judge: f64, person: f64| vec![(judge, person); count];
    let pairs = [
        part(20, 1.0, 1.0),
        part(15, 0.0, 0.0),
        part(10, 1.0, 0.0),
        part(5, 0.0, 1.0),
    ];
    let found = Agreement::of(&pairs.concat()).unwrap();
    is_near(found.share, 0.7);
    is_near(found.kappa.unwrap(), 0.4);
    assert_eq!(found.answers, 50);
    assert_eq!(found.interval, wilson(35, 50));
}

#[test]
fn b01_a_judge_that_contradicts_itself_gives_half() {
    // Right in one order and wrong in the other is partly right.
    let found = Agreement::of(&[(0.5, 0.5), (0.5, 1.0)]).unwrap();
    is_near(found.share, 0.5);
    assert_eq!(Agreement::of(&[]), None);
    assert_eq!(Agreement::of(&[(1.0, 1.0)]).unwrap().kappa, None);
}
