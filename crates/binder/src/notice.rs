//! Notices: what the driver tells a thread besides the calls and replies that
//! it waits for.

use std::io;

use crate::command::Commands;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::reply::Return;

/// Takes note of a return that is no call and no reply, and acknowledges it
/// if the driver wants that.
pub(crate) fn note(exchange: &mut Exchange, notice: Return, during: &'static str) -> Result<()> {
    match notice {
        Return::IncRefs(_)
        | Return::Acquire(_)
        | Return::DeadBinder(_)
        | Return::FrozenBinder(_) => acknowledge(exchange, notice),
        // SpawnLooper does not come: the driver may ask for no more threads.
        Return::Noop
        | Return::Ok
        | Return::TransactionComplete
        | Return::SpawnLooper
        | Return::Release(_)
        | Return::DecRefs(_)
        | Return::ClearDeathNotificationDone(_)
        | Return::ClearFreezeNotificationDone(_)
        | Return::OnewaySpamSuspect
        | Return::TransactionPendingFrozen => Ok(()),
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

/// Sends the acknowledgement at once: it comes seldom, and has no place in the
/// commands of a call.
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
