//! Reproducible random numbers: the same seed gives the same numbers on every
//! machine.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of every bootstrap and every random order.
pub type Random = Xoshiro256PlusPlus;

/// The generator of one `stream` of a seed. Each purpose has its own stream, so
/// that one more series in a comparison does not change the intervals of the
/// others.
pub fn seeded(seed: u64, stream: &str) -> Random {
    Random::seed_from_u64(seed ^ fnv1a(stream.as_bytes()))
}

/// A uniformly distributed number below `bound`: the first of a seed's stream.
/// 0 if `bound` is 0.
pub fn below(seed: u64, stream: &str, bound: u64) -> u64 {
    if bound == 0 { 0 } else { seeded(seed, stream).random_range(0..bound) }
}

/// The 64-bit FNV-1a hash, which never changes, unlike the standard library's.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    #[test]
    fn a_seed_and_a_stream_give_the_same_numbers_on_every_machine() {
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(seeded(7, "jitter").next_u64(), 2_006_574_892_988_304_906);
        assert_ne!(seeded(7, "jitter").next_u64(), seeded(7, "lock").next_u64());
        assert_ne!(seeded(7, "jitter").next_u64(), seeded(8, "jitter").next_u64());
    }
}
