//! Reads results of cyclictest (`--json`) and jitterdebugger, and turns them into
//! findings like those of `jitter native`.
//!
//! | module | subject |
//! |---|---|
//! | `cyclictest`, `jitterdebugger` | the two formats |
//! | `command_line` | cyclictest's options |
//! | `document` | threads and histograms, in both formats |
//! | `imported` | a file that was read |
//! | `repair` | makes their invalid JSON valid |
//! | `findings` | turns threads into series |
//! | `verdict` | judges them |

mod command_line;
mod cyclictest;
mod document;
mod findings;
mod imported;
mod jitterdebugger;
mod repair;
mod verdict;

pub use imported::Imported;

use serde::Deserialize;
use serde::de::IgnoredAny;
use unjank_host::{Error, Result};

/// Reads a file of either tool; `path` is its name, for errors.
///
/// # Errors
/// `Parse`, with the line, if the text is in neither format.
pub fn read(text: &str, path: &str) -> Result<Imported> {
    #[derive(Deserialize)]
    struct Head {
        thread: Option<IgnoredAny>,
        cpu: Option<IgnoredAny>,
    }
    let text = repair::repaired(text);
    let head: Head = parse(&text, path)?;
    match head {
        Head { thread: Some(_), .. } => cyclictest::imported(parse(&text, path)?, path),
        Head { cpu: Some(_), .. } => jitterdebugger::imported(parse(&text, path)?, path),
        Head { .. } => Err(Error::parse(
            path,
            1,
            "neither \"thread\", which cyclictest writes, nor \"cpu\", which jitterdebugger writes",
        )),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, path: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let what = said.strip_suffix(&place).unwrap_or(&said);
        Error::parse(path, error.line().max(1), what)
    })
}
