//! Limits the lines that the service logs: many programs must not fill the log.

use unjank_host::{Nanos, Timestamp};

/// The most ended boosts logged in a period; the others are counted.
const MOST_LINES: u64 = 100;
/// The period of [`MOST_LINES`].
const PERIOD: Nanos = Nanos::from_millis(10_000);

/// A rate limiter of log lines.
#[derive(Debug, Default)]
pub(super) struct LogLimit {
    since: Option<Timestamp>,
    count: u64,
}

/// What to do with a log line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogDecision {
    /// Log it.
    Log,
    /// Log it, after the number of lines dropped before it.
    LogAfterDropped(u64),
    /// Drop it.
    Drop,
}

impl LogLimit {
    /// Counts a line, and decides whether it is logged.
    pub(super) fn decide(&mut self, now: Timestamp) -> LogDecision {
        let over = self.since.is_none_or(|since| now.since(since) >= PERIOD);
        let dropped = self.count.saturating_sub(MOST_LINES);
        if over {
            (self.since, self.count) = (Some(now), 0);
        }
        self.count += 1;
        match (over, self.count <= MOST_LINES) {
            (true, _) if dropped > 0 => LogDecision::LogAfterDropped(dropped),
            (_, true) => LogDecision::Log,
            (_, false) => LogDecision::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_dropped_and_counted() {
        let mut limit = LogLimit::default();
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        for nth in 0..250 {
            let wanted = if nth < 100 { LogDecision::Log } else { LogDecision::Drop };
            assert_eq!(limit.decide(at(nth)), wanted, "{nth}");
        }
        assert_eq!(limit.decide(at(10_000)), LogDecision::LogAfterDropped(150));
        assert_eq!(limit.decide(at(10_001)), LogDecision::Log);
        assert_eq!(limit.decide(at(30_000)), LogDecision::Log);
    }
}
