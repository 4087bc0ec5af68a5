//! Names of the files and swap areas that a program of this machine reads.

use std::collections::BTreeMap;

use unjank_host::Root;
use unjank_host::inode::{FileId, paths_of};
use unjank_host::swap_area::{self, Area};
use unjank_report::one_line;
use unjank_why::report::{self, Explained};

/// The paths of the files that are shown, as far as they can be found: the explained
/// threads may still run.
pub(super) fn names(root: &Root, launch: &Explained) -> BTreeMap<FileId, String> {
    let files = report::shown_files(launch);
    let paths = paths_of(root, &files, launch.page_takers().map(|thread| thread.0));
    let shown = |(file, path): (FileId, std::path::PathBuf)| {
        (file, one_line(&path.to_string_lossy()).into_owned())
    };
    paths.into_iter().map(shown).collect()
}

/// The swap areas of this machine; none if they cannot be read.
pub(super) fn swap(root: &Root) -> Vec<Area> {
    swap_area::all(root).unwrap_or_default()
}
