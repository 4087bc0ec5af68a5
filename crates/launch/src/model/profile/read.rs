//! Reads profiles, and checks that they can be run.

use super::load_profile::{Imported, Profile};
use super::{own_toml, rt_app};

/// What is wrong with a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("profile {origin}: {reason}")]
pub struct ProfileError {
    /// The file, or the name.
    pub origin: String,
    /// What is wrong, with the line where that is known.
    pub reason: String,
}

impl Profile {
    /// Reads the program's own form, TOML; `origin` names where it came from.
    ///
    /// # Errors
    /// With the line, or the first thing that cannot be.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProfileError> {
        let wrong = |reason: String| ProfileError { origin: origin.to_owned(), reason };
        let profile = own_toml::read(text).map_err(wrong)?;
        profile.check().map_err(wrong)?;
        Ok(profile)
    }

    /// Reads what rt-app reads
    /// (<https://github.com/scheduler-tools/rt-app>, `doc/tutorial.txt`): of
    /// its events `run`, `runtime`, `sleep` and `timer`, of its structure
    /// `phases`, `loop`, `instance` and `delay`. Whatever else is in the file
    /// is named in a warning.
    ///
    /// # Errors
    /// With the line, or the first thing that cannot be.
    pub fn from_rt_app(text: &str, origin: &str) -> Result<Imported, ProfileError> {
        let wrong = |reason: String| ProfileError { origin: origin.to_owned(), reason };
        let imported = rt_app::read(text, origin).map_err(wrong)?;
        imported.profile.check().map_err(wrong)?;
        Ok(imported)
    }
}
