//! A line, as it comes in pieces.

/// No line is longer.
const LONGEST: usize = 64 << 10;

/// What was heard of a line so far.
#[derive(Debug, Default)]
pub(super) struct Heard {
    bytes: Vec<u8>,
}

/// What a piece has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// The line goes on.
    More,
    /// The line is whole; without its end.
    Line(String),
    /// It is no line of text, or too long.
    Nonsense,
}

impl Heard {
    /// Takes a piece. What follows the line's end is not looked at.
    pub(super) fn take(&mut self, piece: &[u8]) -> Piece {
        let end = piece.iter().position(|&byte| byte == b'\n');
        self.bytes.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if self.bytes.len() > LONGEST {
            self.bytes = Vec::new();
            return Piece::Nonsense;
        }
        if end.is_none() {
            return Piece::More;
        }
        let line = String::from_utf8(std::mem::take(&mut self.bytes));
        line.map_or(Piece::Nonsense, Piece::Line)
    }
}

/// Hears bytes in pieces of this length; for the fuzzer.
///
/// # Panics
/// It makes a difference, or the line is none of theirs.
#[cfg(fuzzing)]
pub fn hear_for_fuzzing(bytes: &[u8], length: usize) {
    let whole = Heard::default().take(bytes);
    let mut heard = Heard::default();
    let mut pieces = bytes.chunks(length.max(1)).map(|piece| heard.take(piece));
    let first = pieces.find(|piece| *piece != Piece::More).unwrap_or(Piece::More);
    assert_eq!(first, whole);
    if let Piece::Line(line) = whole {
        assert!(bytes.starts_with(line.as_bytes()) && !line.contains('\n'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_in_pieces() {
        let mut heard = Heard::default();
        assert_eq!(heard.take(b""), Piece::More);
        assert_eq!(heard.take(b"{\"do\":"), Piece::More);
        assert_eq!(heard.take(b"1}\nmore"), Piece::Line("{\"do\":1}".to_owned()));
        assert_eq!(heard.take(b"\n"), Piece::Line(String::new()));
    }

    #[test]
    fn what_is_no_text_or_endless_is_nonsense() {
        assert_eq!(Heard::default().take(b"\xff\n"), Piece::Nonsense);
        let mut heard = Heard::default();
        assert_eq!(heard.take(&vec![b'x'; LONGEST]), Piece::More);
        assert_eq!(heard.take(b"x"), Piece::Nonsense);
    }
}
