//! The machine's name.

use std::path::Path;

use super::cpuinfo::CpuInfo;
use super::reader::{line, one_line};
use crate::error::Result;
use crate::root::Root;

/// The fields of the firmware's DMI table that name the model, without those
/// that identify one machine (serial numbers, UUIDs).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dmi {
    pub(super) vendor: String,
    pub(super) product: String,
    pub(super) bios_vendor: String,
}

/// Placeholders of firmware for fields that the maker left empty.
const PLACEHOLDERS: [&str; 6] = [
    "default string",
    "not specified",
    "system manufacturer",
    "system product name",
    "to be filled by o.e.m.",
    "unknown",
];

impl Dmi {
    /// Empty on machines without DMI, which includes most that are not x86.
    pub(super) fn read(root: &Root) -> Result<Self> {
        let field = |name: &str| {
            let value = line(root, Path::new("/sys/class/dmi/id").join(name))?;
            let named = value.filter(|value| !is_placeholder(value));
            Ok(named.unwrap_or_default())
        };
        Ok(Self {
            vendor: field("sys_vendor")?,
            product: field("product_name")?,
            bios_vendor: field("bios_vendor")?,
        })
    }
}

fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS.contains(&value.to_lowercase().as_str())
}

/// The machine's name: from DMI, from the device tree, or the board's in
/// `/proc/cpuinfo` of old ARM kernels.
pub(super) fn name(root: &Root, dmi: &Dmi, info: &CpuInfo) -> Result<Option<String>> {
    let dmi = format!("{} {}", dmi.vendor, dmi.product);
    if !dmi.trim().is_empty() {
        return Ok(Some(dmi.trim().to_owned()));
    }
    let model = device_tree(root, "model")?;
    Ok(model.or_else(|| info.board().map(str::to_owned)))
}

/// A text of the device tree. Zero bytes, which separate several texts, become
/// spaces.
pub(super) fn device_tree(root: &Root, property: &str) -> Result<Option<String>> {
    let path = Path::new("/proc/device-tree").join(property);
    let text = root.read_if_there(path)?.map(|text| one_line(&text.replace('\0', " ")));
    Ok(text.filter(|text| !text.is_empty()))
}
