//! Work of known length: a chain of multiplications, each of which needs the
//! result of the previous one.

use std::hint::black_box;

use unjank_host::{Error, Nanos, Result, Timestamp};

/// Multiplications of a batch; a batch takes about a tenth of a millisecond.
const BATCH: u32 = 100_000;
/// How many batches; their median counts, because interrupts fall into few of them.
const BATCHES: usize = 31;

/// How long one multiplication takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Nanoseconds.
    pub(crate) nanos: f64,
}

impl Pace {
    /// Measures for some milliseconds on the calling thread.
    ///
    /// # Errors
    /// `Unsupported` if the clock does not advance meanwhile.
    pub(crate) fn calibrate() -> Result<Self> {
        run(BATCH);
        let mut batches: Vec<f64> = (0..BATCHES)
            .map(|_| {
                let start = Timestamp::now();
                run(BATCH);
                Timestamp::now().since(start).get() as f64 / f64::from(BATCH)
            })
            .collect();
        batches.sort_by(f64::total_cmp);
        let nanos = batches[BATCHES / 2];
        if nanos > 0.0 {
            Ok(Self { nanos })
        } else {
            Err(Error::Unsupported("the clock does not advance".to_owned()))
        }
    }

    /// The number of multiplications that take this long.
    pub(crate) fn turns(self, length: Nanos) -> u32 {
        (length.get() as f64 / self.nanos).round() as u32
    }
}

/// Does this many multiplications.
#[inline]
pub(crate) fn run(turns: u32) {
    let mut value = black_box(1_u64);
    for _ in 0..turns {
        // Knuth's multiplier for MMIX; odd, so the map is invertible.
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_become_turns() {
        let pace = Pace { nanos: 1.25 };
        assert_eq!(pace.turns(Nanos::ZERO), 0);
        assert_eq!(pace.turns(Nanos(100)), 80);
        assert_eq!(pace.turns(Nanos(u64::MAX)), u32::MAX);
    }

    #[test]
    fn a_multiplication_takes_time() {
        let pace = Pace::calibrate().unwrap();
        assert!(pace.nanos > 0.0 && pace.nanos.is_finite(), "{pace:?}");
    }
}
