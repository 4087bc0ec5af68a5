//! The modules that a phone needs, with their parameters.

use std::path::Path;

use unjank_host::{Error, Result};

/// A module that is loaded if the kernel package has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Its name, with `_` where the file may have `-`.
    pub name: &'static str,
    /// Its parameters, as `init_module(2)` takes them; empty for the defaults.
    pub parameters: &'static str,
    /// What alone needs it; `None` if every phone does.
    pub only_for: Option<Part>,
}

/// A part that not every phone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// P-states.
    Clock,
    /// A disk.
    Disk,
}

const fn wanted(name: &'static str) -> Wanted {
    Wanted { name, parameters: "", only_for: None }
}

const fn clock(name: &'static str) -> Wanted {
    Wanted { name, parameters: "", only_for: Some(Part::Clock) }
}

const fn storage(name: &'static str) -> Wanted {
    Wanted { name, parameters: "", only_for: Some(Part::Disk) }
}

/// All of them, each after its dependencies. Governors come before the driver,
/// which starts with one of them.
pub const WANTED: [Wanted; 18] = [
    Wanted { name: "binder_linux", parameters: "devices=binder,hwbinder", only_for: None },
    wanted("ublk_drv"),
    wanted("loop"),
    wanted("lz4_compress"),
    wanted("lz4hc_compress"),
    wanted("zram"),
    storage("virtio_blk"),
    storage("crc16"),
    storage("crc32c_generic"),
    storage("libcrc32c"),
    storage("mbcache"),
    storage("jbd2"),
    storage("ext4"),
    clock("cpufreq_ondemand"),
    clock("cpufreq_conservative"),
    clock("cpufreq_powersave"),
    clock("cpufreq_userspace"),
    clock("acpi_cpufreq"),
];

/// The deepest level below the modules' directory that is searched.
const DEEPEST: usize = 12;

/// The files of the wanted modules below `directory`, in the same order; `None`
/// for one that is missing, or built into the kernel.
///
/// # Errors
/// A directory cannot be listed.
pub fn find(directory: &Path) -> Result<Vec<Option<std::path::PathBuf>>> {
    let mut found = vec![None; WANTED.len()];
    let mut directories = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        let failed = |error| Error::file("list", &directory, error);
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                if depth < DEEPEST {
                    directories.push((entry.path(), depth + 1));
                }
                continue;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(module_name) else { continue };
            if let Some(index) = WANTED.iter().position(|wanted| wanted.name == name) {
                found[index] = Some(entry.path());
            }
        }
    }
    Ok(found)
}

/// The name of the module in a file: `acpi_cpufreq` for `acpi-cpufreq.ko.xz`.
fn module_name(file: &str) -> Option<String> {
    let (name, compression) = file.split_once(".ko")?;
    matches!(compression, "" | ".xz" | ".zst" | ".gz").then(|| name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn modules_are_found_at_any_depth() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("kernel/drivers/cpufreq");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("acpi-cpufreq.ko.xz"), "").unwrap();
        fs::write(deep.join("acpi-cpufreq.ko.xz.old"), "").unwrap();
        fs::write(directory.path().join("zram.ko"), "").unwrap();
        let found = find(directory.path()).unwrap();
        let names: Vec<&str> = WANTED
            .iter()
            .zip(&found)
            .filter_map(|(wanted, file)| file.as_ref().map(|_| wanted.name))
            .collect();
        assert_eq!(names, ["zram", "acpi_cpufreq"]);
        assert!(find(&directory.path().join("none")).is_err());
    }

    #[test]
    fn governors_come_before_the_driver() {
        let place = |name| WANTED.iter().position(|wanted| wanted.name == name).unwrap();
        assert!(place("cpufreq_ondemand") < place("acpi_cpufreq"));
        assert!(place("lz4_compress") < place("zram"));
    }
}
