//! A stack that is large enough, whatever `ulimit -s` says.

use std::panic::resume_unwind;
use std::thread;

use unjank_host::Bytes;
use unjank_host::process::stack_limit;

/// Less may not do.
const LEAST: Bytes = Bytes(4 << 20);
/// What the kernel gives to programs unless somebody says otherwise.
const USUAL: usize = 8 << 20;

/// Runs a function on this stack, or on one of the usual size where this one is
/// limited to less than may be needed.
pub(crate) fn with_enough<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    if stack_limit().is_none_or(|limit| limit >= LEAST) {
        return run();
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(USUAL).spawn_scoped(scope, run);
        // Nothing is left to be done without a thread, and a panic says so.
        let done = thread.expect("memory for a stack is left").join();
        done.unwrap_or_else(|panic| resume_unwind(panic))
    })
}
