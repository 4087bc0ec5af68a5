//! Profiles, and their checks.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Deserialize;
use unjank_host::Bytes;
use unjank_host::input::{Input, Stop};

use crate::error::{Error, Result};

/// Profiles that are part of the program, by name.
const KNOWN: [(&str, &str); 1] = [("exynos4210", include_str!("../../profiles/exynos4210.toml"))];

/// More states than any table of a phone has; the ACPI driver takes 16 without
/// complaint.
const MOST_STATES: usize = 16;
/// The largest file of a profile.
const LARGEST: Bytes = Bytes(1 << 20);
/// Governors that the kernel has or gets as modules.
const GOVERNORS: [&str; 6] =
    ["ondemand", "conservative", "schedutil", "performance", "powersave", "userspace"];

/// The clock of a device.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The device's name.
    pub name: String,
    /// The initial governor of its kernel.
    pub governor: String,
    /// The clock domains of its CPUs.
    pub clock: Clock,
    /// The source of the powers.
    pub power: Origin,
    /// The power of an idle CPU, in milliwatts.
    #[serde(default)]
    pub idle_milliwatts: u32,
    /// The power of the rest of the device, whatever its CPUs do, in
    /// milliwatts.
    #[serde(default)]
    pub device_milliwatts: u32,
    /// Tunables of that governor, by name, whose values differ from the
    /// kernel's defaults.
    #[serde(default)]
    pub tunables: BTreeMap<String, i64>,
    /// The states, the fastest first.
    #[serde(rename = "state")]
    pub states: Vec<State>,
}

/// The clock domains of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// One clock for all CPUs.
    Shared,
    /// One clock for each CPU.
    PerCpu,
}

/// The source of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Measured on a device.
    Measured,
    /// Taken from a model.
    Modelled,
}

/// One P-state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its frequency in megahertz.
    pub mhz: u32,
    /// The power of a busy CPU in it, in milliwatts.
    pub milliwatts: u32,
    /// The time that a change to it takes, in microseconds.
    pub latency_us: u32,
}

impl Profile {
    /// The profile called `name`, or in the file `name`: a file's name has a
    /// dot or a slash in it. `stop` ends the wait for a file that is a pipe.
    ///
    /// # Errors
    /// `Profile` with the first fault; `Host` if the file cannot be read.
    pub fn find(name: &str, stop: &Stop) -> Result<Self> {
        if name.contains(['.', '/']) {
            let path = Path::new(name);
            let failed = |error| unjank_host::Error::file("read", path, error).of_named_file();
            let text = Input::open(path, stop)
                .and_then(|input| input.bytes(LARGEST))
                .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
                .map_err(failed)?;
            return Self::parse(&text, name);
        }
        let known: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
        let (_, text) = KNOWN.iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let known = known.join(", ");
            wrong(
                name,
                format!("unknown profile; built in: {known}; a file name needs a dot or a slash"),
            )
        })?;
        Self::parse(text, name)
    }

    /// Reads a profile; `origin` names where the text came from.
    ///
    /// # Errors
    /// `Profile` with the line and the fault there, or with the first
    /// inconsistency.
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let profile: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            wrong(origin, format!("line {line}: {}", error.message().trim_end()))
        })?;
        match profile.check() {
            Ok(()) => Ok(profile),
            Err(reason) => Err(wrong(origin, reason)),
        }
    }

    /// The tunables by their paths below the directory of cpufreq, or of a
    /// policy.
    pub(crate) fn tunable_files(&self) -> BTreeMap<String, i64> {
        let file = |name: &String| format!("{}/{name}", self.governor);
        self.tunables.iter().map(|(name, &value)| (file(name), value)).collect()
    }

    fn check(&self) -> Result<(), String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if let Some(name) = self.tunables.keys().find(|name| !name.chars().all(fits)) {
            return Err(format!("{name:?} is not a tunable's name"));
        }
        if !GOVERNORS.contains(&self.governor.as_str()) {
            let known = GOVERNORS.join(", ");
            return Err(format!("{:?} is not a governor; expected one of {known}", self.governor));
        }
        let count = self.states.len();
        if count == 0 || count > MOST_STATES {
            return Err(format!("{count} states; 1 to {MOST_STATES} are possible"));
        }
        if let Some(state) = self.states.iter().find(|state| !(1..=100_000).contains(&state.mhz)) {
            return Err(format!("{} MHz is not a CPU frequency", state.mhz));
        }
        let mut neighbours = self.states.iter().zip(self.states.iter().skip(1));
        if let Some((one, next)) = neighbours.find(|(one, next)| next.mhz >= one.mhz) {
            return Err(format!(
                "{} MHz follows {} MHz: list the fastest state first",
                next.mhz, one.mhz
            ));
        }
        Ok(())
    }
}

pub(super) fn wrong(origin: &str, reason: impl Into<String>) -> Error {
    Error::Profile { origin: origin.to_owned(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "name = \"x\"\ngovernor = \"ondemand\"\nclock = \"shared\"\npower = \
                       \"measured\"\n[[state]]\nmhz = 800\nmilliwatts = 1\nlatency_us = 1\n";

    fn error(text: &str) -> String {
        Profile::parse(text, "p.toml").unwrap_err().to_string()
    }

    #[test]
    fn every_built_in_profile_is_valid() {
        for (name, _) in KNOWN {
            let profile = Profile::find(name, &Stop::default()).unwrap();
            assert!(profile.states.len() > 1, "{name}");
        }
        let exynos = Profile::find("exynos4210", &Stop::default()).unwrap();
        let mhz: Vec<u32> = exynos.states.iter().map(|state| state.mhz).collect();
        assert_eq!(mhz, [1200, 1000, 800, 500, 200]);
        assert_eq!((exynos.clock, exynos.power), (Clock::Shared, Origin::Modelled));
        let rate = ("ondemand/sampling_rate".to_owned(), 100_000);
        assert_eq!(exynos.tunable_files(), [rate].into());
    }

    #[test]
    fn mistakes_are_named() {
        assert!(Profile::parse(ONE, "p.toml").is_ok());
        let slower_first =
            ONE.to_owned() + "[[state]]\nmhz = 800\nmilliwatts = 1\nlatency_us = 1\n";
        assert_eq!(
            error(&slower_first),
            "profile p.toml: 800 MHz follows 800 MHz: list the fastest state first"
        );
        assert!(error(&ONE.replace("ondemand", "fast")).contains("\"fast\" is not a governor"));
        assert!(error(&ONE.replace("800", "0")).contains("0 MHz is not a CPU frequency"));
        assert!(error(&ONE.replace("mhz", "mhx")).contains("unknown field `mhx`"));
        let tunable = "power = \"measured\"\ntunables = { \"../x\" = 1 }";
        let climbing = ONE.replace("power = \"measured\"", tunable);
        assert!(error(&climbing).contains("\"../x\" is not a tunable's name"));
        assert!(error("name = ").contains("line 1"));
        let state = |mhz| format!("[[state]]\nmhz = {mhz}\nmilliwatts = 1\nlatency_us = 1\n");
        let many = (100..117).rev().map(state).collect::<Vec<_>>().concat();
        let head = ONE.split("[[").next().unwrap();
        assert!(error(&(head.to_owned() + &many)).contains("17 states; 1 to 16 are possible"));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = |name| Profile::find(name, &Stop::default()).unwrap_err().to_string();
        assert!(error("pixel").contains("built in: exynos4210"), "{}", error("pixel"));
        assert!(error("./none.toml").contains("./none.toml"), "{}", error("./none.toml"));
    }
}
