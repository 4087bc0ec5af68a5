//! Bounds for reading a recording from a file.

use unjank_units::Bytes;

use super::fault::Fault;

/// The largest file that is read.
pub const MOST_BYTES: Bytes = Bytes::from_mib(1024);
/// The largest number of events; each takes 24 to 88 bytes of memory.
pub const MOST_EVENTS: usize = 20_000_000;
/// The highest number of a CPU: `CONFIG_NR_CPUS` is at most 8192.
pub(super) const HIGHEST_CPU: usize = 8191;
/// The largest sum of all decompressed parts, in bytes.
const MOST_UNPACKED: usize = 2 << 30;

/// The amount that may still be read.
#[derive(Debug)]
pub(super) struct Budget {
    events: usize,
    unpacked: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { events: MOST_EVENTS, unpacked: MOST_UNPACKED }
    }
}

impl Budget {
    /// A budget of few decompressed bytes.
    #[cfg(test)]
    pub(super) fn with_unpacked(bytes: usize) -> Self {
        Self { unpacked: bytes, ..Self::default() }
    }

    /// Takes events from the budget; an error if they exceed it.
    pub(super) fn spend_events(&mut self, number: usize) -> Result<(), Fault> {
        let rest = self.events.checked_sub(number);
        self.events = rest.ok_or_else(|| {
            Fault::of_file(format!(
                "it has more than {MOST_EVENTS} events; cut a part out of it with trace-cmd split"
            ))
        })?;
        Ok(())
    }

    /// Takes decompressed bytes from the budget; an error if they exceed it.
    pub(super) fn spend_unpacked(&mut self, number: usize) -> Result<(), Fault> {
        let rest = self.unpacked.checked_sub(number);
        self.unpacked = rest.ok_or_else(|| {
            Fault::of_file(format!("its decompressed parts have more than {MOST_UNPACKED} bytes"))
        })?;
        Ok(())
    }
}
