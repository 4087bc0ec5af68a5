//! The two conditions of an experiment: launches without a change, and with it.

use anyhow::{Context as _, Result, bail};
use unjank_host::{Error, Machine, Root};
use unjank_launch::bench::Condition;
use unjank_why::report::Remedy;

use crate::commands::launch::bench::conditions;

/// The nice value of a program that is first in the run queue.
const FIRST: &str = "nice=-20";
/// The condition of a program whose memory is evicted last.
const PROTECTED: &str = "memory.low=max";
/// The condition of launches that find their files on storage.
const COLD: &str = "cold";

/// The conditions without and with a change. The latter is `by`, or else unjank's own. `server` is
/// the process that delayed the program most.
///
/// # Errors
/// A machine without such a change; a wrong condition.
pub(super) fn arms(
    remedy: Remedy,
    by: Option<&str>,
    server: Option<u32>,
    root: &Root,
) -> Result<[Condition; 2]> {
    let without = match remedy {
        Remedy::Cached => condition(COLD, root)?,
        _ => condition("as-is", root)?,
    };
    let with = match by {
        Some(by) => {
            condition(by, root).with_context(|| format!("while reading the condition {by}"))?
        }
        None => own(remedy, server, root)?,
    };
    if with.name == without.name {
        let what = format!("--by {}: launches without the change have this condition", with.name);
        return Err(Error::Invalid(what).into());
    }
    Ok([without, with])
}

/// The condition by which unjank makes a change.
fn own(remedy: Remedy, server: Option<u32>, root: &Root) -> Result<Condition> {
    Ok(match remedy {
        Remedy::ProgramFirst => condition(FIRST, root)?,
        Remedy::Cached => condition("as-is", root)?,
        Remedy::HighestClock => condition("min_freq=max", root)?,
        Remedy::ServersFirst => {
            let server =
                server.context("the program waited for no other program that still runs")?;
            conditions::process_first(server, root)
        }
        Remedy::EnoughMemory => condition(PROTECTED, root).map_err(|error| match error {
            Error::Unsupported(reason) => Error::Unsupported(format!(
                "{reason}; name a condition that stands for it, such as --prove=swap --by {}",
                remedy.instead().unwrap_or_default()
            )),
            other => other,
        })?,
        Remedy::SpunLocks | Remedy::All | Remedy::HalfSections => {
            bail!("{} cannot be applied to another program", remedy.name())
        }
    })
}

fn condition(text: &str, root: &Root) -> unjank_host::Result<Condition> {
    conditions::parse(text, &Machine::read(root).frequency, root)
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::Policy;

    use super::*;

    fn of(remedy: Remedy, by: Option<&str>, server: Option<u32>) -> Result<[Condition; 2]> {
        arms(remedy, by, server, &Root::at("/nonexistent"))
    }

    #[test]
    fn changes_have_conditions() {
        let [cold, warm] = of(Remedy::Cached, None, None).unwrap();
        assert!(cold.is_cold && !warm.is_cold);
        let [as_is, first] = of(Remedy::ProgramFirst, None, None).unwrap();
        assert_eq!((as_is.policy, first.policy), (None, Some(Policy::other(-20))));
        let error = of(Remedy::HighestClock, None, None).unwrap_err().to_string();
        assert!(error.contains("no cpufreq"), "{error}");
        let [_, first] = of(Remedy::ServersFirst, None, Some(47)).unwrap();
        let service = first.service.unwrap();
        assert_eq!(service.command[1..], ["rt", "set", "47", "--others", "other:-20"]);
        assert!(service.notifies && of(Remedy::ServersFirst, None, None).is_err());
    }

    #[test]
    fn a_condition_of_the_user_stands_for_the_change() {
        let [as_is, real_time] = of(Remedy::ProgramFirst, Some("rt=fifo:10"), None).unwrap();
        assert_eq!((as_is.name.as_str(), real_time.name.as_str()), ("as is", "rt=fifo:10"));
        // Neither the machine's clocks nor the server matter.
        let error = of(Remedy::EnoughMemory, None, None).unwrap_err().to_string();
        assert!(error.ends_with("such as --prove=swap --by vm.swappiness=0"), "{error}");
        let [as_is, kept] = of(Remedy::EnoughMemory, Some("vm.swappiness=0"), None).unwrap();
        assert_eq!((as_is.knobs.len(), kept.knobs.len()), (0, 1));
        assert!(of(Remedy::HalfSections, None, None).is_err());
        let [_, told] = of(Remedy::HalfSections, Some("env:BATCH=50"), None).unwrap();
        assert_eq!(told.environment, [("BATCH".into(), "50".into())]);
        let [_, boost] = of(Remedy::HighestClock, Some("boost"), None).unwrap();
        assert!(boost.service.unwrap().own);
        assert!(of(Remedy::ServersFirst, Some("notify:./raise"), None).is_ok());
        let [cold, preloaded] = of(Remedy::Cached, Some("cold+notify:./preload"), None).unwrap();
        assert!(cold.is_cold && preloaded.is_cold);
        let says = |remedy, by| format!("{:#}", of(remedy, Some(by), None).unwrap_err());
        let same = says(Remedy::Cached, "cold");
        assert_eq!(same, "--by cold: launches without the change have this condition");
        assert!(says(Remedy::ProgramFirst, "as-is").starts_with("--by as is: "));
        let wrong = says(Remedy::ProgramFirst, "faster");
        let expected = "while reading the condition faster: unknown condition";
        assert!(wrong.starts_with(expected), "{wrong}");
    }
}
