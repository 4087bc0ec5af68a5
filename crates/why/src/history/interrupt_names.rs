//! The names of devices' interrupts.

use std::collections::HashMap;

use unjank_host::tracefs::Label;

use super::origin::InterruptId;

/// Whether an interrupt is the processor's own: its timer, or an inter-processor interrupt. On some
/// architectures these have handlers, as devices have (`drivers/clocksource`,
/// `arch/*/kernel/smp.c`).
pub(super) fn is_own(name: Label) -> bool {
    const OWN: [&[u8]; 5] = [b"IPI", b"arch_timer", b"arch_sys_timer", b"riscv-timer", b"twd"];
    let name = name.as_bytes();
    // `mct_tick0`, one for each CPU of an Exynos.
    OWN.contains(&name) || name.starts_with(b"mct_tick")
}

/// Numbers for names of interrupts, in the order in which the names appear.
#[derive(Debug, Default)]
pub(super) struct InterruptNames {
    names: Vec<Label>,
    numbers: HashMap<Label, InterruptId>,
}

impl InterruptNames {
    /// The number of a name. A new name gets the next number.
    pub(super) fn number(&mut self, name: Label) -> InterruptId {
        let Self { names, numbers } = self;
        *numbers.entry(name).or_insert_with(|| {
            names.push(name);
            InterruptId(names.len() as u32 - 1)
        })
    }

    /// The name with this number; empty if no name has it.
    pub(super) fn name(&self, interrupt: InterruptId) -> Label {
        self.names.get(interrupt.0 as usize).copied().unwrap_or_default()
    }
}
