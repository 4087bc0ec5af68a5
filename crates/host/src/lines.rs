//! The output of a program, line by line.

use std::io::{BufRead as _, BufReader, Read};

/// Longer lines are split into pieces of this size, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Calls `each` with each line of `output`, without its end, until the output
/// ends. Bytes that are not UTF-8 are replaced. The memory is bounded even if a
/// line never ends.
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
