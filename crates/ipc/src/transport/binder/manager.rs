//! Finds the context manager of a device, or starts one.

use std::sync::Arc;

use unjank_binder::{
    Client, Error as BinderError, KernelDriver, NodeFlags, Registry, Server, registry,
};
use unjank_host::process::{Helper, HelperCommand};
use unjank_host::{Error, Nanos, Result, Timestamp};

use super::{device, failed};
use crate::transport::{Role, Transport};

/// Time from the end of a manager that was started too early to the next start.
const UNTIL_THE_NEXT: Nanos = Nanos::from_millis(20);

/// The context manager of a device.
pub(crate) enum Manager {
    /// A process started by this one, which ends with this value. Another process
    /// of unjank may have become the context manager first.
    Own { _process: Helper },
    /// Another process of unjank.
    OfThisProgram,
    /// A process of another program, such as `servicemanager`.
    Foreign,
}

impl Manager {
    /// Finds the context manager of a device, or starts one and waits until it
    /// answers or has ended.
    pub(crate) fn find_or_start(transport: Transport, peer: &HelperCommand) -> Result<Self> {
        let failed = |error| failed(transport, error);
        let driver = KernelDriver::open(device(transport)).map_err(failed)?;
        let mut client = Client::new(Arc::new(driver));
        let mut own: Option<Helper> = None;
        loop {
            // Checked first: the manager may have answered before it ended.
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
            // The kernel may still hold the place of another manager that has just
            // ended; ours has ended because of that.
            if ended.is_some() {
                (Timestamp::now() + UNTIL_THE_NEXT).sleep_until();
            }
            if own.is_none() || ended.is_some() {
                own = Some(Helper::start(&mut peer.with_task(&Role::KeepRegistry(transport))?)?);
            }
            (Timestamp::now() + Nanos::from_millis(1)).sleep_until();
        }
    }

    /// unjank's registry answers a look-up; `servicemanager` refuses its code.
    fn known(client: &mut Client) -> Result<Self, BinderError> {
        client.ping()?;
        match registry::look_up(client, 0) {
            Ok(_) => Ok(Self::OfThisProgram),
            Err(error @ BinderError::NoContextManager { .. }) => Err(error),
            Err(_) => Ok(Self::Foreign),
        }
    }

    /// Whether it belongs to another program, so nothing can be registered.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign)
    }
}

/// Runs the context manager. The kernel kills this process when its parent ends.
pub(in crate::transport) fn keep_registry(transport: Transport) -> Result<()> {
    if !transport.is_binder() {
        return Err(Error::Invalid(format!("{transport} has no context manager")));
    }
    let failed = |error| failed(transport, error);
    let driver = Arc::new(KernelDriver::open(device(transport)).map_err(failed)?);
    match Server::become_context_manager(driver, NodeFlags::NONE) {
        Ok(mut server) => Registry::new().serve(&mut server).map(|_served| ()).map_err(failed),
        // Another process was first and does the same.
        Err(BinderError::ContextManagerTaken { .. }) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}
