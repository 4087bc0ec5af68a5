//! Reasons to stop reading early, and the handling of lines and records that yield no event.

use std::io;

use super::batch::{Batch, Wrong};
use super::skipped::{Position, Skipped};

/// The reason for which reading ends before the file does.
#[derive(Debug)]
pub(super) enum Stop {
    /// The content is malformed.
    At(Position, String),
    /// The file could not be read.
    Io(io::Error),
}

/// Counts what is skipped, `weight` times. Malformed content is an error, or counted once with
/// `skip_bad`. The error quotes `line`, which may be empty.
pub(super) fn settle(
    wrong: Wrong,
    weight: u64,
    position: Position,
    line: &[u8],
    batch: &Batch<'_>,
    skipped: &mut Skipped,
) -> Result<(), Stop> {
    match wrong {
        Wrong::Skip(reason) => skipped.add(reason, weight, position),
        Wrong::Bad(reason) if batch.options.skip_bad => skipped.add_malformed(reason, position),
        Wrong::Bad(what) => return Err(Stop::At(position, quoted(what, line))),
        Wrong::LimitReached(what) => return Err(Stop::At(position, what.to_owned())),
    }
    Ok(())
}

/// The message, with the beginning of the line.
fn quoted(what: &str, line: &[u8]) -> String {
    if line.is_empty() { what.to_owned() } else { format!("{what}: {}", shown(line)) }
}

/// The beginning of a line, without control characters, for a message.
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
