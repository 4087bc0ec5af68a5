//! The context manager of a device, if it has none.

use std::sync::Arc;

use unjank_binder::{
    Client, Error as BinderError, KernelDriver, NodeFlags, Registry, Server, registry,
};
use unjank_host::process::Helper;
use unjank_host::{Error, Nanos, Result, Timestamp};

use super::{device, failed};
use crate::transport::{PeerCommand, Role, Transport};

/// Time for the manager to become it.
const PATIENCE: Nanos = Nanos::from_millis(2_000);

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
    /// Finds the context manager of a device, or starts one.
    pub(crate) fn find_or_start(transport: Transport, peer: &PeerCommand) -> Result<Self> {
        let failed = |error| failed(transport, error);
        let driver = KernelDriver::open(device(transport)).map_err(failed)?;
        let mut client = Client::new(Arc::new(driver));
        match client.ping() {
            Ok(()) => return Ok(Self::known(&mut client)),
            Err(BinderError::NoContextManager { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        let mut process = Helper::start(&mut peer.to_start(&Role::KeepRegistry(transport)))?;
        let give_up = Timestamp::now() + PATIENCE;
        loop {
            match client.ping() {
                Ok(()) => return Ok(Self::Own { _process: process }),
                Err(BinderError::NoContextManager { .. })
                    if process.is_alive() && Timestamp::now() < give_up =>
                {
                    (Timestamp::now() + Nanos::from_millis(1)).sleep_until();
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// A registry knows what it is asked; `servicemanager` refuses the code.
    fn known(client: &mut Client) -> Self {
        match registry::look_up(client, 0) {
            Ok(_) => Self::OfThisProgram,
            Err(_) => Self::Foreign,
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
