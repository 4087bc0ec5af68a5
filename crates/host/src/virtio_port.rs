//! Ports between a virtual machine and its host: `drivers/char/virtio_console.c`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};

use crate::error::{Error, Result};
use crate::root::Root;

/// The kernel's list of the ports, each with the name its host gave it.
const PORTS: &str = "/sys/class/virtio-ports";

/// The guest's end of a port, for writing to the host. A write sleeps while the
/// port is full.
#[derive(Debug)]
pub struct VirtioPort(File);

impl VirtioPort {
    /// Opens the port with the host's name `name`.
    ///
    /// # Errors
    /// `Unsupported` if it does not exist.
    pub fn open(root: &Root, name: &str) -> Result<Self> {
        let path = find(root, name)?;
        // A blocking write would spin with interrupts off until the host has
        // read the data (__send_to_port), which would disturb measurements.
        OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path)
            .map(Self)
            .map_err(|error| Error::file("open", &path, error))
    }
}

impl Write for VirtioPort {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens the port with the host's name `name` for reading. A read sleeps until
/// data arrives.
///
/// # Errors
/// `Unsupported` if it does not exist.
pub fn open_for_reading(root: &Root, name: &str) -> Result<File> {
    let path = find(root, name)?;
    File::open(&path).map_err(|error| Error::file("open", &path, error))
}

fn find(root: &Root, name: &str) -> Result<PathBuf> {
    let none = || Error::Unsupported(format!("this machine has no port {name} to its host"));
    let ports = root.list(PORTS).map_err(|_| none())?;
    let port = ports
        .iter()
        .find(|port| {
            root.read_if_there(format!("{PORTS}/{port}/name"))
                .is_ok_and(|found| found.is_some_and(|found| found.trim_end() == name))
        })
        .ok_or_else(none)?;
    Ok(root.resolve(format!("/dev/{port}")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_port_is_found_by_its_host_name() {
        let directory = tempfile::tempdir().unwrap();
        for (port, name) in [("vport0p1", "org.qemu.guest_agent.0\n"), ("vport0p2", "unjank\n")] {
            let class = directory.path().join("sys/class/virtio-ports").join(port);
            fs::create_dir_all(&class).unwrap();
            fs::write(class.join("name"), name).unwrap();
        }
        fs::create_dir(directory.path().join("dev")).unwrap();
        let file = directory.path().join("dev/vport0p2");
        fs::write(&file, "").unwrap();
        let root = Root::at(directory.path());
        VirtioPort::open(&root, "unjank").unwrap().write_all(b"hello").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"hello");
        let heard = io::read_to_string(open_for_reading(&root, "unjank").unwrap()).unwrap();
        assert_eq!(heard, "hello");
        let error = VirtioPort::open(&root, "other").unwrap_err();
        assert_eq!(error.to_string(), "this machine has no port other to its host");
    }
}
