//! A client of rtkit, the D-Bus service of desktops that gives threads of
//! ordinary users a real-time policy: `org.freedesktop.RealtimeKit1`
//! (<https://gitlab.freedesktop.org/pipewire/rtkit>).

use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

use dbus::arg::Get;
use dbus::blocking::stdintf::org_freedesktop_dbus::Properties as _;
use dbus::blocking::{Connection, Proxy};

use crate::bus::{self, words};
use crate::error::{Error, Result};
use crate::sched::{Priority, ThreadId};
use crate::support::Support;
use unjank_units::Nanos;

const NAME: &str = "org.freedesktop.RealtimeKit1";
const OBJECT: &str = "/org/freedesktop/RealtimeKit1";
/// Timeout of a call. rtkit answers at once, but the bus may have to start it
/// first, which takes long on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A service that gives threads of other processes a real-time policy.
pub trait RealtimeKit: Debug {
    /// Makes a thread `SCHED_RR` with `SCHED_RESET_ON_FORK`, at `priority` or
    /// the highest one available.
    ///
    /// # Errors
    /// If it refuses: the thread is another user's, or there were too many
    /// requests.
    fn make_realtime(&self, process: u32, thread: ThreadId, priority: Priority) -> Result<()>;

    /// The largest hard `RLIMIT_RTTIME` of a process that it accepts.
    fn longest_run(&self) -> Nanos;
}

/// A connection to rtkit.
pub struct Rtkit {
    bus: Connection,
    highest: Priority,
    longest: Nanos,
}

impl Rtkit {
    /// Connects to rtkit on the bus at `address`, in the form of the D-Bus
    /// specification. `No` has the reason if that is not possible.
    pub fn connect(address: &str) -> Support<Self> {
        let bus = match bus::open(address) {
            Ok(channel) => Connection::from(channel),
            Err(reason) => return Support::no(reason),
        };
        match read(&rtkit(&bus)) {
            Ok((highest, longest)) => Support::Yes(Self { bus, highest, longest }),
            Err(what) => Support::no(format!("not on the bus at {address}: {what}")),
        }
    }
}

fn rtkit(bus: &Connection) -> Proxy<'_, &Connection> {
    bus.with_proxy(NAME, OBJECT, TIMEOUT)
}

/// Its limits: the highest priority, and the longest run.
fn read(rtkit: &Proxy<'_, &Connection>) -> Result<(Priority, Nanos), String> {
    let highest: i32 = property(rtkit, "MaxRealtimePriority")?;
    let micros: i64 = property(rtkit, "RTTimeUSecMax")?;
    let highest = u8::try_from(highest).ok().and_then(|highest| Priority::new(highest).ok());
    let micros = u64::try_from(micros).ok().filter(|&micros| micros > 0);
    Ok((
        highest.ok_or("it reports no highest priority")?,
        Nanos::from_micros(micros.ok_or("it reports no run time")?),
    ))
}

fn property<T: for<'any> Get<'any> + 'static>(
    rtkit: &Proxy<'_, &Connection>,
    name: &str,
) -> Result<T, String> {
    rtkit.get(NAME, name).map_err(|error| words(&error))
}

impl Debug for Rtkit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { highest, longest, bus: _ } = self;
        f.debug_struct("Rtkit").field("highest", highest).field("longest", longest).finish()
    }
}

impl RealtimeKit for Rtkit {
    fn make_realtime(&self, process: u32, thread: ThreadId, priority: Priority) -> Result<()> {
        let priority = u32::from(priority.min(self.highest).get());
        let of = (u64::from(process), u64::from(thread.0), priority);
        let done = rtkit(&self.bus).method_call(NAME, "MakeThreadRealtimeWithPID", of);
        done.map_err(|error| Error::Permission {
            what: format!(
                "scheduling policy rr:{priority} for {thread} from rtkit ({})",
                words(&error)
            ),
            needs: "a thread of this user, and a request within rtkit's limits".to_owned(),
        })
    }

    fn longest_run(&self) -> Nanos {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let address = format!("unix:path={}/bus", dir.path().display());
        let reason = Rtkit::connect(&address).reason().unwrap().to_owned();
        assert!(reason.starts_with(&format!("no bus at {address}: ")), "{reason}");
        assert!(Rtkit::connect("nonsense").reason().is_some());
    }
}
