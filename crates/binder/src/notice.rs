//! Notices of the driver, which come besides calls and replies.

use std::io;

use crate::command::Commands;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::reply::Return;

/// A notice to a server. The driver sends it to any one of the serving threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// No other process has a reference to the object of this name any more.
    Released(u64),
    /// The object that is watched under this cookie is dead.
    Died(u64),
    /// The object that was watched under this cookie no longer is.
    Unwatched(u64),
}

/// Handles a return that is neither call nor reply, and acknowledges it if the
/// driver needs that.
pub(crate) fn note(
    exchange: &mut Exchange,
    notice: Return,
    during: &'static str,
) -> Result<Option<Notice>> {
    match notice {
        Return::IncRefs(_) | Return::Acquire(_) | Return::FrozenBinder(_) => {
            acknowledge(exchange, notice).map(|()| None)
        }
        Return::DeadBinder(cookie) => {
            acknowledge(exchange, notice).map(|()| Some(Notice::Died(cookie)))
        }
        Return::ClearDeathNotificationDone(cookie) => Ok(Some(Notice::Unwatched(cookie))),
        Return::Release(object) => Ok(Some(Notice::Released(object.ptr))),
        // A pool has handled SpawnLooper already. Elsewhere it does not come,
        // because the driver may not ask for threads.
        Return::Noop
        | Return::Ok
        | Return::TransactionComplete
        | Return::SpawnLooper
        | Return::DecRefs(_)
        | Return::ClearFreezeNotificationDone(_)
        | Return::OnewaySpamSuspect
        | Return::TransactionPendingFrozen => Ok(None),
        Return::Error(errno) => {
            let source = io::Error::from_raw_os_error(errno.saturating_abs());
            Err(exchange.request("BINDER_WRITE_READ (BR_ERROR)", source))
        }
        Return::Transaction(_)
        | Return::TransactionWithContext(_)
        | Return::Reply(_)
        | Return::AcquireResult(_)
        | Return::AttemptAcquire(_)
        | Return::Finished
        | Return::DeadReply
        | Return::FailedReply
        | Return::FrozenReply => Err(exchange.unexpected(during, notice.name())),
    }
}

/// Sends the acknowledgement at once: it is rare, and does not belong to the commands
/// of a call.
fn acknowledge(exchange: &mut Exchange, notice: Return) -> Result<()> {
    let mut scratch = Vec::new();
    let mut commands = Commands::new(&mut scratch);
    match notice {
        Return::IncRefs(object) => commands.increfs_done(object),
        Return::Acquire(object) => commands.acquire_done(object),
        Return::DeadBinder(cookie) => commands.dead_binder_done(cookie),
        Return::FrozenBinder(info) => commands.freeze_notification_done(info.cookie),
        _ => {}
    }
    exchange.send(&mut commands, notice.name())
}
