//! The displays on which a program may show its first window: a Wayland compositor and
//! an X server. Where there are both, it chooses.

use unjank_host::{Error, Result, Timestamp};

use super::super::options::ReadyMeans;
use super::wayland::Relay;
use super::window::{Patience, Window};

/// The displays that are watched, at least one of them unless the user wants to stop.
#[derive(Debug)]
pub(crate) struct Displays {
    pub(crate) x: Option<Box<Window>>,
    pub(crate) wayland: Option<Relay>,
}

impl Displays {
    /// Begins to watch before the program is started. Calls `report` with the moment
    /// of its first window on Wayland.
    ///
    /// # Errors
    /// `Unsupported` if there is no display that can be watched.
    pub(crate) fn watch(
        means: &ReadyMeans,
        patience: &Patience<'_>,
        report: impl Fn(Result<Timestamp>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let mut refusals = Vec::new();
        let wayland = match &means.wayland {
            Some(compositor) => {
                let relay = Relay::begin(compositor, &means.sockets, report);
                unless_refused(relay.map(Some), &mut refusals)?
            }
            None => None,
        };
        let x = match &means.display {
            Some(display) => unless_refused(Window::watch(display, patience), &mut refusals)?,
            None => None,
        };
        if wayland.is_none() && x.is_none() && !refusals.is_empty() {
            return Err(Error::Unsupported(refusals.join("; ")));
        }
        if means.wayland.is_none() && means.display.is_none() {
            return Err(Error::Unsupported(
                "there is neither a Wayland compositor (WAYLAND_DISPLAY in XDG_RUNTIME_DIR) nor an \
                 X display (DISPLAY), and windows can be detected there only"
                    .to_owned(),
            ));
        }
        Ok(Self { x: x.map(Box::new), wayland })
    }
}

/// A display that is not there is no error yet: there may be the other one.
fn unless_refused<T>(watched: Result<Option<T>>, refusals: &mut Vec<String>) -> Result<Option<T>> {
    match watched {
        Err(Error::Unsupported(reason)) => {
            refusals.push(reason);
            Ok(None)
        }
        watched => watched,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use unjank_host::Nanos;

    use super::*;

    fn watch(place: &Path, wayland: Option<&str>, display: Option<&str>) -> Result<Displays> {
        let means = ReadyMeans {
            sockets: place.to_owned(),
            display: display.map(str::to_owned),
            wayland: wayland.map(|name| place.join(name)),
        };
        let patience = Patience { timeout: Nanos::ZERO, again: false, stop: &|| false };
        Displays::watch(&means, &patience, |_| {})
    }

    #[test]
    fn one_display_is_enough() {
        let place = tempfile::tempdir().unwrap();
        let _compositor = UnixListener::bind(place.path().join("there")).unwrap();
        let displays = watch(place.path(), Some("there"), Some(":4711")).unwrap();
        assert!(displays.wayland.is_some() && displays.x.is_none());
        assert!(watch(place.path(), Some("there"), None).is_ok());
        let said =
            |wayland, display| watch(place.path(), wayland, display).unwrap_err().to_string();
        assert!(said(Some("gone"), None).contains("/gone cannot be reached"));
        let both = said(Some("gone"), Some(":4711"));
        assert!(both.contains("/gone cannot be reached") && both.contains("the X display :4711"));
        assert!(said(None, None).contains("neither a Wayland compositor"));
    }
}
