use super::*;

fn forecast(value: f64, happened: bool) -> (Probability, bool) {
    (Probability::new(value).unwrap(), happened)
}

/// The edges of a bin belong to the bin above, but 1 to the last.
#[test]
fn each_forecast_is_in_exactly_one_bin() {
    let forecasts = [
        forecast(0.0, false),
        forecast(0.1, false),
        forecast(0.199, true),
        forecast(0.2, true),
        forecast(1.0, true),
    ];
    let bins = reliability(&forecasts, 10);
    let counts: Vec<_> = bins.iter().map(|bin| bin.count).collect();
    assert_eq!(counts, [1, 2, 1, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bins[1].observed, Some(0.5));
    assert!((bins[1].mean_forecast.unwrap() - 0.1495).abs() < 1e-12);
    assert_eq!(bins[3].observed, None);
    assert!(reliability(&forecasts, 0).is_empty());
}

/// Wilson's interval for 8 of 10, from the textbook formula: 0.490 to 0.943.
#[test]
fn the_interval_of_eight_in_ten() {
    let interval = wilson(8, 10);
    assert!((interval.low - 0.490).abs() < 5e-4, "{interval:?}");
    assert!((interval.high - 0.943).abs() < 5e-4, "{interval:?}");
    let none = wilson(0, 5);
    assert!(none.low.abs() < 1e-12 && none.high < 0.5);
}
