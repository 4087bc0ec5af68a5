//! Readiness: the ways in which a program can show that its launch is over.

mod activity;
mod displays;
mod port;
mod stdout;
mod wayland;
mod window;

pub(super) use activity::total_time;
pub(super) use displays::Displays;
pub(super) use port::Port;
pub(super) use stdout::{IsReady, Line, last_lines, watch as watch_stdout};
pub(super) use wayland::Relay;
#[cfg(fuzzing)]
pub use wayland::shows_window_for_fuzzing;
pub use window::Patience;
pub(super) use window::Window;

use std::fmt;
use std::str::FromStr;

use regex::{Regex, RegexBuilder};

/// The event at which a launch is over.
#[derive(Debug, Clone)]
pub enum Ready {
    /// The program ends.
    Exit,
    /// The program prints a line that matches.
    Stdout(Regex),
    /// The program notifies its service manager (`sd_notify(3)`).
    Notify,
    /// The program accepts connections on this port of 127.0.0.1.
    Port(u16),
    /// The program shows its first window, on Wayland or on an X display.
    Window,
    /// The program is `am start -W`, and prints how long an Android activity took.
    Activity,
    /// The program is started: for services that do not report readiness.
    AtOnce,
}

/// Largest compiled expression; larger than anything typed by hand.
const LARGEST_EXPRESSION: usize = 1 << 20;

impl FromStr for Ready {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, "exit, stdout:REGEX, notify, port:N, window or activity")
    }
}

impl Ready {
    /// Parses a way that a process of this machine shows by itself: all but that of Android's
    /// activities, whose time another program reports.
    ///
    /// # Errors
    /// What is accepted.
    pub fn of_process(text: &str) -> Result<Self, String> {
        match Self::parse(text, "exit, stdout:REGEX, notify, port:N or window")? {
            Self::Activity => Err("activity is for launch bench only".to_owned()),
            ready => Ok(ready),
        }
    }

    fn parse(text: &str, accepted: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "exit" => Ok(Self::Exit),
            None if text == "notify" => Ok(Self::Notify),
            None if text == "window" => Ok(Self::Window),
            None if text == "activity" => Ok(Self::Activity),
            Some(("stdout", expression)) => RegexBuilder::new(expression)
                .size_limit(LARGEST_EXPRESSION)
                .build()
                .map(Self::Stdout)
                .map_err(|error| format!("not a regular expression: {error}")),
            Some(("port", port)) => match port.parse() {
                Ok(port) if port > 0 => Ok(Self::Port(port)),
                _ => Err("a port is a number from 1 to 65535".to_owned()),
            },
            _ => Err(format!("expected {accepted}")),
        }
    }

    /// Whether a line reports it, if lines do.
    pub(super) fn line(&self) -> Option<IsReady> {
        match self {
            Self::Stdout(expression) => {
                let expression = expression.clone();
                Some(Box::new(move |line| expression.is_match(line)))
            }
            Self::Activity => Some(Box::new(|line| total_time(line).is_some())),
            _ => None,
        }
    }
}

/// As it is typed.
impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit => write!(f, "exit"),
            Self::Stdout(expression) => write!(f, "stdout:{expression}"),
            Self::Notify => write!(f, "notify"),
            Self::Port(port) => write!(f, "port:{port}"),
            Self::Window => write!(f, "window"),
            Self::Activity => write!(f, "activity"),
            Self::AtOnce => write!(f, "started"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_printed_as_it_is_typed() {
        for text in
            ["exit", "stdout:^on screen: .* ms$", "notify", "port:8080", "window", "activity"]
        {
            assert_eq!(text.parse::<Ready>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn unknown_ways_are_refused() {
        let says = |text: &str| text.parse::<Ready>().unwrap_err();
        assert!(says("stdout:(").starts_with("not a regular expression: "));
        assert!(says("stdout:(a{1000}){1000}{1000}").starts_with("not a regular expression: "));
        for text in ["port:0", "port:65536", "port:x", "port:"] {
            assert_eq!(says(text), "a port is a number from 1 to 65535");
        }
        for text in ["", "stdout", "window:1", "exits", "started"] {
            assert!(says(text).starts_with("expected exit,"), "{text}");
        }
    }

    #[test]
    fn what_a_process_does_not_show_is_not_offered_for_one() {
        assert!(Ready::of_process("port:8080").is_ok());
        let says = |text: &str| Ready::of_process(text).unwrap_err();
        let expected = "expected exit, stdout:REGEX, notify, port:N or window";
        assert_eq!(says("bogus"), expected);
        assert_eq!(says("activity"), "activity is for launch bench only");
    }
}
