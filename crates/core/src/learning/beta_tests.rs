use proptest::prelude::*;

use super::*;

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn e16_the_gamma_function_has_its_known_values() {
    close(ln_gamma(1.0), 0.0);
    close(ln_gamma(2.0), 0.0);
    close(ln_gamma(6.0), 120.0_f64.ln());
    close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
    close(ln_gamma(20.0), 121_645_100_408_832_000.0_f64.ln());
}

/// Closed forms: Beta(1, 1) is flat, Beta(a, 1) is xᵃ, and Beta(2, 2) is 3x² − 2x³.
#[test]
fn e16_the_distribution_has_its_known_values() {
    for x in [0.01, 0.3, 0.5, 0.77, 0.99] {
        close(distribution(1.0, 1.0, x), x);
        close(distribution(3.5, 1.0, x), x.powf(3.5));
        close(distribution(2.0, 2.0, x), 3.0 * x * x - 2.0 * x * x * x);
    }
    close(quantile(1.0, 1.0, 0.025), 0.025);
    close(quantile(2.0, 1.0, 0.975), 0.975_f64.sqrt());
}

/// Beta(11, 6), from a table: 95% between 0.413 and 0.848.
#[test]
fn e16_an_interval_from_a_table() {
    let found = posterior(0.5, 2.0, &[(10.0 / 15.0, 15.0)]);
    assert_eq!(
        (
            format!("{:.3}", found.mean),
            format!("{:.3}", found.low),
            format!("{:.3}", found.high)
        ),
        ("0.647".into(), "0.413".into(), "0.848".into())
    );
}

proptest! {
    /// E-16: the mean lies between prior and data and inside its interval, and more data for the same share never widen it.
    #[test]
    fn e16_a_posterior_lies_between_prior_and_data(
        prior in 0.01..0.99_f64,
        strength in 0.5..50.0_f64,
        seen in prop::collection::vec((0.0..=1.0_f64, 0.001..=1.0_f64), 1..12),
    ) {
        let found = posterior(prior, strength, &seen);
        let count: f64 = seen.iter().map(|(_, weight)| weight).sum();
        let data = seen.iter().map(|(share, weight)| share * weight).sum::<f64>() / count;
        prop_assert!(found.mean >= prior.min(data) - 1e-12 && found.mean <= prior.max(data) + 1e-12);
        prop_assert!(found.low <= found.mean && found.mean <= found.high);
        prop_assert!(found.low >= 0.0 && found.high <= 1.0);
    }
}
