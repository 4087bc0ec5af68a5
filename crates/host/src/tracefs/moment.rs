//! Moments of a recording, as a user names them.

use super::trace::Trace;
use crate::clock::Timestamp;
use unjank_units::Nanos;

/// A moment of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// By the clock of the trace.
    At(Timestamp),
    /// After the first event.
    After(Nanos),
}

impl Moment {
    /// Its time in a trace that begins at `begin`.
    pub fn in_trace(self, begin: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::After(time) => begin + time,
        }
    }
}

impl Trace {
    /// The part of the trace between two moments; its begin and end where they are not given.
    ///
    /// # Errors
    /// A message for the user: the trace has no event there.
    pub fn window(
        &self,
        since: Option<Moment>,
        until: Option<Moment>,
    ) -> Result<(Timestamp, Timestamp), String> {
        let (begin, end) = self.span().unwrap_or_default();
        let from = since.map_or(begin, |moment| moment.in_trace(begin).max(begin));
        let to = until.map_or(end, |moment| moment.in_trace(begin).min(end));
        if from >= to {
            return Err(format!(
                "there is nothing from {} to {}; the recording covers {} to {}",
                seconds(from),
                seconds(to),
                seconds(begin),
                seconds(end)
            ));
        }
        Ok((from, to))
    }
}

/// `38735.806062000 s`: as in a trace.
pub fn seconds(at: Timestamp) -> String {
    let nanos = at.as_nanos();
    format!("{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Parses seconds as the kernel writes them, with six or nine decimals: `38735.806062`.
pub(super) fn parse_seconds(text: &str) -> Option<Timestamp> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let scale = match fraction.len() {
        6 => 1_000,
        9 => 1,
        _ => return None,
    };
    if !digits(seconds) || !digits(fraction) {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    let fraction: u64 = fraction.parse().ok()?;
    Some(Timestamp::from_nanos(seconds.checked_mul(1_000_000_000)?.checked_add(fraction * scale)?))
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, at};
    use super::*;

    #[test]
    fn a_window_is_a_part_of_the_trace() {
        let trace = Script::new().runs(0, 1_000, 0, 7).runs(1, 5_000, 0, 9).trace();
        let after = |nanos| Some(Moment::After(Nanos(nanos)));
        assert_eq!(trace.window(None, None), Ok((at(1_000), at(5_000))));
        assert_eq!(
            trace.window(after(500), Some(Moment::At(at(9_000)))),
            Ok((at(1_500), at(5_000)))
        );
        assert_eq!(
            trace.window(after(4_000), None),
            Err("there is nothing from 0.000005000 s to 0.000005000 s; the recording covers \
                 0.000001000 s to 0.000005000 s"
                .to_owned())
        );
    }
}
