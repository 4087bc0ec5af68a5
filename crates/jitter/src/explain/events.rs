//! The trace events that the cause of a late wake-up is derived from.

use unjank_host::tracefs::WAKEUP_EVENTS;

/// In addition to [`WAKEUP_EVENTS`]: timer expiry, and inter-processor
/// interrupts of x86, which have no device handler. Events that a kernel lacks
/// are left out.
const FURTHER: &[&str] = &[
    "timer/hrtimer_expire_entry",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/reschedule_entry",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/reschedule_exit",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/call_function_entry",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/call_function_exit",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/call_function_single_entry",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/call_function_single_exit",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/irq_work_entry",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/irq_work_exit",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/thermal_apic_entry",
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    "irq_vectors/thermal_apic_exit",
];

/// All events that [`cause_of`](super::cause_of) uses.
pub fn cause_events() -> Vec<String> {
    WAKEUP_EVENTS.iter().chain(FURTHER).map(|&event| event.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_unique_and_each_entry_has_its_exit() {
        let events = cause_events();
        let mut once = events.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), events.len());
        for event in events.iter().filter(|event| event.starts_with("irq_vectors/")) {
            let other = match event.strip_suffix("_entry") {
                Some(name) => format!("{name}_exit"),
                None => event.replace("_exit", "_entry"),
            };
            assert!(events.contains(&other), "{event}");
        }
    }
}
