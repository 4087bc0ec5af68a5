//! A profile, and what is wrong with one.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Deserialize;
use unjank_host::Bytes;
use unjank_host::input::{Input, Stop};

use crate::error::{Error, Result};

/// Profiles that are part of the program, by their names.
const KNOWN: [(&str, &str); 1] =
    [("exynos4210", include_str!("../../../../profiles/exynos4210.toml"))];

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
    /// What the device is called.
    pub name: String,
    /// The governor that its kernel begins with.
    pub governor: String,
    /// Whether its CPUs have one clock.
    pub clock: Clock,
    /// Where the powers come from.
    pub power: Origin,
    /// What an idle CPU takes, in milliwatts.
    #[serde(default)]
    pub idle_milliwatts: u32,
    /// What the rest of the device takes, whatever its CPUs do, in milliwatts.
    #[serde(default)]
    pub device_milliwatts: u32,
    /// Tunables of that governor, by name, where the device has other values
    /// than the kernel begins with.
    #[serde(default)]
    pub tunables: BTreeMap<String, i64>,
    /// The states, the fastest first.
    #[serde(rename = "state")]
    pub states: Vec<State>,
}

/// How CPUs share clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// One for all CPUs.
    Shared,
    /// One for each.
    PerCpu,
}

/// Where a number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// From a device.
    Measured,
    /// From somebody's idea of one.
    Modelled,
}

/// One P-state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its frequency in megahertz.
    pub mhz: u32,
    /// What a busy CPU takes in it, in milliwatts.
    pub milliwatts: u32,
    /// How long a change to it takes, in microseconds.
    pub latency_us: u32,
}

impl Profile {
    /// The profile called `name`, or in the file `name`: a file's name has a
    /// dot or a slash in it.
    ///
    /// # Errors
    /// `Profile` with what is wrong with it.
    pub fn find(name: &str) -> Result<Self> {
        if name.contains(['.', '/']) {
            let path = Path::new(name);
            let failed = |error| unjank_host::Error::file("read", path, error).of_named_file();
            let text = Input::open(path, &Stop::default())
                .and_then(|input| input.bytes(LARGEST))
                .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
                .map_err(failed)?;
            return Self::parse(&text, name);
        }
        let known: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
        let (_, text) = KNOWN.iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let known = known.join(", ");
            wrong(name, format!("there is none of that name, only {known}; a file's has a dot"))
        })?;
        Self::parse(text, name)
    }

    /// Reads a profile; `origin` names where the text came from.
    ///
    /// # Errors
    /// `Profile` with the line and what is wrong there, or with the first
    /// thing that cannot be.
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
            return Err(format!("{name:?} is no name of a tunable"));
        }
        if !GOVERNORS.contains(&self.governor.as_str()) {
            let known = GOVERNORS.join(", ");
            return Err(format!("{:?} is no governor of these: {known}", self.governor));
        }
        let count = self.states.len();
        if count == 0 || count > MOST_STATES {
            return Err(format!("{count} states; 1 to {MOST_STATES} are possible"));
        }
        if let Some(state) = self.states.iter().find(|state| !(1..=100_000).contains(&state.mhz)) {
            return Err(format!("{} MHz is no frequency of a CPU", state.mhz));
        }
        let mut neighbours = self.states.iter().zip(self.states.iter().skip(1));
        if let Some((one, next)) = neighbours.find(|(one, next)| next.mhz >= one.mhz) {
            return Err(format!(
                "{} MHz stands below {} MHz: the fastest state comes first",
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

    fn told(text: &str) -> String {
        Profile::parse(text, "p.toml").unwrap_err().to_string()
    }

    #[test]
    fn every_profile_that_ships_is_right() {
        for (name, _) in KNOWN {
            let profile = Profile::find(name).unwrap();
            assert!(profile.states.len() > 1, "{name}");
        }
        let exynos = Profile::find("exynos4210").unwrap();
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
            told(&slower_first),
            "profile p.toml: 800 MHz stands below 800 MHz: the fastest state comes first"
        );
        assert!(told(&ONE.replace("ondemand", "fast")).contains("\"fast\" is no governor"));
        assert!(told(&ONE.replace("800", "0")).contains("0 MHz is no frequency"));
        assert!(told(&ONE.replace("mhz", "mhx")).contains("unknown field `mhx`"));
        let tunable = "power = \"measured\"\ntunables = { \"../x\" = 1 }";
        let climbing = ONE.replace("power = \"measured\"", tunable);
        assert!(told(&climbing).contains("\"../x\" is no name of a tunable"));
        assert!(told("name = ").contains("line 1"));
        let state = |mhz| format!("[[state]]\nmhz = {mhz}\nmilliwatts = 1\nlatency_us = 1\n");
        let many = (100..117).rev().map(state).collect::<Vec<_>>().concat();
        let head = ONE.split("[[").next().unwrap();
        assert!(told(&(head.to_owned() + &many)).contains("17 states; 1 to 16 are possible"));
    }

    #[test]
    fn a_name_that_is_none_lists_those_that_are() {
        let error = Profile::find("pixel").unwrap_err().to_string();
        assert!(error.contains("only exynos4210"), "{error}");
        assert!(Profile::find("./none.toml").unwrap_err().to_string().contains("./none.toml"));
    }
}
