//! Waits for a program's first window on a Wayland compositor.
//!
//! Nobody but the compositor sees the windows of a Wayland client, so the program gets
//! a socket of unjank as its `WAYLAND_DISPLAY`. What is read from it is passed on as it
//! is, with its open files; so all extensions of the protocol work, also unknown ones.
//! The first window is shown when its first buffer is committed: what the compositor
//! then takes to put it on the screen does not count.

mod client;
#[cfg(test)]
mod fixtures;
mod messages;
mod relay;

pub(crate) use relay::Relay;

/// Whether a client that sends this and receives that shows a window; for the fuzzer.
#[cfg(fuzzing)]
pub fn shows_window_for_fuzzing(pieces: &[(bool, Vec<u8>)]) -> bool {
    let mut client = client::Client::default();
    pieces.iter().fold(false, |shown, (sends, bytes)| {
        if *sends {
            shown | client.sends(bytes)
        } else {
            client.receives(bytes);
            shown
        }
    })
}
