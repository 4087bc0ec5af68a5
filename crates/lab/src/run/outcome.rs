//! How a run went.

use crate::channel::End;
use crate::qemu::Accelerator;

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How each command ended that was begun.
    pub ends: Vec<End>,
    /// Who ran the phone.
    pub accelerator: Accelerator,
    /// Whether the user has ended it.
    pub interrupted: bool,
}

impl Outcome {
    /// The exit code of the last command.
    pub fn code(&self) -> u8 {
        self.ends.last().map_or(0, |end| end.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_is_that_of_the_last_command() {
        let mut outcome = Outcome {
            ends: vec![End::Code(0), End::Signal(9)],
            accelerator: Accelerator::Tcg,
            interrupted: false,
        };
        assert_eq!(outcome.code(), 137);
        outcome.ends.clear();
        assert_eq!(outcome.code(), 0);
    }
}
