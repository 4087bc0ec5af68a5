//! The calls that the peers of the exercise answer.

/// Replies with the payload.
pub(crate) const ECHO: u32 = 1;
/// Replies with the name of the object.
pub(crate) const WHO: u32 = 2;
/// Replies with the payload's buffers, reversed.
pub(crate) const REVERSE: u32 = 3;
/// Counts.
pub(crate) const ADD: u32 = 4;
/// Replies with the count.
pub(crate) const COUNT: u32 = 5;
/// Sleeps for some milliseconds.
pub(crate) const SLEEP: u32 = 6;
/// Writes into the file in the payload.
pub(crate) const WRITE: u32 = 7;
/// Replies with a file.
pub(crate) const OPEN: u32 = 8;
/// Keeps a reference to the object in the payload.
pub(crate) const HOLD: u32 = 9;
/// Drops it.
pub(crate) const DROP: u32 = 10;
/// Calls it, and replies with what came of it.
pub(crate) const CALL_BACK: u32 = 11;
/// Waits until all threads of the pool serve this call.
pub(crate) const MEET: u32 = 12;
/// Replies with so many bytes.
pub(crate) const FILL: u32 = 13;
/// Ends the peer.
pub(crate) const STOP: u32 = 14;

/// Threads of the pool.
pub(crate) const CROWD: u32 = 4;
/// What is written into a file.
pub(crate) const WRITTEN: &[u8] = b"written by the peer";
/// What a peer's second object has on top of its first one's number.
pub(crate) const SECOND: u64 = 1000;

/// The number at the front of a payload.
pub(crate) fn number(payload: &[u8]) -> u64 {
    payload.first_chunk().map_or(0, |number| u64::from_ne_bytes(*number))
}
