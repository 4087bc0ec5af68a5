//! A knob of a batch whose change is announced but not made yet.

use super::knob_file::{KnobFile, classified, refusal};
use crate::error::{Error, Result};

/// A knob whose change is announced but not made yet.
#[derive(Debug)]
pub(super) struct PendingChange<'a> {
    /// Its number in the journal.
    pub(super) seq: u64,
    pub(super) file: KnobFile,
    /// The wanted value.
    pub(super) value: &'a str,
    /// The present value.
    pub(super) before: String,
    /// Whether an earlier guard of the same session holds the knob.
    pub(super) nested: bool,
    /// Knobs that have to be put back with it: their numbers in the journal.
    pub(super) dependants: Vec<u64>,
    /// The file that puts it back, and the value, if that is not its own: of a pair,
    /// the member in force.
    pub(super) way_back: Option<(KnobFile, String)>,
}

impl PendingChange<'_> {
    /// Writes the present value, because a knob that refuses it could not be
    /// put back, and then the wanted one. Returns the value read after that.
    pub(super) fn attempt(&self) -> Result<String> {
        if !self.nested {
            self.try_the_way_back()?;
        }
        self.file
            .write(self.value)
            .map_err(|source| refusal(self.file.path(), self.value, source))?;
        self.file.read_after(self.value).map_err(classified)
    }

    fn try_the_way_back(&self) -> Result<()> {
        let (file, before) = match &self.way_back {
            Some((file, value)) => (file, value),
            None => (&self.file, &self.before),
        };
        let path = file.path();
        let cannot = |why: String| {
            let knob = self.file.path();
            Error::Unsupported(format!("{knob} could not be put back afterwards: {why}"))
        };
        file.write(before).map_err(|source| match refusal(path, before, source) {
            Error::Invalid(why) => cannot(why),
            other => other,
        })?;
        let reading = file.read_after(before).map_err(classified)?;
        if reading == *before {
            return Ok(());
        }
        Err(cannot(format!("it reads {reading:?} after {before:?} was written")))
    }
}
