//! A set of times with a fast maximum, one bit per time.

const BITS: usize = 64;

/// Levels of bits: a bit of an upper level is set if the word below it is not zero. Six levels hold
/// 2^32 times.
pub(super) struct Times {
    /// The lowest level first.
    levels: Vec<Vec<u64>>,
    len: u32,
}

impl Times {
    /// An empty set of times below `end`.
    pub(super) fn new(end: usize) -> Self {
        let mut levels = vec![vec![0; end.div_ceil(BITS).max(1)]];
        while let Some(words) = levels.last().map(Vec::len).filter(|words| *words > 1) {
            levels.push(vec![0; words.div_ceil(BITS)]);
        }
        Self { levels, len: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn contains(&self, time: u32) -> bool {
        let time = time as usize;
        self.levels[0][time / BITS] & bit(time) != 0
    }

    /// Inserts a time that is not in the set.
    pub(super) fn insert(&mut self, time: u32) {
        let mut at = time as usize;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let was = *word;
            *word |= bit(at);
            if was != 0 {
                break;
            }
            at /= BITS;
        }
        self.len += 1;
    }

    /// Removes a time that is in the set.
    pub(super) fn remove(&mut self, time: u32) {
        let mut at = time as usize;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word &= !bit(at);
            if *word != 0 {
                break;
            }
            at /= BITS;
        }
        self.len -= 1;
    }

    pub(super) fn latest(&self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let last = |at: usize, level: &Vec<u64>| at * BITS + level[at].ilog2() as usize;
        Some(self.levels.iter().rev().fold(0, last) as u32)
    }
}

fn bit(at: usize) -> u64 {
    1 << (at % BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_of_times_is_a_set(times in prop::collection::vec(0..300_000u32, 0..200)) {
            let (mut set, mut sorted) = (Times::new(300_000), BTreeSet::new());
            for time in times {
                if sorted.insert(time) {
                    set.insert(time);
                }
                if time % 3 == 0 {
                    let last = sorted.pop_last();
                    prop_assert_eq!(set.latest(), last);
                    set.remove(last.unwrap());
                }
                prop_assert_eq!(set.len() as usize, sorted.len());
                prop_assert_eq!(set.contains(time), sorted.contains(&time));
                prop_assert_eq!(set.latest(), sorted.last().copied());
            }
        }
    }
}
