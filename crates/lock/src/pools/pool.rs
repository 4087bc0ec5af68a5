//! The compared thread pools, behind one interface.

use std::io;

use unjank_host::{Error, Result};

use super::sleep_loops::{self, SleepLoop};
use super::work::Work;

/// The compared thread pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    /// `unjank_backoff::Pool`: one idle thread polls for as long as the gaps make
    /// that worthwhile.
    Unjank,
    /// `rayon::ThreadPool`: an idle thread searches 32 times with `sched_yield`
    /// between two searches, and parks.
    Rayon,
    /// `threadpool::ThreadPool`: a channel behind a mutex; parks at once.
    Threadpool,
    /// Threads for blocking work of a Tokio runtime: a mutex and a condition
    /// variable; parks at once.
    Tokio,
    /// Threads that look for work on their own: they are never woken.
    SleepLoop(SleepLoop),
}

impl PoolKind {
    /// The pools of libraries.
    pub const ALL: [Self; 4] = [Self::Unjank, Self::Rayon, Self::Threadpool, Self::Tokio];

    /// The name, as printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unjank => "unjank",
            Self::Rayon => "rayon",
            Self::Threadpool => "threadpool",
            Self::Tokio => "tokio",
            Self::SleepLoop(waits) => waits.name(),
        }
    }
}

pub(super) enum Pool {
    Unjank(unjank_backoff::Pool),
    Rayon(rayon::ThreadPool),
    Threadpool(threadpool::ThreadPool),
    Tokio(tokio::runtime::Runtime),
    SleepLoop(sleep_loops::Pool),
}

impl Pool {
    /// Starts a pool of at most this many threads.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub(super) fn start(kind: PoolKind, threads: usize) -> Result<Self> {
        let failed = |error: io::Error| Error::syscall("clone", kind.name(), error);
        Ok(match kind {
            PoolKind::Unjank => Self::Unjank(unjank_backoff::Pool::new(threads).map_err(failed)?),
            PoolKind::Rayon => {
                let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
                Self::Rayon(builder.build().map_err(|error| failed(io::Error::other(error)))?)
            }
            PoolKind::Threadpool => Self::Threadpool(threadpool::ThreadPool::new(threads)),
            PoolKind::Tokio => {
                let mut builder = tokio::runtime::Builder::new_current_thread();
                builder.max_blocking_threads(threads);
                Self::Tokio(builder.build().map_err(failed)?)
            }
            PoolKind::SleepLoop(waits) => {
                Self::SleepLoop(sleep_loops::Pool::start(waits, threads).map_err(failed)?)
            }
        })
    }

    #[inline]
    pub(super) fn spawn(&self, work: Work) {
        match self {
            Self::Unjank(pool) => drop(pool.spawn(work)),
            Self::Rayon(pool) => pool.spawn(work),
            Self::Threadpool(pool) => pool.execute(work),
            Self::Tokio(runtime) => drop(runtime.spawn_blocking(work)),
            Self::SleepLoop(pool) => pool.spawn(work),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn every_pool_runs_its_work() {
        let sleep_loops = SleepLoop::all(100).map(PoolKind::SleepLoop);
        for kind in PoolKind::ALL.into_iter().chain(sleep_loops) {
            let pool = Pool::start(kind, 2).unwrap();
            let (done, all) = mpsc::channel();
            for n in 0..100_u64 {
                let done = done.clone();
                pool.spawn(Box::new(move || done.send(n).unwrap()));
            }
            drop(done);
            assert_eq!(all.iter().sum::<u64>(), 4_950, "{}", kind.name());
        }
    }
}
