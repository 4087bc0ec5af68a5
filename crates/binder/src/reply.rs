//! Returns from the driver, checked byte by byte.

use crate::error::Malformed;
use crate::protocol::{
    BR_ACQUIRE, BR_ACQUIRE_RESULT, BR_ATTEMPT_ACQUIRE, BR_CLEAR_DEATH_NOTIFICATION_DONE,
    BR_CLEAR_FREEZE_NOTIFICATION_DONE, BR_DEAD_BINDER, BR_DEAD_REPLY, BR_DECREFS, BR_ERROR,
    BR_FAILED_REPLY, BR_FINISHED, BR_FROZEN_BINDER, BR_FROZEN_REPLY, BR_INCREFS, BR_NOOP, BR_OK,
    BR_ONEWAY_SPAM_SUSPECT, BR_RELEASE, BR_REPLY, BR_SPAWN_LOOPER, BR_TRANSACTION,
    BR_TRANSACTION_COMPLETE, BR_TRANSACTION_PENDING_FROZEN, BR_TRANSACTION_SEC_CTX,
    FrozenStateInfo, Layout, PriPtrCookie, PtrCookie, TransactionData,
};

macro_rules! returns {
    ($($(#[$doc:meta])* $name:ident $(($payload:ty))? = $code:ident;)*) => {
        /// One return code of the protocol with its data.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Return {
            $($(#[$doc])* $name $(($payload))?,)*
        }

        impl Return {
            /// Takes the next return from the front of `bytes`.
            ///
            /// # Errors
            /// An unknown code, or a known one whose data ends too early. The next
            /// return cannot be found after that.
            pub fn take(bytes: &mut &[u8]) -> Result<Self, Malformed> {
                let left = bytes.len();
                let code = u32::take(bytes).ok_or(Malformed::Code { left })?;
                match code {
                    $($code => Ok(Self::$name $((
                        <$payload>::take(bytes)
                            .ok_or(Malformed::Truncated { name: stringify!($code), left })?
                    ))?),)*
                    unknown => Err(Malformed::Unknown { code: unknown }),
                }
            }

            /// The code's name in the protocol.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => stringify!($code),)*
                }
            }

            /// Every code and its name, for tests.
            #[cfg(test)]
            pub(crate) const ALL: &[(u32, &str, usize)] = &[
                $(($code, stringify!($code), 0 $(+ size_of::<$payload>())?),)*
            ];
        }
    };
}

returns! {
    /// The driver failed with this `errno`.
    Error(i32) = BR_ERROR;
    /// No error.
    Ok = BR_OK;
    /// A call to serve.
    Transaction(TransactionData) = BR_TRANSACTION;
    /// A call to serve, and the address of the caller's security context.
    TransactionWithContext((TransactionData, u64)) = BR_TRANSACTION_SEC_CTX;
    /// The reply to this thread's call.
    Reply(TransactionData) = BR_REPLY;
    /// No kernel sends it any more.
    AcquireResult(i32) = BR_ACQUIRE_RESULT;
    /// The object of this thread's call is gone.
    DeadReply = BR_DEAD_REPLY;
    /// This thread's call or reply is on its way.
    TransactionComplete = BR_TRANSACTION_COMPLETE;
    /// A weak reference to a local object was taken.
    IncRefs(PtrCookie) = BR_INCREFS;
    /// A strong reference to a local object was taken.
    Acquire(PtrCookie) = BR_ACQUIRE;
    /// The last strong reference to a local object is gone.
    Release(PtrCookie) = BR_RELEASE;
    /// The last weak reference to a local object is gone.
    DecRefs(PtrCookie) = BR_DECREFS;
    /// No kernel sends it any more.
    AttemptAcquire(PriPtrCookie) = BR_ATTEMPT_ACQUIRE;
    /// Nothing.
    Noop = BR_NOOP;
    /// All threads that serve are busy.
    SpawnLooper = BR_SPAWN_LOOPER;
    /// No kernel sends it any more.
    Finished = BR_FINISHED;
    /// The remote object with this cookie is dead.
    DeadBinder(u64) = BR_DEAD_BINDER;
    /// Notice of the death with this cookie is no longer asked for.
    ClearDeathNotificationDone(u64) = BR_CLEAR_DEATH_NOTIFICATION_DONE;
    /// This thread's call failed.
    FailedReply = BR_FAILED_REPLY;
    /// The process of the object is frozen and takes no calls.
    FrozenReply = BR_FROZEN_REPLY;
    /// This process has sent suspiciously many one-way calls.
    OnewaySpamSuspect = BR_ONEWAY_SPAM_SUSPECT;
    /// The process of the object is frozen; the one-way call waits.
    TransactionPendingFrozen = BR_TRANSACTION_PENDING_FROZEN;
    /// A process was frozen or thawed.
    FrozenBinder(FrozenStateInfo) = BR_FROZEN_BINDER;
    /// Notice of the freezing with this cookie is no longer asked for.
    ClearFreezeNotificationDone(u64) = BR_CLEAR_FREEZE_NOTIFICATION_DONE;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(code: u32, payload: usize) -> Vec<u8> {
        let mut bytes = code.to_ne_bytes().to_vec();
        bytes.extend((0..payload).map(|n| n as u8));
        bytes
    }

    #[test]
    fn every_code_is_known_by_its_name() {
        assert_eq!(Return::ALL.len(), 24);
        for &(code, name, payload) in Return::ALL {
            let bytes = [bytes_of(code, payload), vec![0xAA; 5]].concat();
            let mut rest = &bytes[..];
            assert_eq!(Return::take(&mut rest).unwrap().name(), name);
            assert_eq!(rest, [0xAA; 5], "{name} takes its own bytes and no more");
        }
    }

    #[test]
    fn each_code_has_its_number_and_size() {
        for &(code, name, payload) in Return::ALL {
            assert_eq!((code >> 16 & 0x1FFF) as usize, payload, "{name}");
            assert_eq!(code >> 8 & 0xFF, u32::from(b'r'), "{name}");
        }
        let mut numbers: Vec<_> = Return::ALL.iter().map(|(code, ..)| code & 0xFF).collect();
        // Two codes, with and without a security context, share the number 2.
        numbers.dedup();
        assert_eq!(numbers, (0..=22).collect::<Vec<_>>());
    }

    #[test]
    fn every_code_that_ends_early_is_an_error() {
        for &(code, name, payload) in Return::ALL {
            for length in 4..4 + payload {
                let bytes = &bytes_of(code, payload)[..length];
                let error = Return::take(&mut &bytes[..]).unwrap_err();
                assert_eq!(error, Malformed::Truncated { name, left: length });
            }
        }
        for left in 0..4 {
            let error = Return::take(&mut &[0; 4][..left]).unwrap_err();
            assert_eq!(error, Malformed::Code { left });
        }
    }

    #[test]
    fn an_unknown_code_is_an_error_with_its_number() {
        let error = Return::take(&mut &0xDEAD_BEEF_u32.to_ne_bytes()[..]).unwrap_err();
        assert_eq!(error, Malformed::Unknown { code: 0xDEAD_BEEF });
        assert!(error.to_string().contains("0xdeadbeef"), "{error}");
    }

    #[test]
    fn the_fields_of_a_transaction_are_in_the_headers_order() {
        let mut bytes = bytes_of(BR_TRANSACTION, 0);
        for word in [1_u64, 2, 3 | 4 << 32, 5 | 6 << 32, 7, 8, 9, 10] {
            bytes.extend(word.to_le_bytes());
        }
        if cfg!(target_endian = "big") {
            return;
        }
        assert_eq!(
            Return::take(&mut &bytes[..]).unwrap(),
            Return::Transaction(TransactionData {
                target: 1,
                cookie: 2,
                code: 3,
                flags: 4,
                sender_pid: 5,
                sender_euid: 6,
                data_size: 7,
                offsets_size: 8,
                buffer: 9,
                offsets: 10,
            })
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_read_on(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let before = rest;
                if Return::take(&mut rest).is_err() {
                    break;
                }
                prop_assert!(rest.len() < before.len() && before.ends_with(rest));
            }
        }

        #[test]
        fn a_sequence_of_returns_is_split_correctly(
            picks in prop::collection::vec((0..Return::ALL.len(), any::<u8>()), 0..20)
        ) {
            let bytes: Vec<u8> = picks
                .iter()
                .flat_map(|&(pick, fill)| {
                    let (code, _, payload) = Return::ALL[pick];
                    [code.to_ne_bytes().to_vec(), vec![fill; payload]].concat()
                })
                .collect();
            let mut rest = &bytes[..];
            for (pick, _) in picks {
                prop_assert_eq!(Return::take(&mut rest).unwrap().name(), Return::ALL[pick].1);
            }
            prop_assert!(rest.is_empty());
        }
    }
}
