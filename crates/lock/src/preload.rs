//! A program that is compared with itself, with mutexes that spin first:
//! `libunjank_lock.so` in its `LD_PRELOAD` (`crates/lock-preload`).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use unjank_backoff::calibrate::calibrate;
use unjank_host::{Error, Nanos, Result};
use unjank_measure::{Cell, Column, Fact, Findings, Number, Table, Unit};

/// Name of the library's file.
const LIBRARY: &str = "libunjank_lock.so";
/// Numbers in the file of counts (`counts.rs` of the library), of 8 bytes each.
const NUMBERS: usize = 5;
/// The file's length.
const LENGTH: usize = 8 * NUMBERS;

/// The library, where this program's installation has it: beside the program, as it is
/// built, or in `../lib/unjank`, as it is installed.
///
/// # Errors
/// `Unsupported` if it is at neither place.
pub fn library(program: &Path) -> Result<PathBuf> {
    let directory = program.parent().unwrap_or(Path::new("/"));
    let places = [directory.join(LIBRARY), directory.join("../lib/unjank").join(LIBRARY)];
    let found = places.iter().find_map(|place| place.canonicalize().ok());
    found.ok_or_else(|| {
        let [beside, installed] = places.map(|place| place.display().to_string());
        Error::Unsupported(format!(
            "{LIBRARY} is neither {beside} nor {installed}; it is for Linux with glibc on x86-64 and \
             aarch64. --library says where it is"
        ))
    })
}

/// What sleeping and being woken costs on this machine, as spinning believes it.
/// Measured once, in some milliseconds.
pub fn park() -> Nanos {
    Nanos(calibrate().believed().park.as_nanos())
}

/// The variables that give a program spinning mutexes. Libraries that are preloaded
/// already (`others`, the value of `LD_PRELOAD`) stay, behind this one.
///
/// # Errors
/// `Invalid` if the path ends in the middle for the linker, which separates libraries by
/// blanks and colons; or if others name the library already.
pub fn environment(
    library: &Path,
    park: Nanos,
    others: &OsStr,
) -> Result<Vec<(OsString, OsString)>> {
    let is_end = |byte: &u8| *byte == b':' || byte.is_ascii_whitespace();
    if library.as_os_str().as_bytes().iter().any(is_end) {
        let path = library.display();
        return Err(Error::Invalid(format!(
            "LD_PRELOAD cannot name {path}: it has a blank or a colon"
        )));
    }
    if others.to_string_lossy().contains(LIBRARY) {
        return Err(Error::Invalid(format!(
            "LD_PRELOAD names {LIBRARY} already, so the program would spin in both arms: unset it"
        )));
    }
    let mut preload = OsString::from(library);
    if !others.is_empty() {
        preload.push(":");
        preload.push(others);
    }
    let park = park.get().to_string();
    Ok(vec![("LD_PRELOAD".into(), preload), ("UNJANK_LOCK_PARK_NS".into(), park.into())])
}

/// A file in which the library counts.
#[derive(Debug)]
pub struct CountsFile {
    path: PathBuf,
}

impl CountsFile {
    /// Creates it in a directory of the caller's own.
    ///
    /// # Errors
    /// `File` if it cannot be written.
    pub fn create(directory: &Path) -> Result<Self> {
        let path = directory.join("counts");
        let failed = |error| Error::file("create", &path, error);
        let mut options = OpenOptions::new();
        let file: io::Result<File> = options.write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|file| file.set_len(LENGTH as u64)).map_err(failed)?;
        Ok(Self { path })
    }

    /// The variable that names it.
    pub fn variable(&self) -> (OsString, OsString) {
        ("UNJANK_LOCK_COUNTS".into(), self.path.clone().into())
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// `File` if it cannot be read, or has another length.
    pub fn read(&self) -> Result<Counts> {
        let failed = |error| Error::file("read", &self.path, error);
        let bytes = fs::read(&self.path).map_err(failed)?;
        let (numbers, []) = bytes.as_chunks::<8>() else {
            return Err(failed(io::ErrorKind::InvalidData.into()));
        };
        let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_ne_bytes(*number)).collect();
        match numbers[..] {
            [processes, waits, spun, gave_up, other_kinds] => {
                Ok(Counts { processes, waits, spun, gave_up, other_kinds })
            }
            _ => Err(failed(io::ErrorKind::InvalidData.into())),
        }
    }
}

/// What the library has counted in all processes of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Processes that have loaded it.
    pub processes: u64,
    /// Calls that found a mutex held for which threads may spin.
    pub waits: u64,
    /// Of these, those that got it by spinning.
    pub spun: u64,
    /// Of these, those that spun for a while, and then slept.
    pub gave_up: u64,
    /// Calls that found a mutex of another kind held, perhaps by the same thread. They do not
    /// spin.
    pub other_kinds: u64,
}

impl Counts {
    /// Adds what it means for a program, to which a sleep costs `park`.
    pub fn note(&self, park: Nanos, findings: &mut Findings) {
        if self.processes == 0 {
            findings.warn(format!(
                "no process has loaded {LIBRARY}: the program is linked statically or not with \
                 glibc, or has more rights than its caller"
            ));
            return;
        }
        if self.waits == 0 {
            findings.warn(
                "no thread waited for a pthread mutex that could spin: nothing changes in this program",
            );
        }
        let park = Fact::new("lock/try/park", park.get() as f64, Unit::Nanoseconds);
        findings.facts.push(park);
        findings.facts.push(Fact::new("lock/try/waits", self.waits as f64, Unit::Count));
        findings.tables.push(self.table());
    }

    fn table(&self) -> Table {
        let columns = [
            Column::text("wait"),
            Column::of("number", Unit::Count),
            Column::of("share", Unit::Ratio),
        ];
        let at_once = self.waits.saturating_sub(self.spun + self.gave_up);
        let share = |number: u64| (self.waits > 0).then(|| number as f64 / self.waits as f64);
        let rows = [
            ("got the mutex by spinning", self.spun, share(self.spun)),
            ("spun, then slept", self.gave_up, share(self.gave_up)),
            ("slept at once, as another thread was spinning", at_once, share(at_once)),
            ("found a mutex of another kind held, which does not spin", self.other_kinds, None),
        ];
        let cells = |(text, number, share): (&str, u64, Option<f64>)| {
            [text.into(), Cell::number(number as f64), Cell::maybe(share.map(Number::new))]
        };
        Table::new("lock/try/waits", "Waits for pthread mutexes, with spinning mutexes", columns)
            .with_rows(rows.map(cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_as_it_is_built_and_as_it_is_installed() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("bin/unjank");
        fs::create_dir_all(directory.path().join("lib/unjank")).unwrap();
        fs::create_dir(directory.path().join("bin")).unwrap();
        let said = library(&program).unwrap_err().to_string();
        assert!(said.contains("--library"), "{said}");
        let installed = directory.path().join("lib/unjank").join(LIBRARY);
        fs::write(&installed, "").unwrap();
        assert_eq!(library(&program).unwrap(), installed.canonicalize().unwrap());
        let beside = directory.path().join("bin").join(LIBRARY);
        fs::write(&beside, "").unwrap();
        assert_eq!(library(&program).unwrap(), beside.canonicalize().unwrap());
    }

    #[test]
    fn libraries_that_are_preloaded_already_stay() {
        let value = |others: &str| {
            let variables = environment(Path::new("/l.so"), Nanos(7_000), OsStr::new(others));
            let variables = variables.unwrap();
            assert_eq!(variables[1], ("UNJANK_LOCK_PARK_NS".into(), "7000".into()));
            variables[0].1.clone()
        };
        let refused = |library: &str, others: &str| {
            environment(Path::new(library), Nanos(1), OsStr::new(others)).is_err()
        };
        assert!(refused("/a b/l.so", "") && refused("/a:b/l.so", ""));
        assert!(refused("/l.so", "/usr/lib/unjank/libunjank_lock.so"));
        assert_eq!(value(""), "/l.so");
        assert_eq!(value("/a.so:/b.so"), "/l.so:/a.so:/b.so");
    }

    #[test]
    fn counts_are_read_from_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = CountsFile::create(directory.path()).unwrap();
        assert_eq!(file.read().unwrap(), Counts::default());
        let numbers = [1_u64, 100, 60, 10, 5].map(u64::to_ne_bytes).concat();
        fs::write(&file.path, numbers).unwrap();
        let counts = file.read().unwrap();
        let read = Counts { processes: 1, waits: 100, spun: 60, gave_up: 10, other_kinds: 5 };
        assert_eq!(counts, read);
        let mut findings = Findings::default();
        counts.note(Nanos(9_000), &mut findings);
        assert!(findings.warnings.is_empty());
        let slept = format!("{:?}", findings.tables[0].rows[2]);
        assert!(slept.contains("30") && slept.contains("0.3"), "{slept}");
        for wrong in [&b""[..], &[0; 39], &[0; 48]] {
            fs::write(&file.path, wrong).unwrap();
            assert!(file.read().is_err());
        }
        assert!(CountsFile::create(directory.path()).is_err(), "it is there already");
    }

    #[test]
    fn a_program_in_which_nothing_changes_is_named() {
        let said = |counts: Counts| {
            let mut findings = Findings::default();
            counts.note(Nanos(9_000), &mut findings);
            format!("{:?}", findings.warnings)
        };
        assert!(said(Counts::default()).contains("no process has loaded"));
        let idle = Counts { processes: 2, ..Counts::default() };
        assert!(said(idle).contains("no thread waited"));
    }
}
