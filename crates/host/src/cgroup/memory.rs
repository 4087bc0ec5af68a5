//! A control group with limited memory for a program and its descendants.

use std::process::Command;

use crate::cgroup::ControlGroup;
use crate::error::{Error, Result};
use crate::journal::Session;
use crate::root::Root;
use crate::support::Support;
use unjank_units::Bytes;

/// A control group with a memory limit. Dropping it kills its members and
/// removes it. It is in the session's journal, in case this process is killed.
#[derive(Debug)]
pub struct MemoryGroup(ControlGroup);

impl MemoryGroup {
    /// Makes a group with the limit; `No` without a memory controller.
    ///
    /// # Errors
    /// As [`Session::make_directory`]; a limit that the kernel refuses.
    pub fn make(session: &Session, root: &Root, limit: Bytes) -> Result<Support<Self>> {
        let group = match ControlGroup::make(session, root, "memory")? {
            Support::Yes(group) => group,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let group = Self(group);
        group.set_limit(limit)?;
        Ok(Support::Yes(group))
    }

    /// Changes the limit.
    ///
    /// # Errors
    /// A limit that the kernel refuses: `EBUSY` if more is in use that cannot be evicted.
    pub fn set_limit(&self, limit: Bytes) -> Result<()> {
        let file = if self.0.version() == 1 { "memory.limit_in_bytes" } else { "memory.max" };
        self.0.write(file, &limit.get().to_string())
    }

    /// Sets how much rather the kernel swaps than drops files, as `vm.swappiness`. In version 2,
    /// where groups have no value of their own, nothing is done.
    ///
    /// # Errors
    /// A value that the kernel refuses.
    pub fn set_swappiness(&self, value: u32) -> Result<()> {
        match self.0.version() {
            1 => self.0.write("memory.swappiness", &value.to_string()),
            _ => Ok(()),
        }
    }

    /// The anonymous memory of its members that is not in swap.
    ///
    /// # Errors
    /// As [`counters`](Self::counters).
    pub fn anonymous(&self) -> Result<Bytes> {
        let name = if self.0.version() == 1 { "rss" } else { "anon" };
        let counters = self.counters()?;
        let found = counters.into_iter().find(|(counter, _)| counter == name);
        Ok(Bytes(found.map_or(0, |(_, value)| value)))
    }

    /// Makes `command` run in the group, from its first instruction.
    ///
    /// # Errors
    /// `File` if the group cannot be entered.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        self.0.enter(command)
    }

    /// The counters of `memory.stat`, by name.
    ///
    /// # Errors
    /// `File` if it cannot be read; `Parse` names the line.
    pub fn counters(&self) -> Result<Vec<(String, u64)>> {
        let text = self.0.read("memory.stat")?;
        let counter = |(number, line): (usize, &str)| {
            let pair = line
                .split_once(' ')
                .and_then(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)));
            pair.ok_or_else(|| {
                let path = self.0.file("memory.stat");
                Error::parse(path, number + 1, "expected a counter's name and its value")
            })
        };
        text.lines().enumerate().map(counter).collect()
    }
}
