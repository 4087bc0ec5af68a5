//! Reads cyclictest's options from its command line, the only place of its file
//! that has them. Sources: `cyclictest(8)`, `process_options` of `cyclictest.c`.

use unjank_host::Nanos;
use unjank_host::sched::Priority;

use super::document::MOST_BUCKETS;

/// The options of a command line, with defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// `other`, `fifo` or `rr`.
    pub(super) policy: &'static str,
    /// Real-time priority of the first thread.
    pub(super) priority: Option<Priority>,
    /// The priority of each thread is one lower than that of the one before it.
    pub(super) spread: bool,
    /// Period of the first thread.
    pub(super) period: Nanos,
    /// The period of each thread is longer than that of the one before it by this.
    pub(super) distance: Nanos,
    /// Sleeps end at absolute moments.
    pub(super) absolute: bool,
    /// Wake-ups at least so late, in the unit of the latencies, are beyond the histogram.
    pub(super) histogram: Option<u64>,
}

/// Options whose value may be the next word.
const WITH_VALUE: &[u8] = b"bcdDFhHilop";
/// Options whose value, if they have one, is the rest of the word.
const WITH_REST: &[u8] = b"aAt";

/// Parses a command line; `threads` is the number of threads in the file.
pub(super) fn parse(line: &str, threads: usize) -> CommandLine {
    let mut options = Options { period: 1_000, distance: 500, ..Options::default() };
    let mut words = line.split_whitespace().skip(1).peekable();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, words.peek().copied()),
            };
            options.take(short_of(name), value.unwrap_or_default());
            continue;
        }
        let Some(cluster) = word.strip_prefix('-') else { continue };
        for (at, option) in cluster.bytes().enumerate() {
            let rest = cluster.get(at + 1..).unwrap_or_default();
            if WITH_VALUE.contains(&option) {
                let next = words.peek().copied().unwrap_or_default();
                options.take(option, if rest.is_empty() { next } else { rest });
                break;
            }
            options.take(option, "");
            if WITH_REST.contains(&option) {
                break;
            }
        }
    }
    options.with_defaults(threads)
}

/// The letter of a long option; a letter that cyclictest does not use for a long
/// option without one.
fn short_of(name: &str) -> u8 {
    match name {
        "interval" => b'i',
        "distance" => b'd',
        "histogram" => b'h',
        "histofall" => b'H',
        "priority" => b'p',
        "relative" => b'r',
        "system" => b's',
        "posix_timers" => b'x',
        "policy" => POLICY,
        "priospread" => SPREAD,
        _ => 0,
    }
}

const POLICY: u8 = b'P';
const SPREAD: u8 = b'Q';

#[derive(Debug, Default)]
struct Options {
    policy: Policy,
    priority: u64,
    spread: bool,
    period: u64,
    distance: u64,
    histogram: u64,
    relative: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Policy {
    #[default]
    Other,
    Fifo,
    RoundRobin,
}

impl Options {
    fn take(&mut self, option: u8, value: &str) {
        match option {
            b'i' => self.period = number(value),
            b'd' => self.distance = number(value),
            b'h' | b'H' => self.histogram = number(value).min(MOST_BUCKETS as u64),
            b'r' | b's' | b'x' => self.relative = true,
            b'p' => {
                self.priority = number(value);
                if self.policy == Policy::Other {
                    self.policy = Policy::Fifo;
                }
            }
            POLICY => {
                self.policy = match value {
                    "fifo" => Policy::Fifo,
                    "rr" => Policy::RoundRobin,
                    // With batch and idle, its threads are SCHED_OTHER as well.
                    _ => Policy::Other,
                }
            }
            SPREAD => self.spread = true,
            _ => {}
        }
    }

    fn with_defaults(mut self, threads: usize) -> CommandLine {
        if self.priority == 0 && (self.spread || self.policy != Policy::Other) {
            self.priority = threads as u64 + 1;
        }
        if self.priority > 0 && self.policy == Policy::Other {
            self.policy = Policy::Fifo;
        }
        let priority = u8::try_from(self.priority).ok().and_then(|p| Priority::new(p).ok());
        let micros = |time: u64| Nanos(time.saturating_mul(1_000));
        CommandLine {
            policy: match self.policy {
                Policy::Other => "other",
                Policy::Fifo => "fifo",
                Policy::RoundRobin => "rr",
            },
            priority: priority.filter(|_| self.policy != Policy::Other),
            spread: self.spread,
            period: micros(self.period),
            // With a histogram all threads have the same period.
            distance: micros(if self.histogram > 0 { 0 } else { self.distance }),
            absolute: !self.relative,
            histogram: Some(self.histogram).filter(|size| *size > 0),
        }
    }
}

/// Parses a number like `atoi(3)`, but never negative.
fn number(value: &str) -> u64 {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    value[..digits].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let line = parse(line, 4);
        let priority = line.priority.map_or(0, Priority::get);
        let way = if line.absolute { "absolute" } else { "relative" };
        let spread = if line.spread { " spread" } else { "" };
        let (policy, period, distance) = (line.policy, line.period, line.distance);
        format!("{policy} {priority}{spread} {period} +{distance} {way}")
    }

    #[test]
    fn options_are_read_as_cyclictest_does() {
        let cases = [
            ("cyclictest", "other 0 1.00 ms +500 µs absolute"),
            ("cyclictest -mp80 -i250 -d0", "fifo 80 250 µs +0 ns absolute"),
            ("cyclictest -m -Sp 90 -h400 -i 200", "fifo 90 200 µs +0 ns absolute"),
            ("cyclictest --policy=rr --interval 2000", "rr 5 2.00 ms +500 µs absolute"),
            ("cyclictest --policy=rr -p10 --priospread", "rr 10 spread 1.00 ms +500 µs absolute"),
            ("cyclictest --policy other --priority=7", "fifo 7 1.00 ms +500 µs absolute"),
            ("cyclictest --policy=batch -q", "other 0 1.00 ms +500 µs absolute"),
            ("cyclictest --priospread -t4", "fifo 5 spread 1.00 ms +500 µs absolute"),
            ("cyclictest -a0-3 -t4p -rq", "other 0 1.00 ms +500 µs relative"),
            ("cyclictest -p 300", "fifo 0 1.00 ms +500 µs absolute"),
            ("cyclictest -i", "other 0 0 ns +500 µs absolute"),
            ("", "other 0 1.00 ms +500 µs absolute"),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_can_be_read(line in "\\PC{0,60}", words in "(-[a-zA-Z0-9é]{0,4} ?){0,8}") {
            let _any = parse(&line, 3);
            let _any = parse(&words, 0);
        }
    }
}
