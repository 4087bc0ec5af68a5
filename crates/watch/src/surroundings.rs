//! What the machine was short of when an incident was explained.

use unjank_host::machine::{FrequencyPolicy, Memory, Pressure};
use unjank_units::Bytes;

/// What it was and how much, in words.
pub(crate) type Row = (&'static str, String);

/// Pressure in the last 10 s, as the kernel counts it.
pub(crate) fn pressure(pressure: &Pressure) -> Row {
    let Pressure { cpu, memory, io } = pressure;
    let share = |stall: f64| format!("{stall:.0} %");
    let text = format!(
        "for a CPU {}, for memory {}, for I/O {}",
        share(cpu.some_avg10),
        share(memory.some_avg10),
        share(io.some_avg10)
    );
    ("tasks waited in the last 10 s", text)
}

/// Memory, swap and compressed swap, as far as there is any.
pub(crate) fn memory(memory: &Memory) -> Vec<Row> {
    let mut rows = Vec::new();
    if memory.total > Bytes(0) {
        rows.push(("free memory", format!("{} of {}", memory.available, memory.total)));
    }
    let sum = |part: fn(&unjank_host::machine::SwapDevice) -> Bytes| {
        Bytes(memory.swap.iter().map(|device| part(device).get()).sum())
    };
    let (used, size) = (sum(|device| device.used), sum(|device| device.size));
    if size > Bytes(0) {
        rows.push(("swap in use", format!("{used} of {size}")));
    }
    rows.extend(memory.zram.iter().map(|zram| {
        let text = format!("{} of {}, in {} of memory", zram.original, zram.size, zram.memory);
        ("zram in use", text)
    }));
    rows
}

/// Clocks that are limited, by heat, a power profile or a user.
pub(crate) fn limited_clocks(policies: &[FrequencyPolicy]) -> Vec<Row> {
    let limited = policies.iter().filter(|policy| policy.max < policy.hardware_max);
    let text = |policy: &FrequencyPolicy| {
        format!("CPUs {}: {} of {}", policy.cpus, policy.max, policy.hardware_max)
    };
    limited.map(|policy| ("clock limited to", text(policy))).collect()
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::{SwapDevice, SwapKind, Zram};
    use unjank_units::Hertz;

    use super::*;

    #[test]
    fn swap_of_all_devices_is_added_up() {
        let mib = Bytes::from_mib;
        let device = |size, used| SwapDevice {
            path: "/dev/zram0".to_owned(),
            kind: SwapKind::default(),
            size: mib(size),
            used: mib(used),
            priority: 0,
        };
        let zram = Zram {
            name: "zram0".to_owned(),
            size: mib(64),
            algorithm: String::new(),
            original: mib(8),
            memory: mib(2),
            backing_device: None,
        };
        let full = Memory {
            total: mib(1_024),
            available: mib(100),
            swap: vec![device(64, 8), device(64, 1)],
            zram: vec![zram],
            ..Memory::default()
        };
        let rows = [
            ("free memory", "100 MiB of 1.00 GiB"),
            ("swap in use", "9.00 MiB of 128 MiB"),
            ("zram in use", "8.00 MiB of 64.0 MiB, in 2.00 MiB of memory"),
        ];
        assert_eq!(memory(&full), rows.map(|(what, text)| (what, text.to_owned())));
        assert_eq!(memory(&Memory::default()), []);
    }

    #[test]
    fn a_clock_below_that_of_the_hardware_is_limited() {
        let policy = |max| FrequencyPolicy {
            cpus: "0-3".to_owned(),
            max: Hertz::from_khz(max),
            hardware_max: Hertz::from_khz(2_400_000),
            ..FrequencyPolicy::default()
        };
        let [row] = limited_clocks(&[policy(2_400_000), policy(1_200_000)]).try_into().unwrap();
        assert_eq!(row, ("clock limited to", "CPUs 0-3: 1.20 GHz of 2.40 GHz".to_owned()));
    }
}
