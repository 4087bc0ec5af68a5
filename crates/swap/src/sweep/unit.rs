//! Units of work: one trace and size of memory. A key names a unit by everything that determines
//! its results, so any machine can tell whether a unit is done.

use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use unjank_host::Nanos;
use unjank_host::input::Input;

use super::Options;
use crate::simulate::{Latency, MemoryOptions};
use crate::synth::Preset;
use crate::trace;

/// The form of the results. Another form, or another version of unjank, makes other keys.
const FORM: &str = concat!("unjank.sweep/2 ", env!("CARGO_PKG_VERSION"));

/// What a trace is, whatever its files are called.
#[derive(Debug, Clone)]
pub struct Content {
    /// What determines the events.
    text: String,
    /// The files, and what they were when they were read.
    files: Vec<(PathBuf, Stamp)>,
    read_once: bool,
}

/// Device, inode, size and time of the last change: it differs after a change.
type Stamp = (u64, u64, u64, i64, i64);

fn stamp(path: &Path) -> io::Result<Stamp> {
    let data = path.metadata()?;
    // What flows away while it is read has no second reading.
    if !data.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok((data.dev(), data.ino(), data.size(), data.mtime(), data.mtime_nsec()))
}

impl Content {
    /// The trace of a synthetic phone.
    pub fn synthetic(preset: &Preset, seed: u64) -> Self {
        let text = json!({ "synthetic": preset.name, "seed": seed }).to_string();
        Self { text, files: Vec::new(), read_once: false }
    }

    /// The trace in these files, by their SHA-256, and how they are read.
    ///
    /// # Errors
    /// A file cannot be read, or is not a regular file; [`Stopped`](unjank_host::input::Stopped).
    pub fn of_files(paths: &[PathBuf], reading: &trace::Options) -> io::Result<Self> {
        let (mut sums, mut files) = (Vec::new(), Vec::new());
        let mut buffer = vec![0; 1 << 16];
        for path in paths {
            files.push((path.clone(), stamp(path)?));
            let mut file = Input::open(path, &reading.stop)?;
            let mut sum = Sha256::new();
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    read => sum.update(&buffer[..read]),
                }
            }
            sums.push(hex(&sum.finalize()));
        }
        let text = json!({ "files": sums, "reading": reading }).to_string();
        Ok(Self { text, files, read_once: false })
    }

    /// A trace by the text of its content.
    pub fn from_text(text: &str) -> Self {
        Self { text: text.to_owned(), files: Vec::new(), read_once: false }
    }

    /// The content as text: equal for equal content.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the files have not changed since their content was read.
    pub fn is_current(&self) -> bool {
        self.files.iter().all(|(path, before)| stamp(path).is_ok_and(|now| now == *before))
    }

    /// Whether it is read only once.
    pub fn is_read_once(&self) -> bool {
        self.read_once
    }

    /// A trace that is read only once, such as a pipe: no other run has the same.
    pub fn read_once(number: usize) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let text = format!("once {number} {} {}", std::process::id(), now.as_nanos());
        Self { text, files: Vec::new(), read_once: true }
    }
}

/// Identifies a unit: a hash of its trace, memory, machine and options, and of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct UnitKey(u128);

impl fmt::Display for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<UnitKey> for String {
    fn from(key: UnitKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for UnitKey {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Self)
    }
}

/// One trace and size of memory.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Identifies it.
    pub key: UnitKey,
    /// The name of the trace.
    pub trace: String,
    /// The memory; `None` if the trace is replayed through the tier unchanged.
    pub memory: Option<MemoryOptions>,
}

impl Unit {
    /// The unit of a trace with this content, under the options of a sweep.
    pub fn new(
        trace: &str,
        content: &Content,
        memory: Option<MemoryOptions>,
        options: &Options,
    ) -> Self {
        let memory_text = memory.map(|memory| {
            json!({
                "size": memory.size.get(),
                "policy": memory.policy.name(),
                "readahead": memory.readahead.order(),
                "pinned": memory.pinned.get(),
                "minfree": memory.minfree.get(),
            })
        });
        let Latency { start, resume, storage, tier } = options.latency;
        let latency = [start, resume, storage, tier].map(Nanos::get);
        let text = json!({
            "form": FORM,
            "trace": content.text,
            "memory": memory_text,
            "launches": [options.launching.lasts.get(), u64::from(options.launching.all)],
            "write_budget": options.write_budget.map(|rate| [u64::from(rate.pages), rate.period.get()]),
            "latency": latency,
        });
        let sum = Sha256::digest(text.to_string());
        let first = sum.iter().take(16).fold(0, |key, byte| key << 8 | u128::from(*byte));
        Self { key: UnitKey(first), trace: trace.to_owned(), memory }
    }
}

/// Every n-th unit, by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    number: u32,
    /// The number of shards.
    count: u32,
}

impl Shard {
    /// Whether it has this unit.
    pub fn has(self, unit: &Unit) -> bool {
        unit.key.0 % u128::from(self.count) == u128::from(self.number)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    /// Parses `2/8`: the second of eight.
    fn from_str(typed: &str) -> Result<Self, String> {
        let parts = typed.split_once('/');
        let parsed = parts.and_then(|(number, count)| {
            Some((number.parse::<u32>().ok()?, count.parse::<u32>().ok()?))
        });
        match parsed {
            Some((number, count)) if (1..=count).contains(&number) => {
                Ok(Self { number: number - 1, count })
            }
            _ => Err(format!("{typed:?} is not a shard such as 2/8, the second of eight")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number + 1, self.count)
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use unjank_cachesim::memory::{MemoryPolicy, Readahead};
    use unjank_host::Bytes;

    use super::*;
    use crate::sweep::tests::options;

    #[test]
    fn a_unit_is_its_content_and_options_and_not_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (one, copy, other) = (file("a", "1\n2\n"), file("b", "1\n2\n"), file("c", "1\n3\n"));
        let reading = trace::Options::default();
        let content = |path: &PathBuf| Content::of_files(std::slice::from_ref(path), &reading);
        let key = |path: &PathBuf, memory: Option<MemoryOptions>| {
            Unit::new("t", &content(path).unwrap(), memory, &options()).key
        };
        assert_eq!(key(&one, None), key(&copy, None));
        assert_ne!(key(&one, None), key(&other, None));
        let memory = |size| {
            Some(MemoryOptions {
                size: Bytes(size),
                policy: MemoryPolicy::Lru,
                readahead: Readahead::new(0),
                pinned: Bytes::default(),
                minfree: Bytes::default(),
            })
        };
        assert_ne!(key(&one, None), key(&one, memory(1 << 20)));
        assert_ne!(key(&one, memory(1 << 21)), key(&one, memory(1 << 20)));
        let skips = trace::Options { skip_bad: true, ..trace::Options::default() };
        let skipped = Content::of_files(std::slice::from_ref(&one), &skips).unwrap();
        assert_ne!(Unit::new("t", &skipped, None, &options()).key, key(&one, None));
        assert!(content(&directory.path().to_owned()).is_err());
        let text = serde_json::to_string(&key(&one, None)).unwrap();
        assert_eq!(serde_json::from_str::<UnitKey>(&text).unwrap(), key(&one, None));
        assert_eq!(text.len(), 34);
    }

    #[test]
    fn each_unit_is_in_one_shard() {
        let shards: Vec<Shard> =
            (1..=3).map(|number| format!("{number}/3").parse().unwrap()).collect();
        let mut counts = [0; 3];
        for seed in 0..300 {
            let content = Content::synthetic(&crate::synth::presets::ALL[0], seed);
            let unit = Unit::new("t", &content, None, &options());
            let have: Vec<usize> = (0..3).filter(|shard| shards[*shard].has(&unit)).collect();
            let [shard] = have[..] else { panic!("{have:?}") };
            counts[shard] += 1;
        }
        assert!(counts.iter().all(|count| *count > 60), "{counts:?}");
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
