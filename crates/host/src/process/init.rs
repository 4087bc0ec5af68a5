//! The tasks of a machine's first process: file systems, modules, orphans, and
//! power-off. Used only in a virtual machine that has unjank as `init`.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::process::{WaitOptions, getpid};
use rustix::system::{RebootCommand, finit_module, reboot};

use crate::error::{Error, Result};

/// The flag for a compressed file, which the kernel unpacks
/// (`MODULE_INIT_COMPRESSED_FILE` of `include/uapi/linux/module.h`).
const COMPRESSED: i32 = 4;

/// Whether this process is the first one.
pub fn is_first() -> bool {
    getpid().is_init()
}

/// Mounts a new file system of type `kind` at `target`, which is created if
/// missing: `mount(2)`.
///
/// # Errors
/// `Unsupported` if the kernel has no such file system.
pub fn mount(kind: &str, target: &str) -> Result<()> {
    mount_device(kind, kind, target)
}

/// Mounts the file system of type `kind` on `device` at `target`, which is
/// created if missing.
///
/// # Errors
/// `Unsupported` if the kernel has no such file system; `File` if the device has
/// none.
pub fn mount_device(device: &str, kind: &str, target: &str) -> Result<()> {
    fs::create_dir_all(target).map_err(|error| Error::file("create", target, error))?;
    let mounted = rustix::mount::mount(device, target, kind, MountFlags::empty(), None);
    mounted.map_err(|error| match error {
        Errno::NODEV => Error::Unsupported(format!("this kernel has no {kind}")),
        error => Error::file("mount", target, error.into()),
    })
}

/// Loads the module in `file`, compressed or not: `finit_module(2)`. Succeeds if
/// it is loaded already.
///
/// # Errors
/// `File` with the kernel's reason, such as no device for it, or a module of
/// another kernel.
pub fn load_module(file: &Path, parameters: &str) -> Result<()> {
    let compressed = file.extension().is_some_and(|extension| extension != "ko");
    let parameters = CString::new(parameters)
        .map_err(|_| Error::Invalid("parameters of a module contain a NUL byte".to_owned()))?;
    let module = File::open(file).map_err(|error| Error::file("open", file, error))?;
    match finit_module(&module, &parameters, if compressed { COMPRESSED } else { 0 }) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(Error::file("load", file, error.into())),
    }
}

/// Waits for the end of `child`, and reaps orphans meanwhile, which are children
/// of the first process.
///
/// # Errors
/// There is no such child.
pub fn wait_for(child: u32) -> Result<ExitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().unsigned_abs() == child => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::syscall("wait", format!("process {child}"), error)),
        }
    }
}

/// Kills all other processes: `kill(2)`. This must be the first process.
///
/// # Errors
/// `Invalid` for any other process: it would end its user's session.
pub fn kill_all_others() -> Result<()> {
    must_be_first()?;
    // SAFETY: kill(2) takes two numbers and touches no memory of this process.
    // -1 means all processes but process 1, which this is.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    Ok(())
}

/// Turns the machine off: `reboot(2)`.
///
/// # Errors
/// `Invalid` for a process that is not the first, else the kernel's refusal.
pub fn power_off() -> Result<()> {
    must_be_first()?;
    reboot(RebootCommand::PowerOff).map_err(|error| Error::syscall("reboot", "power off", error))
}

fn must_be_first() -> Result<()> {
    if is_first() {
        return Ok(());
    }
    Err(Error::Invalid("only init (process 1) may end all processes or power off".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_the_first_process_are_refused_to_others() {
        assert!(!is_first());
        for refused in [kill_all_others(), power_off()] {
            assert!(matches!(refused, Err(Error::Invalid(_))));
        }
    }

    #[test]
    fn a_file_system_that_no_kernel_has_is_unsupported() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("new");
        let error = mount("nosuchfs", target.to_str().unwrap()).unwrap_err();
        // Without the permission to mount, that error comes first.
        assert!(
            matches!(&error, Error::Unsupported(_))
                || error.class() == crate::ErrorClass::Permission,
            "{error}"
        );
        assert!(target.is_dir());
    }

    #[test]
    fn a_file_that_is_not_a_module_is_named() {
        let error = load_module(Path::new("/no/such.ko"), "").unwrap_err().to_string();
        assert!(error.starts_with("cannot open /no/such.ko: "), "{error}");
        assert!(load_module(Path::new("/dev/null"), "\0").is_err());
    }
}
