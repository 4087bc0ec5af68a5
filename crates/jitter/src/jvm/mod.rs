//! `unjank jitter jvm`: periodic wake-ups in a JVM beside its garbage collector,
//! under every way to keep them in time.
//!
//! | module | subject |
//! |---|---|
//! | [`jdk`], [`collector`], [`variant`] | what a cell is made of |
//! | `options` | what is measured |
//! | [`cell`], [`matrix`] | all cells, in turn |
//! | `visit`, `application` | one run of a cell, and the JVM in it |
//! | `rivals` | others that want its CPUs |
//! | [`recording`] | what it writes |
//! | [`mod@label`] | what held up a wake-up |
//! | `tables` | what people read of it |
//! | [`paper`] | what Higashiyama et al. measured |

mod application;
pub mod cell;
pub mod collector;
pub mod jdk;
mod judge;
pub mod label;
pub mod matrix;
mod options;
pub mod paper;
pub mod recording;
mod report;
mod rivals;
mod tables;
pub mod variant;
mod visit;

use std::fmt::Display;

use unjank_host::{Error, Result};

/// The one of `all` that prints as what was typed; `what` names them in the
/// error.
fn one_of<T: Copy + Display>(all: &[T], what: &str, typed: &str) -> Result<T> {
    let known = all.iter().find(|known| known.to_string() == typed);
    known.copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        Error::Invalid(format!("there is no {what} {typed:?}; there are {}", names.join(", ")))
    })
}
