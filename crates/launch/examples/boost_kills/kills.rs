//! Kills `unjank launch boost` with SIGKILL, again and again, and checks that every
//! knob returns to its first value.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use unjank_host::process::send_signal;

/// Longest wait before a step counts as hung: a start takes some hundred
/// milliseconds in an emulated machine.
const TOO_LONG: Duration = Duration::from_secs(600);
/// Interval between checks.
const INTERVAL: Duration = Duration::from_millis(1);
/// Of `signal(7)`.
const KILL: i32 = 9;
/// Of `signal(7)`.
const TERMINATE: i32 = 15;
/// Of `signal(7)`.
const CONTINUE: i32 = 18;
/// Of `signal(7)`.
const STOP: i32 = 19;
/// Methods, in turn.
const METHODS: [&str; 3] = ["auto", "sampling-rate", "double-tap"];
/// The knobs that a boost may change, and others that it must not.
const KNOBS: [&str; 6] = [
    "scaling_min_freq",
    "scaling_max_freq",
    "scaling_governor",
    "sampling_rate",
    "up_threshold",
    "sampling_down_factor",
];

/// Reproducible random numbers: Marsaglia, *Xorshift RNGs* (2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }

    fn within(&mut self, time: Duration) -> Duration {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.below(micros))
    }
}

/// The service to kill, and the programs launched meanwhile.
pub(crate) struct KillSetup<'a> {
    /// The program.
    pub(crate) unjank: &'a Path,
    /// The root of the machine's files; `/` for the real one.
    pub(crate) root: &'a Path,
    /// A directory for its journal and its socket.
    pub(crate) directory: &'a Path,
    /// The command of a launch that keeps a CPU busy for a tenth of a second
    /// or so.
    pub(crate) launch: &'a [String],
}

/// Counts of kills.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    /// While it started.
    starting: u64,
    /// While it waited for launches.
    idle: u64,
    /// When a launch had just begun.
    beginning: u64,
    /// During a launch.
    launching: u64,
    /// When a launch had just ended.
    ending: u64,
    /// Kills that left at least one knob changed.
    pub(crate) hits: u64,
    /// Those of them with the keeper killed, too: `unjank restore` restored the knob.
    pub(crate) hits_restored: u64,
    /// Killed with the keeper.
    pub(crate) keepers: u64,
}

impl Killed {
    /// How often the service was killed.
    pub(crate) fn all(&self) -> u64 {
        self.starting + self.idle + self.beginning + self.launching + self.ending
    }
}

impl fmt::Display for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { starting, idle, beginning, launching, ending, .. } = self;
        let Self { hits, hits_restored, keepers, .. } = self;
        write!(
            f,
            "{} kills ({starting} while it started, {idle} idle, {beginning} as a launch began, \
             {launching} during one, {ending} after one): {hits} hit a boost; {keepers} with the \
             keeper, {hits_restored} of them in a boost; every knob has its first value",
            self.all()
        )
    }
}

/// Kills the service `kills` times.
///
/// # Panics
/// A knob has another value afterwards, something is left behind, or a step
/// hangs.
pub(crate) fn kill_many(setup: &KillSetup<'_>, kills: u64, seed: u64) -> Killed {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut killed = Killed::default();
    let first = setup.knobs();
    assert!(!first.is_empty(), "there is nothing to boost below {}", setup.root.display());
    let start_up = setup.time_of_a_start();
    assert_eq!(setup.knobs(), first, "after a service that has ended by itself");
    for round in 0..kills {
        let method = METHODS[(round % 3) as usize];
        let mut service = setup.start(method);
        let mut launch = None;
        // During a start, the keeper is found only afterwards.
        let with_keeper = random.below(4) == 0;
        let at_start = round % 5 == 0;
        let mut keepers = Vec::new();
        if at_start {
            killed.starting += 1;
            thread::sleep(random.within(start_up));
        } else {
            service.until_ready();
            keepers = setup.others(service.child.id());
        }
        match round % 5 {
            0 => {}
            1 => {
                killed.idle += 1;
                thread::sleep(random.within(Duration::from_millis(5)));
            }
            2 => {
                killed.beginning += 1;
                launch = Some(setup.launch());
                thread::sleep(random.within(Duration::from_millis(4)));
            }
            3 => {
                killed.launching += 1;
                launch = Some(setup.launch());
                thread::sleep(random.within(Duration::from_millis(60)));
            }
            _ => {
                killed.ending += 1;
                let mut launch = setup.launch();
                launch.wait().expect("it was started here");
                thread::sleep(random.within(Duration::from_millis(15)));
            }
        }
        let signal = if with_keeper { KILL } else { STOP };
        send_all(&keepers, signal);
        service.child.kill().expect("it was started here");
        service.child.wait().expect("it was started here");
        if at_start {
            keepers = setup.others(0);
            send_all(&keepers, signal);
        }
        let hit = setup.knobs() != first;
        killed.hits += u64::from(hit);
        if with_keeper && !keepers.is_empty() {
            killed.keepers += 1;
            killed.hits_restored += u64::from(hit);
        }
        if !with_keeper {
            send_all(&keepers, CONTINUE);
        }
        let what = format!("kill {round}, {method}, {keepers:?} kept, {killed:?}");
        let begin = Instant::now();
        while !setup.others(0).is_empty() {
            assert!(begin.elapsed() < TOO_LONG, "{what}: the keeper does not end");
            thread::sleep(INTERVAL);
        }
        if with_keeper {
            setup.restore(&what);
        }
        assert_eq!(setup.knobs(), first, "{what}");
        assert_eq!(setup.journals(), 0, "{what}");
        if let Some(mut launch) = launch {
            launch.kill().expect("it was started here");
            launch.wait().expect("it was started here");
        }
    }
    killed
}

fn send_all(processes: &[u32], signal: i32) {
    for &process in processes {
        // One that has ended meanwhile needs no signal.
        let _ended = send_signal(process, signal);
    }
}

/// The knobs that change in a launch, with their values before, during and after
/// it.
///
/// # Panics
/// Nothing changes, something is not restored, or a step hangs.
pub(crate) fn watch(setup: &KillSetup<'_>, method: &str) -> Vec<(PathBuf, [String; 3])> {
    let mut service = setup.start(method);
    service.until_ready();
    let first = setup.knobs();
    let mut launch = setup.launch();
    let begin = Instant::now();
    let during = loop {
        let during = setup.knobs();
        if during != first {
            break during;
        }
        assert!(begin.elapsed() < TOO_LONG, "{method}: nothing changes");
    };
    launch.wait().expect("it was started here");
    let after = loop {
        let after = setup.knobs();
        if after == first {
            break after;
        }
        assert!(begin.elapsed() < TOO_LONG, "{method}: still {after:?}");
        thread::sleep(INTERVAL);
    };
    service.end();
    assert_eq!(setup.knobs(), first, "after {method}");
    let value = |knobs: &BTreeMap<PathBuf, String>, file| knobs[file].trim().to_owned();
    let changed = first.keys().filter(|file| first[*file] != during[*file]);
    changed
        .map(|file| (file.clone(), [&first, &during, &after].map(|knobs| value(knobs, file))))
        .collect()
}

/// A service that was started.
struct Service {
    child: Child,
    notified: UnixDatagram,
    log: PathBuf,
}

impl Service {
    /// Waits until it has notified that it is ready.
    fn until_ready(&mut self) {
        let begin = Instant::now();
        let mut message = [0; 512];
        loop {
            if let Ok(length) = self.notified.recv(&mut message)
                && message[..length].split(|&byte| byte == b'\n').any(|line| line == b"READY=1")
            {
                return;
            }
            let ended = self.child.try_wait().expect("it was started here");
            let message = || fs::read_to_string(&self.log).unwrap_or_default();
            assert!(ended.is_none(), "the service has ended ({ended:?}): {}", message());
            assert!(begin.elapsed() < TOO_LONG, "the service is not ready: {}", message());
        }
    }

    /// Ends it in order.
    fn end(mut self) {
        send_signal(self.child.id(), TERMINATE).expect("it runs");
        let end = self.child.wait().expect("it was started here");
        assert_eq!(end.code(), Some(0), "{:?}", fs::read_to_string(&self.log));
    }
}

impl KillSetup<'_> {
    fn state(&self) -> PathBuf {
        self.directory.join("state")
    }

    fn start(&self, method: &str) -> Service {
        let (notify, log) = (self.directory.join("notify"), self.directory.join("log"));
        let _from_the_last_time = fs::remove_file(&notify);
        let notified = UnixDatagram::bind(&notify).expect("the directory is ours");
        notified.set_read_timeout(Some(Duration::from_millis(100))).expect("it is not zero");
        let message = File::create(&log).expect("the directory is ours");
        let child = Command::new(self.unjank)
            .args(["launch", "boost", "--method", method, "--no-store", "--root"])
            .arg(self.root)
            .arg("--state-dir")
            .arg(self.state())
            .arg("--socket")
            .arg(self.directory.join("socket"))
            .env("NOTIFY_SOCKET", &notify)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(message)
            .spawn()
            .expect("unjank runs");
        Service { child, notified, log }
    }

    /// How long it takes the service to be ready.
    fn time_of_a_start(&self) -> Duration {
        let begin = Instant::now();
        let mut service = self.start("auto");
        service.until_ready();
        let time = begin.elapsed();
        service.end();
        time
    }

    fn launch(&self) -> Child {
        let (program, arguments) = self.launch.split_first().expect("a launch has a program");
        let mut command = Command::new(program);
        command.args(arguments).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().expect("the launch runs")
    }

    fn restore(&self, what: &str) {
        let mut command = Command::new(self.unjank);
        command.arg("restore").arg("--root").arg(self.root).arg("--state-dir").arg(self.state());
        let output = command.output().expect("unjank runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{what}: {message}");
    }

    /// Processes with the state directory on their command lines, except `but`:
    /// keepers. A process that has ended has no command line.
    fn others(&self, but: u32) -> Vec<u32> {
        let needle = self.state().into_os_string().into_encoded_bytes();
        let has_it = |process: &u32| {
            let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0).any(|word| word == needle)
        };
        let all = fs::read_dir("/proc").expect("it is mounted").filter_map(Result::ok);
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|process| *process != but && has_it(process))
            .collect()
    }

    /// Journals of changes that were not restored.
    fn journals(&self) -> usize {
        let all = fs::read_dir(self.state()).into_iter().flatten().filter_map(Result::ok);
        all.filter(|entry| entry.path().extension().is_some_and(|end| end == "journal")).count()
    }

    /// The knobs of all clocks and governors.
    fn knobs(&self) -> BTreeMap<PathBuf, String> {
        let below = |directory: &Path| -> Vec<PathBuf> {
            let all = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
            all.map(|entry| entry.path()).collect()
        };
        let cpus = self.root.join("sys/devices/system/cpu");
        let mut places: Vec<PathBuf> =
            below(&cpus).into_iter().map(|cpu| cpu.join("cpufreq")).collect();
        let policies = below(&cpus.join("cpufreq"));
        places.extend(policies.iter().flat_map(|policy| below(policy)));
        places.extend(policies);
        let files = places.iter().flat_map(|place| KNOBS.iter().map(|knob| place.join(knob)));
        files.filter_map(|file| Some((file.clone(), fs::read_to_string(&file).ok()?))).collect()
    }
}
