//! The guest's side: `unjank lab init`, the first and only program of the
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

/// The store of what is measured here, where unjank looks for it by itself.
const STORE: &str = "/root/.local/share/unjank/runs.sqlite";

/// Boots the phone, runs what it was ordered to, and tells the host; then
/// waits for the host to end it. `build` says which unjank this is, if that is
/// known.
///
/// # Errors
/// Nobody hears of errors but the console: when this returns, the machine must
/// end.
pub fn run(build: Option<String>) -> Result<()> {
    if !init::is_first() {
        return Err(HostError::Invalid(
            "`unjank lab init` is the first process of a virtual phone: see `unjank lab run`"
                .to_owned(),
        )
        .into());
    }
    machine::mount_all()?;
    let host = Host::connect(&Root::system())?;
    let order = read_order()?;
    let complaints = machine::load(&order.modules);
    let root = Root::system();
    machine::share_out_memory(&root);
    let complaints = complaints.into_iter().chain(machine::bring_up_cpus(&root)?);
    for complaint in complaints.chain(machine::tune(&root, &order.tunables)) {
        host.tell(&Frame::Remark(complaint))?;
    }
    let interrupt = Interrupt::listen(&Root::system())?;
    host.tell(&Frame::Greeting(build))?;
    let mut told = Vec::new();
    for command in &order.commands {
        let end = command::run(command, &order.labels, &host, &interrupt)?;
        tell_records(&host, &mut told)?;
        host.tell(&Frame::Ended(end))?;
        if end != End::Code(0) || interrupt.has_come() {
            break;
        }
    }
    host.tell(&Frame::Done)?;
    machine::wait_for_the_end();
    Ok(())
}

fn read_order() -> Result<Order> {
    let text = fs::read_to_string(order::PATH)
        .map_err(|error| HostError::file("read", order::PATH, error))?;
    Ok(serde_json::from_str(&text)
        .map_err(|error| HostError::parse(order::PATH, error.line(), error.to_string()))?)
}

/// Tells of the runs that are new in the store, the oldest first.
fn tell_records(host: &Host, told: &mut Vec<String>) -> Result<()> {
    let store = Store::open(Path::new(STORE))?;
    let entries = store.list(&Filter::default())?;
    for entry in
        entries.into_iter().rev().filter(|entry| !told.contains(&entry.id)).collect::<Vec<_>>()
    {
        let Ok(selector) = entry.id.parse::<Selector>();
        match store.text(&selector) {
            Ok((_, text)) if text.len() <= LONGEST => host.tell(&Frame::Record(text))?,
            Ok((id, _)) => {
                host.tell(&Frame::Remark(format!("run {id} is too large to be brought back")))?;
            }
            Err(error) => host.tell(&Frame::Remark(error.to_string()))?,
        }
        told.push(entry.id);
    }
    Ok(())
}
