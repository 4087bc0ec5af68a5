//! Connections to a message bus (D-Bus), with errors in one line.

use dbus::channel::Channel;

/// Connects to the bus at `address`, in the form of the D-Bus specification.
pub(crate) fn open(address: &str) -> Result<Channel, String> {
    let opened = Channel::open_private(address).and_then(|mut channel| {
        channel.register()?;
        Ok(channel)
    });
    opened.map_err(|error| format!("no bus at {address}: {}", words(&error)))
}

/// An error in one line.
pub(crate) fn words(error: &dbus::Error) -> String {
    let (name, message) = (error.name().unwrap_or("unknown"), error.message().unwrap_or_default());
    format!("{message} ({name})")
}
