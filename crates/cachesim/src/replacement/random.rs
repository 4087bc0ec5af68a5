//! Numbers for policies that choose at random, the same on every machine.

/// A generator: `SplitMix64` (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*,
/// OOPSLA 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u8) -> Self {
        Self(seed.into())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A whole number below `end`, which is not zero.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// A number from 0 to 1, without 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_their_range_and_seeds_differ() {
        let (mut one, mut other) = (Random::new(1), Random::new(2));
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[one.below(10) as usize] += 1;
            assert!((0.0..1.0).contains(&one.share()));
        }
        assert!(seen.iter().all(|times| (800..1_200).contains(times)), "{seen:?}");
        assert_ne!(Random::new(1).next(), other.next());
        // The first number of the published generator for seed 0.
        assert_eq!(Random::new(0).next(), 0xE220_A839_7B1D_CDAF);
    }
}
