//! What the bench and its apps tell each other: numbers of 4 and 8 bytes.
//!
//! | the bench | the app |
//! |---|---|
//! | the number of touches, then each touch | |
//! | | the time that all took, the number of pages that it waited for, then each of these touches |
//!
//! The end of the bench's messages is the end of the app.

use std::io::{self, Read, Write};

use unjank_host::Nanos;

/// The most touches in a message.
pub(super) const MOST: usize = 1024;

/// A touch of a page: what, and the page's number among the app's own or the files'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) kind: Kind,
    pub(super) page: u32,
}

/// What a touch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Reads a page of the app.
    Read,
    /// Changes a page of the app.
    Write,
    /// Gives a page of the app new content.
    First,
    /// Reads a page of a file.
    ReadFile,
    /// Writes a page of a file.
    WriteFile,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Read, Self::Write, Self::First, Self::ReadFile, Self::WriteFile];
}

/// What the app did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// From the first touch to the last.
    pub(super) taken: Nanos,
    /// Touches that waited for storage.
    pub(super) waited: Vec<Touch>,
}

/// Bits of a kind.
const KIND_BITS: u32 = 3;
/// The highest number of a page.
pub(super) const LAST_PAGE: u32 = (1 << (32 - KIND_BITS)) - 1;

impl Touch {
    fn packed(self) -> u32 {
        self.page << KIND_BITS | self.kind as u32
    }

    fn unpacked(packed: u32) -> io::Result<Self> {
        let kind = Kind::ALL.get((packed & ((1 << KIND_BITS) - 1)) as usize);
        let kind = *kind.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { kind, page: packed >> KIND_BITS })
    }
}

/// Sends touches.
pub(super) fn send_touches(to: &mut impl Write, touches: &[Touch]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(4 * (touches.len() + 1));
    put_all(&mut bytes, touches);
    to.write_all(&bytes)?;
    to.flush()
}

/// Receives touches into `touches`; `false` at the end.
pub(super) fn receive_touches(from: &mut impl Read, touches: &mut Vec<Touch>) -> io::Result<bool> {
    let mut first = [0; 4];
    match from.read_exact(&mut first) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    receive(from, u32::from_ne_bytes(first), touches)?;
    Ok(true)
}

/// Sends what was done.
pub(super) fn send_done(to: &mut impl Write, done: &Done) -> io::Result<()> {
    let mut bytes = done.taken.get().to_ne_bytes().to_vec();
    put_all(&mut bytes, &done.waited);
    to.write_all(&bytes)?;
    to.flush()
}

/// Receives what was done.
pub(super) fn receive_done(from: &mut impl Read) -> io::Result<Done> {
    let mut taken = [0; 8];
    from.read_exact(&mut taken)?;
    let mut count = [0; 4];
    from.read_exact(&mut count)?;
    let mut waited = Vec::new();
    receive(from, u32::from_ne_bytes(count), &mut waited)?;
    Ok(Done { taken: Nanos(u64::from_ne_bytes(taken)), waited })
}

fn put_all(bytes: &mut Vec<u8>, touches: &[Touch]) {
    bytes.extend((touches.len() as u32).to_ne_bytes());
    bytes.extend(touches.iter().flat_map(|touch| touch.packed().to_ne_bytes()));
}

fn receive(from: &mut impl Read, count: u32, into: &mut Vec<Touch>) -> io::Result<()> {
    if count as usize > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = [0; 4 * MOST];
    let bytes = &mut bytes[..4 * count as usize];
    from.read_exact(bytes)?;
    into.clear();
    for packed in bytes.chunks_exact(4) {
        let packed = u32::from_ne_bytes(packed.try_into().unwrap_or_default());
        into.push(Touch::unpacked(packed)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let touch = |(page, kind): (usize, Kind)| Touch { kind, page: LAST_PAGE - page as u32 };
        let touches: Vec<Touch> = Kind::ALL.into_iter().enumerate().map(touch).collect();
        let (mut wire, mut received) = (Vec::new(), Vec::new());
        send_touches(&mut wire, &touches).unwrap();
        let mut from = &*wire;
        assert!(receive_touches(&mut from, &mut received).unwrap());
        assert_eq!(received, touches);
        assert!(!receive_touches(&mut from, &mut received).unwrap(), "the end");
        let done = Done { taken: Nanos(5_000), waited: touches };
        let mut wire = Vec::new();
        send_done(&mut wire, &done).unwrap();
        assert_eq!(receive_done(&mut &*wire).unwrap(), done);
    }

    #[test]
    fn malformed_messages_are_errors() {
        let mut touches = Vec::new();
        let mut receive = |bytes: &[u8]| receive_touches(&mut &*bytes, &mut touches);
        assert!(receive(&u32::MAX.to_ne_bytes()).is_err(), "too many");
        let with = |packed: u32| [1_u32.to_ne_bytes(), packed.to_ne_bytes()].concat();
        assert!(receive(&with(7)).is_err(), "no such kind");
        assert!(receive(&with(0)[..6]).is_err(), "cut off");
        assert!(receive(&with(8)).unwrap());
    }
}
