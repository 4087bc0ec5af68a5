//! The context manager of a device, if it has none.

use std::sync::Arc;

use unjank_binder::{
    Client, Error as BinderError, KernelDriver, NodeFlags, Registry, Server, registry,
};
use unjank_host::process::Helper;
use unjank_host::{Error, Nanos, Result, Timestamp};

use super::{device, failed};
use crate::transport::{PeerCommand, Role, Transport};

/// Time from the end of one that was too early to the start of the next.
const UNTIL_THE_NEXT: Nanos = Nanos::from_millis(20);

/// Who is the context manager of a device.
pub(crate) enum Manager {
    /// A process that was started for it, and ends with this value. The
    /// process may have found that another one of this program was quicker.
    Own { _process: Helper },
    /// Another process of this program.
    OfThisProgram,
    /// Somebody else's process.
    Foreign,
}

impl Manager {
    /// Finds the context manager of a device, or starts one, which may take as
    /// long as it lives.
    pub(crate) fn find_or_start(transport: Transport, peer: &PeerCommand) -> Result<Self> {
        let failed = |error| failed(transport, error);
        let driver = KernelDriver::open(device(transport)).map_err(failed)?;
        let mut client = Client::new(Arc::new(driver));
        let mut own: Option<Helper> = None;
        loop {
            // Asked first: one that fails has had its chance to be known.
            let ended = own.as_mut().and_then(Helper::ended);
            match Self::known(&mut client) {
                Ok(Self::OfThisProgram) => {
                    return Ok(
                        own.map_or(Self::OfThisProgram, |process| Self::Own { _process: process })
                    );
                }
                Ok(found) => return Ok(found),
                Err(BinderError::NoContextManager { .. })
                    if ended.is_none_or(|status| status.success()) => {}
                Err(error) => return Err(failed(error)),
            }
            // A manager that has just ended does not answer any more, but the
            // kernel may not have given away its place yet: ours has ended then.
            if ended.is_some() {
                (Timestamp::now() + UNTIL_THE_NEXT).sleep_until();
            }
            if own.is_none() || ended.is_some() {
                own = Some(Helper::start(&mut peer.to_start(&Role::KeepRegistry(transport)))?);
            }
            (Timestamp::now() + Nanos::from_millis(1)).sleep_until();
        }
    }

    /// A registry knows what it is asked; `servicemanager` refuses the code.
    fn known(client: &mut Client) -> Result<Self, BinderError> {
        client.ping()?;
        match registry::look_up(client, 0) {
            Ok(_) => Ok(Self::OfThisProgram),
            Err(error @ BinderError::NoContextManager { .. }) => Err(error),
            Err(_) => Ok(Self::Foreign),
        }
    }

    /// Whether it is somebody else's, with which nothing can be registered.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign)
    }
}

/// The manager's process. Ends when the one that started it does: the kernel
/// then kills it.
pub(in crate::transport) fn keep_registry(transport: Transport) -> Result<()> {
    if !transport.is_binder() {
        return Err(Error::Invalid(format!("{transport} has no context manager")));
    }
    let failed = |error| failed(transport, error);
    let driver = Arc::new(KernelDriver::open(device(transport)).map_err(failed)?);
    match Server::become_context_manager(driver, NodeFlags::NONE) {
        Ok(mut server) => Registry::new().serve(&mut server).map(|_served| ()).map_err(failed),
        // Another process was quicker, and will do.
        Err(BinderError::ContextManagerTaken { .. }) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}
