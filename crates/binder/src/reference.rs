//! References to objects of other processes.

use std::sync::Arc;

use crate::command::Commands;
use crate::driver::Driver;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::protocol::Handle;

/// A strong reference to an object of another process. While it exists, the handle is
/// valid and the other process keeps the object.
#[derive(Debug)]
pub struct Reference {
    driver: Arc<dyn Driver>,
    handle: Handle,
}

impl Reference {
    /// Takes another reference to an object that this process knows: from a payload
    /// that is not given back yet, or from another reference. The driver does not
    /// report an invalid handle; calls to it fail.
    ///
    /// # Errors
    /// The kernel's.
    pub fn acquire(driver: &Arc<dyn Driver>, handle: Handle) -> Result<Self> {
        send(driver, "BC_ACQUIRE", |commands| {
            commands.increfs(handle);
            commands.acquire(handle);
        })?;
        Ok(Self { driver: Arc::clone(driver), handle })
    }

    /// This process's number for the object.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Asks for a notice when the object's process dies, or if it is dead already:
    /// [`Notice::Died`](crate::Notice::Died) with this cookie, to a
    /// [`Server`](crate::Server) of this process. An object is watched only once at a
    /// time, until it is [`unwatch`](Self::unwatch)ed or its last reference is dropped.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch(&self, cookie: u64) -> Result<()> {
        self.send("BC_REQUEST_DEATH_NOTIFICATION", |commands| {
            commands.request_death_notification(self.handle, cookie);
        })
    }

    /// Clears the request of [`watch`](Self::watch) with this cookie.
    /// [`Notice::Unwatched`](crate::Notice::Unwatched) follows, except on a serving
    /// thread that waits for a reply to its own call first: its client drops the
    /// notice.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unwatch(&self, cookie: u64) -> Result<()> {
        self.send("BC_CLEAR_DEATH_NOTIFICATION", |commands| {
            commands.clear_death_notification(self.handle, cookie);
        })
    }

    fn send(&self, name: &'static str, put: impl FnOnce(&mut Commands<'_>)) -> Result<()> {
        send(&self.driver, name, put)
    }
}

fn send(
    driver: &Arc<dyn Driver>,
    name: &'static str,
    put: impl FnOnce(&mut Commands<'_>),
) -> Result<()> {
    let mut scratch = Vec::new();
    let mut commands = Commands::new(&mut scratch);
    put(&mut commands);
    Exchange::new(Arc::clone(driver)).send(&mut commands, name)
}

impl From<&Reference> for Handle {
    fn from(reference: &Reference) -> Self {
        reference.handle
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // If this fails, the driver drops all references itself.
        let _released = self.send("BC_RELEASE", |commands| {
            commands.release(self.handle);
            commands.decrefs(self.handle);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{
        BC_ACQUIRE, BC_CLEAR_DEATH_NOTIFICATION, BC_DECREFS, BC_INCREFS, BC_RELEASE,
        BC_REQUEST_DEATH_NOTIFICATION, Layout,
    };
    use crate::scripted::{Bytes, Scripted, Step};

    #[test]
    fn a_reference_is_watched_under_a_cookie() {
        let death = |code: u32| {
            let mut bytes: Vec<u8> = Bytes::default().with(code, &6_u32).into();
            77_u64.put(&mut bytes);
            Step::sends(bytes)
        };
        let scripted = Arc::new(Scripted::new([
            Step::sends(Bytes::default().with(BC_INCREFS, &6_u32).with(BC_ACQUIRE, &6_u32)),
            death(BC_REQUEST_DEATH_NOTIFICATION),
            death(BC_CLEAR_DEATH_NOTIFICATION),
            Step::sends(Bytes::default().with(BC_RELEASE, &6_u32).with(BC_DECREFS, &6_u32)),
        ]));
        let driver = Arc::clone(&scripted) as Arc<dyn Driver>;
        let reference = Reference::acquire(&driver, Handle(6)).unwrap();
        reference.watch(77).unwrap();
        reference.unwatch(77).unwrap();
        drop(reference);
        assert_eq!(scripted.left(), 0);
    }

    #[test]
    fn a_reference_that_the_kernel_refuses_is_an_error() {
        let driver = Arc::new(Scripted::new([Step::whatever(Vec::new()).fails(libc::EBADF)]));
        let driver: Arc<dyn Driver> = driver;
        let error = Reference::acquire(&driver, Handle(6)).unwrap_err().to_string();
        assert!(error.starts_with("BINDER_WRITE_READ on /dev/scripted: "), "{error}");
    }
}
