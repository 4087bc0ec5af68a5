//! The result of a run.

use crate::channel::End;
use crate::qemu::Accelerator;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// The end of each command that was started.
    pub ends: Vec<End>,
    /// The means that executed the phone's instructions.
    pub accelerator: Accelerator,
    /// Whether the user ended it.
    pub interrupted: bool,
}

impl RunResult {
    /// The exit code of the last command.
    pub fn code(&self) -> u8 {
        self.ends.last().map_or(0, |end| end.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_the_last_command() {
        let mut result = RunResult {
            ends: vec![End::Code(0), End::Signal(9)],
            accelerator: Accelerator::Tcg,
            interrupted: false,
        };
        assert_eq!(result.code(), 137);
        result.ends.clear();
        assert_eq!(result.code(), 0);
    }
}
