//! Throughput of the simulator: governor samples per second on one core. Goal: 2 million.
//!
//! One iteration is a whole launch; its throughput is in samples.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use unjank_host::{Hertz, Nanos, Watts};
use unjank_launch::model::profile::{Begins, Step, Task};
use unjank_launch::model::{
    Boost, Governor, Launch, Machine, Opp, OppTable, Profile, Ties, Tunable, Write,
};

fn machine() -> Machine {
    let point = |mhz: u64| Opp { frequency: Hertz::from_khz(mhz * 1_000), busy: Watts(0.5) };
    let points = [200, 500, 800, 1_000, 1_200].map(point).to_vec();
    Machine {
        table: OppTable::new(points).expect("there are five points"),
        cpus: 2,
        shared: true,
        tick: Nanos::from_millis(4),
        ties: Ties::Faster,
    }
}

/// A minute in which two threads compute and sleep, so that frequencies change.
fn profile() -> Profile {
    let task = |name: &str, run, sleep| Task {
        name: name.to_owned(),
        threads: 1,
        begins: Begins::AtLaunch,
        delay: Nanos::ZERO,
        times: Some(50),
        steps: vec![Step::Runtime(Nanos::from_millis(run)), Step::Sleep(Nanos::from_millis(sleep))],
    };
    Profile {
        name: "bench".to_owned(),
        lead: Nanos::from_millis(100),
        tail: Nanos::ZERO,
        tasks: vec![task("main", 1_000, 200), task("worker", 700, 500)],
    }
}

fn samples(criterion: &mut Criterion) {
    let (machine, profile, boost) = (machine(), profile(), Boost::none());
    let mut group = criterion.benchmark_group("simulate");
    for name in ["ondemand", "ondemand:3.4", "conservative", "interactive", "schedutil"] {
        let mut governor = Governor::named(name, 2, machine.tick).expect("it is there");
        let fastest = Write { tunable: Tunable::SamplingRate, value: 10_000 };
        let activity = unjank_launch::model::governor::CpuActivity {
            now: Nanos::ZERO,
            busy: &[Nanos::ZERO; 2],
            running: 0,
        };
        let mut clock = unjank_launch::model::Clock::new(&machine.table, machine.ties);
        // Those without a sampling rate keep their own period.
        let _kept = governor.write(fastest, &activity, &mut clock);
        let launch = Launch {
            machine: &machine,
            governor: &governor,
            profile: &profile,
            boost: &boost,
            phase: Nanos::ZERO,
            record: false,
        };
        group.throughput(Throughput::Elements(launch.run().samples));
        group.bench_function(name, |bencher| bencher.iter(|| launch.run()));
    }
    group.finish();
}

criterion_group!(benches, samples);
criterion_main!(benches);
