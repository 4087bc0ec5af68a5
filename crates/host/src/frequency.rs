//! The current frequency of CPUs, read repeatedly: `scaling_cur_freq` of
//! `Documentation/admin-guide/pm/cpufreq.rst`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::root::Root;
use crate::sched::CpuSet;
use unjank_units::Hertz;

/// Open files of cpufreq, so that a reading is one system call.
///
/// If the processor does not report its own speed, as in a virtual machine, the
/// file has the frequency that the governor set last.
#[derive(Debug)]
pub struct Frequencies {
    /// Open files by CPU number.
    files: Vec<Option<(PathBuf, File)>>,
    highest: Hertz,
}

impl Frequencies {
    /// Opens the files of `cpus`.
    ///
    /// # Errors
    /// `Unsupported` if a CPU has no cpufreq files.
    pub fn open(root: &Root, cpus: &CpuSet) -> Result<Self> {
        let mut opened = Self { files: Vec::new(), highest: Hertz::default() };
        for cpu in cpus.iter() {
            let directory = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq"));
            let path = directory.join("scaling_cur_freq");
            let highest = root.read_number_if_there(directory.join("cpuinfo_max_freq"))?;
            let Some(highest) = highest.filter(|&khz| khz > 0) else {
                return Err(Error::Unsupported(format!(
                    "CPU {cpu} has no cpufreq files, as in most virtual machines: its frequency \
                     is unknown"
                )));
            };
            let file = root.open(&path).map_err(|source| Error::file("open", &path, source))?;
            opened.highest = opened.highest.max(Hertz::from_khz(highest));
            opened.files.resize_with(opened.files.len().max(cpu + 1), || None);
            opened.files[cpu] = Some((path, file));
        }
        Ok(opened)
    }

    /// The highest possible frequency of any of the CPUs (`cpuinfo_max_freq`).
    pub fn highest(&self) -> Hertz {
        self.highest
    }

    /// The current frequency of `cpu`.
    ///
    /// # Errors
    /// `Invalid` for a CPU whose files are not open; `File` or `Parse` if the
    /// kernel does not report it.
    pub fn now(&self, cpu: usize) -> Result<Hertz> {
        let Some((path, file)) = self.files.get(cpu).and_then(Option::as_ref) else {
            return Err(Error::Invalid(format!("the frequency files of CPU {cpu} are not open")));
        };
        let mut text = [0; 32];
        let length =
            file.read_at(&mut text, 0).map_err(|source| Error::file("read", path, source))?;
        std::str::from_utf8(&text[..length])
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .map(Hertz::from_khz)
            .ok_or_else(|| Error::parse(path, 1, "expected a frequency in kHz"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(frequencies: &[&str]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (cpu, khz) in frequencies.iter().enumerate() {
            let files = dir.path().join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
            fs::create_dir_all(&files).unwrap();
            fs::write(files.join("scaling_cur_freq"), khz).unwrap();
            fs::write(files.join("cpuinfo_max_freq"), format!("{}\n", 1_200_000 + cpu)).unwrap();
        }
        let root = Root::at(dir.path());
        (dir, root)
    }

    #[test]
    fn each_reading_is_current() {
        let (dir, root) = machine(&["200000\n", "1200000\n"]);
        let frequencies = Frequencies::open(&root, &CpuSet::new([0, 1])).unwrap();
        assert_eq!(frequencies.highest(), Hertz::from_khz(1_200_001));
        assert_eq!(frequencies.now(0).unwrap(), Hertz::from_khz(200_000));
        let file = dir.path().join("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
        fs::write(file, "800000\n").unwrap();
        assert_eq!(frequencies.now(0).unwrap(), Hertz::from_khz(800_000));
        assert_eq!(frequencies.now(1).unwrap(), Hertz::from_khz(1_200_000));
        assert!(frequencies.now(2).is_err());
    }

    #[test]
    fn a_missing_file_and_a_malformed_one_are_errors() {
        let (_dir, root) = machine(&["<unknown>\n"]);
        let frequencies = Frequencies::open(&root, &CpuSet::new([0])).unwrap();
        let error = frequencies.now(0).unwrap_err().to_string();
        assert!(
            error.ends_with("scaling_cur_freq, line 1: expected a frequency in kHz"),
            "{error}"
        );
        let error = Frequencies::open(&root, &CpuSet::new([7])).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
}
