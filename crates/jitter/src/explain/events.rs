//! Which events the cause of a late wake-up is told from.

use unjank_host::tracefs::WAKEUP_EVENTS;

/// Beside [`WAKEUP_EVENTS`]: when timers expired, and the interrupts of x86
/// that other CPUs send, which no handler of a device sees. A kernel that lacks
/// one of them is asked for the others.
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

/// The events from which [`cause_of`](super::cause_of) tells most.
pub fn cause_events() -> Vec<String> {
    WAKEUP_EVENTS.iter().chain(FURTHER).map(|&event| event.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_stands_there_once_and_each_entry_has_its_exit() {
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
