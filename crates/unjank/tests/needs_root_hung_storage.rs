//! `unjank checkup` with output files on a file system that answers nothing any more: FUSE,
//! `Documentation/filesystems/fuse/fuse.rst` of the kernel, served by this test.
//!
//! Needs root and `/dev/fuse`. Fails without them when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped. The tests run in private mount namespaces, as this program, started again.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::Value;
use tempfile::TempDir;
use unjank_needs::wait::{Process, until, until_some};

const ROLE: &str = "UNJANK_TEST_ROLE";
/// `S_IFDIR` of `inode(7)`.
const DIRECTORY: u32 = 0o040_000;

/// Whether this process has private mounts. If not, it runs the test again in one that has.
fn has_private_mounts(test: &str) -> bool {
    if std::env::var_os(ROLE).is_some() {
        return true;
    }
    let has_fuse = || unjank_needs::is_there("/dev/fuse", Path::new("/dev/fuse").exists());
    if unjank_needs::root() && has_fuse() {
        let mut again = Command::new("unshare");
        again.arg("--mount").arg(std::env::current_exe().unwrap());
        let status = again.args([test, "--exact", "--nocapture"]).env(ROLE, test).status().unwrap();
        assert!(status.success());
    }
    false
}

/// An empty directory on a file system that is served for a while.
struct Served {
    at: TempDir,
    answers: Arc<Mutex<bool>>,
    /// Until this is closed, the kernel waits for answers.
    _device: Arc<File>,
}

impl Served {
    fn mount() -> Self {
        let at = tempfile::tempdir().unwrap();
        let mut device = OpenOptions::new();
        device.read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
        let device = Arc::new(device.open("/dev/fuse").unwrap());
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let options = CString::new(options).unwrap();
        mount("unjank-test", at.path(), "fuse", MountFlags::empty(), options.as_c_str()).unwrap();
        let answers = Arc::new(Mutex::new(true));
        let server = (Arc::clone(&device), Arc::clone(&answers));
        thread::spawn(move || serve(&server.0, &server.1));
        Self { at, answers, _device: device }
    }

    /// From now on it hangs. Requests stay unread, so that those who wait can be killed.
    fn hang(&self) {
        *self.answers.lock().unwrap() = false;
    }

    fn path(&self, name: &str) -> PathBuf {
        self.at.path().join(name)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        unmount(self.at.path(), UnmountFlags::DETACH).unwrap();
    }
}

/// Answers requests while `answers`.
fn serve(mut device: &File, answers: &Mutex<bool>) {
    let mut request = vec![0; 1 << 17];
    loop {
        let answers = answers.lock().unwrap();
        if !*answers {
            return;
        }
        match device.read(&mut request) {
            Ok(_) => {
                if let Some(answer) = answer(&request) {
                    device.write_all(&answer).unwrap();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A request that was withdrawn.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => panic!("{error}"),
        }
        drop(answers);
        thread::sleep(Duration::from_millis(1));
    }
}

/// The answer to a request: `include/uapi/linux/fuse.h`.
fn answer(request: &[u8]) -> Option<Vec<u8>> {
    let (error, body) = match u32::from_ne_bytes(request[4..8].try_into().unwrap()) {
        // LOOKUP: there is no file.
        1 => (-Errno::NOENT.raw_os_error(), Vec::new()),
        // FORGET has no answer.
        2 => return None,
        // GETATTR: a directory that belongs to root.
        3 => {
            let mut attributes = vec![0; 104];
            attributes[16] = 1;
            attributes[76..80].copy_from_slice(&(DIRECTORY | 0o700).to_ne_bytes());
            attributes[80..84].copy_from_slice(&2_u32.to_ne_bytes());
            (0, attributes)
        }
        // INIT: version 7.31, without any capability.
        26 => {
            let mut version = vec![0; 64];
            version[..4].copy_from_slice(&7_u32.to_ne_bytes());
            version[4..8].copy_from_slice(&31_u32.to_ne_bytes());
            version[20..24].copy_from_slice(&4096_u32.to_ne_bytes());
            (0, version)
        }
        // OPENDIR and RELEASEDIR.
        27 => (0, vec![0; 16]),
        29 => (0, Vec::new()),
        _ => (-Errno::NOSYS.raw_os_error(), Vec::new()),
    };
    let mut answer = u32::try_from(16 + body.len()).unwrap().to_ne_bytes().to_vec();
    answer.extend(error.to_ne_bytes());
    answer.extend(&request[8..16]);
    answer.extend(body);
    Some(answer)
}

/// A checkup that writes a page and Markdown to `served`.
fn checkup(served: &Served, store: &Path, printed: &Path) -> Child {
    let streams = ["stdout", "stderr"].map(|name| File::create(printed.join(name)).unwrap());
    let [stdout, stderr] = streams.map(Stdio::from);
    Command::new(unjank_needs::unjank!())
        .args(["checkup", "--quick", "--only", "lock", "--json", "--html"])
        .arg(served.path("page.html"))
        .arg("--markdown")
        .arg(served.path("page.md"))
        .arg("--store")
        .arg(store)
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .unwrap()
}

/// Waits for its end, and returns its exit code, stdout and stderr.
fn end_of(mut checkup: Child, printed: &Path) -> (Option<i32>, String, String) {
    let status = until_some("the checkup ends", || checkup.try_wait().unwrap());
    let text = |name| fs::read_to_string(printed.join(name)).unwrap();
    (status.code(), text("stdout"), text("stderr"))
}

#[test]
fn a_run_whose_files_cannot_be_written_is_printed_and_stored_and_ends() {
    if !has_private_mounts("a_run_whose_files_cannot_be_written_is_printed_and_stored_and_ends") {
        return;
    }
    let (served, here) = (Served::mount(), tempfile::tempdir().unwrap());
    let store = here.path().join("runs.sqlite");
    let checkup = checkup(&served, &store, here.path());
    // The files are opened before the first start.
    let _start = Process(checkup.id()).child("repetition");
    served.hang();
    let (code, stdout, stderr) = end_of(checkup, here.path());
    assert_eq!(code, Some(1), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(record["command"], "checkup");
    for name in ["page.html", "page.md"] {
        assert!(
            stderr.contains(&format!("{name} was not written: the time limit ended")),
            "{stderr}"
        );
    }
    let list = Command::new(unjank_needs::unjank!())
        .args(["runs", "list", "--json", "--store"])
        .arg(&store)
        .output()
        .unwrap();
    let runs: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{stderr}");
}

#[test]
fn a_run_whose_files_cannot_be_opened_ends() {
    if !has_private_mounts("a_run_whose_files_cannot_be_opened_ends") {
        return;
    }
    let (served, here) = (Served::mount(), tempfile::tempdir().unwrap());
    until("it is mounted and served", || fs::read_dir(served.at.path()).is_ok());
    served.hang();
    let checkup = checkup(&served, &here.path().join("runs.sqlite"), here.path());
    let (code, stdout, stderr) = end_of(checkup, here.path());
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("results were not opened: the time limit ended"), "{stderr}");
}
