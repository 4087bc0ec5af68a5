//! The periodic loop of a task.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use unjank_host::memory::SharedRegion;
use unjank_host::sched::{Grant, ThreadId, give_realtime};
use unjank_host::{Nanos, Root, Timestamp};

use crate::error::{Error, Result};
use crate::job::{Job, LoadedJob, WakeUp};
use crate::layout::{
    ERROR_LENGTH, ERROR_MOST, ERROR_TEXT, FIRST, LOST, MISSED, STATE, STOP, Sizes, State, THREAD,
    WAKEUPS,
};
use crate::ring::Ring;

/// The longest sleep without a check of the stop word.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(100);

/// Time between two checks for the start.
const LOOK: Nanos = Nanos::from_millis(1);

/// The settings of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The name of its thread; the kernel keeps 15 bytes.
    pub name: String,
    /// Time between two wake-ups.
    pub period: Nanos,
    /// Its real-time priority; `None` keeps the inherited policy.
    pub realtime: Option<Grant>,
    /// Number of periods, missed ones included; 0 for no end.
    pub periods: u64,
    /// The work at each wake-up.
    pub job: Job,
}

/// Runs `task` on the calling thread until it ends, Java asks it to stop, or
/// `abandoned` returns true because its JVM has ended. Allocates nothing after the
/// start. An error is written to the shared memory.
pub fn run(region: &SharedRegion, sizes: Sizes, task: &Task, abandoned: impl Fn() -> bool) {
    let state = |state: State| region.word(STATE).store(state as u64, Release);
    let stop = || region.word(STOP).load(Relaxed) != 0 || abandoned();
    match prepare(task) {
        Ok(job) => {
            region.word(THREAD).store(u64::from(ThreadId::current().0), Relaxed);
            state(State::Ready);
            if let Some(first) = wait_for_start(region, &stop) {
                state(State::Running);
                periodically(region, sizes, task, job, first, &stop);
            }
            state(State::Ended);
        }
        Err(error) => fail(region, &error),
    }
}

/// Writes the error to the shared memory, where Java reads it.
pub fn fail(region: &SharedRegion, error: &Error) {
    let reason = error.to_string();
    let mut end = reason.len().min(ERROR_MOST);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    region.write(ERROR_TEXT, &reason.as_bytes()[..end]);
    region.word(ERROR_LENGTH).store(end as u64, Relaxed);
    // Pairs with the acquire by which Java reads the state.
    let state = if error.is_refused() { State::Refused } else { State::Failed };
    region.word(STATE).store(state as u64, Release);
}

fn prepare(task: &Task) -> Result<LoadedJob> {
    let job = task.job.load()?;
    if let Some(grant) = task.realtime {
        give_realtime(&Root::system(), ThreadId::current(), grant)?;
    }
    Ok(job)
}

fn wait_for_start(region: &SharedRegion, stop: &impl Fn() -> bool) -> Option<Timestamp> {
    while !stop() {
        // Pairs with the release by which Java starts the task.
        match region.word(FIRST).load(Acquire) {
            0 => (Timestamp::now() + LOOK).sleep_until(),
            first => return Some(Timestamp::from_nanos(first)),
        }
    }
    None
}

fn periodically(
    region: &SharedRegion,
    sizes: Sizes,
    task: &Task,
    job: LoadedJob,
    first: Timestamp,
    stop: &impl Fn() -> bool,
) {
    let (mut input, mut out) = (vec![0; sizes.message], vec![0; sizes.message]);
    let (from_java, to_java) = (Ring::from_java(region, sizes), Ring::to_java(region, sizes));
    let count = |word, by: u64| {
        let word = region.word(word);
        // Only this thread writes these words.
        word.store(word.load(Relaxed).wrapping_add(by), Relaxed);
    };
    let mut due = first;
    let mut period = 0_u64;
    while task.periods == 0 || period < task.periods {
        let Some(woken) = due.sleep_until_unless(LONGEST_SLEEP, stop) else { return };
        let missed = missed(task, period, due, woken);
        let wakeup = WakeUp { period, due: due.as_nanos(), woken: woken.as_nanos(), missed };
        let given = from_java.receive(&mut input).unwrap_or(0);
        count(WAKEUPS, 1);
        count(MISSED, missed);
        match job.run(&wakeup, &input[..given], &mut out) {
            None => return,
            Some(0) => {}
            Some(length) if to_java.send(&out[..length]) => {}
            Some(_) => count(LOST, 1),
        }
        period += missed + 1;
        due = due + task.period.times(missed + 1);
    }
}

/// Further periods that have passed.
fn missed(task: &Task, period: u64, due: Timestamp, woken: Timestamp) -> u64 {
    let passed = woken.since(due).get() / task.period.get().max(1);
    match task.periods {
        0 => passed,
        periods => passed.min(periods - 1 - period),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { slots_out: 64, slots_in: 2, message: 32 };

    fn task(periods: u64) -> Task {
        Task {
            name: "test".to_owned(),
            period: Nanos::from_millis(1),
            realtime: None,
            periods,
            job: Job::Report,
        }
    }

    #[test]
    fn every_period_is_a_wake_up_or_missed() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        region.word(FIRST).store(Timestamp::now().as_nanos() + 1_000_000, Relaxed);
        run(&region, SIZES, &task(50), || false);
        assert_eq!(region.word(STATE).load(Relaxed), State::Ended as u64);
        let read = |word| region.word(word).load(Relaxed);
        assert_eq!(read(WAKEUPS) + read(MISSED), 50);
        let ring = Ring::to_java(&region, SIZES);
        let mut next = 0;
        let mut message = [0; 32];
        while ring.receive(&mut message) == Some(32) {
            let field = |n: usize| u64::from_le_bytes(message[n * 8..][..8].try_into().unwrap());
            assert_eq!(field(0), next);
            assert!(field(2) >= field(1));
            next = field(0) + 1 + field(3);
        }
        assert_eq!(next, 50);
    }

    #[test]
    fn a_start_in_the_past_counts_what_it_missed() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        region.word(FIRST).store(1, Relaxed);
        run(&region, SIZES, &task(50), || false);
        let read = |word| region.word(word).load(Relaxed);
        assert_eq!((read(WAKEUPS), read(MISSED)), (1, 49));
    }

    #[test]
    fn an_abandoned_task_ends_before_its_start() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        run(&region, SIZES, &task(0), || true);
        assert_eq!(region.word(STATE).load(Relaxed), State::Ended as u64);
        assert_eq!(region.word(WAKEUPS).load(Relaxed), 0);
    }

    #[test]
    fn a_job_that_cannot_be_loaded_leaves_its_error() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        let job = Job::Call { library: "/nowhere.so".into(), symbol: "job".to_owned() };
        run(&region, SIZES, &Task { job, ..task(1) }, || false);
        assert_eq!(region.word(STATE).load(Relaxed), State::Failed as u64);
        let mut text = vec![0; region.word(ERROR_LENGTH).load(Relaxed) as usize];
        region.read(ERROR_TEXT, &mut text);
        assert!(String::from_utf8(text).unwrap().contains("/nowhere.so"));
    }

    #[test]
    fn a_missing_permission_is_a_state_of_its_own() {
        let (region, _fd) = SharedRegion::create("test", SIZES.total()).unwrap();
        let failed = |error| {
            fail(&region, &error);
            region.word(STATE).load(Relaxed)
        };
        let refused = unjank_host::Error::Permission {
            what: "SCHED_FIFO".to_owned(),
            needs: "CAP_SYS_NICE".to_owned(),
        };
        assert_eq!(failed(Error::Host(refused)), State::Refused as u64);
        let path = Error::Failed("cannot load /opt/what it needs/job.so".to_owned());
        assert_eq!(failed(path), State::Failed as u64);
    }
}
