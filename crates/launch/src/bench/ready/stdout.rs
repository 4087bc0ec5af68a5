//! What a program prints: the line that says it is ready, and its last words.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use regex::Regex;
use unjank_host::lines::each_line;
use unjank_host::{Error, Result, Timestamp};

/// Lines that are told of a program that has failed, and characters of each.
const LINES_TOLD: usize = 3;
const LONGEST_TOLD: usize = 400;

/// A line in which the expression was found, and when it was read.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) text: String,
}

/// Reads all that comes out of `output`, so that its writer never waits.
/// `found` hears of the first line that matches, or of the end.
///
/// # Errors
/// A thread that could not be started.
pub(crate) fn watch(
    output: impl Read + Send + 'static,
    expression: Option<Regex>,
    found: impl FnOnce(Option<Line>) + Send + 'static,
) -> Result<()> {
    spawn(move || {
        let mut found = Some(found);
        each_line(output, |text| {
            let at = Timestamp::now();
            if expression.as_ref().is_some_and(|expression| expression.is_match(text))
                && let Some(found) = found.take()
            {
                found(Some(Line { at, text: text.to_owned() }));
            }
        });
        if let Some(found) = found {
            found(None);
        }
    })
}

/// The last lines that are not empty of all that comes out of `output`, a few
/// at most, with a stroke between.
///
/// # Errors
/// A thread that could not be started.
pub(crate) fn last_lines(output: impl Read + Send + 'static) -> Result<Arc<Mutex<String>>> {
    let last = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&last);
    spawn(move || {
        let mut lines: Vec<String> = Vec::new();
        each_line(output, |text| {
            let text = text.trim();
            if !text.is_empty() {
                if lines.len() == LINES_TOLD {
                    lines.remove(0);
                }
                lines.push(text.chars().take(LONGEST_TOLD).collect());
                *keep.lock().unwrap_or_else(PoisonError::into_inner) = lines.join(" / ");
            }
        });
    })?;
    Ok(last)
}

/// The thread ends with the last writer, which may outlive the program.
fn spawn(read: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new()
        .spawn(read)
        .map(|_| ())
        .map_err(|error| Error::syscall("clone", "a thread that reads output", error))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn found(text: &'static [u8], expression: &str) -> Option<String> {
        let (sender, receiver) = mpsc::channel();
        let expression = Some(Regex::new(expression).unwrap());
        watch(text, expression, move |line| sender.send(line).unwrap()).unwrap();
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
    fn last_words_are_the_last_lines_that_say_something() {
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
