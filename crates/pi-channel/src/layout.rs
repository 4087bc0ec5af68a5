//! The layout of a lane's memory.
//!
//! | bytes | what | written by |
//! |---|---|---|
//! | `0x000` | magic, version, capacities | server, before the client has the memory |
//! | `0x080` | lock word 0 | server, client, kernel |
//! | `0x100` | lock word 1 | server, client, kernel |
//! | `0x180` | the client's words, then the bytes of the request | client |
//! | after them, on its own line | the server's words, then the bytes of the reply | server |
//!
//! Each row begins on its own pair of cache lines. A payload begins in the line of
//! the words that announce it, so a short payload needs no further transfer
//! between CPUs.
//!
//! All positions follow from the two capacities. Both sides keep private copies of
//! these: the header is read once, when the lane is set up, and compared with the
//! size of the memory.

use std::mem::size_of;

use crate::error::{Error, Result};

/// The first eight bytes of a lane.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"pi-lane\n");
/// The longest request or reply: 16 MiB. A server can make its client map this
/// much for each.
pub const MAX_CAPACITY: usize = 16 << 20;

/// Rows begin at multiples of this: two cache lines, because CPUs fetch them
/// in pairs.
const ROW: usize = 128;
const CLIENT_ROW: usize = 3 * ROW;
/// Bytes of the words before a payload.
const WORDS: usize = 32;
const PAGE: usize = 4096;
/// Position of the request's bytes.
pub(crate) const REQUEST_BYTES: usize = CLIENT_ROW + WORDS;

/// A 32-bit word of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// Version of the layout.
    Version,
    /// Longest request, in bytes.
    RequestCapacity,
    /// Longest reply, in bytes.
    ReplyCapacity,
    /// One of the two lock words, selected by the lowest bit of a call's number.
    Lock(u32),
    /// Number of the last request.
    Request,
    /// Length of the request in bytes.
    RequestLength,
    /// The CPU on which the client posted it.
    ClientCpu,
    /// The priority that the client claims.
    ClientPriority,
    /// Not zero once the client has left.
    ClientGone,
    /// Number of the last reply.
    Reply,
    /// Length of the reply in bytes.
    ReplyLength,
    /// The CPU on which the server last served this lane.
    ServerCpu,
    /// The status of a refusal.
    ReplyStatus,
    /// Not zero once the server has closed the lane.
    ServerClosed,
}

/// The checked capacities of a lane, from which all positions follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    request: usize,
    reply: usize,
}

impl Geometry {
    pub(crate) fn new(request: usize, reply: usize) -> Result<Self> {
        for (what, value) in [("the request capacity", request), ("the reply capacity", reply)] {
            if value > MAX_CAPACITY {
                return Err(Error::Setting { what, value, least: 0, most: MAX_CAPACITY });
            }
        }
        Ok(Self { request, reply })
    }

    /// Longest request, in bytes.
    pub(crate) fn request_capacity(self) -> usize {
        self.request
    }

    /// Longest reply, in bytes.
    pub(crate) fn reply_capacity(self) -> usize {
        self.reply
    }

    /// Size of the lane in bytes, whole pages.
    pub(crate) fn length(self) -> usize {
        (self.reply_bytes() + self.reply).next_multiple_of(PAGE)
    }

    /// Position of the reply's bytes.
    pub(crate) fn reply_bytes(self) -> usize {
        self.server_row() + WORDS
    }

    /// Position of a word: a multiple of four, below [`length`](Self::length).
    #[inline]
    pub(crate) fn position(self, word: Word) -> usize {
        const U32: usize = size_of::<u32>();
        match word {
            Word::Version => size_of::<u64>(),
            Word::RequestCapacity => size_of::<u64>() + U32,
            Word::ReplyCapacity => size_of::<u64>() + 2 * U32,
            Word::Lock(number) => ROW + (number & 1) as usize * ROW,
            Word::Request => CLIENT_ROW,
            Word::RequestLength => CLIENT_ROW + U32,
            Word::ClientCpu => CLIENT_ROW + 2 * U32,
            Word::ClientPriority => CLIENT_ROW + 3 * U32,
            Word::ClientGone => CLIENT_ROW + 4 * U32,
            Word::Reply => self.server_row(),
            Word::ReplyLength => self.server_row() + U32,
            Word::ServerCpu => self.server_row() + 2 * U32,
            Word::ReplyStatus => self.server_row() + 3 * U32,
            Word::ServerClosed => self.server_row() + 4 * U32,
        }
    }

    fn server_row(self) -> usize {
        (REQUEST_BYTES + self.request).next_multiple_of(ROW)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Word; 15] = [
        Word::Version,
        Word::RequestCapacity,
        Word::ReplyCapacity,
        Word::Lock(0),
        Word::Lock(1),
        Word::Request,
        Word::RequestLength,
        Word::ClientCpu,
        Word::ClientPriority,
        Word::ClientGone,
        Word::Reply,
        Word::ReplyLength,
        Word::ServerCpu,
        Word::ReplyStatus,
        Word::ServerClosed,
    ];

    #[test]
    fn the_layout_is_the_documented_one() {
        let geometry = Geometry::new(16, 16).unwrap();
        assert_eq!(geometry.position(Word::Lock(0)), 0x80);
        assert_eq!(geometry.position(Word::Lock(1)), 0x100);
        assert_eq!(geometry.position(Word::Request), 0x180);
        assert_eq!(geometry.position(Word::Reply), 0x200);
        assert_eq!(geometry.length(), 4096);
    }

    #[test]
    fn locks_alternate_with_the_number_of_the_call() {
        let geometry = Geometry::new(0, 0).unwrap();
        assert_eq!(geometry.position(Word::Lock(u32::MAX)), geometry.position(Word::Lock(1)));
        assert_eq!(geometry.position(Word::Lock(42)), geometry.position(Word::Lock(0)));
    }

    #[test]
    fn a_capacity_has_a_limit() {
        assert!(Geometry::new(MAX_CAPACITY, MAX_CAPACITY).is_ok());
        let error = Geometry::new(0, MAX_CAPACITY + 1).unwrap_err().to_string();
        assert_eq!(error, "the reply capacity is 16777217; it must be 0 to 16777216");
    }

    proptest! {
        #[test]
        fn nothing_overlaps(request in 0..=MAX_CAPACITY, reply in 0..=MAX_CAPACITY) {
            let geometry = Geometry::new(request, reply).unwrap();
            let mut taken: Vec<(usize, usize)> =
                ALL.iter().map(|word| (geometry.position(*word), 4)).collect();
            taken.push((0, 8));
            taken.push((REQUEST_BYTES, request));
            taken.push((geometry.reply_bytes(), reply));
            taken.sort_unstable();
            for pair in taken.windows(2) {
                prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0);
            }
            let (last, length) = taken[taken.len() - 1];
            prop_assert!(last + length <= geometry.length());
            prop_assert!(ALL.iter().all(|word| geometry.position(*word).is_multiple_of(4)));
            prop_assert_eq!(REQUEST_BYTES % 8, 0);
            prop_assert_eq!(geometry.reply_bytes() % 8, 0);
        }
    }
}
