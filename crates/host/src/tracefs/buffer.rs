//! How much room a trace may take on each CPU.

use crate::root::Root;
use crate::sched::CpuSet;
use unjank_units::Bytes;

/// Room on all CPUs of a large machine together: the kernel gives every CPU
/// its buffer, traced or not, and takes none of it back before the end.
const ALL: Bytes = Bytes::from_mib(256);
/// The least for each CPU.
const SMALLEST: Bytes = Bytes::from_mib(1);

/// Room for the events of each CPU: `most`, or less where the machine has so
/// many CPUs that all buffers together would take too much.
pub fn buffer_per_cpu(root: &Root, most: Bytes) -> Bytes {
    let online = root.read_if_there("/sys/devices/system/cpu/online").ok().flatten();
    let online = online.and_then(|list| list.parse::<CpuSet>().ok());
    share(online.map_or(1, |cpus| cpus.len()), most)
}

fn share(cpus: usize, most: Bytes) -> Bytes {
    Bytes(ALL.get() / cpus.max(1) as u64).clamp(SMALLEST, most.max(SMALLEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_machines_have_smaller_buffers() {
        let most = Bytes::from_mib(8);
        let sizes = [0, 2, 32, 128, 4096].map(|cpus| share(cpus, most).get() >> 20);
        assert_eq!(sizes, [8, 8, 8, 2, 1]);
    }
}
