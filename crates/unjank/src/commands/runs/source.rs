//! The sources of runs: the store, files, or stdin.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use unjank_host::Bytes;
use unjank_host::input::Input;
use unjank_host::process::is_root;
use unjank_measure::store::Selector;
use unjank_measure::{RunRecord, Store};

use crate::{interrupt, output, paths};

/// The option that names a store.
#[derive(Debug, clap::Args)]
pub(super) struct StoreArgs {
    /// The store [default: unjank/runs.sqlite in the user's data directory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Opens the store. A store that does not exist yet is empty.
    pub(super) fn open(&self) -> Result<Store> {
        let path = self.store.clone().or_else(paths::store).ok_or_else(|| {
            unjank_host::Error::Invalid(
                "no store: neither HOME nor XDG_DATA_HOME is an absolute path; name one with \
                 --store FILE"
                    .to_owned(),
            )
        })?;
        Ok(Store::open(&path)?)
    }

    /// Says where runs are that are not here: root and each user have a store of their own, also
    /// with sudo(8), as root keeps nothing in a place of others.
    pub(super) fn tell_of_others(&self) {
        if self.store.is_none() {
            output::remark(&if is_root() {
                match env::var("SUDO_USER") {
                    Ok(user) if user != "root" => {
                        format!("runs that {user} made without sudo are listed without sudo")
                    }
                    _ => return,
                }
            } else {
                "runs made with sudo are root's: sudo unjank runs list".to_owned()
            });
        }
    }

    fn told<T>(&self, found: unjank_measure::Result<T>) -> Result<T> {
        if matches!(found, Err(unjank_measure::Error::NoRun { .. })) {
            self.tell_of_others();
        }
        Ok(found?)
    }

    /// The run called `name`: a file with a record, or a run of the store by
    /// its id, the beginning of it, `last` or `last~1`. A record from a file is
    /// checked strictly.
    pub(super) fn find(&self, name: &str) -> Result<RunRecord> {
        if is_file(name) {
            return Ok(RunRecord::import(&read(name)?, name)?);
        }
        self.told(self.open()?.get(&selector(name)))
    }

    /// The newest stored runs of the commands of `runs`, besides these: they may
    /// show how far such runs differ. None where the store cannot be read.
    pub(super) fn like(&self, runs: &[&RunRecord]) -> Vec<RunRecord> {
        let Ok(store) = self.open() else { return Vec::new() };
        store.others_like(runs)
    }

    /// The stored text of that record, with fields that this version does not
    /// know.
    pub(super) fn find_text(&self, name: &str) -> Result<String> {
        if is_file(name) {
            let text = read(name)?;
            RunRecord::import(&text, name)?;
            return Ok(text);
        }
        Ok(self.told(self.open()?.text(&selector(name)))?.1)
    }
}

/// No id holds a dot or a slash. So a file named like a run must be given as
/// `./last`, and a missing file is not searched for in the store.
fn is_file(name: &str) -> bool {
    name == "-" || name.contains(['.', '/'])
}

fn selector(name: &str) -> Selector {
    let Ok(selector) = name.parse();
    selector
}

/// The largest file of records that is read.
const LARGEST: Bytes = Bytes(1 << 30);

/// How files of perf-record(1) begin: `tools/perf/Documentation/perf.data-file-format.txt`.
const PERF_DATA: &[u8] = b"PERFILE2";

/// The whole text of a file; `-` is stdin.
pub(super) fn read(name: &str) -> Result<String> {
    let no_record = |reason: &str| unjank_measure::Error::Record {
        origin: name.to_owned(),
        reason: reason.to_owned(),
    };
    let input = Input::named(Path::new(name), &interrupt::stop());
    let bytes = match input.and_then(|input| input.bytes(LARGEST)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(no_record("it is larger than 1 GiB").into());
        }
        Err(error) => {
            return Err(unjank_host::Error::file("read", name, error).of_named_file().into());
        }
    };
    if bytes.starts_with(PERF_DATA) {
        return Err(no_record(
            "perf record wrote it, and it holds samples, not a run: perf report shows them, and \
             unjank why -- COMMAND measures a launch anew",
        )
        .into());
    }
    Ok(String::from_utf8(bytes).map_err(|_| no_record("it is not text"))?)
}
