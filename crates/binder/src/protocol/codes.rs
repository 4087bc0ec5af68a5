//! Numbers of the driver's requests, commands and returns.

use rustix::ioctl::{Direction, opcode};

use super::{FrozenStateInfo, PriPtrCookie, PtrCookie, TransactionData};

/// The requests that go through `ioctl(2)`.
pub(crate) mod request {
    use rustix::ioctl::{Opcode, opcode};

    use crate::protocol::{ExtendedError, FlatObject, Version, WriteRead};

    pub(crate) const WRITE_READ: Opcode = opcode::read_write::<WriteRead>(b'b', 1);
    pub(crate) const SET_MAX_THREADS: Opcode = opcode::write::<u32>(b'b', 5);
    pub(crate) const SET_CONTEXT_MGR: Opcode = opcode::write::<i32>(b'b', 7);
    pub(crate) const THREAD_EXIT: Opcode = opcode::write::<i32>(b'b', 8);
    pub(crate) const VERSION: Opcode = opcode::read_write::<Version>(b'b', 9);
    pub(crate) const SET_CONTEXT_MGR_EXT: Opcode = opcode::write::<FlatObject>(b'b', 13);
    pub(crate) const ONEWAY_SPAM_DETECTION: Opcode = opcode::write::<u32>(b'b', 16);
    pub(crate) const GET_EXTENDED_ERROR: Opcode = opcode::read_write::<ExtendedError>(b'b', 17);
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $code as u32;)*
    };
}

codes! {
    /// Calls an object: [`TransactionData`].
    BC_TRANSACTION = opcode::write::<TransactionData>(b'c', 0);
    /// Replies to the call this thread is serving: [`TransactionData`].
    BC_REPLY = opcode::write::<TransactionData>(b'c', 1);
    /// Gives a received payload back to the driver: its address.
    BC_FREE_BUFFER = opcode::write::<u64>(b'c', 3);
    /// Takes a weak reference to a remote object: its handle.
    BC_INCREFS = opcode::write::<u32>(b'c', 4);
    /// Takes a strong reference to a remote object: its handle.
    BC_ACQUIRE = opcode::write::<u32>(b'c', 5);
    /// Drops a strong reference to a remote object: its handle.
    BC_RELEASE = opcode::write::<u32>(b'c', 6);
    /// Drops a weak reference to a remote object: its handle.
    BC_DECREFS = opcode::write::<u32>(b'c', 7);
    /// Answers [`BR_INCREFS`]: [`PtrCookie`].
    BC_INCREFS_DONE = opcode::write::<PtrCookie>(b'c', 8);
    /// Answers [`BR_ACQUIRE`]: [`PtrCookie`].
    BC_ACQUIRE_DONE = opcode::write::<PtrCookie>(b'c', 9);
    /// This thread begins to serve calls, as [`BR_SPAWN_LOOPER`] asked.
    BC_REGISTER_LOOPER = opcode::none(b'c', 11);
    /// This thread begins to serve calls.
    BC_ENTER_LOOPER = opcode::none(b'c', 12);
    /// This thread stops serving calls.
    BC_EXIT_LOOPER = opcode::none(b'c', 13);
    /// Asks for notice of a remote object's death: its handle and a cookie.
    BC_REQUEST_DEATH_NOTIFICATION = opcode::from_components(Direction::Write, b'c', 14, 12);
    /// Clears that request: the handle and the cookie.
    BC_CLEAR_DEATH_NOTIFICATION = opcode::from_components(Direction::Write, b'c', 15, 12);
    /// Answers [`BR_DEAD_BINDER`]: the cookie.
    BC_DEAD_BINDER_DONE = opcode::write::<u64>(b'c', 16);
    /// Calls an object with buffers besides the payload: [`TransactionData`] and the
    /// size of all buffers, each rounded up to 8 bytes.
    BC_TRANSACTION_SG = opcode::from_components(Direction::Write, b'c', 17, 72);
    /// Replies with buffers besides the payload: the same two.
    BC_REPLY_SG = opcode::from_components(Direction::Write, b'c', 18, 72);
    /// Answers [`BR_FROZEN_BINDER`]: the cookie.
    BC_FREEZE_NOTIFICATION_DONE = opcode::write::<u64>(b'c', 21);
}

codes! {
    /// The driver failed: an `errno`.
    BR_ERROR = opcode::read::<i32>(b'r', 0);
    /// No error.
    BR_OK = opcode::none(b'r', 1);
    /// A call to serve: [`TransactionData`].
    BR_TRANSACTION = opcode::read::<TransactionData>(b'r', 2);
    /// A call to serve, with the address of the caller's security context.
    BR_TRANSACTION_SEC_CTX = opcode::from_components(Direction::Read, b'r', 2, 72);
    /// The reply to this thread's call: [`TransactionData`].
    BR_REPLY = opcode::read::<TransactionData>(b'r', 3);
    /// No kernel sends it any more.
    BR_ACQUIRE_RESULT = opcode::read::<i32>(b'r', 4);
    /// The object of this thread's call is gone.
    BR_DEAD_REPLY = opcode::none(b'r', 5);
    /// This thread's call or reply is on its way.
    BR_TRANSACTION_COMPLETE = opcode::none(b'r', 6);
    /// A weak reference to a local object was taken: [`PtrCookie`].
    BR_INCREFS = opcode::read::<PtrCookie>(b'r', 7);
    /// A strong reference to a local object was taken: [`PtrCookie`].
    BR_ACQUIRE = opcode::read::<PtrCookie>(b'r', 8);
    /// The last strong reference to a local object is gone: [`PtrCookie`].
    BR_RELEASE = opcode::read::<PtrCookie>(b'r', 9);
    /// The last weak reference to a local object is gone: [`PtrCookie`].
    BR_DECREFS = opcode::read::<PtrCookie>(b'r', 10);
    /// No kernel sends it any more: [`PriPtrCookie`].
    BR_ATTEMPT_ACQUIRE = opcode::read::<PriPtrCookie>(b'r', 11);
    /// Nothing.
    BR_NOOP = opcode::none(b'r', 12);
    /// All threads that serve are busy: start another.
    BR_SPAWN_LOOPER = opcode::none(b'r', 13);
    /// No kernel sends it any more.
    BR_FINISHED = opcode::none(b'r', 14);
    /// A remote object whose death was asked for is dead: the cookie.
    BR_DEAD_BINDER = opcode::read::<u64>(b'r', 15);
    /// Notice of a death is no longer asked for: the cookie.
    BR_CLEAR_DEATH_NOTIFICATION_DONE = opcode::read::<u64>(b'r', 16);
    /// This thread's call failed.
    BR_FAILED_REPLY = opcode::none(b'r', 17);
    /// The process of the object is frozen and takes no calls.
    BR_FROZEN_REPLY = opcode::none(b'r', 18);
    /// This process has sent suspiciously many one-way calls.
    BR_ONEWAY_SPAM_SUSPECT = opcode::none(b'r', 19);
    /// The process of the object is frozen; the one-way call waits.
    BR_TRANSACTION_PENDING_FROZEN = opcode::none(b'r', 20);
    /// A process was frozen or thawed: [`FrozenStateInfo`].
    BR_FROZEN_BINDER = opcode::read::<FrozenStateInfo>(b'r', 21);
    /// Notice of freezing is no longer asked for: the cookie.
    BR_CLEAR_FREEZE_NOTIFICATION_DONE = opcode::read::<u64>(b'r', 22);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{PING, TYPE_BINDER, TYPE_FD, TYPE_HANDLE, TYPE_PTR};

    /// As a C compiler computes them from the header on x86-64; return codes
    /// are covered by their size and number in `reply`.
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn numbers_are_those_of_the_header() {
        assert_eq!(
            [
                request::WRITE_READ,
                request::SET_MAX_THREADS,
                request::SET_CONTEXT_MGR,
                request::THREAD_EXIT,
                request::VERSION,
                request::SET_CONTEXT_MGR_EXT,
                request::ONEWAY_SPAM_DETECTION,
                request::GET_EXTENDED_ERROR,
            ],
            [
                0xC030_6201,
                0x4004_6205,
                0x4004_6207,
                0x4004_6208,
                0xC004_6209,
                0x4018_620D,
                0x4004_6210,
                0xC00C_6211,
            ]
        );
        assert_eq!(
            [BC_TRANSACTION, BC_REPLY, BC_FREE_BUFFER, BC_INCREFS_DONE, BC_ACQUIRE_DONE],
            [0x4040_6300, 0x4040_6301, 0x4008_6303, 0x4010_6308, 0x4010_6309]
        );
        assert_eq!(
            [BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_DEAD_BINDER_DONE],
            [0x630C, 0x630D, 0x4008_6310]
        );
        assert_eq!(
            [BC_INCREFS, BC_ACQUIRE, BC_RELEASE, BC_DECREFS, BC_REGISTER_LOOPER],
            [0x4004_6304, 0x4004_6305, 0x4004_6306, 0x4004_6307, 0x630B]
        );
        assert_eq!(
            [BC_REQUEST_DEATH_NOTIFICATION, BC_CLEAR_DEATH_NOTIFICATION],
            [0x400C_630E, 0x400C_630F]
        );
        assert_eq!([BC_TRANSACTION_SG, BC_REPLY_SG], [0x4048_6311, 0x4048_6312]);
        assert_eq!([BR_TRANSACTION, BR_TRANSACTION_SEC_CTX], [0x8040_7202, 0x8048_7202]);
        assert_eq!([BR_ATTEMPT_ACQUIRE, BR_DEAD_BINDER], [0x8018_720B, 0x8008_720F]);
        assert_eq!([BR_DEAD_REPLY, BR_FAILED_REPLY], [0x7205, 0x7211]);
        assert_eq!([TYPE_BINDER, TYPE_HANDLE, PING], [0x7362_2A85, 0x7368_2A85, 0x5F50_4E47]);
        assert_eq!([TYPE_FD, TYPE_PTR], [0x6664_2A85, 0x7074_2A85]);
    }
}
