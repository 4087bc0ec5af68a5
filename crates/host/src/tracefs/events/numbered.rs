//! Interned values: each distinct value is stored once, and has a number.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// A table of interned values.
#[derive(Debug, Clone)]
pub(super) struct Numbered<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32, RandomState>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: HashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> Numbered<T> {
    /// The number of a value. A new value is added.
    #[inline]
    pub(super) fn number(&mut self, value: T) -> u32 {
        let Self { values, numbers } = self;
        *numbers.entry(value).or_insert_with(|| {
            values.push(value);
            // An event has at most two values, so 2³² values need 48 GiB of events.
            (values.len() - 1) as u32
        })
    }

    /// The value with a number that [`number`](Self::number) has returned.
    #[inline]
    pub(super) fn value(&self, number: u32) -> T {
        self.values[number as usize]
    }

    pub(super) fn shrink(&mut self) {
        self.values.shrink_to_fit();
        self.numbers.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_number() {
        let mut numbered = Numbered::default();
        let numbers = ["a", "b", "a", "c", "b"].map(|value| numbered.number(value));
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(numbers.map(|number| numbered.value(number)), ["a", "b", "a", "c", "b"]);
    }
}
