//! Parses conditions: `as-is`, `cold`, `nice=`, `rt=`, `memory.low=`, `env:`, knobs, `with:`, `notify:`, `boost`.

use std::ffi::OsString;
use std::path::PathBuf;

use unjank_host::cgroup::memory::MemoryGroup;
use unjank_host::knobs;
use unjank_host::machine::FrequencyPolicy;
use unjank_host::sched::{InheritedPolicy, Policy};
use unjank_host::{Bytes, Error, Result, Root, Support};

use super::{Condition, Service, shorthand};

/// The condition that drops the program's files from memory.
const COLD: &str = "cold";
/// The condition that protects the program's memory, as the file of its control group is called.
const MEMORY_LOW: &str = "memory.low";
/// While it is on, a nice value counts within a session of processes only: sched(7).
const AUTOGROUPS: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Parses a condition for this machine. Its name is the text as typed.
///
/// # Errors
/// `Invalid` for a text that is no condition; `Unsupported` for knobs that this machine lacks.
pub fn parse(text: &str, policies: &[FrequencyPolicy], root: &Root) -> Result<Condition> {
    if let Some((knobs, service)) = split(text) {
        let service = parse(service, policies, root)?.service;
        return Ok(Condition { name: text.to_owned(), service, ..changed(knobs, policies, root)? });
    }
    let condition = |service| Condition {
        name: text.to_owned(),
        service: Some(service),
        ..Condition::default()
    };
    let service = |command, notifies| condition(Service { command, notifies, own: false });
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "as-is" if rest.is_empty() => {
            Ok(Condition { name: "as is".to_owned(), ..Condition::default() })
        }
        "with" => Ok(service(words(rest)?, false)),
        "notify" => Ok(service(words(rest)?, true)),
        "boost" => {
            // The condition is the boost, whatever the power profile.
            let own = ["/proc/self/exe", "launch", "boost", "--in-power-saver"];
            let own = own.map(OsString::from);
            let options = if rest.trim().is_empty() { Vec::new() } else { words(rest)? };
            let command = own.into_iter().chain(options).collect();
            Ok(condition(Service { command, notifies: true, own: true }))
        }
        _ if text.contains('=') || text == COLD => changed(text, policies, root),
        _ => Err(Error::Invalid(format!(
            "unknown condition {text:?}; expected as-is, cold, nice=N, rt=POLICY, \
             memory.low=SIZE, env:NAME=VALUE, KNOB=VALUE, with:COMMAND, notify:COMMAND or boost"
        ))),
    }
}

/// All threads of a process run before those of other programs.
pub fn process_first(process: u32, root: &Root) -> Condition {
    let process = process.to_string();
    let own = ["/proc/self/exe", "rt", "set", &process, "--others", "other:-20"];
    let command = own.map(OsString::from).into();
    Condition {
        name: format!("process {process} first"),
        knobs: counting_everywhere(root),
        service: Some(Service { command, notifies: true, own: true }),
        ..Condition::default()
    }
}

/// The knob without which a better nice value counts within a session of processes only. Only
/// root may turn it off, and only root may give such a value.
fn counting_everywhere(root: &Root) -> Vec<(PathBuf, String)> {
    let autogroups = root.exists(AUTOGROUPS).then(|| (AUTOGROUPS.into(), "0".to_owned()));
    autogroups.into_iter().collect()
}

/// Splits `KNOBS+SERVICE` at the first `+` that a service follows.
fn split(text: &str) -> Option<(&str, &str)> {
    let is_service =
        |rest: &str| ["with:", "notify:", "boost"].iter().any(|kind| rest.starts_with(kind));
    let mut signs = text.match_indices('+').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let changes = |knobs: &str| (knobs == COLD || knobs.contains('=')) && !is_service(knobs);
    signs.find(|(knobs, rest)| changes(knobs) && is_service(rest))
}

/// Splits a command into words, with a shell's quotes and backslashes. Nothing
/// is expanded.
fn words(command: &str) -> Result<Vec<OsString>> {
    let words = shlex::split(command)
        .ok_or_else(|| Error::Invalid(format!("a quote in {command:?} is not closed")))?;
    if words.is_empty() {
        return Err(Error::Invalid("no command after the colon".to_owned()));
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

fn changed(text: &str, policies: &[FrequencyPolicy], root: &Root) -> Result<Condition> {
    let mut condition = Condition { name: text.to_owned(), ..Condition::default() };
    for typed in text.split(',') {
        let (knob, value) = typed.split_once('=').unwrap_or((typed, ""));
        if typed == COLD {
            condition.is_cold = true;
        } else if knob == "nice" {
            let nice = nice_value(value)?;
            set_policy(&mut condition, Policy::other(nice))?;
            if nice < 0 {
                condition.knobs.extend(counting_everywhere(root));
            }
        } else if knob == "rt" {
            set_policy(&mut condition, realtime(value, root)?)?;
        } else if let Some(name) = knob.strip_prefix("env:") {
            let (name, value) = variable(name, typed)?;
            if condition.environment.iter().any(|(other, _)| *other == name) {
                return Err(Error::Invalid(format!("{text}: env:{} twice", name.display())));
            }
            condition.environment.push((name, value));
        } else if knob == MEMORY_LOW {
            let low = protected(value, root)?;
            if condition.memory_low.replace(low).is_some() {
                return Err(Error::Invalid(format!("{text}: {MEMORY_LOW} twice")));
            }
        } else if knob.contains(['.', '/']) {
            condition.knobs.extend(knobs::parse(&[typed.to_owned()], root)?);
        } else if knob.is_empty() || value.is_empty() {
            return Err(Error::Invalid(format!(
                "{typed:?} is not KNOB=VALUE, such as sampling_rate=50ms"
            )));
        } else {
            condition.knobs.extend(shorthand::knobs(knob, value, policies)?);
        }
    }
    Ok(condition)
}

/// Sets the policy of the program, of which a condition has one.
fn set_policy(condition: &mut Condition, policy: Policy) -> Result<()> {
    match condition.policy.replace(policy) {
        None => Ok(()),
        Some(_) => Err(Error::Invalid(format!(
            "{}: nice= and rt= set the policy of the program; give one of them, once",
            condition.name
        ))),
    }
}

/// A variable of the environment, and its value, which may be empty.
fn variable(name: &str, typed: &str) -> Result<(OsString, OsString)> {
    match typed.split_once('=') {
        Some((_, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(Error::Invalid(format!("{typed:?} is not env:NAME=VALUE"))),
    }
}

/// The memory in `memory.low=SIZE`; `max` is all.
fn protected(text: &str, root: &Root) -> Result<Bytes> {
    let low = if text == "max" { Ok(Bytes(u64::MAX)) } else { text.parse() };
    let low = low.map_err(|_| {
        Error::Invalid(format!("{MEMORY_LOW}={text}: expected a size, such as 200MiB, or max"))
    })?;
    match MemoryGroup::can_protect(root)? {
        Support::Yes(_) => Ok(low),
        Support::No(reason) => Err(Error::Unsupported(format!("{MEMORY_LOW}={text}: {reason}"))),
    }
}

/// A real-time policy that children inherit: `fifo:10`, `rr:10`.
fn realtime(text: &str, root: &Root) -> Result<Policy> {
    let policy = text.parse().ok();
    let policy = policy.filter(|it| matches!(it, Policy::Fifo(_) | Policy::RoundRobin(_)));
    let policy = policy.ok_or_else(|| {
        Error::Invalid(format!("rt={text}: expected fifo:N or rr:N, with N from 1 to 90"))
    })?;
    InheritedPolicy::check(root, policy)?;
    Ok(policy)
}

fn nice_value(text: &str) -> Result<i32> {
    let nice = text.parse().ok().filter(|nice| (-20..=19).contains(nice));
    nice.ok_or_else(|| Error::Invalid(format!("nice={text}: expected a number from -20 to 19")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Condition> {
        parse(text, &[], &Root::at("/nonexistent"))
    }

    fn command(text: &str) -> (Vec<String>, bool) {
        let service = parsed(text).unwrap().service.unwrap();
        let words = service.command.iter().map(|word| word.display().to_string()).collect();
        (words, service.notifies)
    }

    #[test]
    fn services_are_commands() {
        assert_eq!(
            command("with:nice -n 19 make"),
            (vec!["nice".into(), "-n".into(), "19".into(), "make".into()], false)
        );
        assert_eq!(command("notify:./service"), (vec!["./service".into()], true));
        let (words, notifies) = command("boost:--double-tap --for 1s");
        let options = ["--in-power-saver", "--double-tap", "--for", "1s"];
        assert_eq!(words[1..], [["launch", "boost"].as_slice(), &options].concat());
        assert!(notifies);
        assert_eq!(command("boost").0.len(), 4);
        assert_eq!(command("boost: ").0.len(), 4);
    }

    #[test]
    fn quotes_hold_words_together() {
        let (words, _) = command(r#"with:sh -c "while :; do true; done" 'a b' c\ d"#);
        assert_eq!(words, ["sh", "-c", "while :; do true; done", "a b", "c d"]);
        let (words, _) = command("boost:--config '/etc/my boost.toml'");
        assert_eq!(words[4..], ["--config", "/etc/my boost.toml"]);
        let open = parsed("with:sh -c 'exit").unwrap_err().to_string();
        assert_eq!(open, "a quote in \"sh -c 'exit\" is not closed");
    }

    #[test]
    fn knobs_are_those_of_unjank_with() {
        let condition = parsed("vm.swappiness=10,/sys/a/b=x:y").unwrap();
        let knobs: Vec<_> = condition
            .knobs
            .iter()
            .map(|(path, value)| (path.to_str().unwrap(), value.as_str()))
            .collect();
        assert_eq!(knobs, [("/proc/sys/vm/swappiness", "10"), ("/sys/a/b", "x:y")]);
        assert_eq!(condition.name, "vm.swappiness=10,/sys/a/b=x:y");
        assert_eq!(parsed("as-is").unwrap().name, "as is");
    }

    #[test]
    fn knobs_and_a_service_go_together() {
        let both = parsed("vm.a=1+2,vm.b=3+with:sleep 1+boost").unwrap();
        assert_eq!(both.name, "vm.a=1+2,vm.b=3+with:sleep 1+boost");
        assert_eq!(both.knobs[0].1, "1+2");
        assert_eq!(both.service.unwrap().command, ["sleep", "1+boost"]);
        assert!(parsed("vm.a=1+boost").unwrap().service.unwrap().notifies);
        let cold = parsed("cold+notify:./preload").unwrap();
        assert!(cold.is_cold && cold.service.is_some());
        assert!(parsed("with:a=b+boost").unwrap().knobs.is_empty());
        assert!(parsed("vm.a=1+with:").is_err());
    }

    #[test]
    fn a_nice_value_and_a_cold_cache_hold_for_the_program() {
        let both = parsed("cold,nice=5,vm.a=1").unwrap();
        let nice = |nice| Some(Policy::other(nice));
        assert_eq!((both.is_cold, both.policy, both.knobs.len()), (true, nice(5), 1));
        assert!(parsed("cold").unwrap().is_cold);
        assert_eq!(parsed("nice=-10").unwrap().policy, nice(-10));
        for wrong in ["nice=", "nice=20", "nice=-21", "nice=fast"] {
            let error = parsed(wrong).unwrap_err().to_string();
            assert_eq!(error, format!("{wrong}: expected a number from -20 to 19"));
        }
        // A nice value counts on the whole machine only without autogroups.
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join(&AUTOGROUPS[1..]);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "1").unwrap();
        let knobs = |text: &str| parse(text, &[], &Root::at(tree.path())).unwrap().knobs;
        assert_eq!(knobs("nice=-10"), [(AUTOGROUPS.into(), "0".to_owned())]);
        assert!(knobs("nice=10").is_empty());
    }

    #[test]
    fn a_program_can_be_real_time() {
        let policy = |text: &str| parsed(text).unwrap().policy.unwrap().to_string();
        assert_eq!(policy("rt=fifo:10"), "fifo:10");
        assert_eq!(policy("cold,rt=rr:90+with:sleep 600"), "rr:90");
        for wrong in ["rt=", "rt=10", "rt=fifo", "rt=fifo:100", "rt=other:-5", "rt=idle"] {
            let error = parsed(wrong).unwrap_err().to_string();
            assert_eq!(error, format!("{wrong}: expected fifo:N or rr:N, with N from 1 to 90"));
        }
        let error = parsed("rt=fifo:91").unwrap_err().to_string();
        assert!(error.contains("91 is above 90"), "{error}");
        let twice = parsed("nice=5,rt=fifo:1").unwrap_err().to_string();
        assert!(twice.starts_with("nice=5,rt=fifo:1: nice= and rt= set"), "{twice}");
    }

    #[test]
    fn a_programs_memory_can_be_protected() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let low = |text: &str| parse(text, &[], &Root::at(tree.path())).map(|it| it.memory_low);
        write("proc/self/cgroup", "4:memory:/\n");
        let error = low("memory.low=max").unwrap_err().to_string();
        assert!(error.starts_with("memory.low=max: control groups of version 1"), "{error}");
        write("proc/self/cgroup", "0::/\n");
        write("sys/fs/cgroup/cgroup.subtree_control", "memory");
        assert_eq!(low("memory.low=max").unwrap(), Some(Bytes(u64::MAX)));
        assert_eq!(low("cold,memory.low=200MiB").unwrap(), Some(Bytes::from_mib(200)));
        assert!(low("memory.low=much").unwrap_err().to_string().ends_with("200MiB, or max"));
        let twice = low("memory.low=1MiB,memory.low=max").unwrap_err().to_string();
        assert!(twice.ends_with("memory.low twice"), "{twice}");
    }

    #[test]
    fn a_program_can_have_another_environment() {
        let both = parsed("env:LD_BIND_NOW=1,env:A=,nice=5+with:sleep 600").unwrap();
        let of = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        assert_eq!(both.environment, [of("LD_BIND_NOW", "1"), of("A", "")]);
        assert_eq!((both.policy, both.service.is_some()), (Some(Policy::other(5)), true));
        assert_eq!(parsed("env:A=b=c").unwrap().environment, [of("A", "b=c")]);
        let says = |text: &str| parsed(text).unwrap_err().to_string();
        assert_eq!(says("env:=1"), "\"env:=1\" is not env:NAME=VALUE");
        assert_eq!(says("nice=5,env:A"), "\"env:A\" is not env:NAME=VALUE");
        assert_eq!(says("env:A=1,env:A=2"), "env:A=1,env:A=2: env:A twice");
        assert!(says("env:A").starts_with("unknown condition"));
    }

    #[test]
    fn wrong_conditions_are_refused() {
        let says = |text: &str| parsed(text).unwrap_err().to_string();
        assert!(says("").starts_with("unknown condition \"\"; expected as-is, cold,"));
        assert!(says("as-is:x").contains("unknown condition"));
        assert!(says("with:").contains("no command"));
        assert!(says("notify: ").contains("no command"));
        assert!(says("vm.swappiness=10,").contains("is not KNOB=VALUE"));
        assert!(says("sampling_rate=").contains("is not KNOB=VALUE"));
        assert!(
            says("sampling_rate=50ms").contains("no cpufreq"),
            "{}",
            says("sampling_rate=50ms")
        );
    }
}
