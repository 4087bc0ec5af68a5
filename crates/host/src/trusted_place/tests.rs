use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use super::*;

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn why(path: &Path) -> String {
    open_directory(path, Missing::Refuse).unwrap_err().to_string()
}

#[test]
fn a_directory_and_its_parents_are_created_for_this_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/c");
    assert!(open_directory(&path, Missing::Refuse).unwrap_err().is_not_found());
    open_directory(&path, Missing::Make).unwrap();
    open_directory(&path, Missing::Refuse).unwrap();
    for made in ["a", "a/b", "a/b/c"] {
        let mode = dir.path().join(made).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{made}");
    }
}

#[test]
fn a_directory_that_others_can_write_to_is_refused_anywhere_on_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/c");
    fs::create_dir_all(&path).unwrap();
    for above in ["a", "a/b", "a/b/c"] {
        let place = dir.path().join(above);
        for mode in [0o775, 0o757] {
            allow(&place, mode);
            let said = format!(
                "trusting {} (others may write to it (mode {mode:o})) needs a path that only \
                 this user can write to",
                place.display()
            );
            assert_eq!(why(&path), said);
            assert_eq!(open_directory(&path, Missing::Make).unwrap_err().to_string(), said);
        }
        allow(&place, 0o755);
    }
    // In a sticky directory, others can create entries but not replace ours.
    allow(&dir.path().join("a"), 0o1777);
    open_directory(&path, Missing::Refuse).unwrap();
    allow(&path, 0o1777);
    assert!(why(&path).contains("mode 1777"), "but not as the last one");
}

#[test]
fn links_of_this_user_are_followed_within_a_path_but_not_at_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("real/state")).unwrap();
    symlink("real", at("relative")).unwrap();
    symlink(at("real/../relative"), at("absolute")).unwrap();
    symlink("state", at("real/last")).unwrap();
    symlink("round", at("round")).unwrap();
    for path in ["relative/state", "absolute/state", "real/../absolute/state"] {
        open_directory(&at(path), Missing::Refuse).unwrap();
    }
    assert!(open_directory(&at("real/last"), Missing::Refuse).is_err());
    assert!(why(&at("round/state")).contains("symbolic links"));
    // The target is checked, too.
    allow(&at("real"), 0o777);
    assert!(why(&at("absolute/state")).contains("real (others may write to it"));
}

#[test]
fn directories_and_links_of_another_user_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("theirs/state")).unwrap();
    fs::create_dir_all(at("ours/state")).unwrap();
    symlink("ours", at("link")).unwrap();
    open_directory(&at("link/state"), Missing::Refuse).unwrap();
    if chown(at("theirs"), Some(65534), None).is_err() {
        return println!("without root, files cannot be given to another user");
    }
    std::os::unix::fs::lchown(at("link"), Some(65534), None).unwrap();
    assert!(why(&at("theirs/state")).contains("theirs (it belongs to user 65534, and unjank"));
    assert!(why(&at("link/state")).contains("link (a link: it belongs to user 65534, and"));
    assert!(!at("theirs/new").exists());
    assert!(open_directory(&at("theirs/new"), Missing::Make).is_err());
    assert!(!at("theirs/new").exists(), "nothing is created there");
}
