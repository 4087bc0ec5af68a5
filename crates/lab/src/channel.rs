//! What guest and host say to each other.
//!
//! The guest sends frames: one byte for the kind, four for the length (little
//! endian), and so many bytes. The host sends one byte at most: see
//! [`INTERRUPT_PORT`].
//!
//! The guest is not trusted: its program may be an old one, or have been hit
//! by whatever the run provoked. A [`Decoder`] takes bytes in pieces of any
//! size, holds no more than what came, and refuses what no guest sends.

use serde::{Deserialize, Serialize};

/// The name of the frames' port, as QEMU and the guest's kernel know it.
pub const PORT: &str = "unjank";

/// The name of the port on which a byte, whichever, tells the guest that the
/// user wants its command to end.
pub const INTERRUPT_PORT: &str = "unjank.interrupt";

/// The first thing a guest says, and the version of all that follows.
pub const GREETING: &str = "unjank.lab/2";

/// No frame is longer. A run record is the longest that there is.
pub const LONGEST: usize = 64 << 20;

const HEADER: usize = 5;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The guest is up: [`GREETING`], a space, and which build of unjank it is,
    /// if it knows.
    Greeting(Option<String>),
    /// What the command printed on stdout.
    Stdout(Vec<u8>),
    /// What it printed on stderr.
    Stderr(Vec<u8>),
    /// It has ended.
    Ended(End),
    /// A run record that it left in its store, as JSON.
    Record(String),
    /// Something about the phone that its user should know.
    Remark(String),
    /// All is said. The guest waits for its end.
    Done,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// With an exit code.
    Code(u8),
    /// By a signal.
    Signal(u8),
}

impl End {
    /// As shells do: a signal counts from 128.
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
        }
    }
}

/// Why bytes are not frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// No message has this number.
    #[error("a message of the unknown kind {0}")]
    Kind(u8),
    /// A length that no message has.
    #[error("a message of {0} bytes")]
    Length(usize),
    /// The message is not what its kind says.
    #[error("a message of kind {0} that cannot be read")]
    Content(u8),
    /// It greets as another version.
    #[error("the greeting {0:?} instead of {GREETING:?}: its unjank is of another version")]
    Greeting(String),
}

impl Frame {
    /// The bytes that a [`Decoder`] makes this frame of.
    pub fn encode(&self) -> Vec<u8> {
        let (end, greeting);
        let (kind, content): (u8, &[u8]) = match self {
            Self::Greeting(None) => (1, GREETING.as_bytes()),
            Self::Greeting(Some(build)) => {
                greeting = format!("{GREETING} {build}");
                (1, greeting.as_bytes())
            }
            Self::Stdout(bytes) => (2, bytes),
            Self::Stderr(bytes) => (3, bytes),
            Self::Ended(how) => {
                end = serde_json::to_vec(how).expect("a number has a JSON form");
                (4, &end)
            }
            Self::Record(text) => (5, text.as_bytes()),
            Self::Remark(text) => (6, text.as_bytes()),
            Self::Done => (7, &[]),
        };
        // What is longer is cut; the guest sends records that fit, or none.
        let content = &content[..content.len().min(LONGEST)];
        let mut frame = Vec::with_capacity(HEADER + content.len());
        frame.push(kind);
        frame.extend((content.len() as u32).to_le_bytes());
        frame.extend(content);
        frame
    }

    fn decode(kind: u8, content: Vec<u8>) -> Result<Self, Violation> {
        let text = |content| String::from_utf8(content).map_err(|_| Violation::Content(kind));
        Ok(match kind {
            1 => {
                let greeting = text(content)?;
                match greeting.split_once(' ') {
                    Some((GREETING, build)) => Self::Greeting(Some(build.to_owned())),
                    None if greeting == GREETING => Self::Greeting(None),
                    _ => return Err(Violation::Greeting(greeting.chars().take(40).collect())),
                }
            }
            2 => Self::Stdout(content),
            3 => Self::Stderr(content),
            4 => {
                Self::Ended(serde_json::from_slice(&content).map_err(|_| Violation::Content(kind))?)
            }
            5 => Self::Record(text(content)?),
            6 => Self::Remark(text(content)?),
            7 if content.is_empty() => Self::Done,
            7 => return Err(Violation::Content(kind)),
            other => return Err(Violation::Kind(other)),
        })
    }
}

/// Makes frames of bytes.
#[derive(Debug, Default)]
pub struct Decoder(Vec<u8>);

impl Decoder {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next frame, if all of it has come.
    ///
    /// # Errors
    /// What came is no frame. Nothing that follows can be one.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Violation> {
        let Some((header, rest)) = self.0.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [kind, length @ ..] = *header;
        let length = u32::from_le_bytes(length) as usize;
        if !(1..=7).contains(&kind) {
            return Err(Violation::Kind(kind));
        }
        if length > LONGEST {
            return Err(Violation::Length(length));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let content = rest[..length].to_vec();
        self.0.drain(..HEADER + length);
        Frame::decode(kind, content).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame() -> impl Strategy<Value = Frame> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..200);
        prop_oneof![
            any::<Option<String>>().prop_map(Frame::Greeting),
            bytes().prop_map(Frame::Stdout),
            bytes().prop_map(Frame::Stderr),
            any::<u8>().prop_map(|code| Frame::Ended(End::Code(code))),
            any::<u8>().prop_map(|signal| Frame::Ended(End::Signal(signal))),
            any::<String>().prop_map(Frame::Record),
            any::<String>().prop_map(Frame::Remark),
            Just(Frame::Done),
        ]
    }

    proptest! {
        #[test]
        fn frames_arrive_however_they_are_cut(
            frames in prop::collection::vec(frame(), 0..20),
            piece in 1_usize..50,
        ) {
            let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
            let mut decoder = Decoder::default();
            let mut arrived = Vec::new();
            for piece in bytes.chunks(piece) {
                decoder.push(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    arrived.push(frame);
                }
            }
            prop_assert_eq!(arrived, frames);
        }

        #[test]
        fn anything_else_is_refused_or_waited_for(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.next_frame() {}
        }
    }

    #[test]
    fn each_violation_is_named() {
        let told = |bytes: &[u8]| {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            decoder.next_frame().unwrap_err().to_string()
        };
        assert_eq!(told(b"SeaBIOS"), "a message of the unknown kind 83");
        assert_eq!(told(&[2, 0, 0, 0, 255]), "a message of 4278190080 bytes");
        assert_eq!(told(&[7, 1, 0, 0, 0, 0]), "a message of kind 7 that cannot be read");
        assert_eq!(told(&[4, 2, 0, 0, 0, b'{', b'}']), "a message of kind 4 that cannot be read");
        let old = told(&[1, 3, 0, 0, 0, b'o', b'l', b'd']);
        assert!(old.starts_with("the greeting \"old\""), "{old}");
    }

    #[test]
    fn ends_have_the_codes_that_shells_give_them() {
        assert_eq!(End::Code(5).code(), 5);
        assert_eq!(End::Signal(9).code(), 137);
        assert_eq!(End::Signal(255).code(), 255);
    }
}
