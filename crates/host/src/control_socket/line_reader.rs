//! A line that arrives in pieces.

/// The longest question in bytes.
const QUESTION: usize = 64 << 10;
/// The longest answer. The state of a service lists what it has changed: a machine with hundreds of
/// frequency policies has an answer of 100 KiB.
const ANSWER: usize = 4 << 20;

/// The part of a line that has arrived so far.
#[derive(Debug)]
pub(super) struct LineReader {
    bytes: Vec<u8>,
    longest: usize,
}

/// The state of a line after a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineProgress {
    /// It is not complete.
    More,
    /// The complete line, without its end.
    Line(String),
    /// It is not UTF-8, or too long.
    Invalid,
}

impl LineReader {
    /// Reads a client's line.
    pub(super) fn question() -> Self {
        Self { bytes: Vec::new(), longest: QUESTION }
    }

    /// Reads a service's line.
    pub(super) fn answer() -> Self {
        Self { bytes: Vec::new(), longest: ANSWER }
    }

    /// Takes a piece. Bytes after the line's end are ignored.
    pub(super) fn take(&mut self, piece: &[u8]) -> LineProgress {
        let end = piece.iter().position(|&byte| byte == b'\n');
        self.bytes.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if self.bytes.len() > self.longest {
            self.bytes = Vec::new();
            return LineProgress::Invalid;
        }
        if end.is_none() {
            return LineProgress::More;
        }
        let line = String::from_utf8(std::mem::take(&mut self.bytes));
        line.map_or(LineProgress::Invalid, LineProgress::Line)
    }
}

/// Reads a line in pieces of `length` bytes; for the fuzzer.
///
/// # Panics
/// If that makes a difference, or the line is not the first one of `bytes`.
#[cfg(fuzzing)]
pub fn read_line_for_fuzzing(bytes: &[u8], length: usize) {
    let whole = LineReader::question().take(bytes);
    let mut reader = LineReader::question();
    let mut pieces = bytes.chunks(length.max(1)).map(|piece| reader.take(piece));
    let first = pieces.find(|piece| *piece != LineProgress::More).unwrap_or(LineProgress::More);
    assert_eq!(first, whole);
    if let LineProgress::Line(line) = whole {
        assert!(bytes.starts_with(line.as_bytes()) && !line.contains('\n'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_in_pieces() {
        let mut reader = LineReader::question();
        assert_eq!(reader.take(b""), LineProgress::More);
        assert_eq!(reader.take(b"{\"do\":"), LineProgress::More);
        assert_eq!(reader.take(b"1}\nmore"), LineProgress::Line("{\"do\":1}".to_owned()));
        assert_eq!(reader.take(b"\n"), LineProgress::Line(String::new()));
    }

    #[test]
    fn bytes_that_are_not_text_or_endless_are_invalid() {
        assert_eq!(LineReader::question().take(b"\xff\n"), LineProgress::Invalid);
        let readers = [(LineReader::question(), QUESTION), (LineReader::answer(), ANSWER)];
        for (mut reader, longest) in readers {
            assert_eq!(reader.take(&vec![b'x'; longest]), LineProgress::More);
            assert_eq!(reader.take(b"x"), LineProgress::Invalid);
        }
    }
}
