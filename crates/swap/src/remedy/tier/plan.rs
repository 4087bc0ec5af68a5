//! What a user wants of a tier, and the settings that follow.

use std::path::PathBuf;

use unjank_cachesim::tier::TierPolicy;
use unjank_host::machine::MemInfo;
use unjank_host::memory::page_size;
use unjank_host::swapped_pages::SwappedPages;
use unjank_host::{Bytes, Error, Result, Root, Support, Timestamp};

use super::super::policy::Identity;
use super::backing::{Wanted, examine};
use super::map::{Frame, Slot};
use super::server::PAGE;
use super::settings::Settings;

/// The smallest number of frames and slots.
const FEWEST: u32 = 16;
/// The most slots: the kernel's swap entries, and the map's 32 bits.
const MOST: u32 = 1 << 30;
/// The most slots of which the pages can be known: numbers of pages have 30 bits.
const MOST_KNOWN: u32 = 1 << 28;

/// What a user wants of a tier.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The fast backing.
    pub fast: Fast,
    /// The path of the slow backing.
    pub slow: PathBuf,
    /// The size of a slow backing that is to be made.
    pub size: Option<Bytes>,
    /// Whether the backings are overwritten, whatever they hold.
    pub formats: bool,
    /// Which pages the tier keeps.
    pub policy: TierPolicy,
    /// How the policy identifies a page.
    pub identity: Identity,
    /// Whether each page has a checksum.
    pub verify: bool,
    /// Queues of the device.
    pub queues: u16,
    /// Priority of the swap area.
    pub priority: u16,
}

/// A fast backing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fast {
    /// Memory of this machine.
    Memory(Bytes),
    /// A file or a block device.
    Path(PathBuf),
}

impl Plan {
    /// The settings of a new tier. Nothing is changed yet.
    ///
    /// # Errors
    /// `Invalid` for sizes that do not fit, or as [`examine`].
    pub fn settings(&self) -> Result<Settings> {
        let Self { slow: path, size, formats, .. } = self;
        if page_size() != Bytes(PAGE) {
            let why = format!("this kernel has pages of {}, and the tier has 4 KiB", page_size());
            return Err(Error::Unsupported(why));
        }
        let (slow, slots) = examine(Wanted { path, size: *size, formats: *formats })?;
        let (fast, frames): (_, Frame) = match &self.fast {
            Fast::Memory(bytes) => (None, u32::try_from(bytes.get() / PAGE).unwrap_or(u32::MAX)),
            Fast::Path(path) => {
                let wanted = Wanted { path, size: None, formats: *formats };
                let (fast, pages) = examine(wanted)?;
                // The first page is the mark.
                (Some(fast), pages - 1)
            }
        };
        check(slots, frames)?;
        if self.identity == Identity::Page && slots > MOST_KNOWN {
            let most = Bytes(u64::from(MOST_KNOWN) * PAGE);
            return Err(Error::Invalid(format!(
                "--identity page needs a slow backing of at most {most}"
            )));
        }
        if fast.as_ref().is_some_and(|fast| fast.path == slow.path) {
            return Err(Error::Invalid("the fast and the slow backing are the same".to_owned()));
        }
        for backing in fast.iter().chain([&slow]) {
            // The settings are JSON.
            if backing.path.to_str().is_none() {
                let path = backing.path.display();
                return Err(Error::Invalid(format!("the path {path} is not UTF-8")));
            }
        }
        let settings = Settings {
            mark: mark(),
            policy: self.policy.to_string(),
            identity: self.identity,
            slots,
            frames,
            fast,
            slow,
            verify: self.verify,
            queues: self.queues,
            priority: self.priority,
        };
        if settings.identity == Identity::Page
            && let Support::No(reason) = SwappedPages::new(&Root::system())?
        {
            return Err(Error::Unsupported(reason));
        }
        check_memory(&settings)?;
        Ok(settings)
    }
}

/// Fails if the memory of the tier would not leave enough for others.
fn check_memory(settings: &Settings) -> Result<()> {
    let memory = MemInfo::read(&Root::system())?;
    let available = memory.available().unwrap_or_default();
    let wanted = settings.memory();
    if wanted.get() > available.get() / 2 {
        return Err(Error::Invalid(format!(
            "the tier would take {wanted} of memory, and {available} are available: at most half \
             is possible"
        )));
    }
    Ok(())
}

fn check(slots: Slot, frames: Frame) -> Result<()> {
    let size = |pages: u32| Bytes(u64::from(pages) * PAGE);
    if !(FEWEST..=MOST).contains(&slots) {
        return Err(Error::Invalid(format!("a slow backing of {} is not possible", size(slots))));
    }
    if !(FEWEST..slots).contains(&frames) {
        return Err(Error::Invalid(format!(
            "a fast backing of {} over a slow one of {} is not possible: it must be smaller, and \
             at least {}",
            size(frames),
            size(slots),
            size(FEWEST)
        )));
    }
    Ok(())
}

/// A mark that no other device of this boot has.
fn mark() -> u64 {
    u64::from(std::process::id()) << 40 ^ Timestamp::now().as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_backing_is_the_smaller_one() {
        for (slots, frames) in [(4096, 512), (17, 16), (1 << 30, 1 << 20)] {
            check(slots, frames).unwrap();
        }
        for (slots, frames) in [(4096, 4096), (15, 10), (4096, 15), (u32::MAX, 512), (9, 90)] {
            assert!(check(slots, frames).is_err(), "{slots} {frames}");
        }
    }
}
