//! `unjank jitter jvm`: periodic wake-ups in a JVM beside its garbage collector,
//! with six ways to keep them in time.
//!
//! | module | subject |
//! |---|---|
//! | [`jdk`], [`collector`], [`variant`] | the variables of the grid |
//! | `options` | cells, load and rounds |
//! | [`cell`], [`matrix`] | one combination of the variables; all cells in turn |
//! | `trial`, `application` | one run of a cell, and its JVM |
//! | `rivals` | ordinary threads that compute on the JVM's CPUs |
//! | [`recording`] | the file that the measuring application writes |
//! | [`mod@label`] | the main reason of a late wake-up |
//! | `report`, `tables` | findings and tables |
//! | `verdicts` | is the thread in time, and which variant helps |
//! | [`paper`], [`claims`] | the results of Higashiyama et al., beside ours |

mod application;
pub mod cell;
pub mod claims;
pub mod collector;
pub mod jdk;
pub mod label;
pub mod matrix;
mod options;
pub mod paper;
pub mod recording;
mod report;
mod rivals;
mod tables;
mod trial;
pub mod variant;
mod verdicts;

use std::fmt::Display;

use unjank_host::{Error, Result};

/// The value of `all` that prints as `typed`; `what` names the kind of value in
/// the error.
fn one_of<T: Copy + Display>(all: &[T], what: &str, typed: &str) -> Result<T> {
    let known = all.iter().find(|known| known.to_string() == typed);
    known.copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        Error::Invalid(format!("unknown {what} {typed:?}; expected one of {}", names.join(", ")))
    })
}
