//! What a tier is made of.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unjank_host::Bytes;
use unjank_host::ublk::Shape;

use super::super::policy::Identity;
use super::map::{Frame, Map, Slot};
use super::published::Published;
use super::server::PAGE;

/// Requests in a queue, and pages of the largest one.
const DEPTH: u16 = 64;
const LARGEST_PAGES: u64 = 16;
/// The frames of the fast backing for each one that the policy does not fill, so that there is a
/// frame for a page that enters before the one that leaves was copied. At most [`MOST_SPARE`].
const FRAMES_PER_SPARE: Frame = 16;
const MOST_SPARE: Frame = 4096;

/// What a tier is made of. It does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The mark of its device.
    pub mark: u64,
    /// The name of the policy.
    pub policy: String,
    /// How it identifies a page.
    pub identity: Identity,
    /// Pages of the device.
    pub slots: Slot,
    /// Pages of the fast backing.
    pub frames: Frame,
    /// The fast backing; memory if there is none.
    pub fast: Option<Backing>,
    /// The slow backing.
    pub slow: Backing,
    /// Whether each page has a checksum.
    pub verify: bool,
    /// Queues of the device.
    pub queues: u16,
    /// Priority of the swap area.
    pub priority: u16,
}

/// A file or a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backing {
    /// Its absolute path.
    pub path: PathBuf,
    /// Whether it was made for the tier, and is removed with it.
    pub is_ours: bool,
    /// Whether it takes the place of a file that was there.
    pub replaces: bool,
}

impl Settings {
    /// The shape of the device.
    pub fn shape(&self) -> Shape {
        Shape {
            size: Bytes(u64::from(self.slots) * PAGE),
            block: Bytes(PAGE),
            queues: self.queues,
            depth: DEPTH,
            largest: Bytes(LARGEST_PAGES * PAGE),
        }
    }

    /// Frames that the policy fills.
    pub fn kept(&self) -> Frame {
        self.frames - (self.frames / FRAMES_PER_SPARE).clamp(1, MOST_SPARE)
    }

    /// Bytes of memory for frames.
    pub(super) fn fast_memory(&self) -> u64 {
        if self.fast.is_some() { 0 } else { u64::from(self.frames) * PAGE }
    }

    /// Bytes of all files of the tier in memory.
    pub(super) fn memory(&self) -> Bytes {
        let whole_pages = |bytes: u64| bytes.next_multiple_of(PAGE);
        let files =
            [Map::bytes(self.slots), Published::BYTES].map(|bytes| whole_pages(bytes as u64));
        // A page for the settings, some for directories.
        Bytes(files.iter().sum::<u64>() + self.fast_memory() + 8 * PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_frames_are_spare() {
        let mut settings = Settings {
            mark: 1,
            policy: "paper".to_owned(),
            identity: Identity::Slot,
            slots: 4096,
            frames: 512,
            fast: None,
            slow: Backing { path: "/swap".into(), is_ours: true, replaces: false },
            verify: true,
            queues: 2,
            priority: 5,
        };
        let mut kept = |frames| {
            settings.frames = frames;
            settings.kept()
        };
        assert_eq!((kept(2), kept(512), kept(1 << 20)), (1, 480, (1 << 20) - 4096));
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    }
}
