//! A meter for machines without one: times that the kernel counts, and powers
//! from a table. Its values are labelled `modelled`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unjank_host::energy::{About, Ended, Meter, Origin, Reading, Sampler, Samples};
use unjank_host::machine::{frequency_policies, idle_times, time_in_state};
use unjank_host::sched::CpuSet;
use unjank_host::{Hertz, Nanos, Result, Root, Support, Timestamp};

use super::residency::{Account, Clock, Frequency, Snapshot};
use crate::model::OppTable;

/// Interval of its readings. Each costs an idle machine a wake-up and the reading
/// of a few files.
pub const PERIOD: Nanos = Nanos::from_millis(50);

/// Energy from the times of frequencies and of idle CPUs.
#[derive(Debug)]
pub struct ModelledMeter {
    about: About,
    shared: Arc<Mutex<Shared>>,
    _thread: Sampler,
}

#[derive(Debug)]
struct Shared {
    files: CpuFiles,
    account: Account,
    samples: Samples,
    ended: Option<Ended>,
}

/// The kernel's files with these times.
#[derive(Debug)]
struct CpuFiles {
    root: Root,
    clocks: Vec<(PathBuf, Vec<usize>)>,
    statistics: bool,
}

impl ModelledMeter {
    /// A meter of the CPUs below `root`, each with the powers of `table`; the
    /// table is that of the device called `device`.
    ///
    /// # Errors
    /// A file of the kernel cannot be read or parsed; the thread cannot be
    /// started.
    pub fn open(root: &Root, table: OppTable, device: &str) -> Result<Support<Self>> {
        let files = match CpuFiles::find(root)? {
            Support::Yes(files) => files,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let about = About {
            name: "model".to_owned(),
            source: files.source().to_owned(),
            origin: Origin::Modelled,
            covers: format!("the whole device, as {device} would take it"),
        };
        let account = Account::new(table, files.snapshot()?);
        let samples = Samples { good: 1, ..Samples::default() };
        let shared = Arc::new(Mutex::new(Shared { files, account, samples, ended: None }));
        let theirs = Arc::clone(&shared);
        let thread = Sampler::start("power model", PERIOD, move || lock(&theirs).charge())?;
        Ok(Support::Yes(Self { about, shared, _thread: thread }))
    }
}

impl Meter for ModelledMeter {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        let mut shared = lock(&self.shared);
        shared.charge();
        Ok(Reading {
            at: shared.account.last().at,
            energy: shared.account.device(),
            cpu: Some(shared.account.cpu()),
            samples: shared.samples,
            ended: shared.ended.clone(),
        })
    }
}

impl Shared {
    /// Charges the time since the last reading; `false` if it failed.
    fn charge(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        match self.files.snapshot() {
            Ok(snapshot) => {
                let time = snapshot.at.since(self.account.last().at);
                self.samples.good += 1;
                self.samples.longest = self.samples.longest.max(time);
                if time > PERIOD.times(2) {
                    self.samples.gaps += 1;
                    self.samples.gap_time = self.samples.gap_time + time;
                    self.samples.lost += time.get() / PERIOD.get() - 1;
                }
                self.account.add(snapshot);
            }
            Err(error) => {
                let (at, reason) = (self.account.last().at, error.to_string());
                self.ended = Some(Ended { at, reason });
            }
        }
        self.ended.is_none()
    }
}

impl CpuFiles {
    fn find(root: &Root) -> Result<Support<Self>> {
        let policies = frequency_policies(root)?;
        let Some(first) = policies.first() else {
            return Ok(Support::no(
                "the kernel has no cpufreq files here: no frequency to look up a power for",
            ));
        };
        let statistics = time_in_state(root, &first.path)?.is_some();
        let clocks = policies.into_iter().filter_map(|policy| {
            let cpus: CpuSet = policy.cpus.parse().ok()?;
            Some((policy.path, cpus.iter().collect()))
        });
        let clocks = clocks.collect();
        Ok(Support::Yes(Self { root: root.clone(), clocks, statistics }))
    }

    fn source(&self) -> &'static str {
        if self.statistics {
            "time in each frequency, and idle time of each CPU"
        } else {
            "samples of the frequency, and idle time of each CPU"
        }
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let clocks = self.clocks.iter().map(|(path, cpus)| {
            let times = if self.statistics { time_in_state(&self.root, path)? } else { None };
            let frequency = if let Some(times) = times {
                Frequency::TimeIn(times)
            } else {
                let khz = self.root.read_number(path.join("scaling_cur_freq"))?;
                Frequency::Now(Hertz::from_khz(khz))
            };
            Ok(Clock { cpus: cpus.clone(), frequency })
        });
        let clocks = clocks.collect::<Result<Vec<_>>>()?;
        let idle: BTreeMap<usize, Nanos> = idle_times(&self.root)?.into_iter().collect();
        Ok(Snapshot { at: Timestamp::now(), clocks, idle })
    }
}

/// A panic of the other thread leaves the account valid until then.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use unjank_host::{Joules, Watts};

    use super::*;
    use crate::model::Opp;

    const POLICY: &str = "sys/devices/system/cpu/cpufreq/policy0";

    /// A machine of one clock and two CPUs; the first is busy, one is not.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.write("sys/devices/system/cpu/online", "0-1\n");
            machine.write(&format!("{POLICY}/affected_cpus"), "0 1\n");
            machine.write(&format!("{POLICY}/scaling_governor"), "ondemand\n");
            machine.write(&format!("{POLICY}/scaling_cur_freq"), "1200000\n");
            machine.write(&format!("{POLICY}/stats/time_in_state"), "1200000 100\n200000 900\n");
            machine.write("proc/stat", "cpu  0 0 0 200\ncpu0 0 0 0 100\ncpu1 0 0 0 100\n");
            machine
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn open(&self) -> Support<ModelledMeter> {
            let point = Opp { frequency: Hertz::from_khz(1_200_000), busy: Watts(0.6) };
            let mut table = OppTable::new(vec![point]).unwrap();
            table.rest = Watts(1.0);
            ModelledMeter::open(&Root::at(self.0.path()), table, "a test").unwrap()
        }
    }

    #[test]
    fn cpus_that_count_no_idle_time_are_busy() {
        let machine = Machine::new();
        let mut meter = machine.open().yes().unwrap();
        assert_eq!(
            (meter.about().origin, meter.about().name.as_str()),
            (Origin::Modelled, "model")
        );
        let before = meter.read().unwrap();
        assert!(meter.pass(Nanos::from_millis(20), &|| false));
        let spent = meter.read().unwrap().since(&before);
        let seconds = spent.time.as_secs_f64();
        assert!(seconds >= 0.020 && spent.cut_short.is_none(), "{spent:?}");
        assert!((spent.cpu.unwrap().0 / seconds - 1.2).abs() < 1e-6, "{spent:?}");
        assert!((spent.power().unwrap().0 - 2.2).abs() < 1e-6, "{spent:?}");
    }

    #[test]
    fn a_clock_that_goes_away_ends_it_and_keeps_what_there_was() {
        let machine = Machine::new();
        let mut meter = machine.open().yes().unwrap();
        meter.pass(Nanos::from_millis(5), &|| false);
        let last = meter.read().unwrap();
        fs::remove_dir_all(machine.0.path().join(POLICY)).unwrap();
        let gone = meter.read().unwrap();
        let reason = gone.ended.clone().unwrap().reason;
        assert!(reason.contains("policy0/scaling_cur_freq"), "{reason}");
        // Its thread may have charged once more before the clock was gone.
        assert!(gone.energy >= last.energy && last.energy > Joules(0.0));
        assert_eq!(meter.read().unwrap().energy, gone.energy);
    }

    #[test]
    fn a_machine_without_clocks_is_not_supported() {
        let machine = Machine::new();
        fs::remove_dir_all(machine.0.path().join("sys")).unwrap();
        assert!(machine.open().reason().unwrap().contains("no cpufreq files"));
    }

    #[test]
    fn without_statistics_the_frequency_is_sampled() {
        let machine = Machine::new();
        fs::remove_dir_all(machine.0.path().join(POLICY).join("stats")).unwrap();
        let mut meter = machine.open().yes().unwrap();
        assert!(meter.about().source.starts_with("samples of the frequency"));
        meter.pass(Nanos::from_millis(5), &|| false);
        assert!(meter.read().unwrap().cpu.unwrap() > Joules(0.0));
    }
}
