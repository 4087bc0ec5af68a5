//! What is compared: thread pools, as they are used.

use std::io;

use unjank_host::{Error, Result};

/// A piece of work.
pub(super) type Work = Box<dyn FnOnce() + Send>;

/// A thread pool, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `unjank_backoff::Pool`: one idle thread watches for as long as the gaps
    /// make that worthwhile.
    Unjank,
    /// `rayon::ThreadPool`: an idle thread searches 32 times with `sched_yield`
    /// between two searches, and parks.
    Rayon,
    /// `threadpool::ThreadPool`: a channel behind a mutex; parks at once.
    Threadpool,
    /// Threads for blocking work of a Tokio runtime: a mutex and a condition
    /// variable; parks at once.
    Tokio,
}

impl Kind {
    /// All that there are.
    pub const ALL: [Self; 4] = [Self::Unjank, Self::Rayon, Self::Threadpool, Self::Tokio];

    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unjank => "unjank",
            Self::Rayon => "rayon",
            Self::Threadpool => "threadpool",
            Self::Tokio => "tokio",
        }
    }
}

/// One that runs.
pub(super) enum Pool {
    Unjank(unjank_backoff::Pool),
    Rayon(rayon::ThreadPool),
    Threadpool(threadpool::ThreadPool),
    Tokio(tokio::runtime::Runtime),
}

impl Pool {
    /// With so many threads, if all of them are needed.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub(super) fn start(kind: Kind, threads: usize) -> Result<Self> {
        let failed = |error: io::Error| Error::syscall("clone", kind.name(), error);
        Ok(match kind {
            Kind::Unjank => Self::Unjank(unjank_backoff::Pool::new(threads).map_err(failed)?),
            Kind::Rayon => {
                let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
                Self::Rayon(builder.build().map_err(|error| failed(io::Error::other(error)))?)
            }
            Kind::Threadpool => Self::Threadpool(threadpool::ThreadPool::new(threads)),
            Kind::Tokio => {
                let mut builder = tokio::runtime::Builder::new_current_thread();
                builder.max_blocking_threads(threads);
                Self::Tokio(builder.build().map_err(failed)?)
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
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn every_pool_does_what_it_is_given() {
        for kind in Kind::ALL {
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
