//! Settings of a service that are its options in one line, which its unit reads.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Error, Root};

use super::{Installation, Settings, uninstall};
use crate::commands::service::{Service, check_that_none_runs};
use crate::commands::unit::Unit;
use crate::{exit, values};

/// A service that is installed with its options.
pub(crate) struct WithOptions {
    pub(crate) unit: &'static Unit,
    /// The file of the options.
    pub(crate) settings: &'static str,
    /// The first line of settings that an installation writes.
    pub(crate) written: &'static str,
    /// What to type next.
    pub(crate) hint: &'static str,
}

impl WithOptions {
    /// Installs the service with these options, as they are typed, and starts it. `would_start`
    /// fails if it would start in vain on this machine.
    ///
    /// # Errors
    /// There are other options already; the service runs or would not start; systemd does not run.
    pub(crate) fn install<S: Service>(
        &self,
        root: Option<&PathBuf>,
        options: String,
        would_start: impl FnOnce(&Root) -> Result<()>,
    ) -> Result<ExitCode> {
        let root = below(root);
        let target = Installation::on(self.unit, &root, Path::new(self.settings))?;
        if target.has_settings() && !options.is_empty() {
            return Err(Error::Invalid(format!(
                "{} has the options, and stays as it is: change them there",
                target.settings().display()
            ))
            .into());
        }
        if root.is_system() {
            check_that_none_runs::<S>()?;
            would_start(&root)?;
        }
        let text = self.text(&options);
        let settings = (!options.is_empty()).then_some(Settings { text, about: options });
        target.install(settings.as_ref(), self.hint)?;
        Ok(ExitCode::from(exit::FINE))
    }

    /// Stops the service and removes what [`install`](Self::install) has written.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(crate) fn uninstall(&self, root: Option<&PathBuf>) -> Result<ExitCode> {
        let is_written = |text: &str| self.is_written(text);
        uninstall(self.unit, &below(root), Path::new(self.settings), is_written)?;
        Ok(ExitCode::from(exit::FINE))
    }

    fn text(&self, options: &str) -> String {
        format!("{}\nOPTIONS={options}\n", self.written)
    }

    /// Whether settings are as an installation wrote them.
    fn is_written(&self, text: &str) -> bool {
        let options = text.lines().nth(1).and_then(|line| line.strip_prefix("OPTIONS="));
        options.is_some_and(|options| text == self.text(options))
    }
}

fn below(root: Option<&PathBuf>) -> Root {
    root.map_or_else(Root::system, Root::at)
}

/// Options with their values, as they are typed; those without a value are left out.
pub(crate) fn typed<'a>(
    options: impl IntoIterator<Item = (&'a str, &'a Option<String>)>,
) -> impl Iterator<Item = String> {
    let given = |(option, value): (&str, &Option<String>)| {
        value.as_ref().map(|value| format!("{option} {value}"))
    };
    options.into_iter().filter_map(given)
}

/// A value that systemd passes on as one word.
pub(crate) fn word(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._+-=:*".contains(letter);
    if text.is_empty() || !text.chars().all(plain) {
        return Err("only letters, digits and /._+-=:* can be written into the settings".to_owned());
    }
    Ok(text.to_owned())
}

/// A size as it is typed.
pub(crate) fn size(text: &str) -> Result<String, String> {
    values::bytes(text)?;
    word(text)
}

/// A time as it is typed.
pub(crate) fn time(text: &str) -> Result<String, String> {
    values::duration(text)?;
    word(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::unit;

    #[test]
    fn settings_that_were_changed_are_known() {
        let service = WithOptions {
            unit: &unit::TIERD,
            settings: "/etc/unjank/tierd.conf",
            written: "# Written.",
            hint: "",
        };
        assert!(service.is_written(&service.text("--after 10min")));
        for text in ["", "OPTIONS=--after 10min\n", "# Written.\nOPTIONS=\nMORE=1\n"] {
            assert!(!service.is_written(text), "{text}");
        }
    }

    #[test]
    fn words_have_nothing_that_systemd_expands() {
        assert_eq!(word("pipewire*=5ms").as_deref(), Ok("pipewire*=5ms"));
        for wrong in ["", "a b", "$HOME", "%h", "a\\b", "'a'"] {
            assert!(word(wrong).is_err(), "{wrong}");
        }
    }
}
