//! The subject of an explanation, for its texts and for the commands that it suggests.

use std::ffi::OsString;

use unjank_host::process::is_root;
use unjank_host::sched::ThreadId;
use unjank_host::{Root, threads};
use unjank_launch::bench::{Program, Ready};
use unjank_why::report::{About, Explained, Launches};

use crate::commands::measured::OutputArgs;

/// What another command explains: launches of `program`, without options of its own.
pub(crate) fn of_program(program: &Program, output: &OutputArgs) -> About {
    let shared = of_output(output);
    let options = [of_ready(&program.ready), shared.options].concat();
    About { command: program.command.clone(), options, ..shared }
}

/// The store, and how a run in it is shown.
pub(super) fn of_output(output: &OutputArgs) -> About {
    if output.no_store {
        return About { options: words(["--no-store"]), ..About::default() };
    }
    let store = output.store.iter().flat_map(|path| ["--store".into(), path.into()]);
    let store: Vec<OsString> = store.collect();
    // The default store of root is not that of the user.
    let sudo = if is_root() { words(["sudo"]) } else { Vec::new() };
    let show = words(["unjank", "runs", "show", "last", "--html", "why.html"]);
    About { show: [sudo, show, store.clone()].concat(), options: store, ..About::default() }
}

/// The same, with the server of the shown launch, if it is still there.
pub(crate) fn with_server(about: &About, launches: &Launches, root: &Root) -> About {
    let runs = |process: &u32| threads::process_of(root, ThreadId(*process)) == Some(*process);
    let server = launches.typical().and_then(Explained::server).filter(runs);
    About { server, ..about.clone() }
}

/// `--ready` with what it is set to.
pub(super) fn of_ready(ready: &Ready) -> Vec<OsString> {
    match ready {
        Ready::Exit => Vec::new(),
        ready => words(["--ready".to_owned(), ready.to_string()]),
    }
}

/// Words of a command.
pub(super) fn words<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Vec<OsString> {
    words.into_iter().map(Into::into).collect()
}
