//! The ACPI table of a profile: ACPI 6.5, 8.4.5 (processor performance
//! control), and `drivers/acpi/processor_perflib.c` for what Linux wants.
//!
//! Writing a state's number to an I/O port of one byte selects the state, and
//! reading the port returns it. The ports are page registers of the ISA DMA
//! controllers: QEMU stores them, and nothing in the phone uses ISA DMA.

use acpi_tables::aml::{Name, Package, PackageBuilder, Path, ResourceTemplate, Scope};
use acpi_tables::sdt::Sdt;
use acpi_tables::{Aml, AmlSink};

use super::profile::{Clock, Profile, State, wrong};
use crate::error::Result;

/// The page registers that QEMU stores (`hw/dma/i8257.c`): channels 2, 3, 1
/// and 0 of the first controller, then those of the second.
pub const PORTS: [u16; 8] = [0x82, 0x83, 0x81, 0x87, 0x89, 0x8a, 0x8b, 0x8f];

/// The largest number of CPUs, one per port.
pub const MOST_CPUS: usize = PORTS.len();

/// Length of an ACPI table's header.
const HEADER: u32 = 36;
/// All CPUs of a domain are in the state that the operating system selects on
/// one of them: `DOMAIN_COORD_TYPE_SW_ANY`.
const COORDINATION: u8 = 0xfd;

impl Profile {
    /// The ACPI table that gives `cpus` CPUs these states.
    ///
    /// # Errors
    /// `Profile` if there are too many CPUs, or none.
    pub fn table(&self, cpus: usize) -> Result<Vec<u8>> {
        if cpus == 0 || cpus > MOST_CPUS {
            return Err(wrong(
                &self.name,
                format!("P-states work for 1 to {MOST_CPUS} CPUs, not for {cpus}"),
            ));
        }
        Ok(table(self, cpus))
    }
}

/// The table (an SSDT) for `cpus` CPUs, which must be at most [`MOST_CPUS`].
fn table(profile: &Profile, cpus: usize) -> Vec<u8> {
    let mut code = Vec::new();
    for (cpu, &port) in PORTS.iter().take(cpus).enumerate() {
        // A shared clock has one register, which any CPU writes.
        let (port, domain, members) = match profile.clock {
            Clock::Shared => (PORTS[0], 0, cpus as u8),
            Clock::PerCpu => (port, cpu as u8, 1),
        };
        let register = ByteRegister { port };
        let (control, status) =
            (ResourceTemplate::new(vec![&register]), ResourceTemplate::new(vec![&register]));
        let dependency: [&dyn Aml; 5] = [&5_u8, &0_u8, &domain, &COORDINATION, &members];
        let dependency = Package::new(dependency.to_vec());
        Scope::new(
            // QEMU's names for CPUs (`build_cpus_aml`).
            Path::new(&format!("\\_SB_.CPUS.C{cpu:03X}")),
            vec![
                &Name::new("_PCT".into(), &Package::new(vec![&control, &status])),
                &Name::new("_PSS".into(), &states(&profile.states)),
                &Name::new("_PPC".into(), &0_u8),
                &Name::new("_PSD".into(), &Package::new(vec![&dependency])),
            ],
        )
        .to_aml_bytes(&mut code);
    }
    let mut table = Sdt::new(*b"SSDT", HEADER, 2, *b"UNJANK", *b"PSTATES ", 1);
    table.append_slice(&code);
    table.as_slice().to_vec()
}

/// A register of one byte in I/O space: ACPI 6.5, 6.4.3.7 (generic register
/// descriptor). That of `acpi_tables` 0.2.1 has a wrong length.
struct ByteRegister {
    port: u16,
}

impl Aml for ByteRegister {
    fn to_aml_bytes(&self, sink: &mut dyn AmlSink) {
        sink.byte(0x82);
        sink.word(12);
        let (io_space, bits, offset, byte_access) = (1, 8, 0, 1);
        sink.vec(&[io_space, bits, offset, byte_access]);
        sink.qword(u64::from(self.port));
    }
}

/// Frequency, power, both latencies, and the number of the state in the
/// register. Numbers begin with 1, so that an unwritten register is no state.
fn states(states: &[State]) -> PackageBuilder {
    let mut all = PackageBuilder::new();
    for (state, number) in states.iter().zip(1_u32..) {
        let mut one = PackageBuilder::new();
        let (mhz, power, latency) = (state.mhz, state.milliwatts, state.latency_us);
        for value in [mhz, power, latency, latency, number, number] {
            one.add_element(&value);
        }
        all.add_element(&one);
    }
    all
}

#[cfg(test)]
mod tests {
    use unjank_host::input::Stop;

    use super::*;

    #[test]
    fn a_table_has_its_length_and_checksum() {
        let profile = Profile::find("exynos4210", &Stop::default()).unwrap();
        for cpus in 1..=MOST_CPUS {
            let table = table(&profile, cpus);
            assert_eq!(&table[..4], b"SSDT");
            assert_eq!(u32::from_le_bytes(table[4..8].try_into().unwrap()) as usize, table.len());
            assert_eq!(table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
            let scopes = table.windows(4).filter(|name| name == b"_PCT").count();
            assert_eq!(scopes, cpus);
        }
    }

    #[test]
    fn a_shared_clock_has_one_register() {
        let mut profile = Profile::find("exynos4210", &Stop::default()).unwrap();
        let registers = |profile: &Profile| {
            // A register descriptor as iasl writes it, and its port.
            let table = table(profile, 2);
            let ports: Vec<u8> = table
                .windows(9)
                .filter(|bytes| bytes[..7] == [0x82, 12, 0, 1, 8, 0, 1])
                .map(|bytes| bytes[7])
                .collect();
            ports
        };
        assert_eq!(registers(&profile), [0x82; 4]);
        profile.clock = Clock::PerCpu;
        assert_eq!(registers(&profile), [0x82, 0x82, 0x83, 0x83]);
    }

    #[test]
    fn too_many_cpus_are_refused() {
        let profile = Profile::find("exynos4210", &Stop::default()).unwrap();
        assert!(profile.table(MOST_CPUS).is_ok());
        assert!(profile.table(MOST_CPUS + 1).is_err());
        assert!(profile.table(0).is_err());
    }
}
