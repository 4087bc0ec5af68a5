//! A ring of messages with one writer and one reader, neither of which ever
//! waits for the other.
//!
//! `head` counts the messages written and `tail` those read; both only grow,
//! and a message's slot is its number modulo the slots. The writer alone
//! stores `head`, after the slot is filled; the reader alone stores `tail`,
//! after the slot is copied. Each side's release store pairs with the other
//! side's acquire load of the same word. A peer that writes a wrong value into
//! its word gets wrong messages; every access stays inside the memory.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use unjank_host::memory::SharedRegion;

use crate::layout::{CONTROL, HEAD, SLOTS, Sizes, TAIL};

/// One ring in shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Ring<'a> {
    region: &'a SharedRegion,
    start: usize,
    slots: u64,
    slot: usize,
    message: usize,
}

impl<'a> Ring<'a> {
    /// The ring from a task to Java.
    pub fn to_java(region: &'a SharedRegion, sizes: Sizes) -> Self {
        Self::new(region, sizes, CONTROL, sizes.slots_out)
    }

    /// The ring from Java to a task.
    pub fn from_java(region: &'a SharedRegion, sizes: Sizes) -> Self {
        Self::new(region, sizes, sizes.ring_in(), sizes.slots_in)
    }

    fn new(region: &'a SharedRegion, sizes: Sizes, start: usize, slots: usize) -> Self {
        Self { region, start, slots: slots as u64, slot: sizes.slot(), message: sizes.message }
    }

    /// Writes a message; false if the ring is full.
    ///
    /// # Panics
    /// If it is longer than the longest message.
    #[inline]
    pub fn send(&self, message: &[u8]) -> bool {
        assert!(message.len() <= self.message, "a message of {} bytes", message.len());
        let (head, tail) = (self.word(HEAD), self.word(TAIL));
        let next = head.load(Relaxed);
        // Pairs with the release in the reader's `receive`: the slot is free.
        if next.wrapping_sub(tail.load(Acquire)) >= self.slots {
            return false;
        }
        let slot = self.slot(next);
        self.region.word(slot).store(message.len() as u64, Relaxed);
        self.region.write(slot + 8, message);
        // Pairs with the acquire in the reader's `receive`: the slot is filled.
        head.store(next.wrapping_add(1), Release);
        true
    }

    /// Copies the oldest message to `buffer` and returns its length; `None` if
    /// there is none. A message that does not fit is truncated.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        let (head, tail) = (self.word(HEAD), self.word(TAIL));
        let next = tail.load(Relaxed);
        // Pairs with the release in the writer's `send`: the slot is filled.
        if head.load(Acquire) == next {
            return None;
        }
        let slot = self.slot(next);
        let length = usize::try_from(self.region.word(slot).load(Relaxed)).unwrap_or(usize::MAX);
        let length = length.min(self.message).min(buffer.len());
        self.region.read(slot + 8, &mut buffer[..length]);
        // Pairs with the acquire in the writer's `send`: the slot is free.
        tail.store(next.wrapping_add(1), Release);
        Some(length)
    }

    fn word(&self, offset: usize) -> &std::sync::atomic::AtomicU64 {
        self.region.word(self.start + offset)
    }

    fn slot(&self, number: u64) -> usize {
        self.start + SLOTS + (number % self.slots) as usize * self.slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { slots_out: 4, slots_in: 2, message: 12 };

    #[test]
    fn messages_come_out_in_order_and_a_full_ring_refuses() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        let ring = Ring::to_java(&region, SIZES);
        let mut buffer = [0; 12];
        for round in 0..10_u8 {
            assert_eq!(ring.receive(&mut buffer), None);
            for n in 0..4 {
                assert!(ring.send(&[round, n]));
            }
            assert!(!ring.send(b"full"));
            for n in 0..4 {
                assert_eq!(ring.receive(&mut buffer), Some(2));
                assert_eq!(buffer[..2], [round, n]);
            }
        }
    }

    #[test]
    fn two_threads_exchange_each_message_once() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let ring = Ring::from_java(&region, SIZES);
                for number in 0..100_000_u64 {
                    while !ring.send(&number.to_le_bytes()) {
                        std::thread::yield_now();
                    }
                }
            });
            let ring = Ring::from_java(&region, SIZES);
            let mut buffer = [0; 8];
            for number in 0..100_000_u64 {
                while ring.receive(&mut buffer).is_none() {
                    std::thread::yield_now();
                }
                assert_eq!(u64::from_le_bytes(buffer), number);
            }
        });
    }

    #[test]
    fn a_wrong_length_from_the_peer_is_bounded() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        let ring = Ring::to_java(&region, SIZES);
        assert!(ring.send(b"hello"));
        region.word(CONTROL + SLOTS).store(u64::MAX, Relaxed);
        assert_eq!(ring.receive(&mut [0; 64]), Some(12));
    }
}
