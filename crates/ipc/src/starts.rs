//! The independent starts that a number of calls is divided into.

use unjank_host::{Error, Result};
use unjank_measure::stats::repetitions::FEWEST;

/// The most starts: as many as the probes have.
const MOST: u64 = 10;

/// The number of starts for `calls` with at least `fewest` calls in each; one if there
/// would be too few to estimate their spread.
pub(crate) fn number(calls: u64, fewest: u64) -> usize {
    let starts = (calls / fewest.max(1)).min(MOST) as usize;
    if starts < FEWEST { 1 } else { starts }
}

/// The calls of each start. They differ by one at most.
///
/// # Errors
/// `Invalid` if there is no start, or one would have no call.
pub(crate) fn divide(calls: u64, starts: usize) -> Result<Vec<u64>> {
    let count = starts as u64;
    if count == 0 || calls < count {
        return Err(Error::Invalid(format!("{calls} calls cannot be divided into {count} starts")));
    }
    Ok((0..count).map(|start| calls / count + u64::from(start < calls % count)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_calls_are_made_in_one_start_and_many_in_ten() {
        let numbers = [1, 79, 80, 150, 300, 1_000_000_000].map(|calls| number(calls, 20));
        assert_eq!(numbers, [1, 1, 4, 7, 10, 10]);
    }

    #[test]
    fn no_call_is_lost() {
        assert_eq!(divide(150, 7).unwrap(), [22, 22, 22, 21, 21, 21, 21]);
        assert_eq!(divide(5, 1).unwrap(), [5]);
        assert!(divide(3, 4).is_err() && divide(3, 0).is_err());
    }
}
