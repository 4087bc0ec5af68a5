//! `unjank` alone: what to type first on this machine.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::process::is_root;
use unjank_host::{Machine, Root};

use crate::{exit, output};

/// Prints five lines.
pub(crate) fn run() -> Result<ExitCode> {
    let machine = Machine::read(&Root::system());
    let here = Here {
        is_root: is_root(),
        governor: machine.frequency.first().map(|policy| policy.governor.clone()),
        swap: machine.memory.swap.len() + machine.memory.zram.len(),
    };
    output::print(&lines(&here))?;
    Ok(ExitCode::from(exit::FINE))
}

/// What the first steps depend on.
struct Here {
    is_root: bool,
    /// The first clock's, if a clock can be set.
    governor: Option<String>,
    /// How many swap areas there are.
    swap: usize,
}

fn lines(here: &Here) -> String {
    let sudo = if here.is_root { "" } else { "sudo " };
    let boost = match &here.governor {
        Some(governor) => format!("raises the CPU's clock while programs start (now {governor})"),
        None => "not on this machine: its clocks cannot be set (no cpufreq)".to_owned(),
    };
    let tune = match here.swap {
        0 => "which swap would suit this machine, which has none",
        _ => "whether another swap would suit this machine better",
    };
    let rows = [
        ("unjank checkup".to_owned(), "measures all five delays, in a minute"),
        (format!("{sudo}unjank why -- COMMAND"), "where a launch of any program loses its time"),
        (format!("{sudo}unjank launch boost"), &boost),
        (format!("{sudo}unjank swap tune"), tune),
        ("unjank --help".to_owned(), "all commands"),
    ];
    let lines = rows.iter().map(|(command, what)| format!("{command:<27}{what}"));
    lines.collect::<output::Lines>().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_lines_say_what_to_type() {
        let here = Here { is_root: false, governor: None, swap: 0 };
        assert_eq!(
            lines(&here),
            "unjank checkup             measures all five delays, in a minute\n\
             sudo unjank why -- COMMAND where a launch of any program loses its time\n\
             sudo unjank launch boost   not on this machine: its clocks cannot be set (no cpufreq)\n\
             sudo unjank swap tune      which swap would suit this machine, which has none\n\
             unjank --help              all commands\n"
        );
    }

    #[test]
    fn root_needs_no_sudo_and_a_governor_is_named() {
        let here = Here { is_root: true, governor: Some("schedutil".to_owned()), swap: 1 };
        let lines = lines(&here);
        assert!(!lines.contains("sudo"), "{lines}");
        assert!(lines.contains("(now schedutil)"), "{lines}");
        assert!(lines.contains("another swap"), "{lines}");
    }
}
