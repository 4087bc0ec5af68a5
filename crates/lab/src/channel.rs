//! The protocol between guest and host.
//!
//! The guest sends frames: one byte for the kind, four bytes for the length
//! (little endian), then the content. The host sends at most one byte: see
//! [`INTERRUPT_PORT`].
//!
//! The guest is not trusted: its program may be an old one, or corrupted by the
//! run. A [`Decoder`] accepts bytes in pieces of any size, holds no more than
//! it received, and refuses frames that no guest sends.

use serde::{Deserialize, Serialize};

/// The port of the frames, as QEMU and the guest's kernel name it.
pub const PORT: &str = "unjank";

/// The port on which any byte tells the guest to end its command.
pub const INTERRUPT_PORT: &str = "unjank.interrupt";

/// The first message of a guest, with the version of the protocol.
pub const GREETING: &str = "unjank.lab/2";

/// The longest frame, in bytes. Run records are the longest content.
pub const LONGEST: usize = 64 << 20;

const HEADER: usize = 5;

/// One message of the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The guest is up: [`GREETING`], a space, and its build of unjank, if
    /// known.
    Greeting(Option<String>),
    /// Output of the command on stdout.
    Stdout(Vec<u8>),
    /// Output of the command on stderr.
    Stderr(Vec<u8>),
    /// The command has ended.
    Ended(End),
    /// A run record from the guest's store, as JSON.
    Record(String),
    /// A note about the phone for its user.
    Remark(String),
    /// The last frame. The guest waits to be ended.
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
    /// The exit code as shells give it: 128 plus the signal.
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
        }
    }
}

/// A violation of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The kind is unknown.
    #[error("a message of unknown kind {0}")]
    Kind(u8),
    /// No message has this length.
    #[error("a message of {0} bytes")]
    Length(usize),
    /// The content does not match the kind.
    #[error("a message of kind {0} that cannot be read")]
    Content(u8),
    /// The greeting has another version.
    #[error("the greeting {0:?} instead of {GREETING:?}: the phone runs another version of unjank")]
    Greeting(String),
}

impl Frame {
    /// The frame as bytes for a [`Decoder`].
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
        // Longer output is cut; the guest sends only records that fit.
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

/// Decodes bytes into frames.
#[derive(Debug, Default)]
pub struct Decoder(Vec<u8>);

impl Decoder {
    /// Appends the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next frame, if it is complete.
    ///
    /// # Errors
    /// If the bytes are not a frame. No later frame can be decoded.
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
        fn frames_are_decoded_from_pieces_of_any_size(
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
        fn other_bytes_are_refused_or_incomplete(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.next_frame() {}
        }
    }

    #[test]
    fn each_violation_is_named() {
        let error = |bytes: &[u8]| {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            decoder.next_frame().unwrap_err().to_string()
        };
        assert_eq!(error(b"SeaBIOS"), "a message of unknown kind 83");
        assert_eq!(error(&[2, 0, 0, 0, 255]), "a message of 4278190080 bytes");
        assert_eq!(error(&[7, 1, 0, 0, 0, 0]), "a message of kind 7 that cannot be read");
        assert_eq!(error(&[4, 2, 0, 0, 0, b'{', b'}']), "a message of kind 4 that cannot be read");
        let old = error(&[1, 3, 0, 0, 0, b'o', b'l', b'd']);
        assert!(old.starts_with("the greeting \"old\""), "{old}");
    }

    #[test]
    fn ends_have_the_codes_that_shells_give_them() {
        assert_eq!(End::Code(5).code(), 5);
        assert_eq!(End::Signal(9).code(), 137);
        assert_eq!(End::Signal(255).code(), 255);
    }
}
