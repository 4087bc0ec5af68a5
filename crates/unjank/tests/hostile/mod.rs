//! Names that would control a terminal or forge a line, and a program with such names.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::io::Read as _;
use std::process::{Child, Command, Output, Stdio};

/// Clears the screen and begins a line; short enough for a thread's name.
pub(crate) const ESCAPE: &str = "a\u{1b}[2J\nFORGED";
/// Reverses the direction of writing, and clears the screen by a C1 control.
pub(crate) const BIDI: &str = "b\u{202e}\u{2066}\u{9b}2J";

/// Checks that the text contains no control characters.
pub(crate) fn check(text: &str, of: &str) {
    let acts = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(acts), "{of}: {text:?}");
    let forged = text.lines().find(|line| line.trim_start().starts_with("FORGED"));
    assert_eq!(forged, None, "{of}: {text}");
}

/// Checks both streams, which show one of the planted names, and returns them.
pub(crate) fn check_both(output: &Output, of: &str) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|stream| {
        let text = String::from_utf8(stream.clone()).unwrap();
        check(&text, of);
        text
    });
    let both = stdout + &stderr;
    assert!(both.contains("FORGED") || both.contains("202e"), "{of} shows no planted name: {both}");
    both
}

/// A process with two threads of these names, until it is dropped.
pub(crate) struct Planted(Child);

impl Planted {
    pub(crate) fn start() -> Self {
        let script = "import ctypes, sys, threading\n\
                      libc = ctypes.CDLL(None)\n\
                      names = [b'a\\x1b[2J\\nFORGED', 'b\\u202e\\u2066\\x9b2J'.encode()]\n\
                      both = threading.Barrier(2)\n\
                      def name(it):\n\
                      \x20   libc.prctl(15, it, 0, 0, 0)\n\
                      \x20   both.wait()\n\
                      other = threading.Thread(target=lambda: (name(names[1]), sys.stdin.read()))\n\
                      other.start()\n\
                      name(names[0])\n\
                      print('ready', flush=True)\n\
                      other.join()\n";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        Self(child)
    }

    pub(crate) fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

pub(crate) fn unjank(arguments: &[&str]) -> Output {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}
