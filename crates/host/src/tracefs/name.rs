//! Names from the kernel, as bytes.

use std::fmt;

/// A name of at most `N` bytes, as the kernel recorded it: the bytes before the
/// first zero, cut at `N`. A thread chooses its own name, so it may contain any
/// bytes but zero; [`Display`](fmt::Display) escapes characters that would
/// corrupt a terminal or a table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<const N: usize>([u8; N]);

/// The name of a thread: `comm`, at most 15 bytes.
pub type Comm = Name<16>;

/// The name of an interrupt or the text of a mark; longer ones are cut.
pub type Label = Name<40>;

impl<const N: usize> Name<N> {
    /// The name at the beginning of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        let mut name = [0; N];
        let length = bytes.iter().take(N).position(|&byte| byte == 0).unwrap_or(N);
        let length = length.min(bytes.len());
        name[..length].copy_from_slice(&bytes[..length]);
        Self(name)
    }

    /// The bytes before the first zero.
    pub fn as_bytes(&self) -> &[u8] {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(N);
        &self.0[..length]
    }
}

impl Comm {
    /// Its bytes as two numbers; equal names have equal ones.
    pub(super) fn words(&self) -> [u64; 2] {
        let word = |half: Option<&[u8; 8]>| half.map_or(0, |half| u64::from_le_bytes(*half));
        [word(self.0.first_chunk()), word(self.0.last_chunk())]
    }
}

/// The empty name.
impl<const N: usize> Default for Name<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> From<&str> for Name<N> {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

/// Control and other unprintable characters as escapes, bytes that are not
/// UTF-8 as the replacement character.
impl<const N: usize> fmt::Display for Name<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = String::with_capacity(N);
        for letter in String::from_utf8_lossy(self.as_bytes()).chars() {
            match letter {
                '"' | '\'' => shown.push(letter),
                _ => shown.extend(letter.escape_debug()),
            }
        }
        f.pad(&shown)
    }
}

impl<const N: usize> fmt::Debug for Name<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_the_first_zero_or_at_its_limit() {
        assert_eq!(Comm::new(b"hog\0\0rubbish").as_bytes(), b"hog");
        assert_eq!(Comm::new(b"").as_bytes(), b"");
        assert_eq!(Name::<4>::new(b"kworker").as_bytes(), b"kwor");
    }

    #[test]
    fn a_hostile_name_is_escaped() {
        assert_eq!(Comm::from("a b==>c").to_string(), "a b==>c");
        assert_eq!(Comm::from("\x1b[2J\r\n").to_string(), "\\u{1b}[2J\\r\\n");
        assert_eq!(Comm::from("x\u{202e}y").to_string(), "x\\u{202e}y");
        assert_eq!(Comm::new(b"caf\xe9").to_string(), "caf\u{fffd}");
        assert_eq!(Comm::from("don't").to_string(), "don't");
    }
}
