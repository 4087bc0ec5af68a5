//! The power profile that a user has chosen: the property `ActiveProfile` of
//! `org.freedesktop.UPower.PowerProfiles`, which power-profiles-daemon, tuned-ppd and
//! tlp-pd provide; power-profiles-daemon before 0.20 knows only `net.hadess.PowerProfiles`
//! (<https://gitlab.freedesktop.org/upower/power-profiles-daemon>).

use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

use dbus::Message;
use dbus::arg::{AppendAll, Variant};
use dbus::channel::Channel;

use crate::bus;
use crate::error::{Error, Result};
use crate::support::Support;

/// A name on the bus, which is that of the interface, too, and the object.
struct Service {
    name: &'static str,
    object: &'static str,
}

/// The newer one first.
const SERVICES: [Service; 2] = [
    Service {
        name: "org.freedesktop.UPower.PowerProfiles",
        object: "/org/freedesktop/UPower/PowerProfiles",
    },
    Service { name: "net.hadess.PowerProfiles", object: "/net/hadess/PowerProfiles" },
];

/// The profile that saves power at the cost of speed.
const SAVER: &str = "power-saver";

const BUS: Service = Service { name: "org.freedesktop.DBus", object: "/org/freedesktop/DBus" };
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Timeout of a call: a service that hangs must not block the caller for long.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Errors of a call to a service that does not run.
const NOT_RUNNING: [&str; 2] =
    ["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"];

/// A connection to the service of power profiles, which need not run yet.
pub struct PowerProfiles(Channel);

impl PowerProfiles {
    /// Listens for changes on the bus at `address`, in the form of the D-Bus specification.
    /// `No` has the reason if that is not possible.
    pub fn connect(address: &str) -> Support<Self> {
        match Self::listen(address) {
            Ok(profiles) => Support::Yes(profiles),
            Err(reason) => Support::no(reason),
        }
    }

    fn listen(address: &str) -> Result<Self, String> {
        let channel = bus::open(address)?;
        for Service { name, object } in SERVICES {
            let changed = format!(
                "type='signal',sender='{name}',path='{object}',interface='{PROPERTIES}',\
                 member='PropertiesChanged'"
            );
            // A service that begins or ends.
            let owned = format!(
                "type='signal',sender='{0}',interface='{0}',member='NameOwnerChanged',\
                 arg0='{name}'",
                BUS.name
            );
            for rule in [changed, owned] {
                call(&channel, &BUS, BUS.name, "AddMatch", (rule,))
                    .map_err(|error| bus::words(&error))?;
            }
        }
        Ok(Self(channel))
    }

    /// Whether the profile is `power-saver`. No, if no service of profiles runs; it is not
    /// started.
    ///
    /// # Errors
    /// The service does not answer, or not with a profile.
    pub fn is_power_saver(&self) -> Result<bool> {
        for service in &SERVICES {
            let property = (service.name, "ActiveProfile");
            match call(&self.0, service, PROPERTIES, "Get", property) {
                Ok(reply) => {
                    let profile = reply.read1::<Variant<String>>();
                    let Variant(profile) = profile.map_err(|error| unknown(&error.to_string()))?;
                    return Ok(profile == SAVER);
                }
                Err(error) if error.name().is_some_and(|name| NOT_RUNNING.contains(&name)) => {}
                Err(error) => return Err(unknown(&bus::words(&error))),
            }
        }
        Ok(false)
    }

    /// Waits until the profile may have changed, but no longer than `at_most`.
    ///
    /// # Errors
    /// The bus has ended.
    pub fn wait(&self, at_most: Duration) -> Result<()> {
        let message = self.0.blocking_pop_message(at_most);
        message.map(|_| ()).map_err(|error| unknown(&bus::words(&error)))
    }
}

fn unknown(reason: &str) -> Error {
    Error::Unsupported(format!("the power profile is not known: {reason}"))
}

impl Debug for PowerProfiles {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PowerProfiles").field(&self.0.unique_name()).finish()
    }
}

/// Calls a method, without starting its service.
fn call(
    channel: &Channel,
    service: &Service,
    interface: &str,
    method: &str,
    arguments: impl AppendAll,
) -> Result<Message, dbus::Error> {
    let mut message =
        Message::call_with_args(service.name, service.object, interface, method, arguments);
    message.set_auto_start(false);
    channel.send_with_reply_and_block(message, TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let address = format!("unix:path={}/bus", dir.path().display());
        let reason = PowerProfiles::connect(&address).reason().unwrap().to_owned();
        assert!(reason.starts_with(&format!("no bus at {address}: ")), "{reason}");
    }
}
