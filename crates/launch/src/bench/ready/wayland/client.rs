//! Follows the requests of a Wayland client, until it shows its first window: a
//! surface that is to be a window, with a buffer attached, is committed.
//!
//! The numbers of requests and events are their places in the interfaces of
//! `wayland.xml`, `xdg-shell.xml` and `wlr-layer-shell-unstable-v1.xml`. Requests of
//! all other interfaces are passed over: a new object always comes with its number,
//! and a number is used again only after the compositor has confirmed that it is
//! deleted.

use std::collections::HashMap;

use super::messages::{Message, Messages};

/// The object that a connection begins with, `wl_display`.
const DISPLAY: u32 = 1;
const DISPLAY_GET_REGISTRY: u16 = 1;
/// An event of `wl_display`.
const DISPLAY_DELETE_ID: u16 = 1;
const REGISTRY_BIND: u16 = 0;
const COMPOSITOR_CREATE_SURFACE: u16 = 0;
const SURFACE_DESTROY: u16 = 0;
const SURFACE_ATTACH: u16 = 1;
const SURFACE_COMMIT: u16 = 6;
/// The same in `zxdg_shell_v6`, the interface before `xdg_wm_base`.
const SHELL_GET_SURFACE: u16 = 2;
const SHELL_SURFACE_GET_TOPLEVEL: u16 = 1;
/// Panels, launchers and backgrounds of a desktop.
const LAYER_SHELL_GET_SURFACE: u16 = 0;

/// The most objects that are remembered of a client. Programs have a handful of
/// surfaces.
const MOST_OBJECTS: usize = 1 << 16;

/// An object whose requests matter.
#[derive(Debug, Clone, Copy)]
enum Object {
    Registry,
    Compositor,
    Shell,
    LayerShell,
    /// What makes this surface a window or a pop-up.
    ShellSurface(u32),
    Surface {
        is_window: bool,
        has_buffer: bool,
    },
}

/// One connection of a client.
#[derive(Debug, Default)]
pub(super) struct Client {
    requests: Messages,
    events: Messages,
    objects: Objects,
    has_window: bool,
}

/// The objects that matter, by number.
#[derive(Debug, Default)]
struct Objects(HashMap<u32, Object>);

impl Client {
    /// Whether its first window is shown by these bytes, which it sends.
    pub(super) fn sends(&mut self, bytes: &[u8]) -> bool {
        if self.has_window {
            return false;
        }
        let (objects, shown) = (&mut self.objects, &mut self.has_window);
        self.requests.split(bytes, |message| *shown |= objects.shows_window(message));
        self.has_window
    }

    /// Takes note of bytes that it is about to receive.
    pub(super) fn receives(&mut self, bytes: &[u8]) {
        let objects = &mut self.objects.0;
        if !self.has_window {
            self.events.split(bytes, |mut event| {
                if (event.object, event.opcode) == (DISPLAY, DISPLAY_DELETE_ID)
                    && let Some(deleted) = event.word()
                {
                    objects.remove(&deleted);
                }
            });
        }
    }
}

impl Objects {
    /// Follows a request: whether it shows a window.
    fn shows_window(&mut self, mut request: Message<'_>) -> bool {
        if request.object == DISPLAY {
            if request.opcode == DISPLAY_GET_REGISTRY {
                self.add(request.word(), Object::Registry);
            }
            return false;
        }
        match (self.0.get(&request.object), request.opcode) {
            (Some(Object::Registry), REGISTRY_BIND) => {
                if let Some((number, object)) = bound(&mut request) {
                    self.add(Some(number), object);
                }
            }
            (Some(Object::Compositor), COMPOSITOR_CREATE_SURFACE) => {
                let new = Object::Surface { is_window: false, has_buffer: false };
                self.add(request.word(), new);
            }
            (Some(Object::Shell), SHELL_GET_SURFACE) => {
                if let (number, Some(surface)) = (request.word(), request.word()) {
                    self.add(number, Object::ShellSurface(surface));
                }
            }
            (Some(Object::LayerShell), LAYER_SHELL_GET_SURFACE) => {
                if let (Some(_), Some(surface)) = (request.word(), request.word()) {
                    self.becomes_window(surface);
                }
            }
            (Some(Object::ShellSurface(surface)), SHELL_SURFACE_GET_TOPLEVEL) => {
                self.becomes_window(*surface);
            }
            (Some(Object::Surface { .. }), SURFACE_DESTROY) => {
                self.0.remove(&request.object);
            }
            (Some(Object::Surface { is_window, .. }), SURFACE_ATTACH) => {
                let (is_window, buffer) = (*is_window, request.word());
                let has_buffer = buffer.is_some_and(|buffer| buffer != 0);
                self.0.insert(request.object, Object::Surface { is_window, has_buffer });
            }
            (Some(Object::Surface { is_window, has_buffer }), SURFACE_COMMIT) => {
                return *is_window && *has_buffer;
            }
            _ => {}
        }
        false
    }

    fn add(&mut self, number: Option<u32>, object: Object) {
        if let Some(number) = number
            && self.0.len() < MOST_OBJECTS
        {
            self.0.insert(number, object);
        }
    }

    fn becomes_window(&mut self, surface: u32) {
        if let Some(Object::Surface { is_window, .. }) = self.0.get_mut(&surface) {
            *is_window = true;
        }
    }
}

/// The object that the registry binds, if it matters: its name in the registry, its
/// interface with its version, its number.
fn bound(request: &mut Message<'_>) -> Option<(u32, Object)> {
    let _name = request.word()?;
    let object = match request.string()? {
        b"wl_compositor" => Object::Compositor,
        b"xdg_wm_base" | b"zxdg_shell_v6" => Object::Shell,
        b"zwlr_layer_shell_v1" => Object::LayerShell,
        _ => return None,
    };
    let _version = request.word()?;
    Some((request.word()?, object))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{message, string};
    use super::*;

    const REGISTRY: u32 = 2;
    const COMPOSITOR: u32 = 3;
    const SHELL: u32 = 4;
    const SURFACE: u32 = 5;
    const XDG_SURFACE: u32 = 6;
    const TOPLEVEL: u32 = 7;
    const BUFFER: u32 = 8;

    fn bind(interface: &str, number: u32) -> Vec<u8> {
        message(REGISTRY, 0, &[&[1], string(interface).as_slice(), &[1, number]].concat())
    }

    /// The requests up to a surface, with its shell.
    fn begin(shell: &str) -> Vec<u8> {
        [
            message(DISPLAY, DISPLAY_GET_REGISTRY, &[REGISTRY]),
            bind("wl_compositor", COMPOSITOR),
            bind("wl_shm", 20),
            bind(shell, SHELL),
            message(COMPOSITOR, COMPOSITOR_CREATE_SURFACE, &[SURFACE]),
        ]
        .concat()
    }

    fn attach(buffer: u32) -> Vec<u8> {
        message(SURFACE, SURFACE_ATTACH, &[buffer, 0, 0])
    }

    fn commit() -> Vec<u8> {
        message(SURFACE, SURFACE_COMMIT, &[])
    }

    /// A client of an `xdg_wm_base`, whose surface is a window.
    fn with_toplevel(shell: &str) -> Client {
        let mut client = Client::default();
        assert!(!client.sends(&begin(shell)));
        assert!(!client.sends(&message(SHELL, SHELL_GET_SURFACE, &[XDG_SURFACE, SURFACE])));
        let toplevel = message(XDG_SURFACE, SHELL_SURFACE_GET_TOPLEVEL, &[TOPLEVEL]);
        assert!(!client.sends(&toplevel));
        client
    }

    #[test]
    fn the_first_commit_with_a_buffer_shows_a_window() {
        for shell in ["xdg_wm_base", "zxdg_shell_v6"] {
            let mut client = with_toplevel(shell);
            assert!(!client.sends(&commit()), "asks for a size only");
            assert!(!client.sends(&[attach(0), commit()].concat()), "no buffer");
            assert!(!client.sends(&attach(BUFFER)));
            assert!(client.sends(&commit()));
            assert!(!client.sends(&[attach(BUFFER), commit()].concat()), "the second picture");
        }
    }

    #[test]
    fn a_surface_of_the_desktop_is_a_window() {
        let mut client = Client::default();
        client.sends(&begin("zwlr_layer_shell_v1"));
        let name = string("panel");
        let arguments = [&[9, SURFACE, 0, 2], name.as_slice()].concat();
        assert!(!client.sends(&message(SHELL, LAYER_SHELL_GET_SURFACE, &arguments)));
        assert!(client.sends(&[attach(BUFFER), commit()].concat()));
    }

    #[test]
    fn cursors_and_popups_are_no_windows() {
        let mut client = Client::default();
        client.sends(&begin("xdg_wm_base"));
        assert!(!client.sends(&[attach(BUFFER), commit()].concat()), "a cursor");
        client.sends(&message(SHELL, SHELL_GET_SURFACE, &[XDG_SURFACE, SURFACE]));
        client.sends(&message(XDG_SURFACE, 2, &[TOPLEVEL, 0, 21]));
        assert!(!client.sends(&[attach(BUFFER), commit()].concat()), "a pop-up");
    }

    #[test]
    fn a_deleted_number_has_no_meaning_any_more() {
        let mut client = with_toplevel("xdg_wm_base");
        client.receives(&message(DISPLAY, DISPLAY_DELETE_ID, &[SURFACE]));
        assert!(!client.sends(&[attach(BUFFER), commit()].concat()));
        // A new surface may have the number; it is not a window yet.
        client.sends(&message(COMPOSITOR, COMPOSITOR_CREATE_SURFACE, &[SURFACE]));
        assert!(!client.sends(&[attach(BUFFER), commit()].concat()));
    }

    #[test]
    fn any_bytes_are_survived() {
        use proptest::prelude::*;
        proptest!(|(pieces in proptest::collection::vec(any::<Vec<u8>>(), 0..50))| {
            let mut client = with_toplevel("xdg_wm_base");
            for piece in pieces {
                client.receives(&piece);
                client.sends(&piece);
            }
        });
    }
}
