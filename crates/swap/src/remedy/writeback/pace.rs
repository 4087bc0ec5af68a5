//! When the machine is too busy with I/O for pages to be written back: pure.

use serde::{Deserialize, Serialize};
use unjank_host::machine::pressure::Pressure;

/// From these shares of the last 10 s in which every task waited for I/O on, in percent, fewer pages
/// are written back, and none.
const SLOW: f64 = 5.0;
const STOP: f64 = 20.0;

/// How fast pages may be written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// As fast as the device takes them.
    #[default]
    Full,
    /// A tenth of the time.
    Slow,
    /// Not now: programs wait for I/O.
    Stopped,
}

impl Pace {
    /// The pace at this pressure.
    pub fn at(pressure: &Pressure) -> Self {
        match pressure.io.full_avg10 {
            full if full >= STOP => Self::Stopped,
            full if full >= SLOW => Self::Slow,
            _ => Self::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::pressure::Stall;

    use super::*;

    #[test]
    fn programs_that_wait_for_io_come_first() {
        let at = |full_avg10| {
            let io = Stall { full_avg10, some_avg10: 100.0, ..Stall::default() };
            Pace::at(&Pressure { io, ..Pressure::default() })
        };
        assert_eq!([0.0, 4.9].map(at), [Pace::Full; 2]);
        assert_eq!([5.0, 19.9].map(at), [Pace::Slow; 2]);
        assert_eq!([20.0, 100.0].map(at), [Pace::Stopped; 2]);
    }
}
