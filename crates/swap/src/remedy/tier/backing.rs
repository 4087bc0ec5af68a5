//! The files and devices that hold the pages.
//!
//! The first page of each is its mark: the header of a swap area, labelled `unjank tier`, with the
//! number of the tier as its UUID. (On the slow backing it is also the header that the kernel reads.)
//! The pages of a tier that was not taken down are stale after a boot, and those of other programs
//! are theirs. So a backing is used only if it is blank, or its tier was taken down (another label),
//! or the user says so; and nothing is written to one that does not have the mark any more.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use unjank_host::files::{
    Existing, Readers, WholeFile, is_untrusted, is_untrusted_directory, open_for_this_alone,
    overwrites_in_place, resolve_links,
};
use unjank_host::input::Stopped;
use unjank_host::swap_header::{LABEL_AT, Label, UUID_AT, header};
use unjank_host::{Bytes, Error, Nanos, Result, Support, Timestamp};

use super::allocates::may_allocate;
use super::server::PAGE;
use super::settings::Backing;

/// The labels of a backing.
const IN_USE: &Label = b"unjank tier\0\0\0\0\0";
const TAKEN_DOWN: &Label = b"unjank tier off\0";
/// The bytes at each end of a backing in which others leave their marks: file systems, partition
/// tables, RAID.
const MARKED: u64 = 1 << 20;
/// The smallest backing.
const SMALLEST: Bytes = Bytes::from_mib(1);
/// How long a killed server may have its backings open, and the time between two tries.
const LONGEST_END: Nanos = Nanos::from_millis(10_000);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// What a user wants of a backing.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The path of a file or a block device.
    pub path: &'a Path,
    /// The size of a file that is to be made.
    pub size: Option<Bytes>,
    /// Whether the former content may be overwritten, whatever it is.
    pub formats: bool,
}

/// Examines a backing, and returns its number of pages, with that of the mark. Changes nothing.
///
/// # Errors
/// `Invalid` for a path that another user could replace, content that would be lost, a missing or
/// wrong size; `Busy` for a device or file in use; the kernel's error.
pub fn examine(wanted: Wanted<'_>) -> Result<(Backing, u32)> {
    let path = resolve_links(wanted.path)?;
    let shown = wanted.path.display();
    let kind = path.symlink_metadata().ok().map(|it| it.file_type());
    let is_device = kind.is_some_and(|kind| kind.is_block_device());
    let is_replaceable = match path.parent() {
        // udev lets a group write to block devices.
        Some(directory) if is_device => is_untrusted_directory(directory),
        _ => is_untrusted(&path),
    };
    if is_replaceable {
        let why = "another user could replace it, so it is not used for swap";
        return Err(Error::Invalid(format!("{shown}: {why}")));
    }
    if is_device && may_allocate(&path) {
        let why = "allocates memory when a page is written, so the machine would hang when memory is \
                   exhausted: use a disk";
        return Err(Error::Invalid(format!("{shown} {why}")));
    }
    let is_ours = match (kind.is_some(), wanted.size) {
        (false, None) => {
            return Err(Error::Invalid(format!("{shown} does not exist; --size makes it")));
        }
        (true, Some(_)) if is_device || !wanted.formats => {
            let why = "exists: leave out --size to use it as it is";
            return Err(Error::Invalid(format!("{shown} {why}")));
        }
        (_, size) => size.is_some(),
    };
    let on = if kind.is_some() { path.as_path() } else { path.parent().unwrap_or(&path) };
    if !is_device && let Support::No(reason) = overwrites_in_place(on)? {
        return Err(Error::Invalid(reason));
    }
    // Nobody else uses what is there.
    let file = kind.map(|_| open_for_this_alone(&path)).transpose()?;
    let size = match (wanted.size, &file) {
        (None, Some(file)) => {
            let failed = |error| Error::file("read", &path, error);
            let size = { file }.seek(SeekFrom::End(0)).map_err(failed)?;
            if !wanted.formats {
                check_content(file, &path, size)?;
            }
            Bytes(size)
        }
        (size, _) => size.unwrap_or_default(),
    };
    if size < SMALLEST {
        return Err(Error::Invalid(format!("{shown}: {size} is too small")));
    }
    let pages = u32::try_from(size.get() / PAGE).unwrap_or(u32::MAX - 1);
    Ok((Backing { path, is_ours, replaces: is_ours && file.is_some() }, pages))
}

/// Makes the file if it is ours, and marks the backing of the tier `mark`. Ends early if `is_asked`.
///
/// # Errors
/// Somebody else has made the file meanwhile; the kernel's error; that it was ended.
pub fn prepare(
    backing: &Backing,
    pages: u32,
    mark: u64,
    is_asked: &dyn Fn() -> bool,
) -> Result<()> {
    let path = &backing.path;
    let failed = |error| Error::file("write", path, error);
    let page = mark_page(pages, mark);
    if !backing.is_ours {
        let file = open_for_this_alone(path)?;
        return file.write_all_at(&page.0, 0).and_then(|()| file.sync_all()).map_err(failed);
    }
    // Nobody uses the file that is replaced. One that has appeared since it was missed is kept.
    let _former = backing.replaces.then(|| open_for_this_alone(path)).transpose()?;
    let existing = Existing::replaced_if(backing.replaces);
    let appeared = |error: Error| match error {
        Error::Invalid(_) => {
            Error::Busy(format!("{} has just been made by another", path.display()))
        }
        error => error,
    };
    let whole = WholeFile::create(path, existing, Readers::Owner).map_err(appeared)?;
    let file = whole.file()?;
    let written = (&file).write_all(&page.0).and_then(|()| fill(&file, pages, is_asked));
    written.and_then(|()| file.sync_all()).map_err(|error| whole.error(error))?;
    whole.finish().map_err(appeared)
}

/// Writes zeros from the second page on: nothing remains to be allocated when pages are written.
fn fill(mut file: &File, pages: u32, is_asked: &dyn Fn() -> bool) -> io::Result<()> {
    let zeros = vec![0; MARKED as usize];
    let mut left = u64::from(pages - 1) * PAGE;
    while left > 0 {
        if is_asked() {
            return Err(io::Error::other(Stopped));
        }
        let piece = left.min(MARKED);
        file.write_all(&zeros[..piece as usize])?;
        left -= piece;
    }
    Ok(())
}

/// Opens a backing of the tier `mark`. A server that was killed has it open until its last transfers
/// have ended.
///
/// # Errors
/// `Busy` if another program uses it; `Invalid` if it does not have the mark; the kernel's error.
pub fn open_marked(backing: &Backing, mark: u64) -> Result<File> {
    let path = &backing.path;
    let end = Timestamp::now() + LONGEST_END;
    let file = loop {
        match open_for_this_alone(path) {
            Err(Error::Busy(_)) if Timestamp::now() < end => thread::sleep(BETWEEN_TRIES),
            opened => break opened?,
        }
    };
    let page = Aligned::read(&file, 0).map_err(|error| Error::file("read", path, error))?;
    let expected = mark_page(0, mark);
    let is_same = |at: usize, length| page[at..][..length] == expected.0[at..][..length];
    if is_same(LABEL_AT, IN_USE.len()) && is_same(UUID_AT, size_of::<u64>()) {
        Ok(file)
    } else {
        let path = path.display();
        Err(Error::Invalid(format!("{path} is not the backing of this tier any more")))
    }
}

/// Gives a backing of the tier `mark` back: removes it if it was made for the tier, or else marks it
/// as usable. One that is gone, or that was not made yet, is fine.
///
/// # Errors
/// It does not have the tier's mark; the kernel's error.
pub fn give_back(backing: &Backing, mark: u64) -> Result<()> {
    let path = &backing.path;
    let failed = |action| move |error| Error::file(action, path, error);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        _ => {}
    }
    let file = open_marked(backing, mark)?;
    if backing.is_ours {
        return fs::remove_file(path).map_err(failed("remove"));
    }
    let size = (&file).seek(SeekFrom::End(0)).map_err(failed("read"))?;
    let blank = Aligned([0; PAGE as usize]);
    let mut taken_down = Aligned([0; PAGE as usize]);
    taken_down.0[LABEL_AT..][..TAKEN_DOWN.len()].copy_from_slice(TAKEN_DOWN);
    let written = ends(size).try_for_each(|page| {
        // The mark is last, so that a process that is killed leaves the former one.
        if page == 0 { Ok(()) } else { file.write_all_at(&blank.0, page) }
    });
    written
        .and_then(|()| file.write_all_at(&taken_down.0, 0))
        .and_then(|()| file.sync_all())
        .map_err(failed("write"))
}

/// Fails unless nothing would be lost.
fn check_content(file: &File, path: &Path, size: u64) -> Result<()> {
    let failed = |error| Error::file("read", path, error);
    let mut first = Aligned::read(file, 0).map_err(failed)?;
    let label = &mut first[LABEL_AT..][..IN_USE.len()];
    let why = if label == IN_USE {
        "holds stale pages of a tier that was not taken down"
    } else {
        if label == TAKEN_DOWN {
            label.fill(0);
        }
        if is_zero(&first[..]) && is_blank(file, size).map_err(failed)? {
            return Ok(());
        }
        "is not blank"
    };
    Err(Error::Invalid(format!("{} {why}; --format overwrites it", path.display())))
}

/// Whether both ends are zero but for the first page.
fn is_blank(file: &File, size: u64) -> io::Result<bool> {
    for page in ends(size).filter(|page| *page > 0) {
        if !is_zero(&Aligned::read(file, page)?[..]) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// The pages of both ends, by their offsets.
fn ends(size: u64) -> impl Iterator<Item = u64> {
    let size = size / PAGE * PAGE;
    let starts = [0, size.saturating_sub(MARKED)];
    let pages =
        starts.into_iter().flat_map(|start| (0..MARKED / PAGE).map(move |n| start + n * PAGE));
    pages.filter(move |page| *page < size)
}

fn mark_page(pages: u32, mark: u64) -> Box<Aligned> {
    let mut page = Box::new(Aligned([0; PAGE as usize]));
    page.0.copy_from_slice(&header(pages.max(1).into(), PAGE, IN_USE));
    page.0[UUID_AT..][..size_of::<u64>()].copy_from_slice(&mark.to_le_bytes());
    page
}

/// A page that direct I/O accepts.
#[repr(C, align(4096))]
struct Aligned([u8; PAGE as usize]);

impl Aligned {
    fn read(file: &File, at: u64) -> io::Result<Box<[u8; PAGE as usize]>> {
        let mut page = Box::new(Self([0; PAGE as usize]));
        file.read_exact_at(&mut page.0, at)?;
        Ok(Box::new(page.0))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const MARK: u64 = 7;

    fn wanted(path: &Path, size: Option<Bytes>, formats: bool) -> Wanted<'_> {
        Wanted { path, size, formats }
    }

    fn take(wanted: Wanted<'_>) -> Result<(Backing, u32)> {
        let (backing, pages) = examine(wanted)?;
        prepare(&backing, pages, MARK, &|| false)?;
        Ok((backing, pages))
    }

    fn why(wanted: Wanted<'_>) -> String {
        examine(wanted).unwrap_err().to_string()
    }

    /// A directory on storage: file systems in memory have direct I/O only since Linux 6.6.
    fn directory() -> tempfile::TempDir {
        tempfile::tempdir_in("/var/tmp").unwrap()
    }

    fn write(path: &Path, content: &[u8]) {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_file_that_is_missing_is_made_and_removed_again() {
        let dir = directory();
        let path = dir.path().join("slow");
        assert!(why(wanted(&path, None, false)).ends_with("does not exist; --size makes it"));
        assert!(why(wanted(&path, Some(Bytes(4096)), false)).ends_with("4.00 KiB is too small"));
        let size = Some(Bytes::from_mib(2));
        let (backing, pages) = examine(wanted(&path, size, false)).unwrap();
        assert!(!path.exists(), "it is only looked at");
        give_back(&backing, MARK).unwrap();
        assert!(prepare(&backing, pages, MARK, &|| true).is_err(), "as after Ctrl-C");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "half of a file is nowhere");
        write(&path, b"another's");
        let appeared = prepare(&backing, pages, MARK, &|| false).unwrap_err().to_string();
        assert!(appeared.ends_with("has just been made by another"), "{appeared}");
        fs::remove_file(&path).unwrap();
        let (backing, pages) = take(wanted(&path, size, false)).unwrap();
        assert_eq!((pages, backing.is_ours), (512, true));
        let content = fs::read(&path).unwrap();
        assert_eq!(content.len(), 2 << 20);
        assert_eq!(content[1024..1032], header(512, PAGE, IN_USE)[1024..1032]);
        assert!(why(wanted(&path, size, false)).contains("exists: leave out --size"));
        let held = open_marked(&backing, MARK).unwrap();
        assert!(why(wanted(&path, size, true)).ends_with("is in use"));
        drop(held);
        let (anew, pages) = examine(wanted(&path, size, true)).unwrap();
        assert!(anew.is_ours && anew.replaces);
        let held = open_marked(&backing, MARK).unwrap();
        let error = prepare(&anew, pages, MARK + 1, &|| false).unwrap_err().to_string();
        assert!(error.ends_with("is in use"), "another tier has just begun to use it: {error}");
        drop(held);
        give_back(&backing, MARK).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_a_backing_holds_is_lost_only_if_the_user_says_so() {
        let dir = directory();
        let path = dir.path().join("slow");
        let mut content = vec![0; 4 << 20];
        write(&path, &content);
        let (backing, _) = take(wanted(&path, None, false)).unwrap();
        assert!(!backing.is_ours);
        assert!(why(wanted(&path, None, false)).contains("stale pages"), "as after a crash");
        take(wanted(&path, None, true)).unwrap();
        give_back(&backing, MARK).unwrap();
        take(wanted(&path, None, false)).unwrap();
        give_back(&backing, MARK).unwrap();
        let taken_down = fs::read(&path).unwrap();
        content.copy_from_slice(&taken_down);
        for byte in [0, 4096, 1 << 16, (4 << 20) - 1] {
            content[byte] = 1;
            write(&path, &content);
            content[byte] = 0;
            let why = why(wanted(&path, None, false));
            assert!(why.ends_with("is not blank; --format overwrites it"), "{why}");
        }
    }

    #[test]
    fn nothing_is_written_to_a_backing_that_became_another_one() {
        let dir = directory();
        let path = dir.path().join("slow");
        write(&path, &vec![0; 1 << 20]);
        let (backing, _) = take(wanted(&path, None, false)).unwrap();
        open_marked(&backing, MARK).unwrap();
        let error = open_marked(&backing, MARK + 1).unwrap_err().to_string();
        assert!(error.ends_with("is not the backing of this tier any more"), "{error}");
        let other = vec![5; 1 << 20];
        write(&path, &other);
        assert!(give_back(&backing, MARK).is_err());
        assert_eq!(fs::read(&path).unwrap(), other);
    }

    #[test]
    fn one_that_others_use_or_can_read_is_refused() {
        let dir = directory();
        let path = dir.path().join("slow");
        write(&path, &vec![0; 1 << 20]);
        let held = open_for_this_alone(&path).unwrap();
        assert!(why(wanted(&path, None, true)).ends_with("is in use"));
        drop(held);
        examine(wanted(&path, None, true)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let mode = why(wanted(&path, None, true));
        assert!(mode.contains("other users have access to"), "{mode}");
        let other = dir.path().join("directory");
        fs::create_dir(&other).unwrap();
        let kind = why(wanted(&other, None, true));
        assert!(kind.contains("neither a file nor a block device"), "{kind}");
    }
}
