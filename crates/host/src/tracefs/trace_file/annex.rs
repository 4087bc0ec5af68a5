//! Data that an explanation needs besides events. Only recordings by unjank
//! contain it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::inode::FileId;
use crate::machine::ThrottledGroup;
use crate::swap_area::Area;

/// Data that an explanation needs besides the events of a recording.
///
/// A `trace.dat` contains it as JSON in the option VERSION, after the name of the
/// program that wrote the file. Other readers show only that name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Annex {
    /// Thread id (TID) of the explained thread; 0 in a recording of a whole machine.
    pub thread: u32,
    /// The first thread of its program; 0 if it is the explained one.
    pub first: u32,
    /// The explained window, in nanoseconds of the trace's clock.
    pub window: [u64; 2],
    /// Whether the window is part of a longer run of the program, and no launch.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_window: bool,
    /// The start and the stop of each buffer's recording, in nanoseconds of the
    /// trace's clock.
    pub recorded: Vec<[u64; 2]>,
    /// The highest clock frequency of each CPU in kHz.
    pub highest_khz: BTreeMap<usize, u64>,
    /// The clock frequency of each CPU at the start, in kHz.
    pub start_khz: BTreeMap<usize, u64>,
    /// The threads of the kernel.
    pub kernel_threads: BTreeSet<u32>,
    /// Functions of the kernel, by address.
    pub functions: BTreeMap<u64, String>,
    /// The machine's swap areas.
    pub swap: Vec<Area>,
    /// Paths of files.
    pub files: Vec<(FileId, String)>,
    /// The groups that were throttled for their CPU quotas in the explained window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<ThrottledGroup>,
    /// The gaps of each CPU, in a trace of Perfetto, which does not have their beginnings; empty in
    /// a `trace.dat`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<AnnexGaps>,
}

/// The gaps of a CPU: beginnings and ends in nanoseconds of the trace's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnexGaps {
    /// The CPU's number.
    pub cpu: usize,
    /// Spans in which events may be missing.
    pub of_events: Vec<[u64; 2]>,
    /// Spans in which requests of threads to the kernel may be missing.
    pub of_calls: Vec<[u64; 2]>,
}

/// The name that the option VERSION begins with.
const PROGRAM: &str = "unjank";

impl Annex {
    /// The content of the option VERSION.
    pub(super) fn to_version(&self, version: &str) -> Vec<u8> {
        let mut bytes = format!("{PROGRAM} {version}\0").into_bytes();
        // It cannot fail: the keys of all maps are numbers, which JSON can represent.
        bytes.extend(serde_json::to_vec(self).unwrap_or_default());
        bytes.push(0);
        bytes
    }

    /// The annex in the content of the option VERSION; `None` if another
    /// program wrote it.
    pub(super) fn of_version(content: &[u8]) -> Option<Result<Self, serde_json::Error>> {
        let (name, rest) = content.split_at(content.iter().position(|byte| *byte == 0)?);
        if name.split(|byte| *byte == b' ').next() != Some(PROGRAM.as_bytes()) {
            return None;
        }
        let json = rest.get(1..)?;
        Some(serde_json::from_slice(json.strip_suffix(&[0]).unwrap_or(json)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_device::DeviceNumber;
    use crate::swap_area::whole;
    use unjank_units::Nanos;

    const DISK: DeviceNumber = DeviceNumber::new(254, 0);

    #[test]
    fn an_annex_comes_back_and_other_programs_have_none() {
        let annex = Annex {
            thread: 7,
            first: 5,
            window: [1, u64::MAX],
            throttled: vec![ThrottledGroup {
                path: "/batch".to_owned(),
                time: Nanos(3),
                has_process: true,
            }],
            is_window: true,
            recorded: vec![[0, 9], [1, 8]],
            highest_khz: BTreeMap::from([(0, 2_800_000), (3, 1)]),
            start_khz: BTreeMap::new(),
            kernel_threads: BTreeSet::from([2, 17]),
            functions: BTreeMap::from([(u64::MAX, "wb_workfn".to_owned())]),
            swap: vec![Area::new("/swap".to_owned(), DISK, true, whole(2_048, 4_096))],
            files: vec![(FileId { device: DISK, inode: 12 }, "/usr/bin/git".to_owned())],
            gaps: vec![AnnexGaps { cpu: 1, of_events: vec![[0, 5]], of_calls: vec![] }],
        };
        let version = annex.to_version("0.1.0");
        assert!(version.starts_with(b"unjank 0.1.0\0{"));
        assert_eq!(Annex::of_version(&version).unwrap().unwrap(), annex);
        assert!(Annex::of_version(b"3.1.6 not-a-git-repo\0").is_none());
        assert!(Annex::of_version(b"unjanked\0{}").is_none());
        assert!(Annex::of_version(b"unjank 9").is_none());
        assert!(Annex::of_version(b"unjank 9\0{").unwrap().is_err());
    }
}
