//! Finds the areas to record: the machine's swap areas and the devices named by the user.

use std::path::Path;

use unjank_host::block_device::{self, DeviceNumber, Part};
use unjank_host::machine::swap;
use unjank_host::swap_area::{self, Area, whole};
use unjank_host::{Error, Result, Root, Support};

/// The areas to record.
#[derive(Debug, Default)]
pub(super) struct RecordedAreas {
    pub(super) areas: Vec<Area>,
    /// Warnings about swap areas that cannot be recorded.
    pub(super) left_out: Vec<String>,
}

/// All swap areas in use, and `devices`.
pub(super) fn areas(root: &Root, devices: &[String]) -> Result<RecordedAreas> {
    let mut found = RecordedAreas::default();
    for device in swap::devices(root)? {
        match swap_area::of(root, &device)? {
            Support::Yes(area) => found.areas.push(area),
            Support::No(reason) => {
                found.left_out.push(format!("swap on {} is not recorded: {reason}", device.path));
            }
        }
    }
    for name in devices {
        found.areas.push(named(root, name)?);
    }
    Ok(found)
}

/// `vda`, `/dev/vda2` or `254,0`.
fn named(root: &Root, name: &str) -> Result<Area> {
    let unknown = || Error::Unsupported(format!("no such block device: {name}"));
    let number = match name.split_once([',', ':']) {
        Some((major, minor)) => match (major.parse(), minor.parse()) {
            (Ok(major), Ok(minor)) => DeviceNumber::new(major, minor),
            _ => return Err(unknown()),
        },
        None => block_device::number_of(root, &Path::new("/dev").join(name))
            .map_err(|error| if error.is_not_found() { unknown() } else { error })?,
    };
    let Part { device, start, sectors, .. } =
        block_device::part(root, number)?.ok_or_else(unknown)?;
    Ok(Area::new(name.to_owned(), device, false, whole(start, sectors)))
}

/// Whether `file`, which need not exist yet, is on a device of which all requests are recorded.
pub(super) fn holds(root: &Root, file: &Path, areas: &[Area]) -> Result<bool> {
    let directory = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let number = directory.canonicalize().ok().map(|real| block_device::number_of(root, &real));
    let Some(Ok(number)) = number else { return Ok(false) };
    let part = block_device::part(root, number)?;
    Ok(part
        .is_some_and(|part| areas.iter().any(|area| !area.is_swap && area.device == part.device)))
}
