//! The energy of CPUs from their frequencies and idle times. Pure.
//!
//! The kernel reports how long a clock had each frequency, and how long each CPU
//! was idle, but not how long a CPU was busy at each frequency. To charge all the
//! time in a frequency at its power would charge idle time at full power. So time
//! is cut into the intervals between two snapshots, and within each the busy time
//! is spread over the frequencies by their shares. Shorter intervals are more
//! exact, because a governor raises the clock when a CPU is busy.

use std::collections::BTreeMap;

use unjank_host::{Hertz, Joules, Nanos, Timestamp};

use crate::model::OppTable;

/// The kernel's counters at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Time of the snapshot.
    pub at: Timestamp,
    /// The clock domains of its CPUs.
    pub clocks: Vec<Clock>,
    /// Idle time since boot of each CPU that is online.
    pub idle: BTreeMap<usize, Nanos>,
}

/// One clock domain.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    /// The CPUs of the domain.
    pub cpus: Vec<usize>,
    /// What the kernel reports of the domain's frequency.
    pub frequency: Frequency,
}

/// What the kernel reports of a frequency.
#[derive(Debug, Clone, PartialEq)]
pub enum Frequency {
    /// The time in each frequency since boot.
    TimeIn(Vec<(Hertz, Nanos)>),
    /// The frequency at the moment of the snapshot.
    Now(Hertz),
}

/// Energy since the first snapshot.
#[derive(Debug, Clone)]
pub struct Account {
    table: OppTable,
    last: Snapshot,
    cpu: Joules,
    device: Joules,
    cpus: BTreeMap<usize, Cpu>,
}

/// The times of one CPU since the first snapshot.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// Online, busy or idle.
    online: Nanos,
    /// Idle, as the kernel counts it: in whole ticks.
    idle: Nanos,
    /// Busy time charged so far.
    charged: Nanos,
}

impl Account {
    /// Starts with a snapshot.
    pub fn new(table: OppTable, first: Snapshot) -> Self {
        let (cpu, device) = (Joules(0.0), Joules(0.0));
        Self { table, last: first, cpu, device, cpus: BTreeMap::new() }
    }

    /// Charges the time since the last snapshot.
    pub fn add(&mut self, snapshot: Snapshot) {
        let time = snapshot.at.since(self.last.at);
        if time == Nanos::ZERO {
            return;
        }
        for clock in &snapshot.clocks {
            let before = self.last.clocks.iter().find(|before| before.cpus == clock.cpus);
            let shares = shares(before.map(|before| &before.frequency), &clock.frequency);
            for cpu in &clock.cpus {
                let idle = snapshot.idle.get(cpu).zip(self.last.idle.get(cpu));
                // A CPU that was plugged or unplugged in between takes nothing.
                let Some((now, then)) = idle else { continue };
                let busy = self.cpus.entry(*cpu).or_default().busy(time, *now - *then);
                for &(frequency, share) in &shares {
                    let part = |time: Nanos| Nanos((time.get() as f64 * share).round() as u64);
                    let energy = self.table.cpu_energy(frequency, part(busy), part(time - busy));
                    self.cpu = self.cpu + energy;
                }
            }
        }
        self.device = self.device + self.table.rest.over(time);
        self.last = snapshot;
    }

    /// The energy of the CPUs.
    pub fn cpu(&self) -> Joules {
        self.cpu
    }

    /// The energy of the whole device, including the CPUs.
    pub fn device(&self) -> Joules {
        self.cpu + self.device
    }

    /// The snapshot up to which energy is charged.
    pub fn last(&self) -> &Snapshot {
        &self.last
    }
}

impl Cpu {
    /// The busy time of `time`, given the kernel's count of `idle` in it. The
    /// kernel counts whole ticks, so an error of one interval is corrected in the
    /// next.
    fn busy(&mut self, time: Nanos, idle: Nanos) -> Nanos {
        self.online = self.online + time;
        self.idle = self.idle + idle;
        let busy = (self.online - self.idle - self.charged).min(time);
        self.charged = self.charged + busy;
        busy
    }
}

/// The share of each frequency in the interval between two snapshots.
fn shares(before: Option<&Frequency>, now: &Frequency) -> Vec<(Hertz, f64)> {
    let (before, now) = match (before, now) {
        (Some(Frequency::TimeIn(before)), Frequency::TimeIn(now)) => (before, now),
        (Some(Frequency::Now(before)), Frequency::Now(now)) => {
            return vec![(*before, 0.5), (*now, 0.5)];
        }
        (_, Frequency::Now(now)) => return vec![(*now, 1.0)],
        (_, Frequency::TimeIn(now)) => return by_weight(now.clone()),
    };
    let then = |frequency| before.iter().find(|(hertz, _)| *hertz == frequency);
    let spent = |&(hertz, time): &(Hertz, Nanos)| {
        (hertz, time - then(hertz).map_or(Nanos::ZERO, |before| before.1))
    };
    let moved: Vec<(Hertz, Nanos)> = now.iter().map(spent).collect();
    // Shorter than a tick: assume the shares since boot.
    if moved.iter().all(|(_, time)| *time == Nanos::ZERO) {
        return by_weight(now.clone());
    }
    by_weight(moved)
}

/// The shares of `times`. If all are zero, shortly after a boot or a reset of the
/// statistics, the slowest frequency is assumed.
fn by_weight(times: Vec<(Hertz, Nanos)>) -> Vec<(Hertz, f64)> {
    let all: f64 = times.iter().map(|(_, time)| time.as_secs_f64()).sum();
    if all <= 0.0 {
        return times
            .into_iter()
            .map(|(hertz, _)| hertz)
            .min()
            .map(|hertz| (hertz, 1.0))
            .into_iter()
            .collect();
    }
    let parts = times.into_iter().filter(|(_, time)| *time > Nanos::ZERO);
    parts.map(|(hertz, time)| (hertz, time.as_secs_f64() / all)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unjank_host::Watts;

    use super::*;
    use crate::model::Opp;

    const SLOW: Hertz = Hertz::from_khz(200_000);
    const FAST: Hertz = Hertz::from_khz(1_200_000);
    const TICK: Nanos = Nanos::from_millis(10);

    fn table() -> OppTable {
        let point =
            |frequency, milliwatts| Opp { frequency, busy: Watts::from_milliwatts(milliwatts) };
        let mut table = OppTable::new(vec![point(SLOW, 200.0), point(FAST, 600.0)]).unwrap();
        (table.idle, table.rest) = (Watts::from_milliwatts(5.0), Watts::from_milliwatts(950.0));
        table
    }

    /// A stretch of time on a machine of one CPU.
    #[derive(Debug, Clone, Copy)]
    struct Stretch {
        time: Nanos,
        frequency: Hertz,
        busy: bool,
    }

    /// The exact energy of the CPU.
    fn exact(trace: &[Stretch]) -> f64 {
        let table = table();
        let energy = |stretch: &Stretch| {
            let power = if stretch.busy { table.busy_at(stretch.frequency) } else { table.idle };
            power.over(stretch.time).0
        };
        trace.iter().map(energy).sum()
    }

    /// The same from the kernel's counters, read every `period`.
    fn accounted(trace: &[Stretch], period: Nanos) -> Account {
        let mut account = Account::new(table(), snapshot(trace, Nanos::ZERO));
        let all = trace.iter().fold(Nanos::ZERO, |sum, stretch| sum + stretch.time);
        let mut at = Nanos::ZERO;
        while at < all {
            at = (at + period).min(all);
            account.add(snapshot(trace, at));
        }
        account
    }

    /// The counters at one moment, in whole ticks.
    fn snapshot(trace: &[Stretch], at: Nanos) -> Snapshot {
        let (mut slow, mut fast, mut idle, mut begin) = (0, 0, 0, 0);
        for stretch in trace {
            let time = stretch.time.get().min(at.get().saturating_sub(begin));
            begin += stretch.time.get();
            *(if stretch.frequency == SLOW { &mut slow } else { &mut fast }) += time;
            idle += if stretch.busy { 0 } else { time };
        }
        let ticks = |nanos: u64| Nanos(nanos - nanos % TICK.get());
        Snapshot {
            at: Timestamp::from_nanos(at.get()),
            clocks: vec![Clock {
                cpus: vec![0],
                frequency: Frequency::TimeIn(vec![(FAST, ticks(fast)), (SLOW, ticks(slow))]),
            }],
            idle: [(0, ticks(idle))].into(),
        }
    }

    fn stretch(millis: u64, frequency: Hertz, busy: bool) -> Stretch {
        Stretch { time: Nanos::from_millis(millis), frequency, busy }
    }

    /// A governor: idle and slow, busy and slow until the next sample, busy
    /// and fast, idle and still fast until the one after.
    fn launches(count: usize) -> Vec<Stretch> {
        let one = [
            stretch(737, SLOW, false),
            stretch(53, SLOW, true),
            stretch(331, FAST, true),
            stretch(79, FAST, false),
        ];
        one.repeat(count)
    }

    #[test]
    fn idle_time_is_not_charged_at_full_power() {
        let trace = launches(20);
        let found = accounted(&trace, Nanos::from_millis(50)).cpu().0;
        let all_in_state: f64 = trace
            .iter()
            .map(|stretch| table().busy_at(stretch.frequency).over(stretch.time).0)
            .sum();
        let truth = exact(&trace);
        assert!((found - truth).abs() < 0.03 * truth, "{found} for {truth}");
        assert!(all_in_state > 1.7 * truth, "{all_in_state} for {truth}");
    }

    #[test]
    fn more_frequent_snapshots_are_more_exact() {
        let trace = launches(50);
        let truth = exact(&trace);
        let error = |millis| {
            let found = accounted(&trace, Nanos::from_millis(millis)).cpu().0;
            (found / truth - 1.0).abs()
        };
        let [never, seldom, often] = [60_000, 400, 50].map(error);
        assert!(never > 0.1 && seldom > 2.0 * often && often < 0.02, "{never} {seldom} {often}");
    }

    #[test]
    fn the_rest_of_the_device_takes_its_power_all_the_time() {
        let account = accounted(&[stretch(2_000, SLOW, false)], Nanos::from_millis(100));
        assert!((account.cpu().0 - 0.010).abs() < 1e-9, "{account:?}");
        assert!((account.device().0 - 1.910).abs() < 1e-9, "{account:?}");
        assert_eq!(account.last().at, Timestamp::from_nanos(2_000_000_000));
    }

    #[test]
    fn empty_statistics_count_as_the_slowest_frequency() {
        let account = accounted(&[stretch(3, FAST, true)], Nanos::from_millis(1));
        assert!((account.cpu().0 - 0.2 * 0.003).abs() < 1e-9, "{account:?}");
    }

    #[test]
    fn a_cpu_that_is_unplugged_takes_nothing() {
        let mut first = snapshot(&[], Nanos::ZERO);
        first.clocks[0].frequency = Frequency::Now(FAST);
        first.clocks[0].cpus = vec![0, 1];
        first.idle.insert(1, Nanos::ZERO);
        let mut account = Account::new(table(), first.clone());
        for second in 1..=2 {
            let mut next = first.clone();
            next.at = Timestamp::from_nanos(second * 1_000_000_000);
            if second == 2 {
                next.idle.remove(&1);
            }
            account.add(next);
        }
        // Two CPUs for a second, and one for another.
        assert!((account.cpu().0 - 3.0 * 0.6).abs() < 1e-9, "{account:?}");
    }

    #[test]
    fn without_statistics_two_snapshots_share_the_time_between_them() {
        let now = |seconds: u64, frequency| Snapshot {
            at: Timestamp::from_nanos(seconds * 1_000_000_000),
            clocks: vec![Clock { cpus: vec![0], frequency: Frequency::Now(frequency) }],
            idle: [(0, Nanos::ZERO)].into(),
        };
        let mut account = Account::new(table(), now(0, SLOW));
        account.add(now(1, FAST));
        account.add(now(2, FAST));
        assert!((account.cpu().0 - 1.0).abs() < 1e-9, "{account:?}");
    }

    proptest! {
        /// If frequency and busy time are independent within an interval, only
        /// ticks are lost: a few in all, however many snapshots.
        #[test]
        fn a_constant_clock_is_charged_to_the_tick(
            parts in prop::collection::vec((1_u64..300, any::<bool>()), 1..60),
            period in 7_u64..500,
        ) {
            let trace: Vec<Stretch> =
                parts.into_iter().map(|(millis, busy)| stretch(millis, FAST, busy)).collect();
            let found = accounted(&trace, Nanos::from_millis(period)).cpu().0;
            let truth = exact(&trace);
            let two_ticks = 0.6 * 0.020;
            prop_assert!((found - truth).abs() < two_ticks, "{found} for {truth}");
        }

        /// Energy is at least that of an idle CPU and at most that of a busy one
        /// at full speed.
        #[test]
        fn energy_is_between_its_bounds(
            parts in prop::collection::vec((1_u64..300, any::<bool>(), any::<bool>()), 1..60),
            period in 3_u64..500,
        ) {
            let trace: Vec<Stretch> = parts
                .into_iter()
                .map(|(millis, fast, busy)| stretch(millis, if fast { FAST } else { SLOW }, busy))
                .collect();
            let found = accounted(&trace, Nanos::from_millis(period)).cpu().0;
            let seconds: f64 = trace.iter().map(|stretch| stretch.time.as_secs_f64()).sum();
            prop_assert!(found >= 0.005 * seconds - 1e-6 && found <= 0.6 * seconds + 1e-6);
        }
    }
}
