//! Launches in Android's log: lines of `logcat -b events`, in any of its
//! formats that keep an event on a line (`brief`, `threadtime`, `epoch` …).
//!
//! | event | fields |
//! |---|---|
//! | `am_proc_start` | user, process, its user's number, name, for what, component |
//! | `wm_activity_launch_time` (`am_…` before Android 10) | user, token, component, milliseconds (on old ones more) |

/// The reason for starting a process with a screen; other reasons are services,
/// broadcasts and content providers.
const FOR_ACTIVITIES: &str = "activity";
/// The longest line that is read.
const LONGEST: usize = 8 << 10;

/// A launch event in a line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEvent {
    /// A process was started for an activity.
    Started {
        /// Its process id.
        process: u32,
        /// Its app's package: `com.example`.
        package: String,
    },
    /// An activity is on screen.
    Displayed {
        /// Its app's package: `com.example`.
        package: String,
    },
}

impl LogEvent {
    /// Parses a line; `None` if it has no launch event.
    pub fn parse(line: &str) -> Option<Self> {
        let fields = |event: &str| {
            let (_, rest) = line.split_once(event)?;
            // Only a list follows the name of an event.
            let (list, _) =
                rest.trim_start_matches([':', ' ']).strip_prefix('[')?.rsplit_once(']')?;
            Some(list.split(',').map(str::trim).collect::<Vec<_>>())
        };
        if let Some(fields) = fields("am_proc_start:") {
            let for_activity = fields.get(4).is_some_and(|what| what.ends_with(FOR_ACTIVITIES));
            let process = fields.get(1)?.parse().ok()?;
            let package = package(fields.get(3)?)?;
            return for_activity.then_some(Self::Started { process, package });
        }
        let shown = fields("_activity_launch_time:")?;
        package(shown.get(2)?).map(|package| Self::Displayed { package })
    }
}

/// The package in a component (`com.example/.Main`) or in the name of a process
/// (`com.example:remote`).
fn package(text: &str) -> Option<String> {
    let name = text.split(['/', ':']).next()?;
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (!name.is_empty() && name.chars().all(fine)).then(|| name.to_owned())
}

/// Splits a stream into lines. Lines that are too long are skipped.
#[derive(Debug, Default)]
pub struct LogLines {
    begun: Vec<u8>,
    too_long: bool,
}

impl LogLines {
    /// Takes the next piece of the stream, and calls `each` with its events.
    pub fn take(&mut self, piece: &[u8], mut each: impl FnMut(LogEvent)) {
        for &byte in piece {
            if byte != b'\n' {
                self.too_long |= self.begun.len() >= LONGEST;
                if !self.too_long {
                    self.begun.push(byte);
                }
                continue;
            }
            if !self.too_long
                && let Some(event) = LogEvent::parse(&String::from_utf8_lossy(&self.begun))
            {
                each(event);
            }
            self.begun.clear();
            self.too_long = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines in the forms of several Android versions and of logcat's formats.
    const STREAM: &str = include_str!("logcat_events.txt");

    fn events(stream: &[u8], piece: usize) -> Vec<LogEvent> {
        let mut lines = LogLines::default();
        let mut events = Vec::new();
        stream.chunks(piece).for_each(|piece| lines.take(piece, |event| events.push(event)));
        events
    }

    #[test]
    fn launches_are_found_however_the_stream_is_cut() {
        let started =
            |process, package: &str| LogEvent::Started { process, package: package.to_owned() };
        let displayed = |package: &str| LogEvent::Displayed { package: package.to_owned() };
        let expected = [
            started(18_803, "com.example.mail"),
            displayed("com.example.mail"),
            started(5_021, "com.example.camera"),
            displayed("com.example.camera"),
            started(9_876, "com.example.game"),
            displayed("com.example.game"),
        ];
        for piece in [1, 7, 4_096] {
            assert_eq!(events(STREAM.as_bytes(), piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_no_later_line() {
        let long = "am_proc_start: [".to_owned() + &"x".repeat(100_000);
        let stream = long + "\nI am_proc_start: [0,7,10001,com.a,activity,com.a/.B]\n";
        let mut lines = LogLines::default();
        let mut seen = 0;
        stream.as_bytes().chunks(1_000).for_each(|piece| {
            lines.take(piece, |_| seen += 1);
            assert!(lines.begun.len() <= LONGEST);
        });
        assert_eq!(seen, 1);
    }

    proptest! {
        #[test]
        fn any_line_is_taken(line in "\\PC{0,80}", list in "[a-z0-9,/.\\[\\] ]{0,60}") {
            LogEvent::parse(&line);
            LogEvent::parse(&format!("am_proc_start: [{list}]"));
        }
    }
}
