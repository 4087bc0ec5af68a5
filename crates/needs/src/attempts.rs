//! Repeats attempts that the load of a busy machine may spoil.

/// The number of equal attempts of which one must succeed.
pub const MOST: usize = 3;
/// Longer and longer times for attempts that measure for a time, in seconds.
pub const LONGER: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Attempts until one succeeds, and returns its value. What no load of the machine may spoil is
/// asserted in the attempt: a panic ends the test at once.
///
/// # Panics
/// If [`MOST`] attempts fail.
#[track_caller]
pub fn until_ok<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    first_ok(0..MOST, |_| attempt())
}

/// As [`until_ok`], with one attempt for each case.
///
/// # Panics
/// If all attempts fail.
#[track_caller]
pub fn first_ok<C, T>(
    cases: impl IntoIterator<Item = C>,
    mut attempt: impl FnMut(C) -> Result<T, String>,
) -> T {
    let mut failures = Vec::new();
    for case in cases {
        match attempt(case) {
            Ok(value) => return value,
            Err(failure) => failures.push(failure),
        }
    }
    panic!("{} attempts failed:\n{}", failures.len(), failures.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_success_counts() {
        let attempt = |seconds| if seconds > 4 { Ok(seconds) } else { Err(String::new()) };
        assert_eq!(first_ok(LONGER, attempt), 8);
    }

    #[test]
    #[should_panic(expected = "3 attempts failed:\ntoo late\ntoo late\n")]
    fn failures_are_listed() {
        until_ok::<()>(|| Err("too late".to_owned()));
    }
}
