//! The configuration file, `/etc/unjank/boost.toml`: rules and limits.

mod sections;
mod time;

use std::path::Path;

use serde::{Deserialize, Serialize};
use unjank_host::files::read_trusted;
use unjank_host::process::is_root;
use unjank_host::{Error, Nanos, Result, Root};

use super::plan::Amounts;
use super::rules::{Filter, Rules};
use super::settle::IdleRule;
use sections::is_android;

pub use sections::{Boost, Detect, End, Launch};
pub use time::Time;

/// The default path of the file.
pub const PLACE: &str = "/etc/unjank/boost.toml";
/// The same on Android, whose `/etc` cannot be written.
const ANDROID_PLACE: &str = "/data/local/unjank/boost.toml";

/// The default path of the file on a machine.
pub fn place(root: &Root) -> &'static Path {
    Path::new(if is_android(root) { ANDROID_PLACE } else { PLACE })
}

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

/// The line of a mistake in `text`, and the message. The error's own text quotes the
/// file, on several lines.
pub(crate) fn toml_error(text: &str, error: &toml::de::Error) -> (usize, String) {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    (before.matches('\n').count() + 1, error.message().trim_end().to_owned())
}

/// Adds how to install the file where root trusts it.
fn with_install_hint(error: Error, file: &Path, place: &Path) -> Error {
    let Error::Permission { what, .. } = error else { return error };
    let file = file.display();
    let needs = format!(
        "a place that only root can write, because root acts on {file}: sudo install -D -m 644 \
         {file} {}",
        place.display()
    );
    Error::Permission { what, needs }
}

impl Config {
    /// Reads the file `path`, or else that at [`place`], if it exists. Root reads
    /// only files that nobody else can write or replace.
    ///
    /// # Errors
    /// `File` if it cannot be read, `Permission` if another user can write or
    /// replace it, `Parse` with the line of a mistake.
    pub fn read(root: &Root, path: Option<&Path>) -> Result<Self> {
        let origin = path.unwrap_or_else(|| place(root));
        let text = if is_root() && (path.is_some() || root.exists(origin)) {
            // It can name a command to run (`logcat`).
            Some(
                read_trusted(&root.resolve(origin))
                    .map_err(|error| with_install_hint(error, origin, place(root)))?,
            )
        } else if path.is_some() {
            Some(root.read(origin)?)
        } else {
            root.read_if_there(origin)?
        };
        let text = text.unwrap_or_default();
        let mut config = Self::parse(&text, origin)?;
        let named = text.parse().is_ok_and(|keys: toml::Table| keys.contains_key("detect"));
        if !named {
            config.detect = Detect::on(root);
        }
        Ok(config)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedy::plan::Method;

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
    fn android_is_known_and_sources_that_the_file_names_stay() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(dir.path());
        let detect = || Config::read(&root, None).unwrap().detect;
        assert_eq!(detect(), Detect::default());
        put("system/bin/app_process", "");
        assert!(!detect().exec && detect().logcat[0] == "logcat", "{:?}", detect());
        put("data/local/unjank/boost.toml", "[boost]\nmethod = \"uclamp\"\n");
        let config = Config::read(&root, None).unwrap();
        assert_eq!((config.boost.method, config.detect.exec), (Method::Uclamp, false));
        put("data/local/unjank/boost.toml", "[detect]\nexec = true\n");
        assert_eq!(detect(), Detect::default());
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
