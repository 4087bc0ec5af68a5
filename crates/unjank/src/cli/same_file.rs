//! A file that is named by two options, one of which would replace it.

use std::any::TypeId;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;

/// The longest wait for a disk. Links are not followed on one that takes longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a command line names: an argument as help writes it, and a path.
struct Named {
    by: String,
    is_option: bool,
    typed: PathBuf,
}

/// Refuses a command line in which an option names the file of another argument: an output would
/// replace an input, or another output.
///
/// # Errors
/// Two arguments of the command, of which one is an option, name the same file.
pub(super) fn refuse(definition: &clap::Command, typed: &ArgMatches) -> Result<(), clap::Error> {
    let (mut command, mut typed) = (definition, typed);
    while let Some((name, below)) = typed.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (command, typed) = (found, below);
    }
    let named: Vec<Named> = command.get_arguments().flat_map(|it| files(it, typed)).collect();
    if named.len() < 2 {
        return Ok(());
    }
    let places = places(named.iter().map(|named| named.typed.clone()).collect());
    let known: Vec<(&Named, &PathBuf)> = named
        .iter()
        .zip(&places)
        .filter_map(|(named, place)| Some((named, place.as_ref()?)))
        .collect();
    for (at, (named, place)) in known.iter().enumerate() {
        let twice = |(other, other_place): &&(&Named, &PathBuf)| {
            (other.is_option || named.is_option) && other.by != named.by && other_place == place
        };
        if let Some((other, _)) = known[..at].iter().find(twice) {
            let (path, by) = (named.typed.display(), [&other.by, &named.by]);
            let message = format!("{} and {} name the same file: {path}\n", by[0], by[1]);
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
        }
    }
    Ok(())
}

/// The place of each path, which can be compared. A disk that never answers must not keep the
/// command from its time limit, so another thread waits for it; without an answer, paths stand for
/// themselves.
fn places(paths: Vec<PathBuf>) -> Vec<Option<PathBuf>> {
    let (sender, found) = mpsc::channel();
    let typed = paths.clone();
    let thread = thread::Builder::new().name("disk".to_owned()).spawn(move || {
        let places: Vec<Option<PathBuf>> = typed.iter().map(|path| place(path)).collect();
        let _too_late = sender.send(places);
    });
    let found = thread.ok().and_then(|_| found.recv_timeout(PATIENCE).ok());
    found.unwrap_or_else(|| paths.into_iter().map(Some).collect())
}

/// The files and directories that an argument names on the command line.
fn files(argument: &clap::Arg, typed: &ArgMatches) -> Vec<Named> {
    let id = argument.get_id().as_str();
    let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let is_run = argument.get_value_names().is_some_and(|names| names[0] == "RUN");
    if !(is_path || is_run) || typed.value_source(id) != Some(ValueSource::CommandLine) {
        return Vec::new();
    }
    let by = argument.get_long().map_or_else(
        || argument.get_value_names().map_or(id, |names| names[0].as_str()).to_owned(),
        |long| format!("--{long}"),
    );
    let named = |value: &OsStr| {
        let is_option = !argument.is_positional();
        let typed = PathBuf::from(value);
        Named { by: by.clone(), is_option, typed }
    };
    let values = typed.get_raw(id).into_iter().flatten().filter(|value| !is_stream(value));
    values.map(named).collect()
}

fn is_stream(value: &OsStr) -> bool {
    let path = Path::new(value);
    path == Path::new("-") || path.starts_with("/dev") || path.starts_with("/proc")
}

/// The path of a file without links, or of one that could be made; `None` for anything else.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(found) = path.canonicalize() {
        return found.is_file().then_some(found);
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
    Some(directory.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use crate::cli::Cli;

    /// The error for a command line, in which `@` stands for the directory of the files.
    fn error(typed: &str) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("trace.csv"), "0,1\n").unwrap();
        symlink("trace.csv", directory.path().join("link")).unwrap();
        let directory = directory.path().to_str().unwrap();
        let typed: Vec<_> = typed.split(' ').map(|it| it.replace('@', directory).into()).collect();
        let error = Cli::checked(&typed).err()?.to_string();
        Some(error.replace(directory, "@").trim_end().to_owned())
    }

    #[test]
    fn an_output_is_no_input_and_no_other_output() {
        for (typed, expected) in [
            ("swap mrc @/trace.csv --csv @/trace.csv", "TRACE and --csv"),
            ("swap mrc @/trace.csv --html @/link", "TRACE and --html"),
            ("why @/trace.csv --folded @/./trace.csv", "FILE and --folded"),
            ("runs show @/trace.csv --html @/trace.csv", "RUN and --html"),
            ("jitter trace @/trace.csv --html @/new --markdown @/new", "--html and --markdown"),
        ] {
            let said = error(&format!("unjank {typed}")).expect(typed);
            assert!(
                said.starts_with(&format!("error: {expected} name the same file: @/")),
                "{said}"
            );
        }
    }

    #[test]
    fn inputs_and_streams_may_be_named_twice() {
        for typed in [
            "swap mrc @/trace.csv @/trace.csv --csv @/curve.csv",
            "runs compare @/trace.csv @/trace.csv",
            "why - --folded -",
            "swap mrc @/trace.csv --csv /dev/stdout --html /dev/stdout",
        ] {
            assert_eq!(error(&format!("unjank {typed}")), None, "{typed}");
        }
    }
}
