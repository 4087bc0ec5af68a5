//! The emulator's command line, and whether KVM works.

use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use unjank_host::process::Helper;
use unjank_host::{Bytes, Error, Nanos, Result};

use crate::architecture::Architecture;
use crate::channel::{INTERRUPT_PORT, PORT};

/// The means that executes the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor, through KVM.
    Kvm,
    /// QEMU's translator: slower, and all times are emulated.
    Tcg,
    /// QEMU's translator, one CPU at a time, with time counted in instructions:
    /// other load on the host does not affect the guest's times.
    Icount(InstructionTime),
}

impl Accelerator {
    /// The labels of runs that are measured there.
    pub fn labels(self) -> &'static [&'static str] {
        match self {
            Self::Kvm => &[],
            Self::Tcg => &["emulated"],
            Self::Icount(_) => &["emulated", "icount"],
        }
    }
}

/// The guest's time for each instruction, where time is counted in
/// instructions: a power of two of nanoseconds, as QEMU's `-icount shift=N` has
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionTime {
    shift: u32,
}

impl InstructionTime {
    /// QEMU's largest shift.
    const LARGEST_SHIFT: u32 = 10;

    /// `None` unless the time is 1, 2, 4 … 1024 ns.
    pub fn new(time: Nanos) -> Option<Self> {
        let shift = time.get().trailing_zeros();
        (time.get().is_power_of_two() && shift <= Self::LARGEST_SHIFT).then_some(Self { shift })
    }
}

impl Default for InstructionTime {
    /// 2 ns.
    fn default() -> Self {
        Self { shift: 1 }
    }
}

impl fmt::Display for InstructionTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", 1_u64 << self.shift)
    }
}

/// QEMU's message when KVM cannot handle an instruction.
pub const KVM_GAVE_UP: &str = "KVM internal error";

/// A machine for one boot.
#[derive(Debug)]
pub struct Machine<'a> {
    /// Its processor.
    pub architecture: Architecture,
    /// The means that executes its instructions.
    pub accelerator: Accelerator,
    /// Virtual CPUs.
    pub cpus: usize,
    /// Its RAM, rounded down to whole MiB.
    pub memory: Bytes,
    /// The kernel's image.
    pub kernel: &'a Path,
    /// Path of the initramfs.
    pub initramfs: &'a Path,
    /// An ACPI table besides QEMU's own.
    pub table: Option<&'a Path>,
    /// The file of its disk, if it has one.
    pub disk: Option<&'a Path>,
    /// The kernel's parameters, and after `--` the arguments of `init`.
    pub parameters: &'a str,
}

/// Whether this user may open KVM. Whether KVM works shows only at a boot:
/// nested in another virtual machine, it may not.
pub fn may_use_kvm() -> bool {
    OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
}

impl Machine<'_> {
    /// Starts it. The guest's frames arrive on the helper's stdout; its console
    /// and QEMU's messages on stderr. A byte on its stdin interrupts the
    /// guest's command.
    ///
    /// # Errors
    /// `Unsupported` if there is no QEMU.
    pub fn start(&self) -> Result<Helper> {
        let mut command = Command::new(self.architecture.emulator());
        command.args(self.arguments());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Helper::start_tied(&mut command).map_err(|error| match error {
            Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Error::Unsupported(format!(
                    "{} is missing: install QEMU (Debian and Ubuntu: {})",
                    self.architecture.emulator(),
                    self.architecture.emulator_package()
                ))
            }
            other => other,
        })
    }

    fn arguments(&self) -> Vec<String> {
        let emulated = self.architecture.emulated_cpu();
        let (accelerator, cpu) = match self.accelerator {
            Accelerator::Kvm => ("kvm", "host"),
            Accelerator::Tcg => ("tcg,thread=multi", emulated),
            Accelerator::Icount(_) => ("tcg,thread=single", emulated),
        };
        let mut arguments: Vec<String> = [
            "-no-user-config",
            "-nodefaults",
            "-display",
            "none",
            "-no-reboot",
            "-machine",
            self.architecture.machine(),
            "-accel",
            accelerator,
            "-cpu",
            cpu,
            // Pipes as files: QEMU only writes to them.
            "-chardev",
            "file,id=console,path=/dev/fd/2",
            "-serial",
            "chardev:console",
            "-chardev",
            "file,id=channel,path=/dev/fd/1",
            // And stdin, from which QEMU reads only when the guest does. Data
            // that a guest wrote there would come out between the frames; it
            // opens this port only for reading.
            "-chardev",
            "stdio,id=interrupt,signal=off",
            "-device",
            "virtio-serial-pci",
        ]
        .map(str::to_owned)
        .into();
        for (chardev, name) in [("channel", PORT), ("interrupt", INTERRUPT_PORT)] {
            let port = format!("virtserialport,chardev={chardev},name={name}");
            arguments.extend(["-device".to_owned(), port]);
        }
        // A comma would end the file name.
        let file = |path: &Path| path.display().to_string();
        let pairs = [
            ("-smp", self.cpus.to_string()),
            ("-m", format!("{}M", self.memory.get() >> 20)),
            ("-kernel", file(self.kernel)),
            ("-initrd", file(self.initramfs)),
            ("-append", self.parameters.to_owned()),
        ];
        let table = self
            .table
            .map(|table| ("-acpitable", format!("file={}", file(table).replace(',', ",,"))));
        // The host's page cache holds it: its speed is not that of a disk.
        let disk = self.disk.map(|disk| {
            let file = file(disk).replace(',', ",,");
            [
                ("-drive", format!("file={file},if=none,id=disk,format=raw,cache=unsafe")),
                ("-device", "virtio-blk-pci,drive=disk".to_owned()),
            ]
        });
        // If all CPUs are idle, time advances at once to the next timer.
        let icount = match self.accelerator {
            Accelerator::Icount(time) => {
                Some(("-icount", format!("shift={},sleep=off", time.shift)))
            }
            Accelerator::Kvm | Accelerator::Tcg => None,
        };
        for (name, value) in
            pairs.into_iter().chain(table).chain(disk.into_iter().flatten()).chain(icount)
        {
            arguments.extend([name.to_owned(), value]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine<'static> {
        Machine {
            architecture: Architecture::X86_64,
            accelerator: Accelerator::Tcg,
            cpus: 4,
            memory: Bytes::from_mib(512),
            kernel: Path::new("/k"),
            initramfs: Path::new("/i"),
            table: Some(Path::new("/a,b")),
            disk: Some(Path::new("/d")),
            parameters: "quiet -- lab init",
        }
    }

    fn value(arguments: &[String], name: &str) -> String {
        let place = arguments.iter().position(|argument| argument == name).unwrap();
        arguments[place + 1].clone()
    }

    #[test]
    fn options_become_arguments() {
        let mut machine = machine();
        let arguments = machine.arguments();
        assert_eq!(value(&arguments, "-smp"), "4");
        assert_eq!(value(&arguments, "-m"), "512M");
        assert_eq!(value(&arguments, "-acpitable"), "file=/a,,b");
        assert_eq!(value(&arguments, "-append"), "quiet -- lab init");
        assert!(value(&arguments, "-drive").starts_with("file=/d,if=none"));
        assert!(value(&arguments, "-cpu").starts_with("max,"));
        assert!(!arguments.contains(&"-icount".to_owned()));
        machine.accelerator = Accelerator::Icount(InstructionTime::new(Nanos(2)).unwrap());
        assert_eq!(value(&machine.arguments(), "-icount"), "shift=1,sleep=off");
        assert_eq!(value(&machine.arguments(), "-accel"), "tcg,thread=single");
        machine.architecture = Architecture::Aarch64;
        assert!(value(&machine.arguments(), "-machine").starts_with("virt,"));
        machine.accelerator = Accelerator::Kvm;
        machine.table = None;
        let arguments = machine.arguments();
        assert_eq!(value(&arguments, "-cpu"), "host");
        assert!(!arguments.contains(&"-acpitable".to_owned()));
    }

    #[test]
    fn an_instruction_takes_a_power_of_two() {
        for (time, shift) in [(1, Some(0)), (8, Some(3)), (1024, Some(10)), (2048, None)] {
            assert_eq!(InstructionTime::new(Nanos(time)).map(|time| time.shift), shift);
        }
        assert_eq!([0, 3, 10].map(|time| InstructionTime::new(Nanos(time))), [None; 3]);
    }
}
