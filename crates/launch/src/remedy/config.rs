//! The configuration file, `/etc/unjank/boost.toml`: rules and limits.

use std::fmt;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use unjank_host::files::read_trusted;
use unjank_host::process::is_root;
use unjank_host::{Error, Nanos, Result, Root};

use super::plan::{Amounts, Method};
use super::rules::{Filter, Rules};
use super::settle::IdleRule;

/// The default path of the file.
pub const PLACE: &str = "/etc/unjank/boost.toml";

/// The contents of the file. Missing keys are as in [`Config::default`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// `[launch]`: which new programs count as launches.
    pub launch: Launch,
    /// `[detect]`: the sources of launches.
    pub detect: Detect,
    /// `[boost]`: how launches are boosted.
    pub boost: Boost,
    /// `[end]`: when launches are over.
    pub end: End,
}

/// `[launch]`: which new programs count as launches. Patterns match the whole text,
/// with `*` and `?`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Launch {
    /// Whether only leaders of process groups count.
    pub leaders_only: bool,
    /// Executables that count; all if empty.
    pub executables: Vec<String>,
    /// Executables that do not count.
    pub not_executables: Vec<String>,
    /// Control groups that count; all if empty.
    pub control_groups: Vec<String>,
    /// Control groups that do not count.
    pub not_control_groups: Vec<String>,
    /// Users that count, by name or number; all if empty.
    pub users: Vec<String>,
    /// Users that do not count.
    pub not_users: Vec<String>,
}

/// `[detect]`: the sources of launches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Detect {
    /// Programs that begin to run, from the process connector.
    pub exec: bool,
    /// Processes that come to the foreground: the `cgroup.procs` or `tasks` of the
    /// cpusets into which Android moves them.
    pub top_app: Vec<PathBuf>,
    /// The command that prints Android's events as they happen, such as
    /// `["logcat", "-b", "events", "-T", "1"]`; none if empty.
    pub logcat: Vec<String>,
}

/// `[boost]`: how launches are boosted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Boost {
    /// How the clock is raised.
    pub method: Method,
    /// `sampling_rate` of ondemand and conservative while boosted.
    pub sampling_rate: Time,
    /// The same without a boost, while the service runs; default: the value when
    /// the service starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_sampling_rate: Option<Time>,
    /// `rate_limit_us` of schedutil while boosted.
    pub rate_limit: Time,
    /// `timer_rate` of interactive while boosted.
    pub timer_rate: Time,
    /// Delay of a double tap's second write.
    pub second_tap: Time,
    /// Control groups whose `cpu.uclamp.min` the method uclamp raises.
    pub control_groups: Vec<PathBuf>,
    /// The longest boost of one launch.
    pub longest: Time,
    /// Boosted time per minute.
    pub budget: Time,
    /// Whether a boost ends when launches of its program usually end.
    pub learn: bool,
}

/// `[end]`: when launches are over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct End {
    /// How long its processes must be idle.
    pub window: Time,
    /// The largest share of that time for which they may run.
    pub share: f64,
    /// Interval between checks of them.
    pub look: Time,
}

impl Default for Launch {
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self {
            leaders_only: true,
            executables: Vec::new(),
            // None: systemd's own programs are known by their group, and a program's
            // path is looked up only if a rule needs it.
            not_executables: Vec::new(),
            control_groups: Vec::new(),
            not_control_groups: texts(&["/system.slice*", "/init.scope"]),
            users: Vec::new(),
            not_users: Vec::new(),
        }
    }
}

impl Default for Detect {
    fn default() -> Self {
        Self { exec: true, top_app: Vec::new(), logcat: Vec::new() }
    }
}

impl Default for Boost {
    fn default() -> Self {
        let millis = |millis| Time(Nanos::from_millis(millis));
        Self {
            method: Method::Auto,
            sampling_rate: millis(50),
            normal_sampling_rate: None,
            rate_limit: Time(Nanos::from_micros(500)),
            timer_rate: millis(10),
            second_tap: millis(8),
            control_groups: Vec::new(),
            longest: millis(3_000),
            budget: millis(20_000),
            learn: true,
        }
    }
}

impl Default for End {
    fn default() -> Self {
        let millis = |millis| Time(Nanos::from_millis(millis));
        Self { window: millis(60), share: 0.1, look: millis(10) }
    }
}

/// The line of a mistake in `text`, and the message. The error's own text quotes the
/// file, on several lines.
pub(crate) fn toml_error(text: &str, error: &toml::de::Error) -> (usize, String) {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    (before.matches('\n').count() + 1, error.message().trim_end().to_owned())
}

/// Adds how to install the file where root trusts it.
fn with_install_hint(error: Error, file: &Path) -> Error {
    let Error::Permission { what, .. } = error else { return error };
    let file = file.display();
    let needs = format!(
        "a place that only root can write, because root acts on {file}: sudo install -D -m 644 \
         {file} {PLACE}"
    );
    Error::Permission { what, needs }
}

impl Config {
    /// Reads the file `path`, or else that at [`PLACE`], if it exists. Root reads
    /// only files that nobody else can write or replace.
    ///
    /// # Errors
    /// `File` if it cannot be read, `Permission` if another user can write or
    /// replace it, `Parse` with the line of a mistake.
    pub fn read(root: &Root, path: Option<&Path>) -> Result<Self> {
        let origin = path.unwrap_or(Path::new(PLACE));
        let text = if is_root() && (path.is_some() || root.exists(PLACE)) {
            // It can name a command to run (`logcat`).
            Some(
                read_trusted(&root.resolve(origin))
                    .map_err(|error| with_install_hint(error, origin))?,
            )
        } else if path.is_some() {
            Some(root.read(origin)?)
        } else {
            root.read_if_there(PLACE)?
        };
        text.map_or_else(|| Ok(Self::default()), |text| Self::parse(&text, origin))
    }

    /// Parses the text of a file; `origin` is its name.
    ///
    /// # Errors
    /// `Parse` with the line of a mistake.
    pub fn parse(text: &str, origin: &Path) -> Result<Self> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let (line, what) = toml_error(text, &error);
            Error::parse(origin, line, what)
        })?;
        config.check().map_err(|(key, reason)| {
            let named = |line: &str| line.trim_start().starts_with(key);
            let line = text.lines().position(named).map_or(1, |index| index + 1);
            Error::parse(origin, line, format!("{key} {reason}"))
        })?;
        Ok(config)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first key with an invalid value, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let (boost, end) = (&self.boost, &self.end);
        let wrong = |key, reason: &str| Err((key, reason.to_owned()));
        if !(0.0..1.0).contains(&end.share) {
            return wrong("share", "must be at least 0 and below 1");
        }
        if end.look.0 < Nanos::from_millis(1) || end.look.0 > end.window.0 {
            return wrong("look", "must be 1 ms or more, and no longer than the window");
        }
        if boost.longest.0 < end.window.0 || boost.longest.0 > Nanos::from_millis(60_000) {
            return wrong("longest", "must be between the window of [end] and one minute");
        }
        if boost.sampling_rate.0 < Nanos::from_micros(100) {
            return wrong("sampling_rate", "must be 100 µs or more");
        }
        if boost.normal_sampling_rate.is_some_and(|normal| normal.0 <= boost.sampling_rate.0) {
            return wrong("normal_sampling_rate", "must be longer than sampling_rate");
        }
        Ok(())
    }

    /// The rules, with users' names looked up in `/etc/passwd`.
    ///
    /// # Errors
    /// `Invalid` for an unknown user.
    pub fn rules(&self, root: &Root) -> Result<Rules> {
        let launch = &self.launch;
        let users = |names: &[String]| -> Result<Vec<u32>> {
            names.iter().map(|name| user(root, name)).collect()
        };
        Ok(Rules {
            leaders_only: launch.leaders_only,
            executables: Filter::new(&launch.executables, &launch.not_executables),
            control_groups: Filter::new(&launch.control_groups, &launch.not_control_groups),
            users: users(&launch.users)?,
            not_users: users(&launch.not_users)?,
        })
    }

    /// The values of knobs.
    pub fn amounts(&self) -> Amounts {
        Amounts {
            sampling_rate: self.boost.sampling_rate.0,
            normal_sampling_rate: self.boost.normal_sampling_rate.map(|time| time.0),
            rate_limit: self.boost.rate_limit.0,
            timer_rate: self.boost.timer_rate.0,
            control_groups: self.boost.control_groups.clone(),
        }
    }

    /// The rule by which processes count as idle.
    pub fn idle(&self) -> IdleRule {
        IdleRule { window: self.end.window.0, share: self.end.share }
    }
}

fn user(root: &Root, name: &str) -> Result<u32> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let passwd = root.read_if_there("/etc/passwd")?.unwrap_or_default();
    let number = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    number.ok_or_else(|| Error::Invalid(format!("/etc/passwd has no user {name:?}")))
}

/// A length of time, written as a number and a unit: `50ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Nanos);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}us", self.0.get() / 1_000))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time with its unit, such as \"50ms\" or \"3s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                let length: Option<SignedDuration> = text.parse().ok();
                let nanos = length.and_then(|length| u64::try_from(length.as_nanos()).ok());
                nanos
                    .filter(|&nanos| nanos > 0)
                    .map(|nanos| Time(Nanos(nanos)))
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config> {
        Config::parse(text, Path::new("boost.toml"))
    }

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_is_the_default_and_the_default_is_valid() {
        let config = parse("").unwrap();
        assert_eq!(config, Config::default());
        assert!(config.check().is_ok());
    }

    #[test]
    fn the_example_names_every_key_with_its_default() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let example = std::fs::read_to_string(project.join("dist/examples/boost.toml")).unwrap();
        assert_eq!(parse(&example).unwrap(), Config::default());
        let named: toml::Table = example.parse().unwrap();
        let all = toml::Table::try_from(Config::default()).unwrap();
        for (section, keys) in &all {
            let named = named[section].as_table().unwrap();
            for key in keys.as_table().unwrap().keys() {
                assert!(named.contains_key(key), "{section} has no {key}");
            }
        }
        let page = project.join("docs/reference/launch/boost.md");
        let page = std::fs::read_to_string(page).unwrap();
        let shown = page.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
        assert_eq!(example.split_once("\n\n").unwrap().1, shown);
    }

    #[test]
    fn keys_override_defaults() {
        let text = "[launch]\nexecutables = [\"/opt/*\"]\nusers = [\"1000\"]\n[boost]\nmethod = \
                    \"double-tap\"\nsampling_rate = \"20ms\"\n[end]\nwindow = \"0.1s\"\n";
        let config = parse(text).unwrap();
        assert_eq!(config.boost.method, Method::DoubleTap);
        assert_eq!(config.amounts().sampling_rate, Nanos::from_millis(20));
        assert_eq!(config.idle().window, Nanos::from_millis(100));
        assert_eq!(config.rules(&Root::at("/nowhere")).unwrap().users, [1000]);
        let written = toml::to_string(&config).unwrap();
        assert_eq!(parse(&written).unwrap(), config);
    }

    #[test]
    fn mistakes_are_reported_with_file_and_line() {
        let unknown = refusal("[boost]\nmethod = \"auto\"\nlongset = \"3s\"\n");
        assert!(
            unknown.starts_with("cannot parse boost.toml, line 3: unknown field `longset`"),
            "{unknown}"
        );
        for wrong in ["50", "\"50\"", "\"-5ms\"", "\"soon\"", "0.05"] {
            let error = refusal(&format!("\n[boost]\nsampling_rate = {wrong}\n"));
            assert!(error.starts_with("cannot parse boost.toml, line 3: "), "{error}");
            assert!(error.contains("a length of time with its unit"), "{error}");
        }
        let method = refusal("[boost]\nmethod = \"fast\"");
        assert!(method.contains("`double-tap`"), "{method}");
        let share = refusal("[end]\n\nshare = 3");
        assert!(share.starts_with("cannot parse boost.toml, line 3: share must be"), "{share}");
        assert!(refusal("[boost]\nlongest = \"10ms\"").contains("longest must be between"));
        assert!(refusal("[boost\n").starts_with("cannot parse boost.toml, line 1: "));
    }

    #[test]
    fn users_have_names() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("etc")).unwrap();
        let passwd = "root:x:0:0::/root:/bin/sh\nmaria:x:1000:1000::/home/maria:/bin/sh\n";
        std::fs::write(dir.path().join("etc/passwd"), passwd).unwrap();
        let root = Root::at(dir.path());
        assert_eq!(user(&root, "maria").unwrap(), 1000);
        assert_eq!(user(&root, "33").unwrap(), 33);
        assert_eq!(user(&root, "x").unwrap_err().to_string(), "/etc/passwd has no user \"x\"");
    }
}
