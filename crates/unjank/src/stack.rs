//! A stack that is large enough even with a small `ulimit -s`.

use std::panic::resume_unwind;
use std::thread;

use unjank_host::Bytes;
use unjank_host::process::stack_limit;

/// The smallest limit that is accepted.
const LEAST: Bytes = Bytes(4 << 20);
/// The kernel's default.
const USUAL: usize = 8 << 20;

/// Runs a function on this stack, or on one of the usual size if this one is
/// limited to less than [`LEAST`].
pub(crate) fn with_enough<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    if stack_limit().is_none_or(|limit| limit >= LEAST) {
        return run();
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(USUAL).spawn_scoped(scope, run);
        // Without a thread nothing can be done.
        let done = thread.expect("memory for a stack is left").join();
        done.unwrap_or_else(|panic| resume_unwind(panic))
    })
}
