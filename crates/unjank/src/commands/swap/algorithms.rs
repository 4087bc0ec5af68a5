//! The values of `--policy` of `swap mrc` and `swap score`.

use std::ffi::OsString;

use unjank_cachesim::mrc::{Algorithm, Algorithms, External, UnknownAlgorithm};
use unjank_swap::policy_program::PolicyProgram;

/// The prefix of a policy in a program of the user's own.
const EXEC: &str = "exec:";

/// Parses the name of an algorithm, `all`, or `exec:COMMAND`, whose words are split as a shell does.
pub(super) fn parse(typed: &str) -> Result<Algorithms, String> {
    let Some(command) = typed.strip_prefix(EXEC) else {
        let named = |unknown: UnknownAlgorithm| format!("{unknown}, or exec:COMMAND");
        return typed.parse().map_err(named);
    };
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let words = words.ok_or("exec: needs a command, such as exec:./policy.py")?;
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let program = External::new(PolicyProgram::new(typed, words));
    Ok(Algorithms(vec![Algorithm::External(program)]))
}

/// Each policy once, in the order of the command line.
pub(super) fn flatten(typed: &[Algorithms]) -> Vec<Algorithm> {
    let mut policies: Vec<Algorithm> = Vec::new();
    for policy in typed.iter().flat_map(|policies| &policies.0) {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    policies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_is_named_twice_is_simulated_once() {
        let typed = ["2q", "all", "2q:kin=0.25", "exec:./a 1", "exec:./a 1"];
        let policies = flatten(&typed.map(|typed| parse(typed).unwrap()));
        assert_eq!(policies.len(), unjank_cachesim::Policy::ALL.len() + 1);
        assert_eq!(policies[0].to_string(), "2q");
        assert_eq!(policies.last().unwrap().to_string(), "exec:./a 1");
    }

    #[test]
    fn a_program_needs_a_command() {
        for wrong in ["exec:", "exec:  ", "exec:'a"] {
            assert!(parse(wrong).unwrap_err().starts_with("exec: needs a command"), "{wrong}");
        }
        assert!(parse("rlu").unwrap_err().ends_with("belady-bypass, or exec:COMMAND"));
    }
}
