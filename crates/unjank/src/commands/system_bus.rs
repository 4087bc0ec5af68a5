//! The address of the system's message bus.

use std::env;

/// The default address: the D-Bus specification.
const DEFAULT: &str = "unix:path=/var/run/dbus/system_bus_socket";

/// The address, from `DBUS_SYSTEM_BUS_ADDRESS` or the default.
pub(crate) fn address() -> String {
    env::var("DBUS_SYSTEM_BUS_ADDRESS").unwrap_or_else(|_| DEFAULT.to_owned())
}
