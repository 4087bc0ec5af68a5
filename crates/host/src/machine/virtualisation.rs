//! Virtualisation: the hypervisor and the container, if any.

use serde::{Deserialize, Serialize};

use super::cpu_time::CpuTime;
use super::cpuinfo::CpuInfo;
use super::device::{Dmi, device_tree};
use super::reader::{Reader, line, one_line};
use crate::error::Result;
use crate::root::Root;

/// Virtualisation: the hypervisor and the container, if any.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Virtualisation {
    /// The hypervisor (`kvm`, `xen`, `vmware` …), `unknown` if it does not
    /// identify itself, `None` on hardware.
    pub hypervisor: Option<String>,
    /// The container (`docker`, `lxc` …), `None` outside one.
    pub container: Option<String>,
    /// Share of all CPU time since boot that the hypervisor gave to other
    /// virtual machines while this machine had work, in percent (`/proc/stat`).
    pub steal_percent: Option<f64>,
}

pub(super) fn read(reader: &mut Reader, info: &CpuInfo, dmi: &Dmi) -> Virtualisation {
    let root = reader.root();
    let hypervisor = hypervisor(root, info, dmi);
    let time = CpuTime::read(root).map(Some);
    Virtualisation {
        hypervisor: reader.optional("virtualisation.hypervisor", hypervisor),
        // A missing or unreadable file is no sign of a container.
        container: container(root),
        steal_percent: reader
            .optional("virtualisation.steal_percent", time)
            .and_then(CpuTime::steal_percent),
    }
}

/// The hypervisor according to the kernel, the firmware or the device tree. An
/// x86 processor without the flag `hypervisor` has none, whatever the
/// firmware's name: the same vendor makes machines of both kinds.
fn hypervisor(root: &Root, info: &CpuInfo, dmi: &Dmi) -> Result<Option<String>> {
    if let Some(kind) = line(root, "/sys/hypervisor/type")? {
        return Ok(Some(kind));
    }
    let flag = info.hypervisor_flag();
    if flag == Some(false) {
        return Ok(None);
    }
    if let Some(name) = by_dmi(dmi) {
        return Ok(Some(name.to_owned()));
    }
    let told_by_tree =
        device_tree(root, "hypervisor/compatible")?
            .or(device_tree(root, "compatible")?.filter(|boards| boards.contains("dummy-virt")));
    if let Some(name) = told_by_tree.as_deref().and_then(by_device_tree) {
        return Ok(Some(name.to_owned()));
    }
    let clocks = line(root, "/sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let told_by_clock = clocks.as_deref().and_then(by_clock);
    Ok(match (told_by_clock, flag) {
        (Some(name), _) => Some(name.to_owned()),
        (None, Some(true)) => Some("unknown".to_owned()),
        (None, _) => None,
    })
}

fn by_dmi(dmi: &Dmi) -> Option<&'static str> {
    let says = |text: &str| {
        [&dmi.vendor, &dmi.product, &dmi.bios_vendor].iter().any(|field| field.contains(text))
    };
    let known = [
        ("KVM", "kvm"),
        ("Amazon EC2", "kvm"),
        ("Google Compute Engine", "kvm"),
        ("OpenStack", "kvm"),
        ("DigitalOcean", "kvm"),
        ("QEMU", "qemu"),
        ("VMware", "vmware"),
        ("VMW", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("Xen", "xen"),
        ("Bochs", "bochs"),
        ("Parallels", "parallels"),
        ("BHYVE", "bhyve"),
        ("Apple Virtualization", "apple"),
    ];
    let microsoft = dmi.vendor == "Microsoft Corporation" && dmi.product == "Virtual Machine";
    known
        .iter()
        .find_map(|(text, name)| says(text).then_some(*name))
        .or(microsoft.then_some("hyperv"))
}

fn by_device_tree(compatible: &str) -> Option<&'static str> {
    let known =
        [("linux,kvm", "kvm"), ("xen", "xen"), ("vmware", "vmware"), ("dummy-virt", "qemu")];
    known.iter().find_map(|(text, name)| compatible.contains(text).then_some(*name))
}

/// Recognises the clocks that hypervisors offer.
fn by_clock(clocks: &str) -> Option<&'static str> {
    let known = [("kvm-clock", "kvm"), ("hyperv_clocksource", "hyperv"), ("xen", "xen")];
    known.iter().find_map(|(text, name)| clocks.contains(text).then_some(*name))
}

/// The container, recognised by the file or variable of systemd's container
/// interface, else by traces of managers that do not implement it.
fn container(root: &Root) -> Option<String> {
    let text = |path: &str| root.read_if_there(path).ok().flatten();
    let declared = text("/run/systemd/container")
        .or_else(|| text("/run/host/container-manager"))
        .or_else(|| container_variable(&text("/proc/1/environ")?).map(str::to_owned));
    if let Some(name) = declared.map(|name| one_line(&name)).filter(|name| !name.is_empty()) {
        return Some(name);
    }
    let release = text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let found = if !sees_kernel_threads(root) && text("/run/.containerenv").is_some() {
        "podman"
    } else if !sees_kernel_threads(root) && text("/.dockerenv").is_some() {
        "docker"
    } else if release.contains("Microsoft") || release.contains("microsoft-standard") {
        "wsl"
    } else {
        by_cgroup(&text("/proc/self/cgroup")?)?
    };
    Some(found.to_owned())
}

/// Whether process 2 is the parent of the kernel's own threads, as only outside
/// containers. Marker files of a container image are not sufficient: a virtual
/// machine may have been made from it.
fn sees_kernel_threads(root: &Root) -> bool {
    matches!(line(root, "/proc/2/comm"), Ok(Some(name)) if name == "kthreadd")
}

/// The variable `container` in the environment of the first process.
pub(super) fn container_variable(environment: &str) -> Option<&str> {
    environment.split('\0').find_map(|variable| variable.strip_prefix("container="))
}

/// Without a cgroup namespace, the path of the cgroup contains the manager's
/// name.
fn by_cgroup(cgroups: &str) -> Option<&'static str> {
    let known = [
        ("/docker/", "docker"),
        ("/docker-", "docker"),
        ("/libpod", "podman"),
        ("/kubepods", "kubernetes"),
        ("/lxc/", "lxc"),
        ("/lxc.payload", "lxc"),
    ];
    known.iter().find_map(|(text, name)| cgroups.contains(text).then_some(*name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        for (path, text) in files {
            fs::create_dir_all(root.resolve(path).parent().unwrap()).unwrap();
            fs::write(root.resolve(path), text).unwrap();
        }
        (dir, root)
    }

    fn found(flags: Option<&str>, vendor: &str, product: &str, files: &[(&str, &str)]) -> String {
        let (_dir, root) = machine(files);
        let flags = flags.map(|flags| format!("flags : {flags}")).unwrap_or_default();
        let dmi = Dmi { vendor: vendor.into(), product: product.into(), ..Dmi::default() };
        let hypervisor = hypervisor(&root, &CpuInfo::parse(&flags), &dmi).unwrap();
        hypervisor.unwrap_or_else(|| "none".to_owned())
    }

    #[test]
    fn hypervisors_are_recognised_by_flag_firmware_tree_or_clock() {
        let vm = Some("fpu hypervisor");
        let clock = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        assert_eq!(found(vm, "QEMU", "Standard PC (Q35 + ICH9, 2009)", &[]), "qemu");
        assert_eq!(found(vm, "Amazon EC2", "m5.large", &[]), "kvm");
        assert_eq!(found(Some("fpu"), "Amazon EC2", "m5.metal", &[]), "none");
        assert_eq!(found(vm, "Microsoft Corporation", "Virtual Machine", &[]), "hyperv");
        assert_eq!(found(vm, "", "", &[(clock, "tsc kvm-clock \n")]), "kvm");
        assert_eq!(found(vm, "", "", &[]), "unknown");
        assert_eq!(found(None, "", "", &[("/sys/hypervisor/type", "xen\n")]), "xen");
        let tree = "/proc/device-tree/hypervisor/compatible";
        assert_eq!(found(None, "", "", &[(tree, "linux,kvm\0")]), "kvm");
        let board = [("/proc/device-tree/compatible", "linux,dummy-virt\0")];
        assert_eq!(found(None, "", "", &board), "qemu");
        let board = [("/proc/device-tree/compatible", "hardkernel,odroid-c2\0amlogic,s905\0")];
        assert_eq!(found(None, "", "", &board), "none");
    }

    #[test]
    fn a_container_image_alone_is_not_a_container() {
        let (_dir, root) = machine(&[("/.dockerenv", ""), ("/proc/2/comm", "kthreadd\n")]);
        assert_eq!(container(&root), None);
    }

    fn container_of(path: &str, text: &str) -> Option<String> {
        let (_dir, root) = machine(&[(path, text)]);
        container(&root)
    }

    #[test]
    fn containers_are_recognised_by_their_managers_traces() {
        let container = |path: &str, text: &str| container_of(path, text).unwrap_or_default();
        assert_eq!(container("/run/systemd/container", "systemd-nspawn\n"), "systemd-nspawn");
        assert_eq!(container("/proc/1/environ", "HOME=/\0container=lxc\0TOKEN=x"), "lxc");
        assert_eq!(container("/run/.containerenv", ""), "podman");
        assert_eq!(container("/.dockerenv", ""), "docker");
        assert_eq!(
            container("/proc/self/cgroup", "2:cpu:/kubepods/burstable/pod1\n"),
            "kubernetes"
        );
        assert_eq!(
            container("/proc/sys/kernel/osrelease", "5.15.0-microsoft-standard-WSL2"),
            "wsl"
        );
        assert_eq!(container_of("/proc/self/cgroup", "0::/user.slice\n"), None);
        assert_eq!(container_of("/proc/1/environ", "HOME=/\0mycontainer=lxc"), None);
    }
}
