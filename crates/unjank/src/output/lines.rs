//! Text of several lines that contains foreign text.

use std::fmt::Display;

use unjank_report::one_line;

/// A text that is built line by line. Line ends within a line are escaped.
#[derive(Debug, Default)]
pub(crate) struct Lines(String);

impl Lines {
    /// Adds a line.
    pub(crate) fn add(&mut self, line: impl Display) {
        self.0.push_str(&one_line(&line.to_string()));
        self.0.push('\n');
    }

    /// The whole text.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}

impl<T: Display> FromIterator<T> for Lines {
    fn from_iter<I: IntoIterator<Item = T>>(lines: I) -> Self {
        let mut text = Self::default();
        lines.into_iter().for_each(|line| text.add(line));
        text
    }
}
