//! A unit of systemd that starts a service of this program: checked, written, started and removed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use unjank_host::files::{Destination, is_untrusted, make_directory, resolve_links};
use unjank_host::process::is_root;
use unjank_host::{Error, Root};

/// The directory of the administrator's units, which go before those of packages: systemd.unit(5).
const OWN: &str = "/etc/systemd/system";
/// The directories of packages' units.
const PACKAGED: [&str; 3] =
    ["/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
/// A directory that systemd makes when it boots: `sd_booted(3)`.
const BOOTED: &str = "/run/systemd/system";
/// Where systemctl(1) is. Root does not look for it in PATH.
const SYSTEMCTL: [&str; 2] = ["/usr/bin/systemctl", "/bin/systemctl"];
/// The program in the text of a unit.
const PROGRAM: &str = "/usr/bin/unjank";

/// A unit for a service.
pub(crate) struct Unit {
    /// The name of its file.
    name: &'static str,
    /// Its text, with the program where packages put it.
    text: &'static str,
}

/// The unit of `launch boost`.
pub(crate) static BOOST: Unit =
    Unit { name: "unjank-boost.service", text: include_str!("../../units/unjank-boost.service") };

/// The unit of `swap tierd`.
pub(crate) static TIERD: Unit =
    Unit { name: "unjank-tierd.service", text: include_str!("../../units/unjank-tierd.service") };

/// The unit of `watch`.
pub(crate) static WATCH: Unit =
    Unit { name: "unjank-watch.service", text: include_str!("../../units/unjank-watch.service") };

/// A unit on a machine: this one, or the one that a directory tree will be.
pub(crate) struct Installer<'a> {
    unit: &'a Unit,
    root: &'a Root,
    systemctl: &'static Path,
    /// The file that an installation writes.
    own: PathBuf,
}

/// What happens to a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Its file is there now.
    Written,
    /// Its file will be removed.
    Unwanted,
    /// Its file has been removed.
    Removed,
}

impl Unit {
    /// Checks whether it can be installed or removed on the machine below `root`.
    ///
    /// # Errors
    /// `Permission` for users other than root, `Unsupported` without systemd, `Invalid` if the
    /// administrator has written a unit of this name.
    pub(crate) fn on<'a>(&'a self, root: &'a Root) -> Result<Installer<'a>> {
        if !is_root() {
            let what = format!("a change of {}", self.name);
            return Err(Error::Permission { what, needs: "root".to_owned() }.into());
        }
        let systemctl = SYSTEMCTL.into_iter().map(Path::new).find(|path| path.exists());
        if root.is_system() && !Path::new(BOOTED).is_dir() {
            return Err(Error::Unsupported(format!(
                "systemd does not run here, so {} cannot be installed: let the init of this \
                 machine start the command",
                self.name
            ))
            .into());
        }
        let Some(systemctl) = systemctl else {
            let reason = "systemctl is missing: it is part of systemd".to_owned();
            return Err(Error::Unsupported(reason).into());
        };
        let own = place_in(root, &Path::new(OWN).join(self.name))?;
        let installer = Installer { unit: self, root, systemctl, own };
        let own = &installer.own;
        if own.exists() && !is_ours(own, self.text) {
            let what =
                format!("{} is not unjank's, and stays as it is: remove it first", own.display());
            return Err(Error::Invalid(what).into());
        }
        Ok(installer)
    }
}

impl Installer<'_> {
    /// Enables and starts it for a `program`, and waits until it is ready. Returns the file: the
    /// package's if it starts this program, else a new one, which is removed if it does not start.
    pub(crate) fn install(&self, program: &str) -> Result<PathBuf> {
        let text = self.unit.text.replace(PROGRAM, program);
        let was_there = self.own.exists();
        let packaged = self.packaged().filter(|path| reads(path, &text) && !was_there);
        if packaged.is_none() {
            let above = self.own.parent().context("while making the directory of units")?;
            make_directory(above)?;
            Destination::open(&self.own)?.write(text.as_bytes())?;
        }
        if let Err(error) = self.tell(Change::Written) {
            if !was_there {
                let _it_may_not_be_known = self.uninstall();
            }
            return Err(error);
        }
        Ok(packaged.unwrap_or_else(|| self.own.clone()))
    }

    /// Stops and disables it, and removes the file that [`install`](Self::install) has written.
    /// Returns what was removed.
    pub(crate) fn uninstall(&self) -> Result<Option<&Path>> {
        let own = Some(self.own.as_path()).filter(|path| path.exists());
        let told = if own.is_some() || self.packaged().is_some() {
            self.tell(Change::Unwanted)
        } else {
            Ok(())
        };
        if let Some(own) = own {
            fs::remove_file(own).map_err(|why| Error::file("remove", own, why))?;
            self.tell(Change::Removed)?;
        }
        told.map(|()| own)
    }

    fn packaged(&self) -> Option<PathBuf> {
        let places = PACKAGED.iter().map(|place| self.root.resolve(place).join(self.unit.name));
        places.into_iter().find(|path| path.exists())
    }

    /// Runs systemctl(1), whose messages go to stderr.
    fn tell(&self, change: Change) -> Result<()> {
        let tree = Some(self.root.dir()).filter(|_| !self.root.is_system());
        for arguments in requests(self.unit.name, change, tree) {
            let done = Command::new(self.systemctl).args(&arguments).status();
            let program = self.systemctl.display();
            let done = done.with_context(|| format!("while starting {program}"))?;
            if !done.success() {
                let words = arguments.join(OsStr::new(" "));
                return Err(anyhow::anyhow!(
                    "{program} {} has failed ({done}); journalctl -e says why",
                    words.display()
                ));
            }
        }
        Ok(())
    }
}

/// A path on the machine below `root`, which root may write and remove.
///
/// # Errors
/// `Permission` if other users can replace it, `Invalid` if a link leads out of the tree.
pub(crate) fn place_in(root: &Root, path: &Path) -> Result<PathBuf> {
    let place = resolve_links(&root.resolve(path))?;
    let tree = resolve_links(root.dir())?;
    if !place.starts_with(&tree) {
        let what = format!("{} leads out of {}", path.display(), tree.display());
        return Err(Error::Invalid(what).into());
    }
    if is_untrusted(&place) {
        return Err(Error::Permission {
            what: format!("{} can be replaced by other users", place.display()),
            needs: "a directory tree of root's".to_owned(),
        }
        .into());
    }
    Ok(place)
}

/// The running program, for a unit that starts it.
///
/// # Errors
/// `Permission` if other users can replace it, because it would run as root; `Invalid` if
/// services do not see it, or systemd would not take its path as it is.
pub(crate) fn program(root: &Root) -> Result<String> {
    let program = env::current_exe().context("while looking for this program")?;
    if let Some(hidden) = hidden(&program).filter(|_| root.is_system()) {
        return Err(Error::Invalid(format!(
            "services do not see {hidden}, where {} is: make install puts it elsewhere",
            program.display()
        ))
        .into());
    }
    if is_untrusted(&program) {
        return Err(Error::Permission {
            what: format!(
                "a service would run {} as root, which other users can replace",
                program.display()
            ),
            needs: "a program in a directory of root's: make install".to_owned(),
        }
        .into());
    }
    match program.to_str().filter(|path| is_plain(path)) {
        Some(plain) => Ok(plain.to_owned()),
        None => Err(Error::Invalid(format!(
            "{} has characters that mean something to systemd: install unjank elsewhere",
            program.display()
        ))
        .into()),
    }
}

/// The directory of a program that the units hide from it (`ProtectHome`, `PrivateTmp`).
fn hidden(program: &Path) -> Option<&'static str> {
    let hidden = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];
    hidden.into_iter().find(|directory| program.starts_with(directory))
}

/// The arguments with which systemctl(1) makes a change on the running machine, or in a `tree`, in
/// which nothing runs.
fn requests(name: &str, change: Change, tree: Option<&Path>) -> Vec<Vec<OsString>> {
    let requests: &[&[&str]] = match (change, tree.is_some()) {
        (Change::Written, false) => &[&["daemon-reload"], &["enable", "--now", name]],
        (Change::Unwanted, false) => &[&["disable", "--now", name]],
        (Change::Removed, false) => &[&["daemon-reload"]],
        (Change::Written, true) => &[&["enable", name]],
        (Change::Unwanted, true) => &[&["disable", name]],
        (Change::Removed, true) => &[],
    };
    let place = tree.map(|tree| {
        let mut place = OsString::from("--root=");
        place.push(tree);
        place
    });
    let words = |words: &&[&str]| {
        let words = words.iter().map(OsString::from);
        place.clone().into_iter().chain(words).collect()
    };
    requests.iter().map(words).collect()
}

/// Whether a file was written from this text, for whatever program: both begin with the same line.
fn is_ours(path: &Path, text: &str) -> bool {
    let first = text.lines().next();
    fs::read_to_string(path).is_ok_and(|found| found.lines().next() == first)
}

fn reads(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|found| found == text)
}

/// Whether systemd takes a path as it is: no specifier, quote, escape or blank (systemd.service(5)).
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || "/._+-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_systemd_would_change_are_known() {
        assert!(is_plain("/usr/local/bin/unjank") && is_plain("/opt/unjank-0.1/bin/un_jank"));
        for path in ["/a b/unjank", "/opt/%i/unjank", "/opt/\"q\"/unjank", "/ä/unjank", "/a\\b"] {
            assert!(!is_plain(path), "{path}");
        }
    }

    #[test]
    fn a_unit_is_started_where_systemd_runs_and_enabled_in_a_tree() {
        let words = |change, tree: Option<&str>| {
            let requests = requests("a.service", change, tree.map(Path::new));
            requests.iter().map(|words| words.join(OsStr::new(" "))).collect::<Vec<_>>()
        };
        let now = words(Change::Written, None);
        assert_eq!(now, ["daemon-reload", "enable --now a.service"]);
        assert_eq!(words(Change::Removed, None), ["daemon-reload"]);
        assert_eq!(words(Change::Unwanted, Some("/mnt")), ["--root=/mnt disable a.service"]);
        assert_eq!(words(Change::Removed, Some("/mnt")), [""; 0]);
    }

    #[test]
    fn a_link_does_not_lead_out_of_a_tree() {
        let [tree, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let root = Root::at(tree.path());
        let path = Path::new("/etc/unjank/boost.toml");
        let inside = tree.path().canonicalize().unwrap().join("etc/unjank/boost.toml");
        assert_eq!(place_in(&root, path).unwrap(), inside);
        std::os::unix::fs::symlink(other.path(), tree.path().join("etc")).unwrap();
        let error = place_in(&root, path).unwrap_err().to_string();
        assert!(error.contains("leads out of"), "{error}");
    }

    #[test]
    fn programs_that_a_service_does_not_see_are_known() {
        let hidden = |path: &str| hidden(Path::new(path));
        assert_eq!(hidden("/root/.local/bin/unjank"), Some("/root"));
        assert_eq!(hidden("/tmp/unjank"), Some("/tmp"));
        assert_eq!([hidden("/usr/local/bin/unjank"), hidden("/rooted/unjank")], [None; 2]);
    }

    #[test]
    fn units_are_known_again_whatever_program_they_start() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("unit");
        fs::write(&file, BOOST.text.replace(PROGRAM, "/opt/bin/unjank")).unwrap();
        assert!(is_ours(&file, BOOST.text));
        fs::write(&file, "[Service]\nExecStart=/bin/true\n").unwrap();
        assert!(!is_ours(&file, BOOST.text) && !is_ours(Path::new("/no/such"), BOOST.text));
        assert!(BOOST.text.contains(&format!("ExecStart={PROGRAM} launch boost ")));
    }
}
