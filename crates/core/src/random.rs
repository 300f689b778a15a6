//! `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). The same seed gives the
//! same numbers on every platform.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Its own sequence for each `stream` of a seed.
    pub(crate) const fn stream(seed: u64, stream: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(GAMMA)) ^ stream))
    }

    /// From 0 to `bound - 1`. The bias of the multiplication is below `bound / 2^64`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the result is smaller than the bound"
    )]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(GAMMA);
        ((u128::from(mix(self.0)) * bound as u128) >> 64) as usize
    }

    /// Fisher-Yates.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// The reference output for the seed 0.
#[cfg(test)]
#[test]
fn the_generator_is_splitmix64() {
    assert_eq!(mix(GAMMA), 0xE220_A839_7B1D_CDAF);
}
