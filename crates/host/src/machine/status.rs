//! `/proc/self/status`.

use crate::error::Result;
use crate::root::Root;

/// The whole file; `None` without procfs.
pub(super) fn read(root: &Root) -> Result<Option<String>> {
    root.read_if_there("/proc/self/status")
}

/// The value of one field: `field(text, "CapEff")`.
pub(super) fn field<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then_some(value.trim())
    })
}
