//! The machine in one line.

use super::{Cpu, FrequencyPolicy, Machine};

impl Machine {
    /// The machine in one line, for a terminal:
    /// `kernel 6.18.44, 2 × AMD EPYC (KVM), no cpufreq, haltpoll idle`.
    ///
    /// If the description comes from another tool, only the kernel is known.
    pub fn summary(&self) -> String {
        if !self.is_read() {
            return format!("kernel {}, nothing else known", version(&self.kernel.release));
        }
        let idle = match &self.idle {
            Some(idle) if !idle.governor.is_empty() => format!("{} idle", idle.governor),
            Some(idle) => format!("{} idle", idle.driver),
            None => "no cpuidle".to_owned(),
        };
        let hypervisor = self.virtualisation.hypervisor.as_deref().map(well_known);
        let hypervisor = hypervisor.map(|name| format!(" ({name})")).unwrap_or_default();
        format!(
            "kernel {}{}, {}{hypervisor}, {}, {idle}",
            version(&self.kernel.release),
            if self.kernel.preemption.as_deref() == Some("rt") { " (real-time)" } else { "" },
            processor(&self.cpu),
            governors(&self.frequency),
        )
    }
}

/// The number before the maker's suffix: `6.1.75` of `6.1.75-android14-11`.
fn version(release: &str) -> &str {
    match release.split('-').next() {
        None | Some("") => "unknown",
        Some(version) => version,
    }
}

/// `2 × AMD EPYC`, or a list of core designs: `4 × Cortex-A55 + 4 ×
/// Cortex-A76`.
fn processor(cpu: &Cpu) -> String {
    let mut designs: Vec<(&str, usize)> = Vec::new();
    for design in cpu.cpus.iter().filter_map(|cpu| cpu.design.as_deref()) {
        match designs.iter_mut().find(|(known, _)| *known == design) {
            Some((_, count)) => *count += 1,
            None => designs.push((design, 1)),
        }
    }
    if designs.is_empty() {
        let model = if cpu.model.is_empty() { "unknown CPU" } else { &cpu.model };
        return format!("{} × {model}", cpu.online);
    }
    let parts: Vec<String> =
        designs.iter().map(|(design, count)| format!("{count} × {design}")).collect();
    parts.join(" + ")
}

/// Each combination of driver and governor, once.
fn governors(policies: &[FrequencyPolicy]) -> String {
    let mut used: Vec<String> = Vec::new();
    for policy in policies {
        let name = format!("{} {}", policy.driver, policy.governor).trim().to_owned();
        if !used.contains(&name) {
            used.push(name);
        }
    }
    if used.is_empty() { "no cpufreq".to_owned() } else { used.join(" / ") }
}

/// The usual spelling of a hypervisor's name.
fn well_known(name: &str) -> &str {
    match name {
        "kvm" => "KVM",
        "qemu" => "QEMU",
        "xen" => "Xen",
        "vmware" => "VMware",
        "hyperv" => "Hyper-V",
        "virtualbox" => "VirtualBox",
        "unknown" => "virtual",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_machine_has_a_summary() {
        assert_eq!(Machine::default().summary(), "kernel unknown, nothing else known");
        let mut read = Machine::default();
        read.cpu.online = 1;
        let summary = "kernel unknown, 1 × unknown CPU, no cpufreq, no cpuidle";
        assert_eq!(read.summary(), summary);
    }
}
