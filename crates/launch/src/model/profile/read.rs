//! Reads profiles, and checks that they can run.

use super::load_profile::{Imported, Profile};
use super::{own_toml, rt_app};

/// A profile that cannot be read or run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("profile {origin}: {reason}")]
pub struct ProfileError {
    /// The file, or the name.
    pub origin: String,
    /// The mistake, with its line if known.
    pub reason: String,
}

impl Profile {
    /// Reads unjank's own format, TOML; `origin` names the source.
    ///
    /// # Errors
    /// The first mistake, with its line if known.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProfileError> {
        let wrong = |reason: String| ProfileError { origin: origin.to_owned(), reason };
        let profile = own_toml::read(text).map_err(wrong)?;
        profile.check().map_err(wrong)?;
        Ok(profile)
    }

    /// Reads a file of rt-app
    /// (<https://github.com/scheduler-tools/rt-app>, `doc/tutorial.txt`): the
    /// events `run`, `runtime`, `sleep` and `timer`, and the structure `phases`,
    /// `loop`, `instance` and `delay`. Warnings name everything else in the file.
    ///
    /// # Errors
    /// The first mistake, with its line if known.
    pub fn from_rt_app(text: &str, origin: &str) -> Result<Imported, ProfileError> {
        let wrong = |reason: String| ProfileError { origin: origin.to_owned(), reason };
        let imported = rt_app::read(text, origin).map_err(wrong)?;
        imported.profile.check().map_err(wrong)?;
        Ok(imported)
    }
}
