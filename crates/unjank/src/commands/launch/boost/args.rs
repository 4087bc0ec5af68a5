//! Options of the service and of `plan`.

use std::path::PathBuf;

use anyhow::Result;
use unjank_host::sched::Priority;
use unjank_host::{Error, Nanos, Root};
use unjank_launch::remedy::Method;
use unjank_launch::remedy::config::{Config, Time};

use crate::commands::place::PlaceArgs;
use crate::values;

/// The default control socket.
pub(super) const SOCKET: &str = "/run/unjank/boost.sock";

/// Options of the service.
#[derive(Debug, clap::Args)]
pub(super) struct ServiceArgs {
    #[command(flatten)]
    pub(super) choice: ChoiceArgs,
    /// End after this time [default: at Ctrl-C or SIGTERM]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub(super) length: Option<Nanos>,
    /// Write the state to this file, for Prometheus' textfile collector
    #[arg(long, value_name = "FILE")]
    pub(super) metrics_file: Option<PathBuf>,
    /// Where to listen for status, pause and resume
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    pub(super) socket: PathBuf,
    /// Real-time priority (SCHED_FIFO) of the thread that detects launches
    #[arg(long, value_name = "1-99", default_value = "50", value_parser = values::priority)]
    pub(super) priority: Priority,
    /// Allow a priority above 90, and any priority without real-time throttling
    #[arg(long)]
    pub(super) force: bool,
    /// Print no line for each boost
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Do not store the learned lengths of launches
    #[arg(long)]
    pub(super) no_store: bool,
    /// Store for the learned lengths [default: unjank/runs.sqlite in the user's data directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    pub(super) store: Option<PathBuf>,
    #[command(flatten)]
    pub(super) place: PlaceArgs,
}

/// Options that override the configuration file.
#[derive(Debug, clap::Args)]
pub(super) struct ChoiceArgs {
    /// Configuration: rules and limits [default: /etc/unjank/boost.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// How the clock is raised: auto, min-freq, double-tap, sampling-rate, preference or uclamp
    /// [default: auto]
    #[arg(long, value_name = "METHOD", value_parser = method)]
    pub(super) method: Option<Method>,
    /// Make the governor evaluate the load at once, and again after TIME
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "8ms",
        value_parser = values::duration,
        conflicts_with = "method"
    )]
    pub(super) double_tap: Option<Nanos>,
    /// Period of ondemand and conservative while boosted [default: 50ms]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) sampling_rate: Option<Nanos>,
    /// The same without a boost [default: unchanged]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) normal_sampling_rate: Option<Nanos>,
    /// Longest boost of one launch [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) longest: Option<Nanos>,
    /// Boosted time per minute [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) budget: Option<Nanos>,
    /// Boost in the power profile power-saver, too
    #[arg(long)]
    pub(super) in_power_saver: bool,
}

impl ChoiceArgs {
    /// Reads the configuration file and applies the options over it.
    pub(super) fn config(&self, root: &Root) -> Result<Config> {
        let read = match &self.config {
            // The option's path is on the running machine, not below `root`.
            Some(path) => Config::read(&Root::system(), Some(&std::path::absolute(path)?)),
            None => Config::read(root, None),
        };
        // A mistake in the file is a usage error, like a wrong option.
        let mut config = read.map_err(|error| match error {
            Error::Parse { .. } => Error::Invalid(error.to_string()),
            other => other.of_named_file(),
        })?;
        let boost = &mut config.boost;
        let set = |place: &mut Time, typed: Option<Nanos>| {
            if let Some(typed) = typed {
                *place = Time(typed);
            }
        };
        set(&mut boost.sampling_rate, self.sampling_rate);
        set(&mut boost.longest, self.longest);
        set(&mut boost.budget, self.budget);
        if let Some(normal) = self.normal_sampling_rate {
            boost.normal_sampling_rate = Some(Time(normal));
        }
        if let Some(method) = self.method {
            boost.method = method;
        }
        boost.in_power_saver |= self.in_power_saver;
        set(&mut boost.second_tap, self.double_tap);
        if self.double_tap.is_some() {
            boost.method = Method::DoubleTap;
        }
        config.check().map_err(|(key, reason)| {
            Error::Invalid(format!("{} {reason}", key.replace('_', "-")))
        })?;
        Ok(config)
    }
}

pub(super) fn method(text: &str) -> Result<Method, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|_| {
        "expected auto, sampling-rate, double-tap, min-freq, preference or uclamp".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_override_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("boost.toml");
        std::fs::write(&file, "[boost]\nmethod = \"uclamp\"\nlongest = \"1s\"\n").unwrap();
        let args = ChoiceArgs {
            config: Some(file),
            method: None,
            double_tap: Some(Nanos::from_millis(5)),
            sampling_rate: None,
            normal_sampling_rate: None,
            longest: None,
            budget: Some(Nanos::from_millis(9_000)),
            in_power_saver: true,
        };
        let boost = args.config(&Root::system()).unwrap().boost;
        assert_eq!((boost.method, boost.in_power_saver), (Method::DoubleTap, true));
        assert_eq!(boost.second_tap, Time(Nanos::from_millis(5)));
        assert_eq!(boost.longest, Time(Nanos::from_millis(1_000)));
        assert_eq!(boost.budget, Time(Nanos::from_millis(9_000)));
        let too_long = ChoiceArgs { longest: Some(Nanos::from_millis(70_000)), ..args };
        let error = too_long.config(&Root::system()).unwrap_err().to_string();
        assert!(error.starts_with("longest must be"), "{error}");
    }

    #[test]
    fn methods_have_names() {
        assert_eq!(method("double-tap"), Ok(Method::DoubleTap));
        assert!(method("fast").unwrap_err().contains("min-freq"));
    }
}
