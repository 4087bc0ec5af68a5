//! `unjank swap tune`: what the swap of this machine should be, from measurements of its own pages,
//! its storage and, if there is one, a recording.
//!
//! | module | subject |
//! |---|---|
//! | [`options`] | what to measure with |
//! | `target` | reads of a device or file, past the page cache |
//! | `compressors` | pages of this machine's programs in a zram device for each algorithm |
//! | `storage` | reads of the file system and of a swap area on storage |
//! | `measure`, `measured` | all of that in turns |
//! | [`reuse`] | what came back in a recording, by the room that it would have taken |
//! | [`decide`] | the settings, and why: pure |
//! | `report` | settings and measurements as findings |
//! | [`apply`] | the settings for now, through the journal |
//! | [`files`] | the settings for every boot, as files |

pub mod apply;
mod compressors;
pub mod decide;
pub mod files;
mod measure;
mod measured;
pub mod options;
mod report;
pub mod reuse;
mod storage;
mod target;

pub use measure::measure;
pub use measured::{Compressed, Measured, Storage};
pub use options::Options;
pub use report::findings;
