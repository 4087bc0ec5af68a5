//! What a program prints, line by line.

use std::io::{BufRead as _, BufReader, Read};

/// A line that is longer comes in pieces of so many bytes.
const LONGEST: u64 = 64 * 1024;

/// Hands each line of `output` to `each`, without its end, until there are no
/// more. What is no UTF-8 is replaced; it takes no more memory for a program
/// that never ends its line.
pub fn each_line(output: impl Read, mut each: impl FnMut(&str)) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => each(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(output: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        each_line(output, |line| lines.push(line.to_owned()));
        lines
    }

    #[test]
    fn lines_lose_their_ends_and_nothing_else() {
        assert_eq!(lines(b"one\r\n\ntw\xffo\nend"), ["one", "", "tw\u{fffd}o", "end"]);
        assert_eq!(lines(b""), Vec::<String>::new());
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces() {
        let long = vec![b'x'; 2 * LONGEST as usize + 1];
        let lengths: Vec<usize> = lines(&long).iter().map(String::len).collect();
        assert_eq!(lengths, [LONGEST as usize, LONGEST as usize, 1]);
    }
}
