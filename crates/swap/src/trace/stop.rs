//! Why reading ends early, and what becomes of a line or record that makes no event.

use std::io;

use super::batch::{Batch, Wrong};
use super::skipped::{Place, Skipped};

/// Why reading ends before the file does.
#[derive(Debug)]
pub(super) enum Stop {
    /// What was read is not what the format says.
    At(Place, String),
    /// Nothing could be read.
    Io(io::Error),
}

/// Counts what is skipped, `weight` times; what is wrong is an error, unless it is to be
/// counted, too. `line` is what the error shows, and may be empty.
pub(super) fn settle(
    wrong: Wrong,
    weight: u64,
    place: Place,
    line: &[u8],
    batch: &Batch<'_>,
    skipped: &mut Skipped,
) -> Result<(), Stop> {
    match wrong {
        Wrong::Skip(reason) => skipped.add(reason, weight, place),
        Wrong::Bad(reason) if batch.options.skip_bad => skipped.add(reason, 1, place),
        Wrong::Bad(what) => return Err(Stop::At(place, quoted(what, line))),
        Wrong::Full(what) => return Err(Stop::At(place, what.to_owned())),
    }
    Ok(())
}

/// What is wrong, and the beginning of the line, so that nobody needs to look it up.
fn quoted(what: &str, line: &[u8]) -> String {
    if line.is_empty() { what.to_owned() } else { format!("{what}: {}", shown(line)) }
}

/// The beginning of a line, for a message.
pub(super) fn shown(line: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    let more = if line.len() > SHOWN { "…" } else { "" };
    format!("“{clean}{more}”")
}
