//! What an explanation is about, for its texts and for the commands that come next.

use unjank_launch::bench::Program;
use unjank_why::report::About;

/// What is explained, and how a launch of `program` is typed again.
pub(crate) fn about(program: &Program, process: Option<u32>, stored: bool) -> About {
    let words = program.command.iter().map(|word| word.display().to_string());
    About {
        command: words.collect(),
        ready: program.ready.to_string(),
        process,
        stored,
        handoff: None,
    }
}
