//! How much is told: a storm of programs is no storm of lines.

use unjank_host::{Nanos, Timestamp};

/// Ends of boosts that are told in any ten seconds; the others are counted.
const TOLD: u64 = 100;
/// The time of [`TOLD`].
const TELLING: Nanos = Nanos::from_millis(10_000);
/// Counts what is told, so that a storm of programs is no storm of lines.
#[derive(Debug, Default)]
pub(super) struct Told {
    since: Option<Timestamp>,
    count: u64,
}

/// Whether something is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// It is.
    All,
    /// It is, and that so many before it were not.
    AndThatNot(u64),
    /// It is not.
    Nothing,
}

impl Told {
    /// Something is to be told: whether it is.
    pub(super) fn another(&mut self, now: Timestamp) -> Telling {
        let over = self.since.is_none_or(|since| now.since(since) >= TELLING);
        let not_told = self.count.saturating_sub(TOLD);
        if over {
            (self.since, self.count) = (Some(now), 0);
        }
        self.count += 1;
        match (over, self.count <= TOLD) {
            (true, _) if not_told > 0 => Telling::AndThatNot(not_told),
            (_, true) => Telling::All,
            (_, false) => Telling::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_told_in_part_and_then_in_sum() {
        let mut told = Told::default();
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        for nth in 0..250 {
            let wanted = if nth < 100 { Telling::All } else { Telling::Nothing };
            assert_eq!(told.another(at(nth)), wanted, "{nth}");
        }
        assert_eq!(told.another(at(10_000)), Telling::AndThatNot(150));
        assert_eq!(told.another(at(10_001)), Telling::All);
        assert_eq!(told.another(at(30_000)), Telling::All);
    }
}
