//! Debian packages: found and fetched with a separate apt state, and unpacked.
//! The machine's own apt state does not change, and root is not needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use unjank_host::Error as HostError;

use super::directory::names;
use crate::architecture::Architecture;
use crate::error::{Error, Result};

/// The keys of Debian's archives.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The release and suite of the kernels.
const SUITE: &str = "bookworm-backports";

/// An apt with a single archive.
#[derive(Debug)]
pub(super) struct Apt {
    directory: PathBuf,
    architecture: Architecture,
}

impl Apt {
    /// Reads the archive's list of packages into `directory`.
    ///
    /// # Errors
    /// `Unsupported` without apt or Debian's keys, `Program` if apt fails.
    pub(super) fn update(
        directory: &Path,
        mirror: &str,
        architecture: Architecture,
    ) -> Result<Self> {
        if !Path::new(KEYRING).exists() {
            return Err(HostError::Unsupported(format!(
                "{KEYRING} is missing: install debian-archive-keyring, or give a kernel with --kernel"
            ))
            .into());
        }
        let apt = Self { directory: directory.to_owned(), architecture };
        for part in ["lists/partial", "sources", "archives/partial"] {
            create(&directory.join(part))?;
        }
        let source = format!(
            "Types: deb\nURIs: {mirror}\nSuites: {SUITE}\nComponents: main\nArchitectures: \
             {}\nSigned-By: {KEYRING}\n",
            architecture.debian()
        );
        let path = directory.join("sources/lab.sources");
        fs::write(&path, source).map_err(|error| HostError::file("write", &path, error))?;
        let path = directory.join("status");
        fs::write(&path, "").map_err(|error| HostError::file("write", &path, error))?;
        apt.run("apt-get", &["update", "-q", "--error-on=any"], directory)?;
        Ok(apt)
    }

    /// The size of a package by its exact name, if the archive has it.
    pub(super) fn size_of(&self, package: &str) -> Result<Option<u64>> {
        let shown = match self.run("apt-cache", &["show", package], &self.directory) {
            Ok(shown) => shown,
            Err(Error::Program { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(shown.lines().find_map(|line| line.strip_prefix("Size: ")?.trim().parse().ok()))
    }

    /// The newest kernel's package.
    pub(super) fn newest(&self) -> Result<Option<String>> {
        let newest = format!("linux-image-{}", self.architecture.debian());
        let depends = self.run("apt-cache", &["depends", &newest], &self.directory)?;
        Ok(dependency(&depends))
    }

    /// Fetches a package into `directory`; its hash is checked by apt.
    pub(super) fn download(&self, package: &str, directory: &Path) -> Result<PathBuf> {
        self.run("apt-get", &["download", "-q", package], directory)?;
        let files = names(directory)?.into_iter().map(|name| directory.join(name));
        files.into_iter().find(|file| is_package(file)).ok_or(Error::Program {
            program: "apt-get",
            reason: format!("it fetched no file for {package}"),
        })
    }

    fn run(&self, program: &'static str, arguments: &[&str], place: &Path) -> Result<String> {
        let at = |part: &str| self.directory.join(part).display().to_string();
        let options = [
            ("Dir::State", at("")),
            ("Dir::State::Lists", at("lists")),
            ("Dir::State::status", at("status")),
            ("Dir::Cache", at("")),
            ("Dir::Cache::Archives", at("archives")),
            ("Dir::Etc::SourceList", "/dev/null".to_owned()),
            ("Dir::Etc::SourceParts", at("sources")),
            ("Dir::Etc::Preferences", "/dev/null".to_owned()),
            ("Dir::Etc::PreferencesParts", "/dev/null".to_owned()),
            ("APT::Architecture", self.architecture.debian().to_owned()),
            ("APT::Architectures", self.architecture.debian().to_owned()),
            // The user to which apt would switch cannot write here.
            ("APT::Sandbox::User", String::new()),
            ("Acquire::Languages", "none".to_owned()),
            ("Acquire::Retries", "2".to_owned()),
        ];
        let options =
            options.iter().flat_map(|(name, value)| ["-o".into(), format!("{name}={value}")]);
        let mut command = Command::new(program);
        command.args(options).args(arguments).current_dir(place);
        run(program, &mut command)
    }
}

/// Whether a file's name is that of a package.
pub(super) fn is_package(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "deb")
}

/// The first kernel in the output of `apt-cache depends`.
fn dependency(depends: &str) -> Option<String> {
    depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .map(str::trim)
        .find(|name| name.starts_with("linux-image-") && is_name(name))
        .map(str::to_owned)
}

/// Whether `name` is an exact package name: apt takes others as patterns.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    name.len() > 2 && name.chars().all(plain)
}

/// Unpacks the package `file` into a new directory below `scratch`.
pub(super) fn unpack_below(scratch: &Path, file: &Path) -> Result<tempfile::TempDir> {
    create(scratch)?;
    let directory = tempfile::Builder::new()
        .prefix("kernel-")
        .tempdir_in(scratch)
        .map_err(|error| HostError::file("create a directory in", scratch, error))?;
    unpack(file, directory.path())?;
    Ok(directory)
}

/// Unpacks the package `file` into `directory`.
pub(super) fn unpack(file: &Path, directory: &Path) -> Result<()> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--extract").arg(file).arg(directory);
    run("dpkg-deb", &mut command).map(|_| ())
}

/// Creates a directory and its parents.
pub(super) fn create(directory: &Path) -> Result<()> {
    Ok(fs::create_dir_all(directory)
        .map_err(|error| HostError::file("create", directory, error))?)
}

/// The output of a program, or its error message if it fails.
fn run(program: &'static str, command: &mut Command) -> Result<String> {
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output().map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            HostError::Unsupported(format!(
                "{program} is missing: Debian packages need it; give an unpacked one with --kernel"
            ))
        } else {
            HostError::file("start", program, error)
        }
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = complaint(&stderr).unwrap_or_else(|| output.status.to_string());
    Err(Error::Program { program, reason })
}

/// The main message of a failed program: apt's first warning or error is the
/// cause; other programs print it last.
fn complaint(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let cause = |line: &&str| line.starts_with("E: ") || line.starts_with("W: ");
    let line = lines.clone().find(cause).or_else(|| lines.next_back())?;
    let line = line.trim_start_matches("E: ").trim_start_matches("W: ");
    Some(line.replace(char::is_control, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_the_dependency_of_the_metapackage() {
        let depends =
            "linux-image-amd64\n  Depends: linux-image-6.12.95+deb12-amd64\n  Suggests: x\n";
        assert_eq!(dependency(depends).as_deref(), Some("linux-image-6.12.95+deb12-amd64"));
        assert_eq!(dependency("linux-image-amd64\n  Depends: <linux-image-*>\n"), None);
        assert_eq!(dependency(""), None);
    }

    #[test]
    fn a_pattern_is_not_a_name() {
        assert!(is_name("linux-image-6.12.95+deb12-amd64"));
        for pattern in ["", "linux*", "linux-image-6.12 x", "-", "~nlinux", "linux/testing"] {
            assert!(!is_name(pattern), "{pattern}");
        }
    }

    #[test]
    fn the_cause_is_reported_and_not_its_consequence() {
        let apt = "W: Failed to fetch http://x  Could not connect\nE: Some index files failed\n";
        assert_eq!(complaint(apt).as_deref(), Some("Failed to fetch http://x  Could not connect"));
        assert_eq!(complaint("usage\n\nno such file\n\n").as_deref(), Some("no such file"));
        assert_eq!(complaint(" \n"), None);
    }

    #[test]
    fn a_malformed_package_names_the_program_that_refused_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kernel.deb");
        fs::write(&file, "no package").unwrap();
        let error = unpack_below(directory.path(), &file).unwrap_err().to_string();
        assert!(error.contains("dpkg-deb"), "{error}");
        let left = names(directory.path()).unwrap();
        assert_eq!(left, ["kernel.deb"], "what was half unpacked is gone");
    }
}
