//! One knob of a batch, on its way to a new value.

use super::knob_file::{KnobFile, explained, refusal};
use crate::error::{Error, Result};

/// A knob whose change is announced.
#[derive(Debug)]
pub(super) struct Step<'a> {
    /// Its number in the journal.
    pub(super) seq: u64,
    pub(super) file: KnobFile,
    /// What it is to read.
    pub(super) value: &'a str,
    /// What it reads.
    pub(super) before: String,
    /// Held already, by an earlier guard of the same session.
    pub(super) nested: bool,
    /// What has to be put back with it: their numbers in the journal.
    pub(super) dependants: Vec<u64>,
}

impl Step<'_> {
    /// Writes to the knob: first what it reads, because a knob that does not
    /// take that could not be put back; then what is wanted. Returns what it
    /// reads then.
    pub(super) fn attempt(&self) -> Result<String> {
        if !self.nested {
            self.try_the_way_back()?;
        }
        self.file
            .write(self.value)
            .map_err(|source| refusal(self.file.path(), self.value, source))?;
        self.file.read_after(self.value).map_err(explained)
    }

    fn try_the_way_back(&self) -> Result<()> {
        let Self { file, before, .. } = self;
        let path = file.path();
        let cannot = |why: String| {
            Error::Unsupported(format!("{path} could not be put back afterwards: {why}"))
        };
        file.write(before).map_err(|source| match refusal(path, before, source) {
            Error::Invalid(why) => cannot(why),
            other => other,
        })?;
        let reading = file.read_after(before).map_err(explained)?;
        if reading == *before {
            return Ok(());
        }
        Err(cannot(format!("it reads {reading:?} after {before:?} was written")))
    }
}
