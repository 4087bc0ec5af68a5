//! The separate symbol file of a stripped program: GDB's manual, *Debugging
//! Information in Separate Files*.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::program_file::{LARGEST, open_file};
use crate::root::Root;

/// The directory of debug files, which only root can write.
const DIRECTORY: &str = "/usr/lib/debug";

/// The debug file of `program`, whose path is `path`: by its build ID, or by
/// the name and checksum in the program.
pub(super) fn open<'data>(
    root: &Root,
    program: &impl object::Object<'data>,
    path: &str,
) -> Option<File> {
    let by_id = program.build_id().ok().flatten().and_then(by_build_id);
    if let Some(file) = by_id.and_then(|path| open_file(&root.resolve(path))) {
        return Some(file);
    }
    let (name, checksum) = program.gnu_debuglink().ok().flatten()?;
    let file = open_file(&root.resolve(by_name(path, name)?))?;
    let same = crc_of(&file)? == checksum;
    same.then_some(file)
}

/// `.build-id/ab/cdef….debug`.
fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| (1..=64).contains(&rest.len()))?;
    let rest = rest.iter().fold(String::new(), |name, byte| name + &format!("{byte:02x}"));
    Some(Path::new(DIRECTORY).join(format!(".build-id/{first:02x}/{rest}.debug")))
}

/// The name below the debug directory of the program's directory; it must be a
/// single path component.
fn by_name(program: &str, name: &[u8]) -> Option<PathBuf> {
    let name = Path::new(std::str::from_utf8(name).ok()?);
    let mut parts = name.components();
    let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    let directory = Path::new(program).parent()?.strip_prefix("/").ok()?;
    let stays = directory.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && stays).then(|| Path::new(DIRECTORY).join(directory).join(name))
}

fn crc_of(mut file: &File) -> Option<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    let mut left = LARGEST;
    loop {
        let read = file.read(&mut buffer).ok()?;
        hasher.update(&buffer[..read]);
        left = left.checked_sub(read as u64)?;
        if read == 0 {
            return Some(hasher.finalize());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_file_has_a_name_by_its_build_id() {
        let path = by_build_id(&[0xab, 0xcd, 0x01]);
        assert_eq!(path, Some("/usr/lib/debug/.build-id/ab/cd01.debug".into()));
        assert_eq!((by_build_id(&[]), by_build_id(&[1])), (None, None));
        assert_eq!(by_build_id(&[1; 200]), None);
    }

    #[test]
    fn a_name_cannot_lead_elsewhere() {
        let path = by_name("/usr/bin/x", b"x.debug");
        assert_eq!(path, Some("/usr/lib/debug/usr/bin/x.debug".into()));
        for (program, name) in [
            ("/usr/bin/x", &b"../../../etc/shadow"[..]),
            ("/usr/bin/x", b"/etc/shadow"),
            ("/usr/bin/x", b""),
            ("/usr/bin/x", b"\xff"),
            ("/usr/../bin/x", b"x.debug"),
            ("x", b"x.debug"),
        ] {
            assert_eq!(by_name(program, name), None, "{program} {name:?}");
        }
    }

    #[test]
    fn a_checksum_is_that_of_the_whole_file() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&path, b"123456789").unwrap();
        assert_eq!(crc_of(&File::open(&path).unwrap()), Some(0xcbf4_3926));
    }
}
