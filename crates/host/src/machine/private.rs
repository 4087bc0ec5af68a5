//! Removes private content from a recording: all content of the files that
//! [`Machine`] does not read and that may be private.
//!
//! [`Machine`]: super::Machine

use std::path::Path;

use super::kernel::keep_latency_parameters;
use super::virtualisation::container_variable;

/// The part of a file's content that is kept.
pub(super) fn keep(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    let lines = |wanted: fn(&str) -> bool| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let kept = text.lines().filter(|line| wanted(line));
        kept.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
    };
    match path.to_str() {
        // A command line may carry serial numbers, UUIDs of disks, tokens.
        Some("/proc/cmdline") => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            format!("{}\n", keep_latency_parameters(&text).join(" ")).into_bytes()
        }
        // Environments may hold passwords.
        Some("/proc/1/environ") => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let variable = container_variable(&text);
            variable.map(|name| format!("container={name}\0")).unwrap_or_default().into_bytes()
        }
        // Its content names the container and its image.
        Some("/run/.containerenv") => Vec::new(),
        Some("/proc/cpuinfo") => lines(|line| !line.starts_with("Serial")),
        Some("/proc/stat") => lines(|line| line.starts_with("cpu ")),
        Some("/proc/self/mountinfo") => lines(|line| line.contains(" - cgroup")),
        Some("/proc/self/status") => {
            lines(|line| line.starts_with("CapEff:") || line.starts_with("Cpus_allowed_list:"))
        }
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(path: &str, text: &str) -> String {
        String::from_utf8(keep(Path::new(path), text.into())).unwrap()
    }

    #[test]
    fn content_that_identifies_a_machine_or_its_user_is_removed() {
        let line = "root=UUID=1234 isolcpus=3 androidboot.serialno=99 -- --token x\n";
        assert_eq!(kept("/proc/cmdline", line), "isolcpus=3\n");
        let environment = "PASSWORD=x\0container=lxc\0HOME=/root\0";
        assert_eq!(kept("/proc/1/environ", environment), "container=lxc\0");
        assert_eq!(kept("/proc/1/environ", "PASSWORD=x\0"), "");
        assert_eq!(kept("/run/.containerenv", "name=\"mine\"\n"), "");
        let info = "processor\t: 0\nSerial\t\t: 304d\nHardware\t: SMDK4210\n";
        assert_eq!(kept("/proc/cpuinfo", info), "processor\t: 0\nHardware\t: SMDK4210\n");
        let mounts = "27 1 254:0 / /home/me rw - nfs server:/me rw\n\
                      30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            kept("/proc/self/mountinfo", mounts),
            mounts.lines().nth(1).unwrap().to_owned() + "\n"
        );
        let status = "Name:\tunjank\nUid:\t1000\nCapEff:\t00\nCpus_allowed_list:\t0-1\n";
        assert_eq!(kept("/proc/self/status", status), "CapEff:\t00\nCpus_allowed_list:\t0-1\n");
    }

    #[test]
    fn other_files_stay_as_they_are() {
        assert_eq!(keep(Path::new("/proc/self/auxv"), vec![0, 255]), [0, 255]);
    }
}
