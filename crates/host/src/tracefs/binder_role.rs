//! The part that a transaction of binder has in a call.

/// The part that a transaction of binder has in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BinderRole {
    /// A call whose caller waits for a reply.
    #[default]
    Call,
    /// A call without a reply.
    OneWay,
    /// The reply to a call.
    Reply,
}

impl BinderRole {
    /// `TF_ONE_WAY` of `include/uapi/linux/android/binder.h`.
    const ONE_WAY: u64 = 0x01;

    /// The role by the fields `reply` and `flags`.
    pub(in crate::tracefs) fn of(reply: u64, flags: u64) -> Self {
        if reply != 0 {
            Self::Reply
        } else if flags & Self::ONE_WAY != 0 {
            Self::OneWay
        } else {
            Self::Call
        }
    }

    /// The fields `reply` and `flags`: the inverse of `of`.
    pub fn fields(self) -> [u64; 2] {
        match self {
            Self::Call => [0, 0],
            Self::OneWay => [0, Self::ONE_WAY],
            Self::Reply => [1, 0],
        }
    }
}
