//! Reads a program's output: the line that reports it ready, and its last lines.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use unjank_host::lines::each_line;
use unjank_host::sched::ThreadId;
use unjank_host::{Error, Result, Timestamp};

/// Lines quoted of a failed program, and characters of each.
const LINES_QUOTED: usize = 3;
const LONGEST_QUOTED: usize = 400;

/// Whether a line reports that the program is ready.
pub(crate) type IsReady = Box<dyn Fn(&str) -> bool + Send>;

/// A line that reports that the program is ready, when it was read, and by which thread.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) text: String,
    pub(crate) by: ThreadId,
}

/// Reads all of `output`, so that its writer never blocks. Calls `found` with the
/// first line that reports it, or `None` at the end.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn watch(
    output: impl Read + Send + 'static,
    is_ready: IsReady,
    found: impl FnOnce(Option<Line>) + Send + 'static,
) -> Result<()> {
    spawn(move || {
        let mut found = Some(found);
        each_line(output, |text| {
            let at = Timestamp::now();
            if is_ready(text)
                && let Some(found) = found.take()
            {
                found(Some(Line { at, text: text.to_owned(), by: ThreadId::current() }));
            }
        });
        if let Some(found) = found {
            found(None);
        }
    })
}

/// Keeps the last few non-empty lines of `output`, separated by ` / `.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn last_lines(output: impl Read + Send + 'static) -> Result<Arc<Mutex<String>>> {
    let last = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&last);
    spawn(move || {
        let mut lines: Vec<String> = Vec::new();
        each_line(output, |text| {
            let text = text.trim();
            if !text.is_empty() {
                if lines.len() == LINES_QUOTED {
                    lines.remove(0);
                }
                lines.push(text.chars().take(LONGEST_QUOTED).collect());
                *keep.lock().unwrap_or_else(PoisonError::into_inner) = lines.join(" / ");
            }
        });
    })?;
    Ok(last)
}

/// Starts a thread that ends with the last writer, which may outlive the program.
fn spawn(read: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new()
        .spawn(read)
        .map(|_| ())
        .map_err(|error| Error::syscall("clone", "a thread that reads output", error))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use regex::Regex;

    use super::*;

    fn found(text: &'static [u8], expression: &str) -> Option<String> {
        let (sender, receiver) = mpsc::channel();
        let expression = Regex::new(expression).unwrap();
        let is_ready = Box::new(move |line: &str| expression.is_match(line));
        watch(text, is_ready, move |line| sender.send(line).unwrap()).unwrap();
        receiver.recv().unwrap().map(|line| line.text)
    }

    #[test]
    fn the_first_line_that_matches_counts() {
        let text = b"starting\r\nlistening on 1\r\nlistening on 2\n";
        assert_eq!(found(text, "^listening on .$").unwrap(), "listening on 1");
        assert_eq!(found(text, "never"), None);
        assert_eq!(found(b"\xff\xfe ready without a line end", "ready").unwrap().len(), 31);
        assert_eq!(found(b"", ".*"), None);
    }

    #[test]
    fn the_last_lines_that_are_not_empty_are_kept() {
        let last = last_lines(&b"1\n2\nwarning\nno display\n\nsorry\n"[..]).unwrap();
        for _ in 0..1_000 {
            if Arc::strong_count(&last) == 1 {
                break;
            }
            thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(*last.lock().unwrap(), "warning / no display / sorry");
    }
}
