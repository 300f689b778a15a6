use super::*;

fn seat(agent: &str) -> Seat {
    Seat {
        agent: agent.into(),
        group: None,
    }
}

fn in_group(agent: &str, group: &str) -> Seat {
    Seat {
        agent: agent.into(),
        group: Some(group.into()),
    }
}

fn binary(p: f64) -> Distribution {
    Distribution::normalised(&[1.0 - p, p]).unwrap()
}

/// A pool with the seats of the test vectors.
struct Panel {
    pool: LearnedPool,
    seats: Vec<Seat>,
}

impl Panel {
    fn new(seats: Vec<Seat>) -> Self {
        Self {
            pool: LearnedPool::default(),
            seats,
        }
    }

    fn of_three() -> Self {
        Self::new(["a", "b", "c"].map(seat).to_vec())
    }

    fn with<T>(&self, values: &[f64], act: impl FnOnce(&[(&Seat, &Distribution)]) -> T) -> T {
        let forecasts: Vec<Distribution> = values.iter().map(|p| binary(*p)).collect();
        let pairs: Vec<_> = self.seats.iter().zip(&forecasts).collect();
        act(&pairs)
    }

    fn pool(&self, values: &[f64], domain: Option<&str>) -> f64 {
        let pooled = self.with(values, |pairs| self.pool.pool(pairs, domain).unwrap());
        // What is stored with a forecast says the same.
        let stored = self.pool.in_domain(domain);
        let again = self.with(values, |pairs| stored.pool(pairs).unwrap());
        assert!((again.values()[1] - pooled.values()[1]).abs() < 1e-12);
        pooled.values()[1]
    }

    fn resolve(&mut self, values: &[f64], domain: Option<&str>, outcome: usize) {
        let mut pool = self.pool.clone();
        self.with(values, |pairs| {
            pool.resolve(pairs, domain, outcome).unwrap();
        });
        self.pool = pool;
    }

    fn skills(&self, domain: Option<&str>) -> Vec<f64> {
        let weights = self.pool.weights(&self.seats, domain);
        weights.iter().map(|weight| weight.skill).collect()
    }

    fn slopes(&self) -> Vec<f64> {
        self.pool.slopes().iter().map(|(_, share)| *share).collect()
    }

    fn factors(&self) -> Vec<f64> {
        (0..FACTORS.len())
            .map(|factor| self.pool.posterior.of_factor(factor))
            .collect()
    }
}

fn are_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-6, "{found:?}, not {expected:?}");
    }
}

#[test]
fn b09_without_history_the_pool_is_the_mean_of_the_log_odds() {
    let panel = Panel::of_three();
    are_near(&[panel.pool(&[0.2, 0.5, 0.9], None)], &[0.567_169]);
    are_near(&[panel.pool(&[0.0, 0.5, 1.0], None)], &[0.5]);
    are_near(&[panel.pool(&[0.0, 0.3], None)], &[0.061_733]);
    are_near(&[panel.pool(&[0.7], None)], &[0.7]);
}

#[test]
fn b09_skill_slope_and_factor_are_learned_from_outcomes() {
    let mut panel = Panel::of_three();
    panel.resolve(&[0.2, 0.5, 0.9], None, 1);
    are_near(&panel.skills(None), &[0.010_968, -0.001_613, -0.009_355]);
    are_near(&panel.slopes(), &[0.2; 5]);
    are_near(&panel.factors(), &[0.277_431, 0.500_045, 0.222_524]);

    are_near(&[panel.pool(&[0.1, 0.4, 0.8], None)], &[0.539_799]);
    panel.resolve(&[0.1, 0.4, 0.8], None, 1);
    are_near(&panel.skills(None), &[0.023_333, -0.002_917, -0.020_417]);
    let expected = [0.149_430, 0.170_879, 0.191_284, 0.225_060, 0.263_347];
    are_near(&panel.slopes(), &expected);
    are_near(&panel.factors(), &[0.273_302, 0.500_173, 0.226_525]);

    are_near(&[panel.pool(&[0.3, 0.5, 0.6], None)], &[0.544_978]);
    panel.resolve(&[0.3, 0.5, 0.6], None, 0);
    are_near(&panel.skills(None), &[0.018_283, -0.002_323, -0.015_960]);
    let expected = [0.176_425, 0.185_583, 0.193_929, 0.210_275, 0.233_787];
    are_near(&panel.slopes(), &expected);
    are_near(&panel.factors(), &[0.281_210, 0.500_809, 0.217_980]);

    are_near(&[panel.pool(&[0.7, 0.5, 0.2], None)], &[0.326_264]);
    panel.resolve(&[0.7, 0.5, 0.2], None, 0);
    are_near(&panel.skills(None), &[0.024_510, -0.002_549, -0.021_961]);
    let expected = [0.144_551, 0.168_323, 0.190_189, 0.226_722, 0.270_215];
    are_near(&panel.slopes(), &expected);
    are_near(&panel.factors(), &[0.265_159, 0.501_389, 0.233_453]);

    are_near(&[panel.pool(&[0.2, 0.5, 0.9], None)], &[0.800_059]);
    let weights = panel.pool.weights(&panel.seats, None);
    let weights: Vec<f64> = weights.iter().map(|weight| weight.weight).collect();
    are_near(&weights, &[0.103_191, 0.207_798, 0.689_011]);
    are_near(&[panel.pool.factor()], &[1.011_528]);

    // Some seats are silent, and one is new.
    panel.seats = ["a", "c"].map(seat).to_vec();
    are_near(&[panel.pool(&[0.2, 0.9], None)], &[0.842_221]);
    panel.seats = ["b", "d"].map(seat).to_vec();
    are_near(&[panel.pool(&[0.5, 0.8], None)], &[0.654_093]);
}

#[test]
fn b09_roles_and_domains_have_effects_of_their_own() {
    let seats = vec![
        in_group("m", "judge"),
        in_group("m", "skeptic"),
        in_group("n", "skeptic"),
    ];
    let mut panel = Panel::new(seats);
    panel.resolve(&[0.8, 0.6, 0.4], Some("law"), 1);
    panel.resolve(&[0.7, 0.3, 0.5], Some("law"), 1);
    panel.resolve(&[0.2, 0.5, 0.4], Some("sport"), 0);
    panel.resolve(&[0.9, 0.6, 0.7], Some("sport"), 1);
    let skills = |domain| panel.skills(Some(domain));
    are_near(&skills("law"), &[-0.023_446, 0.005_532, 0.021_870]);
    are_near(&skills("sport"), &[-0.019_288, 0.009_690, 0.017_057]);
    are_near(&skills("art"), &[-0.019_455, 0.009_523, 0.017_605]);
    let values = [0.8, 0.6, 0.4];
    are_near(&[panel.pool(&values, Some("law"))], &[0.743_188]);
    are_near(&[panel.pool(&values, Some("art"))], &[0.737_892]);
}

#[test]
fn b09_small_probabilities_are_raised() {
    are_near(&floored(&[0.0, 0.3, 0.7]), &[0.01, 0.297, 0.693]);
    are_near(&floored(&[0.0, 1.0]), &[0.01, 0.99]);
    are_near(&floored(&[0.0101, 0.9899, 0.0]), &[0.01, 0.98, 0.01]);
    are_near(&floored(&[0.005; 200]), &[0.005; 200]);
}

#[test]
fn b09_several_outcomes_are_pooled() {
    let logs: Vec<Vec<f64>> = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]]
        .iter()
        .map(|values| values.iter().map(|p: &f64| p.ln()).collect())
        .collect();
    let found = combined(&logs, &[0.5, 0.5], 1.0);
    are_near(found.values(), &[0.336_237, 0.451_109, 0.212_655]);
    let found = combined(&logs, &[0.5, 0.5], 4.0 / 3.0);
    are_near(found.values(), &[0.330_840, 0.489_553, 0.179_607]);
}

#[test]
fn b09_impossible_questions_are_errors_and_change_nothing() {
    let mut pool = LearnedPool::default();
    let (a, forecast) = (seat("a"), binary(0.4));
    let three = Distribution::uniform(3).unwrap();
    assert_eq!(pool.pool(&[], None), Err(PoolError::Empty));
    let different = [(&a, &forecast), (&a, &three)];
    assert_eq!(
        pool.resolve(&different, None, 0),
        Err(PoolError::DifferentOutcomes)
    );
    assert_eq!(
        pool.resolve(&[(&a, &forecast)], None, 2),
        Err(PoolError::DifferentOutcomes)
    );
    assert_eq!(pool, LearnedPool::default());
}
