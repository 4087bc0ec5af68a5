//! Load profiles by name: shipped ones, and files.

use std::io;
use std::path::Path;

use anyhow::{Result, bail};
use unjank_host::input::Input;
use unjank_host::{Bytes, Error};
use unjank_launch::model::Profile;
use unjank_launch::model::profile::{ProfileError, SHIPPED, shipped};

use crate::interrupt;

/// Larger files are refused.
const LARGEST: Bytes = Bytes(4 << 20);

/// The profiles of these names, or all that are shipped.
pub(super) fn all_or(names: &[String], warnings: &mut Vec<String>) -> Result<Vec<Profile>> {
    if names.is_empty() {
        return Ok(SHIPPED.iter().filter_map(|(name, _)| shipped(name)).collect());
    }
    named(names, warnings)
}

/// The profiles of these names; ignored parts of files go to `warnings`.
pub(super) fn named(names: &[String], warnings: &mut Vec<String>) -> Result<Vec<Profile>> {
    names.iter().map(|name| find(name, warnings)).collect()
}

/// The shipped profile called `name`, or that in the file `name`.
fn find(name: &str, warnings: &mut Vec<String>) -> Result<Profile> {
    if let Some(profile) = shipped(name) {
        return Ok(profile);
    }
    if !name.contains(['.', '/']) {
        let known: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        bail!(Error::Invalid(format!(
            "unknown profile {name}; expected {}, or a file, with a dot or a slash in its name",
            known.join(", ")
        )));
    }
    let failed = |error| Error::file("read", name, error).of_named_file();
    let input = Input::open(Path::new(name), &interrupt::stop());
    let bytes = match input.and_then(|input| input.bytes(LARGEST)) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            bail!("profile {name}: larger than 4 MiB");
        }
        bytes => bytes.map_err(failed)?,
    };
    let no_text = |_| failed(io::Error::new(io::ErrorKind::InvalidData, "it is not text"));
    let text = String::from_utf8(bytes).map_err(no_text)?;
    if Path::new(name).extension().is_some_and(|extension| extension == "json") {
        let imported = Profile::from_rt_app(&text, name).map_err(|wrong| usage(&wrong))?;
        warnings.extend(imported.warnings.into_iter().map(|warning| format!("{name}: {warning}")));
        return Ok(imported.profile);
    }
    Ok(Profile::from_toml(&text, name).map_err(|wrong| usage(&wrong))?)
}

fn usage(wrong: &ProfileError) -> Error {
    Error::Invalid(wrong.to_string())
}
