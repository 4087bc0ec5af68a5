//! Swap areas that are added during a recording, and those of other recordings. Swap belongs to the
//! whole machine: the kernel puts pages of any process into any area.

use std::path::Path;

use unjank_host::machine::swap;
use unjank_host::swap_area::{self, Area};
use unjank_host::{Result, Root, Support, temporary_swap};

/// The machine's swap areas at the last check.
#[derive(Debug)]
pub(super) struct SwapAreas {
    root: Root,
    there: Vec<String>,
    /// Warnings about areas.
    notes: Vec<String>,
}

impl SwapAreas {
    /// The current swap areas; `own` is the area of this recording.
    pub(super) fn look(root: &Root, own: Option<&str>) -> Result<Self> {
        let there = swap::paths(root)?;
        let others = there.iter().filter(|path| own != Some(path) && is_recordings(root, path));
        let notes = others.map(|path| {
            format!(
                "{path} is the swap area of another recording: both recordings' programs use both \
                 areas"
            )
        });
        Ok(Self { root: root.clone(), notes: notes.collect(), there })
    }

    /// Areas that were turned on since the last check.
    pub(super) fn new_areas(&mut self) -> Result<Vec<Area>> {
        let now = swap::paths(&self.root)?;
        if now == self.there {
            return Ok(Vec::new());
        }
        let before = std::mem::replace(&mut self.there, now);
        let mut areas = Vec::new();
        for device in swap::devices(&self.root)? {
            if before.contains(&device.path) {
                continue;
            }
            let path = &device.path;
            let whose = if is_recordings(&self.root, path) { " by another recording" } else { "" };
            self.notes.push(match swap_area::of(&self.root, &device)? {
                Support::Yes(area) => {
                    areas.push(area);
                    format!(
                        "swap was added on {path}{whose} during the recording; it is recorded from \
                         then on"
                    )
                }
                Support::No(reason) => format!(
                    "swap was added on {path}{whose} during the recording and is not recorded: \
                     {reason}"
                ),
            });
        }
        Ok(areas)
    }

    /// Takes the warnings about areas.
    pub(super) fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// Whether a `swap record` made the area; false if that cannot be read.
fn is_recordings(root: &Root, path: &str) -> bool {
    temporary_swap::is_one(root, Path::new(path)).unwrap_or(false)
}
