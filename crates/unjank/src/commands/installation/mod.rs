//! A service that starts at every boot: its unit, and its settings, unless there are some.

pub(crate) mod options;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use unjank_host::files::{Destination, make_directory};
use unjank_host::{Error, Root};

use super::unit::{self, Installer, Unit};
use crate::output;

/// What is installed, and where.
pub(crate) struct Installation<'a> {
    installer: Installer<'a>,
    program: String,
    settings: PathBuf,
}

/// Settings to write.
pub(crate) struct Settings {
    /// The file's text.
    pub(crate) text: String,
    /// What they say, in a few words.
    pub(crate) about: String,
}

impl<'a> Installation<'a> {
    /// Checks whether the unit can be installed on the machine below `root`, with settings at this
    /// path.
    pub(crate) fn on(unit: &'a Unit, root: &'a Root, settings: &Path) -> Result<Self> {
        Ok(Self {
            installer: unit.on(root)?,
            program: unit::program(root)?,
            settings: unit::place_in(root, settings)?,
        })
    }

    /// Whether there are settings, which stay as they are.
    pub(crate) fn has_settings(&self) -> bool {
        self.settings.exists()
    }

    /// The file of the settings.
    pub(crate) fn settings(&self) -> &Path {
        &self.settings
    }

    /// Writes the settings, if any and unless there are some, and starts the service. `hint` says
    /// what to type next.
    pub(crate) fn install(&self, settings: Option<&Settings>, hint: &str) -> Result<()> {
        let place = &self.settings;
        let there = self.has_settings();
        if there {
            output::remark(&format!("{} stays as it is", place.display()));
        } else if let Some(Settings { text, about }) = settings {
            let above = place.parent().context("while making the directory of settings")?;
            make_directory(above)?;
            Destination::open(place)?.write(text.as_bytes())?;
            output::remark(&format!("{}: {about}", place.display()));
        }
        match self.installer.install(&self.program) {
            Ok(file) => {
                output::remark(&format!("{} is enabled", file.display()));
                output::remark(hint);
                Ok(())
            }
            Err(error) => {
                if !there {
                    let _tells_of_the_first_failure = fs::remove_file(place);
                }
                Err(error)
            }
        }
    }
}

/// Stops the service and removes what [`install`](Installation::install) has written: the unit, and
/// settings as it writes them.
pub(crate) fn uninstall(
    unit: &Unit,
    root: &Root,
    settings: &Path,
    is_written: impl Fn(&str) -> bool,
) -> Result<()> {
    let settings = unit::place_in(root, settings)?;
    match unit.on(root)?.uninstall()? {
        Some(file) => output::remark(&format!("{} is removed", file.display())),
        None => output::remark("there is no unit that install has written"),
    }
    match fs::read_to_string(&settings) {
        Ok(text) if is_written(&text) => {
            fs::remove_file(&settings).map_err(|error| Error::file("remove", &settings, error))?;
            output::remark(&format!("{} is removed", settings.display()));
        }
        Ok(_) => output::remark(&format!("{} has changed and stays", settings.display())),
        Err(_) => {}
    }
    Ok(())
}
