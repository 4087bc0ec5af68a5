//! A program whose threads wait in a way that `unjank lock doctor` should name:
//! `cargo run -p unjank-lock --example waits -- yield`. It ends by itself after
//! twenty minutes.
#![allow(clippy::print_stdout, reason = "it prints when its threads run")]

use std::collections::BTreeMap;
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use unjank_host::Timestamp;
use unjank_host::futex::{self, Scope as FutexScope};
use unjank_host::pthread_mutex::{MutexKind, PthreadMutex};
use unjank_host::wait::until_readable;

const WAYS: &str = "yield, sleep, spin, poll, lock-short, lock-long, lock-words, held, held-word, \
     pool, nobody, herd, realtime, healthy, compute, rayon, churn";
const LIFE: Duration = Duration::from_secs(1_200);

/// Never set: a thread that waits for it waits for ever.
static NEVER: AtomicBool = AtomicBool::new(false);

fn main() {
    let way = std::env::args().nth(1).unwrap_or_default();
    let end = Instant::now() + LIFE;
    // The program ends whatever its threads do.
    thread::spawn(|| {
        thread::sleep(LIFE);
        std::process::abort();
    });
    let lock = Mutex::new(0_u64);
    let mutex = PthreadMutex::new(MutexKind::Normal).expect("every C library has it");
    let (changed, count) = (Condvar::new(), Mutex::new(0_u64));
    thread::scope(|scope| {
        match way.as_str() {
            "yield" => wait(scope, "yields", thread::yield_now),
            "sleep" => wait(scope, "sleeps", || thread::sleep(Duration::from_micros(500))),
            "spin" => wait(scope, "spins", hint::spin_loop),
            "poll" => wait(scope, "polls", poll_nothing),
            "realtime" => wait(scope, "yields", || {
                static ONCE: AtomicBool = AtomicBool::new(false);
                if !ONCE.swap(true, Ordering::Relaxed) {
                    become_realtime();
                }
                thread::yield_now();
            }),
            "lock-short" => {
                for _ in 0..3 {
                    named(scope, "locks", || hold(&lock, Duration::from_micros(5), 50, end));
                }
            }
            // So many that they wait for the lock rather than for a CPU, on a busy machine, too.
            "lock-long" => {
                for _ in 0..8 {
                    named(scope, "locks", || hold(&lock, Duration::from_millis(2), 300_000, end));
                }
            }
            // Each waiter sleeps on a word of its own.
            "lock-words" => {
                for _ in 0..2 {
                    wait(scope, "locks", count_fairly);
                }
            }
            way @ ("held" | "held-word" | "pool") => {
                let (mutex, lock, count, changed) = (&mutex, &lock, &count, &changed);
                for _ in 0..4 {
                    named(scope, "waits", move || match way {
                        "held" => mutex.with(|| thread::sleep(LIFE)),
                        "held-word" => keep(lock),
                        _ => is_idle(count, changed),
                    });
                }
            }
            "nobody" => wait(scope, "wakes", || {
                static WORD: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
                futex::wake(&WORD, 1, FutexScope::Process);
                work(20_000);
            }),
            "herd" => {
                for _ in 0..8 {
                    named(scope, "sheep", || {
                        let mut guard = count.lock().expect("nobody panics");
                        loop {
                            guard = changed.wait(guard).expect("nobody panics");
                        }
                    });
                }
                wait(scope, "shepherd", || {
                    *count.lock().expect("nobody panics") += 1;
                    changed.notify_all();
                    thread::sleep(Duration::from_millis(5));
                });
            }
            "healthy" => wait(scope, "waits", || {
                let guard = count.lock().expect("nobody panics");
                let _timeout = changed.wait_timeout(guard, Duration::from_millis(100));
            }),
            "compute" => wait(scope, "computes", compute),
            "rayon" => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
                let pool = pool.thread_name(|at| format!("rayon-{at}")).build();
                let pool = pool.expect("threads can be made");
                wait(scope, "asks", move || {
                    pool.install(|| rayon::join(|| work(1_000), || work(1_000)));
                    thread::sleep(Duration::from_micros(50));
                });
            }
            "churn" => wait(scope, "parent", || {
                let child = thread::Builder::new().name("yields".to_owned()).spawn(|| {
                    let until = Instant::now() + Duration::from_millis(700);
                    while Instant::now() < until {
                        thread::yield_now();
                    }
                });
                child.expect("threads can be made").join().expect("it ends");
            }),
            other => {
                eprintln_usage(other);
                std::process::exit(2);
            }
        }
        println!("ready");
    });
}

#[allow(clippy::print_stderr, reason = "it is a program")]
fn eprintln_usage(other: &str) {
    eprintln!("unknown way to wait {other:?}; expected one of {WAYS}");
}

/// Starts a thread that waits for ever, in steps.
fn wait<'scope>(scope: &'scope Scope<'scope, '_>, name: &str, step: impl Fn() + Send + 'scope) {
    named(scope, name, move || {
        while !NEVER.load(Ordering::Relaxed) {
            step();
        }
    });
}

fn named<'scope>(scope: &'scope Scope<'scope, '_>, name: &str, run: impl FnOnce() + Send + 'scope) {
    let thread = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, run);
    thread.expect("threads can be made");
}

/// Takes a lock, works for `time`, releases it, works for `outside` steps, and so
/// on until `end`.
fn hold(lock: &Mutex<u64>, time: Duration, outside: u64, end: Instant) {
    while Instant::now() < end {
        let mut count = lock.lock().expect("nobody panics");
        *count += 1;
        let until = Instant::now() + time;
        while Instant::now() < until {
            work(10);
        }
        drop(count);
        work(outside);
    }
}

/// Counts, and hands the lock over.
fn count_fairly() {
    static COUNT: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
    let mut count = COUNT.lock();
    // Longer than the slice of a busy CPU: the other thread comes to wait.
    let until = Instant::now() + Duration::from_millis(8);
    while Instant::now() < until {
        *count += 1;
    }
    parking_lot::MutexGuard::unlock_fair(count);
}

/// Takes a lock and keeps it, as in a long call or a deadlock.
fn keep(lock: &Mutex<u64>) {
    let _held = lock.lock();
    thread::sleep(LIFE);
}

/// Waits for work that does not come.
fn is_idle(count: &Mutex<u64>, changed: &Condvar) {
    let guard = count.lock().expect("nobody panics");
    drop(changed.wait_while(guard, |count| *count == 0));
}

fn poll_nothing() {
    let found = until_readable::<0>([], Some(Timestamp::now()));
    found.expect("a poll of nothing cannot fail");
}

fn become_realtime() {
    use unjank_host::sched::{Policy, Priority, ThreadId, set_policy};
    let priority = Priority::new(10).expect("10 is one");
    set_policy(ThreadId::current(), Policy::Fifo(priority), true).expect("root may do that");
}

/// Work that is spread over much code.
fn compute() {
    let words: BTreeMap<String, usize> =
        (0..1_000_usize).map(|number| (format!("{:x}", number * 7_919 % 1_009), number)).collect();
    let mut lengths: Vec<usize> = words.iter().map(|(word, number)| word.len() + number).collect();
    lengths.sort_unstable();
    hint::black_box(lengths);
}

/// Work whose steps depend on each other.
fn work(steps: u64) {
    static SUM: AtomicU64 = AtomicU64::new(1);
    let mut x = SUM.load(Ordering::Relaxed);
    for step in 0..steps {
        x = hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
    SUM.store(x, Ordering::Relaxed);
}
