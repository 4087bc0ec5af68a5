//! A zram device with a backing device: its statistics, and writing pages back.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use unjank_host::machine::{swap, zram};
use unjank_host::{Bytes, Error, Nanos, Result, Root};

use super::super::tier::map::Slot;
use super::super::tier::room::is_at;
use super::super::tier::server::PAGE;

/// The longest text that a file of sysfs takes.
const LONGEST: usize = 4095;

/// A zram device that the machine swaps to and that has a backing device.
#[derive(Debug)]
pub struct Zram {
    root: Root,
    /// `zram0` …
    name: String,
    backing: String,
    slots: Slot,
    file: File,
    /// Whether the kernel takes several slots in one write (Linux 6.16), once that is known.
    takes_many: Option<bool>,
}

/// The statistics of the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Pages in memory: those that zram holds (`orig_data_size` of `mm_stat`) but for those that are
    /// on the backing device.
    pub pages: u64,
    /// The memory that they take.
    pub memory: Bytes,
    /// Pages on the backing device (`bd_stat`).
    pub written_back: u64,
    /// Reads of the backing device since the device was set up, in pages.
    pub reads: u64,
    /// Writes, likewise.
    pub writes: u64,
}

/// Why slots were not written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The backing device is full.
    Full,
    /// The kernel's `writeback_limit` is used up, the backing device has failed, or memory is short.
    LimitOrFailure,
    /// The kernel writes back, or compresses, for another program.
    Busy,
    /// The machine does not swap to the device, or the device was reset.
    NoDevice,
    /// Several areas were turned off, so that it is not known which pages are in zram.
    UnknownArea,
    /// By age alone: more pages are in zram than the budget allows to write.
    Budget,
}

impl Zram {
    /// The device `named`, or the only one that can be written back.
    ///
    /// # Errors
    /// `Unsupported` if there is none, with the reason; `Invalid` if there are several.
    pub fn find(root: &Root, named: Option<&str>) -> Result<Self> {
        let devices = zram::devices(root)?;
        let named = named.map(file_name);
        let swapped_to = swap::paths(root)?;
        let is_meant = |device: &zram::Zram| {
            named.is_none_or(|name| name == device.name)
                && swapped_to.iter().any(|path| is_at(path, Path::new(&device.name)))
        };
        let meant: Vec<_> = devices.into_iter().filter(is_meant).collect();
        if meant.is_empty() {
            let name = named.unwrap_or("a zram device");
            return Err(Error::Unsupported(format!("this machine does not swap to {name}")));
        }
        let mut backed: Vec<_> = meant
            .iter()
            .filter_map(|device| Some((device, device.backing_device.as_deref()?)))
            .collect();
        match (backed.pop(), backed.is_empty()) {
            (Some((device, backing)), true) => Self::open(root, device, backing),
            (Some(_), false) => Err(Error::Invalid(
                "several zram devices have a backing device: name one with --zram".to_owned(),
            )),
            (None, _) => Err(without_backing(root, &meant[0].name)),
        }
    }

    fn open(root: &Root, device: &zram::Zram, backing: &str) -> Result<Self> {
        let path = root.resolve(directory(&device.name).join("writeback"));
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.map_err(|error| Error::file("open", &path, error))?;
        let slots = Slot::try_from(device.size.get() / PAGE).unwrap_or(Slot::MAX);
        Ok(Self {
            root: root.clone(),
            name: device.name.clone(),
            backing: backing.to_owned(),
            slots,
            file,
            takes_many: None,
        })
    }

    /// Its name: `zram0` …
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of its backing device or file.
    pub fn backing(&self) -> &str {
        &self.backing
    }

    /// The number of its slots.
    pub fn slots(&self) -> Slot {
        self.slots
    }

    /// The place of its swap area among those of this machine, their number, and the pages that it
    /// has; `None` if the machine does not swap to it any more.
    ///
    /// # Errors
    /// `/proc/swaps` cannot be read.
    pub fn area(&self) -> Result<Option<(usize, usize, u64)>> {
        let paths = swap::paths(&self.root)?;
        let Some(place) = paths.iter().position(|path| is_at(path, Path::new(&self.name))) else {
            return Ok(None);
        };
        let areas = swap::devices(&self.root)?;
        let area = areas.iter().find(|area| area.path == paths[place]);
        Ok(area.map(|area| (place, paths.len(), area.used.get() / PAGE)))
    }

    /// The statistics at this moment.
    ///
    /// # Errors
    /// `Parse` with the file.
    pub fn stats(&self) -> Result<Stats> {
        let read = |file: &str| {
            let path = directory(&self.name).join(file);
            let numbers = numbers(&self.root.read(&path)?);
            numbers.ok_or_else(|| Error::parse(&path, 1, "expected numbers".to_owned()))
        };
        let (memory, backing) = (read("mm_stat")?, read("bd_stat")?);
        let number = |all: &[u64], place: usize| all.get(place).copied().unwrap_or_default();
        Ok(Stats {
            pages: (number(&memory, 0) / PAGE).saturating_sub(number(&backing, 0)),
            memory: Bytes(number(&memory, 2)),
            written_back: number(&backing, 0),
            reads: number(&backing, 1),
            writes: number(&backing, 2),
        })
    }

    /// Writes slots back, as many as one write to the kernel takes. A slot that holds nothing any
    /// more is passed over. Returns how many it has dealt with.
    ///
    /// # Errors
    /// Why none.
    pub fn write_back(&mut self, slots: &[Slot]) -> std::result::Result<usize, Stopped> {
        let Some((first, more)) = slots.split_first() else { return Ok(0) };
        if !more.is_empty() && self.takes_many != Some(false) {
            let (text, count) = request(slots);
            match self.write(&text) {
                Err(Errno::INVAL) if self.takes_many.is_none() => self.takes_many = Some(false),
                done => {
                    self.takes_many = Some(true);
                    return outcome(done, count);
                }
            }
        }
        let (text, count) = request(std::slice::from_ref(first));
        outcome(self.write(&text), count)
    }

    /// Has the kernel mark all slots that were not used for so long, rounded up to seconds.
    ///
    /// # Errors
    /// `Unsupported` if the kernel does not know how old they are (`CONFIG_ZRAM_TRACK_ENTRY_ACTIME`).
    pub fn mark_older(&self, age: Nanos) -> Result<()> {
        let path = self.root.resolve(directory(&self.name).join("idle"));
        let seconds = age.get().div_ceil(Nanos::from_millis(1_000).get());
        fs::write(&path, seconds.to_string()).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::INVAL) => Error::Unsupported(format!(
                "the kernel does not know how old the pages of {} are \
                 (CONFIG_ZRAM_TRACK_ENTRY_ACTIME)",
                self.name
            )),
            _ => Error::file("write", &path, error),
        })
    }

    /// For another thread.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn sweeper(&self) -> Result<Sweeper> {
        let file = self.file.try_clone();
        Ok(Sweeper(file.map_err(|error| Error::syscall("dup", "zram's writeback", error))?))
    }

    fn write(&self, text: &str) -> std::result::Result<(), Errno> {
        write(&self.file, text)
    }
}

/// Writes marked slots back.
#[derive(Debug)]
pub struct Sweeper(File);

impl Sweeper {
    /// Writes all marked slots back, which may take minutes.
    ///
    /// # Errors
    /// Why not all.
    pub fn write_marked_back(&self) -> std::result::Result<(), Stopped> {
        outcome(write(&self.0, "idle"), 0).map(drop)
    }
}

fn write(file: &File, text: &str) -> std::result::Result<(), Errno> {
    let written = file.write_all_at(text.as_bytes(), 0);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// What became of a write of so many slots.
fn outcome(
    done: std::result::Result<(), Errno>,
    count: usize,
) -> std::result::Result<usize, Stopped> {
    match done {
        Ok(()) => Ok(count),
        Err(Errno::NOSPC) => Err(Stopped::Full),
        Err(Errno::AGAIN) => Err(Stopped::Busy),
        // Of a device that has no size or backing device any more, or has a smaller size.
        Err(Errno::INVAL | Errno::NODEV | Errno::RANGE) => Err(Stopped::NoDevice),
        Err(_) => Err(Stopped::LimitOrFailure),
    }
}

/// Why a device has no backing device.
fn without_backing(root: &Root, name: &str) -> Error {
    let reason = if root.exists(directory(name).join("backing_dev")) {
        format!(
            "{name} has no backing device: name one in /sys/block/{name}/backing_dev before \
             its size is set, or with writeback-device in zram-generator.conf"
        )
    } else {
        "this kernel's zram does not write back (CONFIG_ZRAM_WRITEBACK)".to_owned()
    };
    Error::Unsupported(reason)
}

/// What is written to the kernel for as many of these slots as there is room for, and their number.
fn request(slots: &[Slot]) -> (String, usize) {
    let (mut text, mut count) = (String::new(), 0);
    for slot in slots {
        let before = text.len();
        let space = if before > 0 { " " } else { "" };
        let _to_a_string = write!(text, "{space}page_index={slot}");
        if text.len() > LONGEST {
            text.truncate(before);
            break;
        }
        count += 1;
    }
    (text, count)
}

/// The numbers of a file; `None` if one is none.
fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split_whitespace().map(|number| number.parse().ok()).collect()
}

fn directory(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name)
}

/// The name of a device at this path: Android's are below `/dev/block`.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(devices: &[(&str, Option<&str>)], swaps: &[&str]) -> (tempfile::TempDir, Root) {
        let top = tempfile::tempdir().unwrap();
        for (name, backing) in devices {
            let block = top.path().join("sys/block").join(name);
            fs::create_dir_all(&block).unwrap();
            fs::write(block.join("disksize"), "1048576").unwrap();
            fs::write(block.join("mm_stat"), "40960 74 12288 0 12288 0 0 0 0").unwrap();
            if let Some(backing) = backing {
                fs::write(block.join("backing_dev"), backing).unwrap();
                fs::write(block.join("bd_stat"), "  3 70 5\n").unwrap();
                fs::write(block.join("writeback"), "").unwrap();
            }
        }
        let lines: Vec<String> =
            swaps.iter().map(|name| format!("/dev/block/{name} partition 1024 0 -2\n")).collect();
        fs::create_dir_all(top.path().join("proc")).unwrap();
        let text = format!("Filename Type Size Used Priority\n{}", lines.concat());
        fs::write(top.path().join("proc/swaps"), text).unwrap();
        let root = Root::at(top.path());
        (top, root)
    }

    #[test]
    fn the_device_with_a_backing_device_is_found() {
        let devices = [("zram0", Some("none")), ("zram1", Some("/dev/sda2"))];
        let (_top, root) = machine(&devices, &["sdb1", "zram0", "zram1"]);
        let found = Zram::find(&root, None).unwrap();
        assert_eq!((found.name(), found.backing(), found.slots()), ("zram1", "/dev/sda2", 256));
        assert_eq!(found.area().unwrap(), Some((2, 3, 0)));
        let stats = found.stats().unwrap();
        assert_eq!((stats.pages, stats.memory, stats.written_back), (7, Bytes(12_288), 3));
        assert_eq!((stats.reads, stats.writes), (70, 5));
        for path in ["/dev/zram1", "/dev/block/zram1", "zram1"] {
            assert_eq!(Zram::find(&root, Some(path)).unwrap().name(), "zram1");
        }
        let error = Zram::find(&root, Some("zram0")).unwrap_err().to_string();
        assert!(error.starts_with("zram0 has no backing device"), "{error}");
    }

    #[test]
    fn why_there_is_none_is_said() {
        let error = |devices: &[(&str, Option<&str>)], swaps: &[&str]| {
            let (_top, root) = machine(devices, swaps);
            Zram::find(&root, None).unwrap_err().to_string()
        };
        assert!(error(&[], &[]).contains("does not swap to a zram device"));
        assert!(error(&[("zram0", Some("/dev/sda"))], &[]).contains("does not swap to a zram"));
        assert!(error(&[("zram0", None)], &["zram0"]).contains("CONFIG_ZRAM_WRITEBACK"));
        let two = [("zram0", Some("/dev/sda")), ("zram1", Some("/dev/sdb"))];
        assert!(error(&two, &["zram0", "zram1"]).contains("--zram"));
    }

    #[test]
    fn a_request_is_no_longer_than_a_file_of_sysfs_takes() {
        assert_eq!(request(&[7]), ("page_index=7".to_owned(), 1));
        assert_eq!(request(&[7, 10]), ("page_index=7 page_index=10".to_owned(), 2));
        let (text, count) = request(&[4_000_000_000; 1_000]);
        assert!(text.len() <= LONGEST && text.len() + 22 > LONGEST, "{}", text.len());
        assert_eq!(text.split(' ').count(), count);
    }
}
