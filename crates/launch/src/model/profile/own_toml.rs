//! unjank's own format of profiles, TOML.

use serde::Deserialize;
use unjank_host::Nanos;

use crate::remedy::config::toml_error;

use super::load_profile::{LEAD, Profile, TAIL};
use super::task::{Begins, Step, Task};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default = "lead")]
    lead: Time,
    #[serde(default = "tail")]
    tail: Time,
    #[serde(rename = "task")]
    tasks: Vec<FileTask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTask {
    name: String,
    #[serde(default = "one")]
    threads: usize,
    #[serde(default)]
    begins: FileBegins,
    #[serde(default = "none")]
    delay: Time,
    times: Option<u32>,
    #[serde(default)]
    forever: bool,
    steps: Vec<FileStep>,
}

#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileBegins {
    Start,
    #[default]
    Launch,
}

/// A time as written: `100ms`.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Time(Nanos);

/// A step as written: `run 100ms`.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct FileStep(Step);

fn lead() -> Time {
    Time(LEAD)
}

fn tail() -> Time {
    Time(TAIL)
}

fn none() -> Time {
    Time(Nanos::ZERO)
}

fn one() -> usize {
    1
}

/// Reads a profile; an error names the line.
pub(super) fn read(text: &str) -> Result<Profile, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let (line, what) = toml_error(text, &error);
        format!("line {line}: {what}")
    })?;
    let tasks = file.tasks.into_iter().map(|task| {
        if task.forever && task.times.is_some() {
            return Err(format!("task {:?}: give either forever or times", task.name));
        }
        Ok(Task {
            name: task.name,
            threads: task.threads,
            begins: match task.begins {
                FileBegins::Start => Begins::AtStart,
                FileBegins::Launch => Begins::AtLaunch,
            },
            delay: task.delay.0,
            times: if task.forever { None } else { Some(task.times.unwrap_or(1)) },
            steps: task.steps.into_iter().map(|step| step.0).collect(),
        })
    });
    Ok(Profile {
        name: file.name,
        lead: file.lead.0,
        tail: file.tail.0,
        tasks: tasks.collect::<Result<_, _>>()?,
    })
}

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        time(&text)
            .map(Time)
            .ok_or_else(|| format!("{text:?} is not a time, such as 100ms, 1.5s, 200us or 50ns"))
    }
}

impl TryFrom<String> for FileStep {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (verb, length) = text.trim().split_once(char::is_whitespace).unwrap_or((&text, ""));
        let step = match verb {
            "run" => Step::Run,
            "runtime" => Step::Runtime,
            "sleep" => Step::Sleep,
            "timer" => Step::Timer,
            _ => {
                return Err(format!(
                    "{text:?} is not a step; expected run, runtime, sleep or timer"
                ));
            }
        };
        Ok(Self(step(Time::try_from(length.trim().to_owned())?.0)))
    }
}

fn time(text: &str) -> Option<Nanos> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let unit: u64 = match unit.trim() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().ok()?;
    let mut nanos = whole.checked_mul(unit)?;
    let mut digit = unit;
    for byte in part.bytes() {
        digit /= 10;
        nanos = nanos.checked_add(u64::from(byte.checked_sub(b'0')?) * digit)?;
    }
    Some(Nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = \"x\"\n[[task]]\nname = \"a\"\nthreads = 2\ndelay = \"1.5ms\"\ntimes \
                        = 3\nsteps = [\"run 100ms\", \"runtime 20us\", \"sleep 1s\", \"timer \
                        16ms\"]\n[[task]]\nname = \"b\"\nbegins = \"start\"\nforever = true\nsteps \
                        = [\"sleep 1ms\"]\n";

    fn refusal(text: &str) -> String {
        Profile::from_toml(text, "p.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_read() {
        let profile = Profile::from_toml(FILE, "p.toml").unwrap();
        assert_eq!((profile.lead, profile.threads()), (LEAD, 3));
        let a = &profile.tasks[0];
        assert_eq!((a.delay, a.times, a.begins), (Nanos(1_500_000), Some(3), Begins::AtLaunch));
        assert_eq!(
            a.steps,
            [
                Step::Run(Nanos::from_millis(100)),
                Step::Runtime(Nanos::from_micros(20)),
                Step::Sleep(Nanos::from_millis(1_000)),
                Step::Timer(Nanos::from_millis(16)),
            ]
        );
        let b = &profile.tasks[1];
        assert_eq!((b.times, b.begins), (None, Begins::AtStart));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = refusal(&FILE.replace("run 100ms", "walk 100ms"));
        assert!(error.starts_with("profile p.toml: line 7: "), "{error}");
        assert!(error.contains("\"walk 100ms\" is not a step"), "{error}");
        let error = refusal(&FILE.replace("1.5ms", "1.5"));
        assert!(error.contains("line 5") && error.contains("\"1.5\" is not a time"), "{error}");
        assert!(refusal(&FILE.replace("threads", "treads")).contains("unknown field `treads`"));
        assert!(refusal(&FILE.replace("threads = 2", "threads = 99")).contains("100 threads"));
        assert!(refusal(&FILE.replace("times = 3", "forever = true")).contains("never be over"));
        assert!(refusal(&FILE.replace("sleep 1ms", "sleep 0ms")).contains("takes any time"));
        assert!(refusal(&FILE.replace("sleep 1s", "sleep 7200s")).contains("longer than an hour"));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("1.25s"), Some(Nanos::from_millis(1_250)));
        assert_eq!(time("0.0000000001s"), Some(Nanos::ZERO));
        for wrong in ["", "s", "5", "-1s", "1.2.3s", "1h", "99999999999999999999s", ".5s"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }
}
