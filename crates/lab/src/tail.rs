//! The last lines of a console.

use std::collections::VecDeque;

/// The number of lines that are kept.
const LINES: usize = 20;
/// The number of bytes of a line that are kept.
const LONGEST: usize = 200;

/// The end of a text that arrives in pieces. Its memory is bounded, even for a
/// console that never stops.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    line: Vec<u8>,
}

impl Tail {
    /// Appends the next piece.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else if self.line.len() < LONGEST {
                self.line.push(byte);
            }
        }
    }

    /// Whether a kept line contains `text`.
    pub(crate) fn contains(&self, text: &str) -> bool {
        let in_line = self.line.windows(text.len()).any(|part| part == text.as_bytes());
        in_line || self.lines.iter().any(|line| line.contains(text))
    }

    /// The last lines, without control characters.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        self.end_line();
        self.lines.iter().cloned().collect()
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line).replace(char::is_control, "");
        self.line.clear();
        if line.trim().is_empty() {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line.trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::default();
        for number in 0..1_000 {
            tail.push(format!("line {number}\r\n\r\n").as_bytes());
        }
        tail.push(b"\x1b[2Jthe en");
        tail.push(b"d");
        let lines = tail.lines();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0], "line 981");
        assert_eq!(lines[LINES - 1], "[2Jthe end");
    }

    #[test]
    fn a_line_without_an_end_takes_bounded_memory() {
        let mut tail = Tail::default();
        tail.push(&vec![b'x'; 1 << 20]);
        assert_eq!(tail.lines(), ["x".repeat(LONGEST)]);
    }
}
