//! The file of a socket, accessed through descriptors, so that a user who can
//! rename files there cannot have another file opened, changed or removed
//! instead.
//!
//! `bind(2)` takes a path, and the mode of the new file depends on the umask,
//! which all threads share. So the socket is bound in a new directory that only
//! this user can enter, gets its mode there, and is then moved to its path.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, chmod, fstat, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::error::{Error, Result};
use crate::trusted_place::{Missing, check_private, open_untrusted_directory};

/// All users may ask.
const MODE: Mode = Mode::from_raw_mode(0o666);
/// Opens a directory or a socket without following links.
const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The socket's name while it is in its private directory.
const NAME: &str = "socket";

/// The file of a bound socket.
#[derive(Debug)]
pub(super) struct SocketFile {
    directory: OwnedFd,
    name: OsString,
    path: PathBuf,
    /// A handle of the file, also after it is moved.
    file: OwnedFd,
}

impl SocketFile {
    /// Binds a socket at `path`. Its directory is created if missing.
    ///
    /// # Errors
    /// `Busy` if another service listens there; `File` if something cannot be
    /// created.
    pub(super) fn bind(path: &Path) -> Result<(Self, UnixListener)> {
        let failed = |action| move |error| Error::file(action, path, error);
        let listen = |error: Errno| Error::file("listen at", path, error.into());
        let name = path.file_name().ok_or_else(|| listen(Errno::ISDIR))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let (directory, _) =
            open_untrusted_directory(parent.unwrap_or(Path::new(".")), Missing::Make)?;
        clear(&directory, &name, path)?;
        let private = PrivateDirectory::make(&directory, path)?;
        let listener = UnixListener::bind(through(&private.opened).join(NAME));
        let listener = listener.map_err(failed("listen at"))?;
        let file = openat(&private.opened, NAME, HOLD, Mode::empty()).map_err(listen)?;
        chmod(through(&file), MODE).map_err(|error| failed("open")(error.into()))?;
        move_to(&private.opened, &directory, &name).map_err(listen)?;
        drop(private);
        Ok((Self { directory, name, path: path.to_owned(), file }, listener))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The group that owns the socket now.
    pub(super) fn group(&self) -> io::Result<u32> {
        Ok(fstat(&self.file)?.st_gid)
    }

    /// Removes the socket's file, unless another file has replaced it.
    pub(super) fn clear(&self) {
        let there = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let same = there.and_then(|there| {
            let ours = fstat(&self.file)?;
            Ok((there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino))
        });
        if same == Ok(true) {
            let _gone_already = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// Removes a socket that no process listens on, and no other file.
fn clear(directory: &OwnedFd, name: &OsString, path: &Path) -> Result<()> {
    let Ok(there) = openat(directory, name, HOLD, Mode::empty()) else { return Ok(()) };
    let failed = |error: Errno| Error::file("replace", path, error.into());
    let stat = fstat(&there).map_err(failed)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(Error::file("listen at", path, Errno::EXIST.into()));
    }
    if is_in_use(&there).map_err(failed)? {
        return Err(Error::Busy(format!("another service listens at {}", path.display())));
    }
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Whether a process listens on a socket. A socket whose queue is full counts as
/// in use, without waiting.
fn is_in_use(socket: &OwnedFd) -> Result<bool, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let asking = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(through(socket))?;
    match connect(&asking, &address) {
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(_nobody) => Ok(false),
    }
}

/// Moves the socket out of its private directory.
fn move_to(private: &OwnedFd, directory: &OwnedFd, name: &OsString) -> Result<(), Errno> {
    match renameat_with(private, NAME, directory, name, RenameFlags::NOREPLACE) {
        // Not every file system supports RENAME_NOREPLACE.
        Err(Errno::INVAL | Errno::NOSYS) => renameat(private, NAME, directory, name),
        moved => moved,
    }
}

/// The procfs path of an open file, which stays valid when the file is renamed:
/// `proc_pid_fd(5)`.
fn through(opened: impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()).into()
}

/// A directory that only this user can enter. Dropping it removes it.
#[derive(Debug)]
struct PrivateDirectory<'a> {
    directory: &'a OwnedFd,
    name: String,
    opened: OwnedFd,
}

impl<'a> PrivateDirectory<'a> {
    fn make(directory: &'a OwnedFd, path: &Path) -> Result<Self> {
        let failed = |error: Errno| Error::file("listen at", path, error.into());
        let name = format!(".unjank-{:016x}", RandomState::new().hash_one(path));
        mkdirat(directory, &name, Mode::RWXU).map_err(failed)?;
        let opened = openat(directory, &name, HOLD | OFlags::DIRECTORY, Mode::empty());
        let opened = opened.map_err(failed)?;
        // The owner of the directory above may have replaced it.
        check_private(&fstat(&opened).map_err(failed)?, path)?;
        Ok(Self { directory, name, opened })
    }
}

impl Drop for PrivateDirectory<'_> {
    fn drop(&mut self) {
        let _moved = unlinkat(&self.opened, NAME, AtFlags::empty());
        let _gone_already = unlinkat(self.directory, &self.name, AtFlags::REMOVEDIR);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rustix::net::{bind, listen};
    use unjank_needs::wait::until_some;

    use super::*;

    #[test]
    fn a_socket_is_open_to_all_and_leaves_no_other_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/unjank/boost.sock");
        let (place, _listener) = SocketFile::bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o666);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(UnixStream::connect(&path).is_ok());
        assert_eq!(place.group().unwrap(), fs::metadata(&path).unwrap().gid());
        place.clear();
        assert!(!path.exists());
    }

    #[test]
    fn only_a_socket_that_nobody_listens_on_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let (_place, listener) = SocketFile::bind(&path).unwrap();
        assert!(SocketFile::bind(&path).unwrap_err().to_string().contains("another service"));
        drop(listener);
        assert!(path.exists(), "as after a kill");
        // A child that another test is starting has a copy of the listener until its exec.
        let (place, _listener) = until_some("it is free", || SocketFile::bind(&path).ok());
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        place.clear();
        assert!(SocketFile::bind(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    /// An attack that the owner of the directory could try on root's service.
    #[test]
    fn a_link_planted_meanwhile_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, secret) = (dir.path().join("boost.sock"), dir.path().join("secret"));
        fs::write(&secret, "").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _not_there = fs::remove_file(&path);
                    let _there_already = symlink(&secret, &path);
                }
            });
            for _ in 0..2_000 {
                // It may fail, as long as it does nothing else.
                if let Ok((place, _listener)) = SocketFile::bind(&path) {
                    place.clear();
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::metadata(&secret).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_socket_whose_queue_is_full_is_in_use_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("full");
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let unix = || socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let (deaf, address) = (unix(), SocketAddrUnix::new(&path).unwrap());
        bind(&deaf, &address).unwrap();
        listen(&deaf, 0).unwrap();
        let mut waiting = vec![unix()];
        while connect(waiting.last().unwrap(), &address).is_ok() {
            waiting.push(unix());
        }
        let error = SocketFile::bind(&path).unwrap_err();
        assert!(matches!(error, Error::Busy(_)), "{error}");
    }

    #[test]
    fn root_follows_no_link_of_another_user() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("real")).unwrap();
        symlink("real", at("link")).unwrap();
        SocketFile::bind(&at("link/one/s")).unwrap();
        if std::os::unix::fs::lchown(at("link"), Some(65534), None).is_err() {
            return println!("without root, links cannot be given to another user");
        }
        let error = SocketFile::bind(&at("link/two/s")).unwrap_err();
        assert_eq!(error.class(), crate::ErrorClass::Permission, "{error}");
        assert!(!at("real/two").exists());
    }
}
