//! The same checks over a private binderfs device.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;

use unjank_binder::binderfs::{self, Binderfs};
use unjank_binder::{Error, KernelDriver};

use crate::CheckResult;
use crate::checks::{self, check, missing};

const NAME: &str = "private";

pub(crate) fn run() -> CheckResult<ExitCode> {
    if let Some(reason) = missing(binderfs::availability()?) {
        println!("n/a ({reason})");
        return Ok(ExitCode::from(3));
    }
    let mounted = Binderfs::mount()?;
    println!("features: {}", mounted.features()?.join(" "));
    mounted.add(NAME)?;
    match mounted.add(NAME) {
        Err(Error::Request { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
        other => return Err(format!("a second device of the same name: {other:?}").into()),
    }
    KernelDriver::open(mounted.device(NAME))?;
    let other = Binderfs::mount()?;
    check(KernelDriver::open(other.device(NAME)).is_err(), "another mount has the device, too")?;
    println!("PASS a device is made in one mount only");

    // Without O_CLOEXEC, so the server processes inherit it.
    let root: OwnedFd = rustix::io::dup(&mounted)?;
    let device = binderfs::device_below(root.as_raw_fd(), NAME);
    checks::run(device.to_str().ok_or("the path is not UTF-8")?)
}
