//! A thousand kills or more: whenever `unjank with` dies, every knob has its first value again,
//! and neither a journal nor a keeper is left.
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_host::process::send_signal;
use unjank_needs::wait::HANGS;

/// The fewest kills.
const KILLS: u64 = 1_000;
const KNOBS: usize = 10;
/// Runs at the same time. They may be more than the CPUs, because they mostly wait for the disk.
const AT_ONCE: usize = 3;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGSTOP: i32 = 19;

/// The moment of the kill.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// A time after the start, at most the length of a run.
    After(Duration),
    /// A number of polls (the second value) after the knob with this number is changed.
    Changed(usize, u32),
    /// A number of polls after the knob with this number is changed and put back.
    Back(usize, u32),
}

/// The killed processes, and the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    Kill,
    KeeperFirst,
    Signal(i32),
}

/// Counts of killed commands, by the work that was left to other processes.
#[derive(Debug, Default)]
struct Tally {
    ended_before: u64,
    nothing_to_do: u64,
    put_back_by_keeper: u64,
    all_changed: u64,
    some_changed: u64,
    keepers_killed: u64,
    restored: u64,
    signalled: u64,
}

impl Tally {
    /// The cases that were not seen often enough.
    fn lacks(&self) -> Vec<&'static str> {
        let all = [
            (self.ended_before > 0, "some lives were over"),
            (self.nothing_to_do > 0, "some had not begun to change anything"),
            (self.put_back_by_keeper > 100, "keepers had work"),
            (self.all_changed > 0, "some held everything"),
            (self.some_changed > 0, "some were in the middle of it"),
            (self.restored > 100, "restore had work where the keeper was gone too"),
            (self.signalled > 50, "some were signalled"),
        ];
        all.into_iter().filter(|(seen, _)| !seen).map(|(_, what)| what).collect()
    }
}

#[test]
fn a_thousand_kills_leave_every_knob_as_it_was() {
    let seed = std::env::var("UNJANK_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(20_261_121_u64);
    let life = usual_life();
    println!("seed {seed}; a life takes {life:?}");
    let tally = Mutex::new(Tally::default());
    let next = AtomicU64::new(0);
    // On a busy machine, a run often ends before the moment of its kill is seen.
    let start = Instant::now();
    let wants_more = || start.elapsed() < HANGS && !tally.lock().unwrap().lacks().is_empty();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= KILLS && !wants_more() {
                        break;
                    }
                    let (moment, blow) = draw(seed, number, life);
                    let attempt = format!("kill {number} of seed {seed}: {blow:?} {moment:?}");
                    let run = Run::start();
                    run.strike(moment, blow, &attempt, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    println!("{tally:?}");
    assert!(tally.lacks().is_empty(), "{:?}", tally.lacks());
}

/// The median length of a few undisturbed runs.
fn usual_life() -> Duration {
    let mut lives: Vec<Duration> = (0..9)
        .map(|_| {
            let run = Run::start();
            let start = Instant::now();
            run.end("undisturbed");
            start.elapsed()
        })
        .collect();
    lives.sort_unstable();
    lives[lives.len() / 2]
}

fn draw(seed: u64, number: u64, life: Duration) -> (Moment, Blow) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(number));
    let mut up_to = |limit: u64| random.next_u64() % limit;
    let knob = up_to(KNOBS as u64) as usize;
    let polls = up_to(10) as u32;
    let moment = match up_to(10) {
        0..3 => Moment::Changed(knob, polls),
        3..6 => Moment::Back(knob, polls),
        _ => {
            let nanos = life.as_nanos() as u64;
            Moment::After(Duration::from_nanos(up_to(nanos + nanos / 4)))
        }
    };
    let blow = match up_to(20) {
        0 => Blow::Signal(SIGINT),
        1 => Blow::Signal(SIGTERM),
        2..9 => Blow::KeeperFirst,
        _ => Blow::Kill,
    };
    (moment, blow)
}

/// One run of `unjank with`, on its own machine.
struct Run {
    dir: tempfile::TempDir,
    child: Child,
    talk: mpsc::Receiver<String>,
}

impl Run {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("machine/sys")).unwrap();
        for knob in 0..KNOBS {
            fs::write(file(dir.path(), knob), first(knob)).unwrap();
        }
        let mut child = Command::new(unjank_needs::unjank!())
            .arg("with")
            .arg("--quiet")
            .arg("--root")
            .arg(dir.path().join("machine"))
            .arg("--state-dir")
            .arg(dir.path().join("state"))
            .args((0..KNOBS).map(|knob| format!("/sys/knob{knob}=ours-{knob}")))
            .args(["--", "sleep", "0.01"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The keeper and the command share stderr, so its end is the end of both.
        let mut stderr = child.stderr.take().unwrap();
        let (say, talk) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let _whatever_came = stderr.read_to_string(&mut text);
            let _the_run_may_have_failed = say.send(text);
        });
        Self { dir, child, talk }
    }

    fn strike(mut self, moment: Moment, blow: Blow, attempt: &str, tally: &Mutex<Tally>) {
        let mut keeper = None;
        if blow == Blow::KeeperFirst && !matches!(moment, Moment::After(_)) {
            // It exists before the first change; a later search would take too long.
            while keeper.is_none() && self.child.try_wait().unwrap().is_none() {
                keeper = self.keeper();
            }
        }
        self.wait_until(moment);
        if keeper.is_some() && self.child.try_wait().unwrap().is_none() {
            // Stopped at this moment while the keeper is killed.
            send_signal(self.child.id(), SIGSTOP).unwrap();
        }
        if blow == Blow::KeeperFirst
            && let Some(keeper) = keeper.or_else(|| self.keeper())
        {
            // Fails if it has ended meanwhile.
            if send_signal(keeper, SIGKILL).is_ok() {
                tally.lock().unwrap().keepers_killed += 1;
            }
        }
        let over = self.child.try_wait().unwrap().is_some();
        if !over {
            let signal = if let Blow::Signal(signal) = blow { signal } else { SIGKILL };
            // Not reaped yet, so the number is still its own.
            send_signal(self.child.id(), signal).unwrap();
            self.child.wait().unwrap();
        }
        let talk = self.talk.recv_timeout(HANGS).unwrap_or_else(|_| panic!("{attempt}: it hangs"));
        let changed = (0..KNOBS).filter(|&knob| self.read(knob) != first(knob)).count();
        {
            let mut tally = tally.lock().unwrap();
            tally.ended_before += u64::from(over);
            match blow {
                Blow::Signal(_) => tally.signalled += 1,
                Blow::KeeperFirst if !over => match changed {
                    0 => {}
                    KNOBS => tally.all_changed += 1,
                    _ => tally.some_changed += 1,
                },
                _ if over => {}
                _ if talk.contains("was cut off") => tally.put_back_by_keeper += 1,
                _ => tally.nothing_to_do += 1,
            }
        }
        if blow == Blow::KeeperFirst {
            // If the keeper was not killed, it may be at work.
            tally.lock().unwrap().restored += u64::from(self.restore(attempt) > 0);
        } else {
            assert_eq!(changed, 0, "{attempt}: {talk}");
        }
        self.end(attempt);
    }

    /// Waits for a normal end, and checks what is left.
    fn end(mut self, attempt: &str) {
        self.child.wait().unwrap();
        for knob in 0..KNOBS {
            assert_eq!(self.read(knob), first(knob), "{attempt}: knob {knob}");
        }
        let state = fs::read_dir(self.dir.path().join("state")).into_iter().flatten();
        let files = state.map(|entry| entry.unwrap().path());
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|end| end == "journal");
        let journals: Vec<PathBuf> = files.filter(is_journal).collect();
        assert!(journals.is_empty(), "{attempt}: {journals:?}");
        // Stderr is closed, so a keeper is ending; wait until it has ended.
        let start = Instant::now();
        while let Some(keeper) = self.keeper() {
            assert!(start.elapsed() < HANGS, "{attempt}: keeper {keeper} is left");
            thread::yield_now();
        }
    }

    fn wait_until(&mut self, moment: Moment) {
        let (knob, polls, back) = match moment {
            Moment::After(time) => return thread::sleep(time),
            Moment::Changed(knob, polls) => (knob, polls, false),
            Moment::Back(knob, polls) => (knob, polls, true),
        };
        let ours = format!("ours-{knob}");
        let mut poll_while = |as_it_is: &dyn Fn(&str) -> bool| {
            while as_it_is(&self.read(knob)) && self.child.try_wait().unwrap().is_none() {}
        };
        poll_while(&|text| text != ours);
        if back {
            poll_while(&|text| text == ours);
        }
        for _ in 0..polls {
            let _a_little_time = self.read(knob);
        }
    }

    fn read(&self, knob: usize) -> String {
        // In a tree of plain files, line ends may follow a shorter value.
        fs::read_to_string(file(self.dir.path(), knob)).unwrap().trim_end().to_owned()
    }

    /// The process that keeps this run's journal, if there is one.
    fn keeper(&self) -> Option<u32> {
        let state_dir = self.dir.path().join("state");
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        });
        processes.into_iter().find(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
            words.get(1) == Some(&b"keeper".as_slice())
                && words.get(2) == Some(&state_dir.as_os_str().as_encoded_bytes())
        })
    }

    /// `unjank restore`; returns how many changes it found.
    fn restore(&self, attempt: &str) -> usize {
        let output = Command::new(unjank_needs::unjank!())
            .args(["restore", "--json", "--root"])
            .arg(self.dir.path().join("machine"))
            .arg("--state-dir")
            .arg(self.dir.path().join("state"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{attempt}: {output:?}");
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let journals = found["journals"].as_array().unwrap();
        journals.iter().map(|journal| journal["changes"].as_array().unwrap().len()).sum()
    }
}

fn file(dir: &Path, knob: usize) -> PathBuf {
    dir.join(format!("machine/sys/knob{knob}"))
}

/// The first value of a knob: shorter than its new value for some knobs, longer for others.
fn first(knob: usize) -> String {
    format!("{}{knob}", "first-".repeat(knob % 4))
}
