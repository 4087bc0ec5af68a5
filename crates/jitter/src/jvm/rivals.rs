//! Ordinary threads outside of the JVM that compute on its CPUs.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Error, Result};

/// Threads that compute until this is dropped, like other programs on a busy
/// machine.
#[derive(Debug)]
pub(crate) struct Rivals {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Rivals {
    /// Starts `count` threads on `cpus`.
    pub(crate) fn start(count: u32, cpus: &CpuSet) -> Result<Self> {
        let mut rivals = Self { stop: Arc::default(), threads: Vec::new() };
        for number in 0..count {
            let (stop, cpus) = (Arc::clone(&rivals.stop), cpus.clone());
            let thread = thread::Builder::new()
                .name(format!("rival-{number}"))
                .spawn(move || compete(&stop, &cpus))
                .map_err(|error| Error::file("start", "a thread", error))?;
            rivals.threads.push(thread);
        }
        Ok(rivals)
    }
}

fn compete(stop: &AtomicBool, cpus: &CpuSet) {
    // If a CPU has gone offline meanwhile, the thread runs on the others.
    let _pinned = AffinityGuard::pin(cpus);
    while !stop.load(Ordering::Relaxed) {
        spin_loop();
    }
}

impl Drop for Rivals {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _it_cannot_panic = thread.join();
        }
    }
}
