//! A zram device that is added and removed again. Only a device with a header that unjank wrote is
//! removed, so a journal cannot take away another program's.

use std::path::Path;

use super::failpoint;
use super::rule::CurrentState;
use super::site::Site;
use super::visible::why_no_proc;
use crate::error::{Error, Result};
use crate::machine::swap;
use crate::swap_switch;
use crate::zram_device;
use unjank_units::Bytes;

/// A zram device that unjank has added.
#[derive(Debug)]
pub(super) struct ZramPlace {
    site: Site,
    number: u32,
    path: String,
}

impl ZramPlace {
    /// # Errors
    /// `Invalid` if `path` is not that of a zram device.
    pub(super) fn open(site: &Site, path: &Path) -> Result<Self> {
        match zram_device::number(path) {
            Some(number) => Ok(Self::numbered(site, number)),
            None => Err(Error::Invalid(format!(
                "{} is not a zram device, so it is not changed",
                path.display()
            ))),
        }
    }

    /// The device with this number.
    pub(super) fn numbered(site: &Site, number: u32) -> Self {
        Self { site: site.clone(), number, path: format!("/dev/zram{number}") }
    }

    /// Its name on the machine.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether it holds what unjank wrote. While its set-up is not `settled`, it may have no size and
    /// no header yet.
    pub(super) fn look(&self, settled: bool) -> Result<CurrentState> {
        let sysfs = format!("/sys/block/zram{}", self.number);
        let hidden = self.site.why_hidden(&sysfs);
        if let Some(why) = hidden.or_else(|| why_no_proc(self.site.root(), "/proc/swaps")) {
            return Ok(CurrentState::Hidden(why));
        }
        match zram_device::size(self.site.root(), self.number)? {
            None => Ok(CurrentState::Missing),
            Some(Bytes(0)) if settled => Ok(CurrentState::Missing),
            Some(Bytes(0)) => Ok(CurrentState::Zram),
            Some(_) => match zram_device::is_ours(self.site.root(), self.number) {
                Ok(true) => Ok(CurrentState::Zram),
                Ok(false) if !settled && zram_device::is_blank(self.site.root(), self.number)? => {
                    Ok(CurrentState::Zram)
                }
                // Numbers of zram devices are reused.
                Ok(false) => Ok(CurrentState::Reads("another program's zram device".to_owned())),
                Err(error) if error.is_not_found() => {
                    Ok(CurrentState::Hidden(format!("it is in use, but {} is missing", self.path)))
                }
                Err(error) => Err(error),
            },
        }
    }

    /// Gives the device, which was added just now, its algorithm, size and backing device.
    pub(super) fn set_up(
        &self,
        algorithm: &str,
        size: Bytes,
        backing: Option<&Path>,
    ) -> Result<()> {
        self.check()?;
        zram_device::set_up(self.site.root(), self.number, algorithm, size, backing)
    }

    /// Removes it, after its pages were brought back into memory.
    pub(super) fn remove(&self) -> Result<()> {
        self.check()?;
        let swaps = swap::paths(self.site.root())?;
        let is_this = |path: &&String| zram_device::number(Path::new(path)) == Some(self.number);
        if let Some(path) = swaps.iter().find(is_this) {
            swap_switch::turn_off(Path::new(path))?;
        }
        zram_device::remove(self.site.root(), self.number)
    }

    fn check(&self) -> Result<()> {
        failpoint::check().map_err(|source| Error::file("change", &self.path, source))?;
        if self.site.is_system() {
            Ok(())
        } else {
            Err(Error::Unsupported("zram needs the running machine".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::root::Root;

    #[test]
    fn only_devices_with_unjanks_header_are_removed() {
        let top = tempfile::tempdir().unwrap();
        for directory in ["proc", "dev", "sys/block/zram3"] {
            fs::create_dir_all(top.path().join(directory)).unwrap();
        }
        let site = Site::of(&Root::at(top.path())).unwrap();
        assert!(ZramPlace::open(&site, Path::new("/dev/sda")).is_err());
        let place = ZramPlace::open(&site, Path::new("/dev/zram3")).unwrap();
        let look = |settled: bool| place.look(settled).unwrap();
        assert_eq!(look(true), CurrentState::Missing, "there is none");
        fs::write(top.path().join("sys/block/zram3/disksize"), "0\n").unwrap();
        assert_eq!((look(true), look(false)), (CurrentState::Missing, CurrentState::Zram));
        fs::write(top.path().join("sys/block/zram3/disksize"), "1048576\n").unwrap();
        fs::write(top.path().join("dev/zram3"), [0; 4096]).unwrap();
        assert!(matches!(look(true), CurrentState::Reads(_)));
        assert_eq!(look(false), CurrentState::Zram, "blank: the header was to come");
        fs::write(top.path().join("dev/zram3"), [7; 4096]).unwrap();
        assert!(matches!(look(false), CurrentState::Reads(_)), "another program's");
        let header = crate::swap_header::header(256, 4096, b"unjank zram\0\0\0\0\0");
        fs::write(top.path().join("dev/zram3"), header).unwrap();
        assert_eq!(look(true), CurrentState::Zram);
        assert!(matches!(place.remove(), Err(Error::Unsupported(_))), "not this machine's");
    }
}
