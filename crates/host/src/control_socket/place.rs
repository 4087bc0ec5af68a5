//! Where a socket's file is, held by descriptors, so that nobody who may rename
//! things there has another file opened, changed or removed in its stead.
//!
//! `bind(2)` takes a path, and the mode that it gives to the file depends on the
//! umask, which all threads share. So the socket is bound in a new directory that
//! only this user can enter, gets its mode there, and is then moved to its place.

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
use crate::trusted_place::{Missing, check_private, open_way};

/// Everybody may ask.
const MODE: Mode = Mode::from_raw_mode(0o666);
/// A directory or a socket, and never what a link leads to.
const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The socket's name while it is in its private directory.
const NAME: &str = "socket";

/// The place of a socket that is bound.
#[derive(Debug)]
pub(super) struct Place {
    directory: OwnedFd,
    name: OsString,
    path: PathBuf,
    /// The socket's file itself, wherever it is moved to.
    file: OwnedFd,
}

impl Place {
    /// Binds a socket and puts it at `path`. Its directory is made if need be.
    ///
    /// # Errors
    /// `Busy` if another service listens there; `File` for what cannot be made.
    pub(super) fn bind(path: &Path) -> Result<(Self, UnixListener)> {
        let failed = |action| move |error| Error::file(action, path, error);
        let listen = |error: Errno| Error::file("listen at", path, error.into());
        let name = path.file_name().ok_or_else(|| listen(Errno::ISDIR))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let (directory, _) = open_way(parent.unwrap_or(Path::new(".")), Missing::Make)?;
        clear(&directory, &name, path)?;
        let private = Private::make(&directory, path)?;
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

    /// The group that the socket belongs to now.
    pub(super) fn group(&self) -> io::Result<u32> {
        Ok(fstat(&self.file)?.st_gid)
    }

    /// Removes the socket's file, unless another one is in its place.
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

/// Removes a socket that nobody listens on any more, and nothing that is not a
/// socket.
fn clear(directory: &OwnedFd, name: &OsString, path: &Path) -> Result<()> {
    let Ok(there) = openat(directory, name, HOLD, Mode::empty()) else { return Ok(()) };
    let failed = |error: Errno| Error::file("replace", path, error.into());
    let stat = fstat(&there).map_err(failed)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(Error::file("listen at", path, Errno::EXIST.into()));
    }
    if is_heard(&there).map_err(failed)? {
        return Err(Error::Busy(format!("another service listens at {}", path.display())));
    }
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Whether somebody listens at a socket. One whose queue is full is heard some
/// time, and not waited for.
fn is_heard(socket: &OwnedFd) -> Result<bool, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let asking = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(through(socket))?;
    match connect(&asking, &address) {
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(_nobody) => Ok(false),
    }
}

/// Moves the socket out of its private directory, where nothing else is.
fn move_to(private: &OwnedFd, directory: &OwnedFd, name: &OsString) -> Result<(), Errno> {
    match renameat_with(private, NAME, directory, name, RenameFlags::NOREPLACE) {
        // Not every file system can promise to replace nothing.
        Err(Errno::INVAL | Errno::NOSYS) => renameat(private, NAME, directory, name),
        moved => moved,
    }
}

/// The path by which the kernel leads to what is open, whatever its name is now:
/// `proc_pid_fd(5)`.
fn through(opened: impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()).into()
}

/// A directory that only this user can enter. Dropping it removes it.
#[derive(Debug)]
struct Private<'a> {
    directory: &'a OwnedFd,
    name: String,
    opened: OwnedFd,
}

impl<'a> Private<'a> {
    fn make(directory: &'a OwnedFd, path: &Path) -> Result<Self> {
        let failed = |error: Errno| Error::file("listen at", path, error.into());
        let name = format!(".unjank-{:016x}", RandomState::new().hash_one(path));
        mkdirat(directory, &name, Mode::RWXU).map_err(failed)?;
        let opened = openat(directory, &name, HOLD | OFlags::DIRECTORY, Mode::empty());
        let opened = opened.map_err(failed)?;
        // Whoever owns the directory above may have put another one in its place.
        check_private(&fstat(&opened).map_err(failed)?, path)?;
        Ok(Self { directory, name, opened })
    }
}

impl Drop for Private<'_> {
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

    use super::*;

    #[test]
    fn a_socket_is_open_to_all_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/unjank/boost.sock");
        let (place, _listener) = Place::bind(&path).unwrap();
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
        let (_place, listener) = Place::bind(&path).unwrap();
        assert!(Place::bind(&path).unwrap_err().to_string().contains("another service"));
        drop(listener);
        assert!(path.exists(), "as after a kill");
        let (place, _listener) = Place::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        place.clear();
        assert!(Place::bind(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    /// What the owner of the directory could do to a service of root's.
    #[test]
    fn a_link_that_is_put_there_meanwhile_leads_nowhere() {
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
                if let Ok((place, _listener)) = Place::bind(&path) {
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
        let error = Place::bind(&path).unwrap_err();
        assert!(matches!(error, Error::Busy(_)), "{error}");
    }

    #[test]
    fn root_follows_no_link_of_somebody_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("real")).unwrap();
        symlink("real", at("link")).unwrap();
        Place::bind(&at("link/one/s")).unwrap();
        if std::os::unix::fs::lchown(at("link"), Some(65534), None).is_err() {
            return println!("without root, links cannot be given to somebody else");
        }
        let error = Place::bind(&at("link/two/s")).unwrap_err();
        assert_eq!(error.class(), crate::ErrorClass::Permission, "{error}");
        assert!(!at("real/two").exists());
    }
}
