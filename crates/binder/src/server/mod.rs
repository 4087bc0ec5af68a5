//! Serves calls to the objects of this process.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::looper::{Entry, LoopContext, Looper};
use crate::notice::Notice;
use crate::payload::Payload;
use crate::pool::Pool;
use crate::protocol::{FlatObject, NodeFlags, TYPE_BINDER};
use crate::request::{Answer, Request, Served};
use crate::stop::Stopper;

#[cfg(test)]
mod tests;

/// Serves calls to the objects of this process: the device's context manager, or
/// [`Object`](crate::Object)s that it has sent to others in a [`Payload`].
///
/// A device keeps its context manager until the last owner of the driver is gone.
/// Calls that no thread serves wait until then.
#[derive(Debug)]
pub struct Server {
    driver: Arc<dyn Driver>,
    looper: Looper,
    flags: NodeFlags,
    stopper: Stopper,
    notices: Notices,
}

/// The listener for notices.
struct Notices(Box<dyn Fn(Notice) + Send + Sync>);

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}

impl Server {
    /// Makes this process the device's context manager: the object with the name 0,
    /// behind [`Handle::CONTEXT_MANAGER`](crate::Handle::CONTEXT_MANAGER). `flags`
    /// need the request `BINDER_SET_CONTEXT_MGR_EXT`; [`flags`](Self::flags) shows
    /// whether this kernel has it.
    ///
    /// # Errors
    /// [`Error::ContextManagerTaken`] if there is one, [`Error::Permission`] if a
    /// security module forbids it, or another user was the context manager before.
    pub fn become_context_manager(driver: Arc<dyn Driver>, flags: NodeFlags) -> Result<Self> {
        let flags = take_handle_0(driver.as_ref(), flags)?;
        Ok(Self { flags, ..Self::new(driver) })
    }

    /// A server of objects that this process offers to others, and a receiver
    /// of [`Notice`]s.
    pub fn new(driver: Arc<dyn Driver>) -> Self {
        Self {
            looper: Looper::new(Arc::clone(&driver)),
            flags: NodeFlags::NONE,
            stopper: Stopper::new(Arc::clone(&driver)),
            driver,
            notices: Notices(Box::new(|_| {})),
        }
    }

    /// The flags that the driver took for the context manager: all or none.
    pub fn flags(&self) -> NodeFlags {
        self.flags
    }

    /// A stopper, which ends [`serve`](Self::serve) from another thread. Every later
    /// [`serve`](Self::serve) ends at once.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Passes every [`Notice`] to `listener`, between calls, on the thread that
    /// received it.
    pub fn on_notice(&mut self, listener: impl Fn(Notice) + Send + Sync + 'static) {
        self.notices = Notices(Box::new(listener));
    }

    /// Serves calls on this thread, one after the other, until the handler answers
    /// [`Answer::ReplyAndStop`] or a [`Stopper`] is used. The handler gets the call
    /// and an empty payload for the reply, whose memory is reused.
    /// [`PING`](crate::protocol::PING) is answered without the handler.
    ///
    /// # Errors
    /// The driver failed or violated the protocol. The server cannot be used again.
    pub fn serve(
        &mut self,
        handler: impl FnMut(&Request<'_>, &mut Payload) -> Answer,
    ) -> Result<Served> {
        self.allow_threads(0)?;
        let context = LoopContext {
            stopper: &self.stopper,
            halt: &AtomicBool::new(false),
            notices: &self.notices.0,
            spawn: &|| {},
        };
        self.looper.run(Entry::Enter, &context, handler)
    }

    /// As [`serve`](Self::serve), on up to `threads` threads, and at least on this
    /// one. Others are started when the driver finds all of them busy. All end when
    /// one of them has a reason to, and their calls are counted together.
    ///
    /// The driver never forgets a thread that it was given, so it asks for each only
    /// once in the life of an open device.
    ///
    /// # Errors
    /// As [`serve`](Self::serve), from the thread that failed first.
    ///
    /// # Panics
    /// If the handler does, after all threads have ended.
    pub fn serve_threads(
        &mut self,
        threads: u32,
        handler: impl Fn(&Request<'_>, &mut Payload) -> Answer + Sync,
    ) -> Result<Served> {
        self.allow_threads(threads.saturating_sub(1))?;
        Pool::new(&self.driver, &self.stopper, &self.notices.0, handler).run(&mut self.looper)
    }

    fn allow_threads(&self, threads: u32) -> Result<()> {
        self.driver.set_max_threads(threads).map_err(|source| Error::Request {
            device: self.driver.device().to_owned(),
            request: "BINDER_SET_MAX_THREADS",
            source,
        })
    }
}

/// Takes handle 0, with flags if the kernel allows them. Returns the flags it took.
fn take_handle_0(driver: &dyn Driver, flags: NodeFlags) -> Result<NodeFlags> {
    const WITH_FLAGS: &str = "BINDER_SET_CONTEXT_MGR_EXT";
    const WITHOUT: &str = "BINDER_SET_CONTEXT_MGR";
    let object = FlatObject { kind: TYPE_BINDER, flags: flags.0, ..FlatObject::default() };
    let (request, outcome) = match driver.set_context_manager_object(&object) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            (WITHOUT, driver.set_context_manager().map(|()| NodeFlags::NONE))
        }
        outcome => (WITH_FLAGS, outcome.map(|()| flags)),
    };
    outcome.map_err(|source| {
        let device = driver.device().to_owned();
        match source.raw_os_error() {
            Some(libc::EBUSY) => Error::ContextManagerTaken { device, request },
            _ if source.kind() == io::ErrorKind::PermissionDenied => {
                Error::Permission { device, request }
            }
            _ => Error::Request { device, request, source },
        }
    })
}
