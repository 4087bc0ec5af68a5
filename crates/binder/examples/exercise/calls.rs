//! The codes of the calls that the servers of the exercise answer.

/// Replies with the payload.
pub(crate) const ECHO: u32 = 1;
/// Replies with the name of the object.
pub(crate) const OBJECT_NAME: u32 = 2;
/// Replies with the payload's buffers, reversed.
pub(crate) const REVERSE: u32 = 3;
/// Increments a counter.
pub(crate) const ADD: u32 = 4;
/// Replies with the counter.
pub(crate) const COUNT: u32 = 5;
/// Sleeps for as many milliseconds as the payload says.
pub(crate) const SLEEP: u32 = 6;
/// Writes into the file in the payload.
pub(crate) const WRITE: u32 = 7;
/// Replies with a file.
pub(crate) const OPEN: u32 = 8;
/// Keeps a reference to the object in the payload.
pub(crate) const HOLD: u32 = 9;
/// Drops that reference.
pub(crate) const DROP: u32 = 10;
/// Calls the object, and replies with the reply or the error.
pub(crate) const CALL_BACK: u32 = 11;
/// Waits until all threads of the pool serve this call.
pub(crate) const MEET: u32 = 12;
/// Replies with as many bytes as the payload says.
pub(crate) const FILL: u32 = 13;
/// Ends the server.
pub(crate) const STOP: u32 = 14;

/// Threads of the pool.
pub(crate) const POOL_THREADS: u32 = 4;
/// Bytes that `WRITE` writes into a file.
pub(crate) const WRITTEN: &[u8] = b"written by the peer";
/// The number of a server's second object, minus that of its first.
pub(crate) const SECOND_OBJECT: u64 = 1000;

/// The number at the front of a payload.
pub(crate) fn number(payload: &[u8]) -> u64 {
    payload.first_chunk().map_or(0, |number| u64::from_ne_bytes(*number))
}
