//! The buffer size of a trace on each CPU.

use crate::root::Root;
use crate::sched::CpuSet;
use unjank_units::Bytes;

/// The limit for the buffers of all CPUs together. The kernel allocates a
/// buffer for every CPU, also for those that are not traced.
const ALL: Bytes = Bytes::from_mib(256);
/// The smallest buffer of a CPU, even if all together then exceed [`ALL`].
const SMALLEST: Bytes = Bytes::from_mib(1);

/// The buffer size for each CPU: `most`, or less on a machine with so many CPUs
/// that all buffers together would exceed 256 MiB, but at least 1 MiB.
pub fn buffer_per_cpu(root: &Root, most: Bytes) -> Bytes {
    share(online_cpus(root), most)
}

/// The number of CPUs that are online; 1 if it is not known.
pub fn online_cpus(root: &Root) -> u64 {
    let online = root.read_if_there("/sys/devices/system/cpu/online").ok().flatten();
    online.and_then(|list| list.parse::<CpuSet>().ok()).map_or(1, |cpus| cpus.len() as u64)
}

fn share(cpus: u64, most: Bytes) -> Bytes {
    Bytes(ALL.get() / cpus.max(1)).clamp(SMALLEST, most.max(SMALLEST))
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
