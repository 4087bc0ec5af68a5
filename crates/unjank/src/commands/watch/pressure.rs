//! Waits for the kernel's reports of pressure, in a thread of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Context as _, Result};
use unjank_host::pressure_trigger::{PressureTrigger, wait_for_any};
use unjank_host::wait::WakeEvent;
use unjank_host::{Nanos, Root};
use unjank_watch::pressure::{Resource, register};

use super::args::ServiceArgs;
use crate::output;

/// Pressure that the kernel reports.
pub(super) struct Pressure {
    fired: Receiver<Resource>,
    /// Readable after a report.
    pub(super) wake: Arc<WakeEvent>,
}

impl Pressure {
    /// Registers the triggers, and waits for them in a thread of its own, which sleeps until one
    /// fires.
    pub(super) fn listen(
        args: &ServiceArgs,
        root: &Root,
        missing: &mut Vec<String>,
    ) -> Result<Self> {
        let wake = Arc::new(WakeEvent::new()?);
        let (sender, fired) = channel();
        let limits = [args.cpu_pressure, args.memory_pressure, args.io_pressure];
        let (mut triggers, mut resources) = (Vec::new(), Vec::new());
        for (resource, limit) in Resource::ALL.into_iter().zip(limits) {
            if limit == Nanos::ZERO {
                continue;
            }
            match register(root, resource, limit) {
                Ok(trigger) => {
                    triggers.push(trigger);
                    resources.push(resource);
                }
                Err(error) => missing.push(format!("{} pressure: {error}", resource.name())),
            }
        }
        if !triggers.is_empty() {
            let wake = Arc::clone(&wake);
            thread::Builder::new()
                .name("pressure".to_owned())
                .spawn(move || report_pressure(&triggers, &resources, &sender, &wake))
                .context("while starting a thread")?;
        }
        Ok(Self { fired, wake })
    }

    /// The resources whose pressure was reported since the last call, each once.
    pub(super) fn reported(&self) -> BTreeSet<Resource> {
        self.wake.reset();
        self.fired.try_iter().collect()
    }
}

fn report_pressure(
    triggers: &[PressureTrigger],
    resources: &[Resource],
    sender: &Sender<Resource>,
    wake: &WakeEvent,
) {
    loop {
        let fired = match wait_for_any(triggers) {
            Ok(fired) => fired,
            Err(error) => {
                output::remark(&format!("pressure is no longer watched: {error}"));
                return;
            }
        };
        let resources = resources.iter().zip(fired).filter(|(_, fired)| *fired);
        for (&resource, _) in resources {
            if sender.send(resource).is_err() {
                return;
            }
        }
        wake.send();
    }
}
