//! Commands to the driver.

use std::marker::PhantomData;

use crate::exchange::Delivery;
use crate::mapping::Mapping;
use crate::payload::Body;
use crate::protocol::{
    BC_ACQUIRE, BC_ACQUIRE_DONE, BC_CLEAR_DEATH_NOTIFICATION, BC_DEAD_BINDER_DONE, BC_DECREFS,
    BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_FREE_BUFFER, BC_FREEZE_NOTIFICATION_DONE, BC_INCREFS,
    BC_INCREFS_DONE, BC_REGISTER_LOOPER, BC_RELEASE, BC_REPLY, BC_REPLY_SG,
    BC_REQUEST_DEATH_NOTIFICATION, BC_TRANSACTION, BC_TRANSACTION_SG, Handle, Layout, PtrCookie,
    TF_STATUS_CODE, TransactionData,
};

/// Bytes of the commands of one transfer: a payload given back and a call.
pub(crate) const COMMANDS: usize = 256;

/// A queue of commands in memory that is reused.
///
/// It borrows every payload that it points to, and consumes every delivery that it
/// gives back. So at the time of the transfer all payloads are alive, and none that
/// is given back is still being read.
#[derive(Debug)]
pub struct Commands<'a> {
    bytes: &'a mut Vec<u8>,
    sent: usize,
    payloads: PhantomData<&'a [u8]>,
}

impl<'a> Commands<'a> {
    /// No commands yet, in the memory of `scratch`.
    pub fn new(scratch: &'a mut Vec<u8>) -> Self {
        scratch.clear();
        Self { bytes: scratch, sent: 0, payloads: PhantomData }
    }

    /// Calls the object `target`.
    pub fn call(&mut self, target: Handle, code: u32, flags: u32, body: impl Into<Body<'a>>) {
        let target = TransactionData::target_of(target);
        self.transaction([BC_TRANSACTION, BC_TRANSACTION_SG], code, flags, target, body.into());
    }

    /// Replies to the call that this thread is serving.
    pub fn reply(&mut self, body: impl Into<Body<'a>>) {
        self.transaction([BC_REPLY, BC_REPLY_SG], 0, 0, 0, body.into());
    }

    /// Replies with a bare status.
    pub fn reply_status(&mut self, status: &'a [u8; 4]) {
        self.transaction([BC_REPLY, BC_REPLY_SG], 0, TF_STATUS_CODE, 0, status.into());
    }

    /// Uses the second command if there are buffers.
    fn transaction(
        &mut self,
        [plain, with_buffers]: [u32; 2],
        code: u32,
        flags: u32,
        target: u64,
        body: Body<'a>,
    ) {
        let data = TransactionData {
            target,
            code,
            flags,
            data_size: body.bytes.len() as u64,
            offsets_size: size_of_val(body.offsets) as u64,
            buffer: body.bytes.as_ptr() as u64,
            offsets: if body.offsets.is_empty() { 0 } else { body.offsets.as_ptr() as u64 },
            ..TransactionData::default()
        };
        match body.buffers {
            None => {
                plain.put(self.bytes);
                data.put(self.bytes);
            }
            Some(room) => {
                with_buffers.put(self.bytes);
                (data, room).put(self.bytes);
            }
        }
    }

    /// Gives a received payload back.
    pub(crate) fn free(&mut self, delivery: Delivery, mapping: &Mapping) {
        BC_FREE_BUFFER.put(self.bytes);
        delivery.into_address(mapping).put(self.bytes);
    }

    /// Takes a weak reference to a remote object.
    pub fn increfs(&mut self, handle: Handle) {
        BC_INCREFS.put(self.bytes);
        handle.0.put(self.bytes);
    }

    /// Takes a strong reference to a remote object.
    pub fn acquire(&mut self, handle: Handle) {
        BC_ACQUIRE.put(self.bytes);
        handle.0.put(self.bytes);
    }

    /// Drops a strong reference to a remote object.
    pub fn release(&mut self, handle: Handle) {
        BC_RELEASE.put(self.bytes);
        handle.0.put(self.bytes);
    }

    /// Drops a weak reference to a remote object.
    pub fn decrefs(&mut self, handle: Handle) {
        BC_DECREFS.put(self.bytes);
        handle.0.put(self.bytes);
    }

    /// Asks for notice of a remote object's death.
    pub fn request_death_notification(&mut self, handle: Handle, cookie: u64) {
        BC_REQUEST_DEATH_NOTIFICATION.put(self.bytes);
        handle.0.put(self.bytes);
        cookie.put(self.bytes);
    }

    /// Clears the request for notice of a remote object's death.
    pub fn clear_death_notification(&mut self, handle: Handle, cookie: u64) {
        BC_CLEAR_DEATH_NOTIFICATION.put(self.bytes);
        handle.0.put(self.bytes);
        cookie.put(self.bytes);
    }

    /// This thread begins to serve calls, as the driver asked.
    pub fn register_looper(&mut self) {
        BC_REGISTER_LOOPER.put(self.bytes);
    }

    /// This thread begins to serve calls.
    pub fn enter_looper(&mut self) {
        BC_ENTER_LOOPER.put(self.bytes);
    }

    /// This thread stops serving calls.
    pub fn exit_looper(&mut self) {
        BC_EXIT_LOOPER.put(self.bytes);
    }

    /// Acknowledges a weak reference to an own object.
    pub fn increfs_done(&mut self, object: PtrCookie) {
        BC_INCREFS_DONE.put(self.bytes);
        object.put(self.bytes);
    }

    /// Acknowledges a strong reference to an own object.
    pub fn acquire_done(&mut self, object: PtrCookie) {
        BC_ACQUIRE_DONE.put(self.bytes);
        object.put(self.bytes);
    }

    /// Acknowledges the notice of a death.
    pub fn dead_binder_done(&mut self, cookie: u64) {
        BC_DEAD_BINDER_DONE.put(self.bytes);
        cookie.put(self.bytes);
    }

    /// Acknowledges the notice of a freeze.
    pub fn freeze_notification_done(&mut self, cookie: u64) {
        BC_FREEZE_NOTIFICATION_DONE.put(self.bytes);
        cookie.put(self.bytes);
    }

    /// The bytes that the driver has not taken yet.
    pub fn unsent(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    /// Notes that the driver has taken another `bytes` bytes.
    pub(crate) fn mark_sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Gather;

    fn words(bytes: &[u8]) -> Vec<u32> {
        assert_eq!(bytes.len() % 4, 0);
        bytes.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_call_is_a_code_and_64_bytes() {
        let payload = [1, 2, 3];
        let mut scratch = Vec::new();
        let mut commands = Commands::new(&mut scratch);
        commands.call(Handle(7), 42, 1, &payload);
        let words = words(commands.unsent());
        let address = payload.as_ptr().addr() as u64;
        assert_eq!(words[..11], [BC_TRANSACTION, 7, 0, 0, 0, 42, 1, 0, 0, 3, 0]);
        assert_eq!(words[11..13], [0, 0], "no objects");
        assert_eq!(words[13..15], [address as u32, (address >> 32) as u32]);
        assert_eq!(words[15..], [0, 0]);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_call_with_buffers_has_their_total_size() {
        let mut gather = Gather::default();
        let mut scratch = Vec::new();
        let mut commands = Commands::new(&mut scratch);
        commands.call(Handle(7), 42, 0, gather.gather(&[&[1; 3], &[2; 9]]));
        let words = words(commands.unsent());
        assert_eq!((words[0], words.len()), (BC_TRANSACTION_SG, 19));
        assert_eq!(words[9..13], [80, 0, 16, 0], "two entries, two offsets");
        assert_eq!(words[17..], [24, 0]);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn references_and_deaths_are_named_by_their_handle() {
        let mut scratch = Vec::new();
        let mut commands = Commands::new(&mut scratch);
        commands.increfs(Handle(1));
        commands.acquire(Handle(2));
        commands.release(Handle(3));
        commands.decrefs(Handle(4));
        commands.request_death_notification(Handle(5), 6);
        commands.clear_death_notification(Handle(7), 8 << 32);
        commands.register_looper();
        let expected = [
            &[BC_INCREFS, 1, BC_ACQUIRE, 2, BC_RELEASE, 3, BC_DECREFS, 4][..],
            &[BC_REQUEST_DEATH_NOTIFICATION, 5, 6, 0],
            &[BC_CLEAR_DEATH_NOTIFICATION, 7, 0, 8],
            &[BC_REGISTER_LOOPER],
        ];
        assert_eq!(words(commands.unsent()), expected.concat());
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn notices_are_answered_with_their_words() {
        let object = PtrCookie { ptr: 0x1_0000_0002, cookie: 3 };
        let mut scratch = Vec::new();
        let mut commands = Commands::new(&mut scratch);
        commands.enter_looper();
        commands.increfs_done(object);
        commands.acquire_done(object);
        commands.dead_binder_done(4);
        commands.freeze_notification_done(5);
        commands.exit_looper();
        let expected = [
            &[BC_ENTER_LOOPER][..],
            &[BC_INCREFS_DONE, 2, 1, 3, 0],
            &[BC_ACQUIRE_DONE, 2, 1, 3, 0],
            &[BC_DEAD_BINDER_DONE, 4, 0],
            &[BC_FREEZE_NOTIFICATION_DONE, 5, 0],
            &[BC_EXIT_LOOPER],
        ];
        assert_eq!(words(commands.unsent()), expected.concat());
    }

    #[test]
    fn what_the_driver_took_is_not_sent_again() {
        let mut scratch = vec![9; 3];
        let mut commands = Commands::new(&mut scratch);
        commands.enter_looper();
        commands.exit_looper();
        commands.mark_sent(4);
        assert_eq!(commands.unsent(), BC_EXIT_LOOPER.to_ne_bytes());
        commands.mark_sent(usize::MAX);
        assert_eq!(commands.unsent(), [0_u8; 0]);
    }
}
