//! Swap areas that come while it is recorded, and those of other recordings: swap is the whole
//! machine's, and the kernel puts any process's pages into any area.

use std::path::Path;

use unjank_host::machine::swap;
use unjank_host::{Result, Root, Support, temporary_swap};

use super::area::Area;
use super::find;

/// Swap areas of the machine, as they were at the last look.
#[derive(Debug)]
pub(super) struct Swaps {
    root: Root,
    there: Vec<String>,
    /// What to know about them: sentences.
    notes: Vec<String>,
}

impl Swaps {
    /// Those that are there; `own` is this recording's.
    pub(super) fn look(root: &Root, own: Option<&str>) -> Result<Self> {
        let there = swap::paths(root)?;
        let others = there.iter().filter(|path| own != Some(path) && is_recordings(root, path));
        let notes = others.map(|path| {
            format!(
                "{path} is the swap area of another recording: pages of its program go to this \
                 recording's area, too, and pages of this one's to that"
            )
        });
        Ok(Self { root: root.clone(), notes: notes.collect(), there })
    }

    /// Areas that were turned on since the last look.
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
            let whose = if is_recordings(&self.root, path) { ", another recording's" } else { "" };
            self.notes.push(match find::swap_area(&self.root, &device)? {
                Support::Yes(area) => {
                    areas.push(area);
                    format!(
                        "swap was added meanwhile on {path}{whose}: the trace has it from then on"
                    )
                }
                Support::No(reason) => format!(
                    "swap was added meanwhile on {path}{whose}, and is not recorded: {reason}"
                ),
            });
        }
        Ok(areas)
    }

    /// What to know about areas: sentences.
    pub(super) fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// Whether the area is one that `swap record` has made; not where that cannot be read.
fn is_recordings(root: &Root, path: &str) -> bool {
    temporary_swap::is_one(root, Path::new(path)).unwrap_or(false)
}
