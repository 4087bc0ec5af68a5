//! The command line that repeats a run of `unjank why`.

use std::ffi::OsString;

use unjank_host::{Bytes, Nanos, Root};
use unjank_why::report::About;

use super::about::{of_output, of_ready, words};
use super::args::{Args, GAP, MEMORY, TIMEOUT};
use super::handoff;
use super::window::LENGTH;
use crate::values;

/// What `unjank why` explains, and how it is typed again.
pub(super) fn about(args: &Args, root: &Root) -> About {
    let shared = of_output(&args.output);
    About {
        package: None,
        command: args.command.clone(),
        options: [options(args), shared.options].concat(),
        launches: args.launches(),
        process: args.window.pid,
        show: shared.show,
        handoff: handoff::stored(&args.output, root),
        server: None,
    }
}

/// The options that differ from their defaults and matter to the next run.
fn options(args: &Args) -> Vec<OsString> {
    let time = |name: &str, value: Nanos, default: &str| {
        let is_default = values::duration(default) == Ok(value);
        if is_default { Vec::new() } else { words([name.to_owned(), values::typed(value)]) }
    };
    let memory = values::bytes(MEMORY) != Ok(args.memory);
    let memory = memory.then(|| words(["--max-memory".to_owned(), typed_bytes(args.memory)]));
    let of_recording = match args.window.pid {
        Some(_) => {
            let thread = args.thread.iter().map(|name| format!("--thread={name}"));
            let thread = words(thread);
            [thread, time("--for", args.window.duration, LENGTH)].concat()
        }
        None => [
            of_ready(&args.ready),
            time("--timeout", args.timeout, TIMEOUT),
            time("--gap", args.gap, GAP),
        ]
        .concat(),
    };
    let no_stacks = args.no_stacks.then(|| words(["--no-stacks"]));
    [of_recording, memory.unwrap_or_default(), no_stacks.unwrap_or_default()].concat()
}

fn typed_bytes(bytes: Bytes) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    match bytes.get() {
        whole if whole.is_multiple_of(MEBIBYTE) => format!("{}MiB", whole / MEBIBYTE),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// `unjank why` on its own.
    #[derive(Debug, clap::Parser)]
    struct Why {
        #[command(flatten)]
        args: Args,
    }

    fn parsed<W: Into<OsString> + Clone>(typed: impl IntoIterator<Item = W>) -> Args {
        Why::try_parse_from(typed).unwrap().args
    }

    #[test]
    fn options_are_typed_again_and_mean_the_same() {
        let typed = |line: &str| {
            let options = options(&parsed(shlex::split(&format!("why {line}")).unwrap()));
            let again: Vec<String> =
                options.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
            again.join(" ")
        };
        assert_eq!(typed("-- git"), "");
        assert_eq!(typed("--timeout 60 --gap 0.5 --max-memory 256M -- git"), "");
        assert_eq!(typed("--timeout 2m --no-stacks -- git"), "--timeout 120s --no-stacks");
        assert_eq!(typed("--gap 0 --max-memory 1GiB -- x"), "--gap 0s --max-memory 1024MiB");
        assert_eq!(typed("--gap 1500us --max-memory 4097 -- x"), "--gap 1500us --max-memory 4097");
        assert_eq!(typed("--ready 'stdout:a b' -- x"), "--ready stdout:a b");
        assert_eq!(typed("--pid 7 --for 5s"), "");
        assert_eq!(typed("--pid 7 --thread=-a --for 10s"), "--thread=-a --for 10s");
    }

    #[test]
    fn the_store_is_kept() {
        let line = ["why", "--store", "a b.sqlite", "--", "git"];
        let about = of_output(&parsed(line).output);
        assert_eq!(about.options, words(["--store", "a b.sqlite"]));
        assert!(about.show.ends_with(&words(["why.html", "--store", "a b.sqlite"])));
        let none = of_output(&parsed(["why", "--no-store", "--", "git"]).output);
        assert_eq!((none.options, none.show), (words(["--no-store"]), Vec::new()));
    }
}
