//! Serial lines: `termios(3)`.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr,
};

use crate::error::{Error, Result};
use crate::root::Root;

/// Opens the serial line `path` at `baud`, 8 bits, no parity, without
/// translation, and discards its pending input.
///
/// # Errors
/// `File` with the path; `Unsupported` if it is not a serial line or lacks the
/// speed.
pub(super) fn open_line(root: &Root, path: &Path, baud: u32) -> Result<OwnedFd> {
    // Without NONBLOCK, opening a line without a carrier would block; NOCTTY
    // keeps it from becoming this process's terminal.
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK;
    let line = root.open_with(path, flags).map_err(|error| Error::file("open", path, error))?;
    let unfit = |error: rustix::io::Errno| {
        Error::Unsupported(format!(
            "{} cannot be used as a serial line of {baud} baud: {error}",
            path.display()
        ))
    };
    let mut modes = tcgetattr(&line).map_err(unfit)?;
    modes.make_raw();
    modes.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    modes.control_modes -= ControlModes::CRTSCTS | ControlModes::CSTOPB;
    modes.set_speed(baud).map_err(unfit)?;
    tcsetattr(&line, OptionalActions::Now, &modes).map_err(unfit)?;
    tcflush(&line, QueueSelector::IFlush).map_err(unfit)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::PathBuf;
    use std::thread;
    use std::time::Duration;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;

    use super::*;
    use crate::energy::Meter;
    use crate::energy::find::{MeterName, find};
    use crate::energy::format::tests::line_of_smart_power_3;

    /// A serial line, and its other end.
    fn pair() -> (OwnedFd, PathBuf) {
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let name = ptsname(&end, Vec::new()).unwrap();
        (end, PathBuf::from(OsStr::from_bytes(name.as_bytes())))
    }

    /// A meter that sends `lines` repeatedly until `open` has returned.
    fn meter(name: &str, lines: &[String]) -> (OwnedFd, Box<dyn Meter>) {
        let (end, path) = pair();
        let wanted = format!("{name}:{}", path.display());
        let opening = thread::spawn(move || {
            let name = MeterName::of(&wanted).unwrap();
            find(&Root::system(), &name, None, &crate::input::Stop::default())
                .unwrap()
                .yes()
                .unwrap()
        });
        let mut lines = lines.iter().cycle();
        while !opening.is_finished() {
            let line = format!("{}\r\n", lines.next().unwrap());
            rustix::io::write(&end, line.as_bytes()).unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        (end, opening.join().unwrap())
    }

    #[test]
    fn a_smart_power_2_is_read_until_it_is_unplugged() {
        let lines = ["[SETUP] BOOT WAIT 1...", "5.100,0.500,2.550,0.001"].map(str::to_owned);
        let (end, mut meter) = meter("smartpower2", &lines);
        assert_eq!(meter.about().name, "smartpower2");
        let before = meter.read().unwrap();
        // Lines read together count as of one moment, so their number is not
        // known.
        while meter.read().unwrap().since(&before).energy.0 <= 2.55 * 0.010 {
            for piece in ["5.100,0.5", "00,2.550,0.002\r\n"] {
                thread::sleep(Duration::from_millis(5));
                rustix::io::write(&end, piece.as_bytes()).unwrap();
            }
        }
        rustix::io::write(&end, b"5.1\r\n").unwrap();
        while meter.read().unwrap().samples.damaged == before.samples.damaged {
            thread::sleep(Duration::from_millis(1));
        }
        drop(end);
        let last = loop {
            let reading = meter.read().unwrap();
            if reading.ended.is_some() {
                break reading;
            }
            thread::sleep(Duration::from_millis(1));
        };
        let spent = last.since(&before);
        assert!(spent.samples.good >= 1, "{spent:?}");
        let reason = spent.cut_short.unwrap();
        assert!(reason.starts_with("/dev/pts/"), "{reason}");
        assert!(reason.contains("went away") || reason.contains("closed"), "{reason}");
    }

    #[test]
    fn a_smart_power_3_counts_lines_whose_checksum_is_wrong() {
        let good: Vec<String> =
            (1..1_000).map(|nth| line_of_smart_power_3(nth * 5, [4_000, 500])).collect();
        let (end, mut meter) = meter("smartpower3", &good);
        let before = meter.read().unwrap();
        let wrong = good[0].replace("04000", "09000");
        rustix::io::write(&end, format!("{wrong}\r\n{wrong}\n").as_bytes()).unwrap();
        while meter.read().unwrap().samples.damaged < before.samples.damaged + 2 {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_link_out_of_a_tree_changes_no_terminal() {
        let (end, path) = pair();
        // Closed and opened again, a terminal would begin anew. With NOCTTY it does not become the
        // terminal of this session, whose first process would be killed at its end.
        let flags = OFlags::RDONLY | OFlags::NOCTTY;
        let _terminal = Root::system().open_with(&path, flags).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dev")).unwrap();
        std::os::unix::fs::symlink(&path, dir.path().join("dev/ttyUSB0")).unwrap();
        let line = Path::new("/dev/ttyUSB0");
        let error = open_line(&Root::at(dir.path()), line, 115_200).unwrap_err().to_string();
        assert_eq!(error, "cannot open /dev/ttyUSB0: a link leads out of the tree");
        // The other end of a terminal has its modes.
        assert!(tcgetattr(&end).unwrap().local_modes.contains(LocalModes::ICANON));
    }

    #[test]
    fn a_file_is_not_a_serial_line() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "5.1,0.5,2.5,0.0\r\n").unwrap();
        let root = Root::at(dir.path());
        let error = open_line(&root, Path::new("/file"), 115_200).unwrap_err().to_string();
        assert!(
            error.starts_with("/file cannot be used as a serial line of 115200 baud"),
            "{error}"
        );
        let error = open_line(&root, Path::new("/none"), 115_200).unwrap_err().to_string();
        assert!(error.starts_with("cannot open /none: "), "{error}");
    }
}
