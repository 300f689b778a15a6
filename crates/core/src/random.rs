//! `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). The same seed gives the
//! same numbers on every platform.

use std::f64::consts::TAU;

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

pub struct SplitMix64(u64);

impl SplitMix64 {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Its own sequence for each `stream` of a seed.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(GAMMA)) ^ stream))
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// From 0 to `bound - 1`. The bias of the multiplication is below `bound / 2^64`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the result is smaller than the bound"
    )]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Fisher-Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// From 0 up to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// Beta distributed (Jöhnk). Both parameters must be positive; it is meant for small ones.
    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        loop {
            let (x, y) = (self.uniform().powf(1.0 / a), self.uniform().powf(1.0 / b));
            if x + y > 0.0 && x + y <= 1.0 {
                return x / (x + y);
            }
        }
    }
}

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference output for the seed 0.
    #[test]
    fn the_generator_is_splitmix64() {
        assert_eq!(mix(GAMMA), 0xE220_A839_7B1D_CDAF);
    }

    /// Mean and variance of 20,000 draws lie within five standard errors.
    #[test]
    fn b05_the_distributions_have_their_moments() {
        type Draw = fn(&mut SplitMix64) -> f64;
        let cases: [(&str, Draw, f64, f64); 4] = [
            ("uniform", SplitMix64::uniform, 0.5, 1.0 / 12.0),
            ("normal", SplitMix64::normal, 0.0, 1.0),
            ("beta", |random| random.beta(1.3375, 1.1625), 0.535, 0.0711),
            (
                "steep beta",
                |random| random.beta(0.288, 0.512),
                0.36,
                0.128,
            ),
        ];
        for (name, draw, mean, variance) in cases {
            let mut random = SplitMix64::new(3);
            let values: Vec<f64> = (0..20_000).map(|_| draw(&mut random)).collect();
            let (found, spread) = crate::spread::mean_and_variance(&values).unwrap();
            assert!(
                (found - mean).abs() < 5.0 * (variance / 20_000.0).sqrt(),
                "{name}: {found}"
            );
            assert!(
                (spread / variance - 1.0).abs() < 0.05,
                "{name}: variance {spread}"
            );
        }
    }
}
