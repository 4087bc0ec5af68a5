//! Integer work that takes a fixed number of clock cycles.

use std::hint::black_box;

/// A chain of shifts and exclusive-ors, each of which needs the one before: no
/// memory accesses, no mispredicted branches, no parallelism.
#[inline]
pub(crate) fn chain(steps: u64) {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..steps {
        // Marsaglia's xorshift64: compilers cannot fold two steps into one.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}
