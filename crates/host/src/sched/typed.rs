//! Times as they are typed.

use std::fmt;

use unjank_units::Nanos;

/// A time in the largest unit in which it is whole: `10ms`, `100us`, `1234ns`.
pub(super) struct Typed(pub(super) Nanos);

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Nanos(time) = self.0;
        match time {
            time if time % 1_000_000 == 0 => write!(f, "{}ms", time / 1_000_000),
            time if time % 1_000 == 0 => write!(f, "{}us", time / 1_000),
            time => write!(f, "{time}ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_whole_unit_is_chosen() {
        let typed = |time| Typed(Nanos(time)).to_string();
        let typed = [typed(10_000_000), typed(100_000), typed(1_234_567)];
        assert_eq!(typed, ["10ms", "100us", "1234567ns"]);
    }
}
