//! A swap area that is turned on and off again. Only a loop device with a
//! header that unjank wrote is accepted, so a journal cannot turn off the
//! system's own swap.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::failpoint;
use super::rule::CurrentState;
use super::site::Site;
use super::visible::why_no_proc;
use crate::error::{Error, Result};
use crate::machine::swap;
use crate::swap_header::LABEL_AT;
use crate::swap_switch;
use crate::temporary_swap::LABEL;

/// A loop device that is, or will be, a swap area.
#[derive(Debug)]
pub(super) struct SwapPlace {
    site: Site,
    path: String,
}

impl SwapPlace {
    /// # Errors
    /// `Invalid` if `path` is not a loop device.
    pub(super) fn open(site: &Site, path: &Path) -> Result<Self> {
        let named = path.to_str().filter(|path| is_loop_device(path));
        let path = named.ok_or_else(|| {
            Error::Invalid(format!("{} is not a loop device, so it is not changed", path.display()))
        })?;
        Ok(Self { site: site.clone(), path: path.to_owned() })
    }

    /// Its name on the machine.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the machine swaps to it.
    pub(super) fn look(&self) -> Result<CurrentState> {
        if let Some(why) = why_no_proc(self.site.root(), "/proc/swaps") {
            return Ok(CurrentState::Hidden(why));
        }
        let devices = swap::devices(self.site.root())?;
        if devices.iter().all(|device| device.path != self.path) {
            return Ok(CurrentState::Missing);
        }
        match self.is_ours() {
            Ok(true) => Ok(CurrentState::SwapArea),
            // Numbers of loop devices are reused.
            Ok(false) => Ok(CurrentState::Reads("another program's swap area".to_owned())),
            Err(error) if error.is_not_found() => {
                Ok(CurrentState::Hidden(format!("it is in use, but {} is missing here", self.path)))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the area has unjank's label.
    fn is_ours(&self) -> Result<bool> {
        let read = |action| move |source| Error::file(action, &self.path, source);
        let device = self.site.root().open(Path::new(&self.path)).map_err(read("open"))?;
        let mut label = [0; LABEL.len()];
        device.read_exact_at(&mut label, LABEL_AT as u64).map_err(read("read"))?;
        Ok(label == *LABEL)
    }

    /// Turns it on, preferred to all areas but those with the highest priority.
    pub(super) fn turn_on(&self) -> Result<()> {
        self.check()?;
        if !self.is_ours()? {
            return Err(Error::Invalid(format!("{} has no swap area made by unjank", self.path)));
        }
        swap_switch::turn_on(Path::new(&self.path), swap_switch::ON_STORAGE, false)
    }

    /// Brings its pages back into memory and turns it off.
    pub(super) fn turn_off(&self) -> Result<()> {
        self.check()?;
        swap_switch::turn_off(Path::new(&self.path))
    }

    fn check(&self) -> Result<()> {
        failpoint::check().map_err(|source| Error::file("swap to", &self.path, source))?;
        if self.site.is_system() {
            Ok(())
        } else {
            Err(Error::Unsupported("swap needs the running machine".to_owned()))
        }
    }
}

fn is_loop_device(path: &str) -> bool {
    path.strip_prefix("/dev/loop").is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::root::Root;

    #[test]
    fn only_loop_devices_are_turned_off() {
        let top = tempfile::tempdir().unwrap();
        let site = Site::of(&Root::at(top.path())).unwrap();
        for path in ["/dev/sda2", "/dev/loop", "/dev/loop1p1", "/dev/loop../sda", "/swapfile"] {
            let error = SwapPlace::open(&site, Path::new(path)).unwrap_err();
            assert!(matches!(error, Error::Invalid(_)), "{path}");
        }
        assert_eq!(SwapPlace::open(&site, Path::new("/dev/loop7")).unwrap().path(), "/dev/loop7");
    }

    #[test]
    fn proc_swaps_shows_whether_it_is_on() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("proc")).unwrap();
        let line = "/dev/loop7                              partition\t1020\t0\t32767\n";
        let text = format!("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n{line}");
        fs::write(top.path().join("proc/swaps"), text).unwrap();
        fs::create_dir(top.path().join("dev")).unwrap();
        let device = |header: &[u8]| fs::write(top.path().join("dev/loop7"), header).unwrap();
        device(&crate::swap_header::header(2560, 4096, LABEL));
        let site = Site::of(&Root::at(top.path())).unwrap();
        let look = |path: &str| SwapPlace::open(&site, Path::new(path)).unwrap().look().unwrap();
        assert_eq!(look("/dev/loop7"), CurrentState::SwapArea);
        assert_eq!(look("/dev/loop8"), CurrentState::Missing);
        fs::rename(top.path().join("dev/loop7"), top.path().join("elsewhere")).unwrap();
        assert!(matches!(look("/dev/loop7"), CurrentState::Hidden(_)), "in use, but hidden");
        fs::rename(top.path().join("elsewhere"), top.path().join("dev/loop7")).unwrap();
        let place = SwapPlace::open(&site, Path::new("/dev/loop7")).unwrap();
        assert!(matches!(place.turn_off(), Err(Error::Unsupported(_))), "not this machine's");
        device(&[0; 4096]);
        assert_eq!(
            look("/dev/loop7"),
            CurrentState::Reads("another program's swap area".to_owned())
        );
    }
}
