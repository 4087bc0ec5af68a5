//! The guest side: `unjank lab init`, the init process and only program of the
//! virtual phone.

mod command;
mod host;
mod interrupt;
mod machine;

use std::fs;
use std::path::Path;

use unjank_host::{Error as HostError, Root, process::init};
use unjank_measure::Store;
use unjank_measure::store::{Filter, Selector};

use crate::channel::{End, Frame, LONGEST};
use crate::error::Result;
use crate::order::{self, Order};
use host::Host;
use interrupt::Interrupt;

/// The default store of unjank in the guest.
const STORE: &str = "/root/.local/share/unjank/runs.sqlite";

/// Boots the phone, runs the commands of the order, and reports to the host;
/// then waits for the host to end the phone. `build` is this build of unjank,
/// if known.
///
/// # Errors
/// Errors appear on the console only. The machine must end when this returns.
pub fn run(build: Option<String>) -> Result<()> {
    if !init::is_first() {
        return Err(HostError::Invalid(
            "`unjank lab init` only runs as init of a virtual phone: see `unjank lab run`"
                .to_owned(),
        )
        .into());
    }
    machine::mount_all()?;
    let host = Host::connect(&Root::system())?;
    let order = read_order()?;
    let complaints = machine::load(&order.modules);
    let root = Root::system();
    machine::enable_memory_control(&root);
    let complaints = complaints.into_iter().chain(machine::bring_up_cpus(&root)?);
    for complaint in complaints.chain(machine::tune(&root, &order.tunables)) {
        host.send(&Frame::Remark(complaint))?;
    }
    if order.disk
        && let Err(error) = machine::mount_disk()
    {
        host.send(&Frame::Remark(format!("there is no /data: {error}")))?;
    }
    let interrupt = Interrupt::listen(&Root::system())?;
    host.send(&Frame::Greeting(build))?;
    let mut sent = Vec::new();
    for command in &order.commands {
        let end = command::run(command, &order.labels, &host, &interrupt)?;
        send_records(&host, &mut sent)?;
        host.send(&Frame::Ended(end))?;
        if end != End::Code(0) || interrupt.arrived() {
            break;
        }
    }
    host.send(&Frame::Done)?;
    machine::wait_for_the_end();
    Ok(())
}

fn read_order() -> Result<Order> {
    let text = fs::read_to_string(order::PATH)
        .map_err(|error| HostError::file("read", order::PATH, error))?;
    Ok(serde_json::from_str(&text)
        .map_err(|error| HostError::parse(order::PATH, error.line(), error.to_string()))?)
}

/// Sends the runs that are new in the store, the oldest first.
fn send_records(host: &Host, sent: &mut Vec<String>) -> Result<()> {
    let store = Store::open(Path::new(STORE))?;
    let entries = store.list(&Filter::default())?;
    for entry in
        entries.into_iter().rev().filter(|entry| !sent.contains(&entry.id)).collect::<Vec<_>>()
    {
        let Ok(selector) = entry.id.parse::<Selector>();
        match store.text(&selector) {
            Ok((_, text)) if text.len() <= LONGEST => host.send(&Frame::Record(text))?,
            Ok((id, _)) => {
                host.send(&Frame::Remark(format!("run {id} is too large to be sent to the host")))?;
            }
            Err(error) => host.send(&Frame::Remark(error.to_string()))?,
        }
        sent.push(entry.id);
    }
    Ok(())
}
