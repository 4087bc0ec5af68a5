use proptest::prelude::*;

use super::*;
use crate::model::clock::Khz;
use crate::model::clock::tests::exynos_table;
use crate::model::profile::{Begins, Step, Task};
use crate::model::tunable::Tunable;

fn millis(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn machine(cpus: usize) -> Machine {
    Machine { table: exynos_table(), cpus, shared: true, tick: millis(5), ties: Ties::Faster }
}

fn governor(name: &str, cpus: usize) -> Governor {
    Governor::named(name, cpus, millis(5)).unwrap()
}

fn task(threads: usize, steps: Vec<Step>) -> Task {
    Task {
        name: "t".to_owned(),
        threads,
        begins: Begins::AtLaunch,
        delay: Nanos::ZERO,
        times: Some(1),
        steps,
    }
}

fn profile(tasks: Vec<Task>) -> Profile {
    Profile { name: "p".to_owned(), lead: millis(1_000), tail: millis(200), tasks }
}

fn outcome(machine: &Machine, name: &str, profile: &Profile, phase: Nanos) -> Simulated {
    let governor = governor(name, machine.cpus_of_a_clock());
    let boost = Boost::none();
    Launch { machine, governor: &governor, profile, boost: &boost, phase, record: true }.run()
}

#[test]
fn at_full_speed_a_launch_takes_as_long_as_its_work() {
    let work = profile(vec![task(1, vec![Step::Run(millis(300)), Step::Sleep(millis(50))])]);
    let machine = machine(1);
    let fast = outcome(&machine, "performance", &work, Nanos::ZERO);
    assert_eq!(fast.launch, Some(millis(350)));
    // 300 ms at 629 mW, 250 ms idle at 5 mW, and 550 ms of the rest.
    assert!((fast.cpu.0 - (0.3 * 0.629 + 0.25 * 0.005)).abs() < 1e-9, "{:?}", fast.cpu);
    assert!((fast.rest.0 - 0.55 * 0.952).abs() < 1e-9);
    let slow = outcome(&machine, "powersave", &work, Nanos::ZERO);
    assert_eq!(slow.launch, Some(millis(1_850)));
}

#[test]
fn wall_time_does_not_depend_on_the_clock() {
    let work = profile(vec![task(1, vec![Step::Runtime(millis(300))])]);
    let slow = outcome(&machine(1), "powersave", &work, Nanos::ZERO);
    assert_eq!(slow.launch, Some(millis(300)));
}

#[test]
fn threads_share_cpus() {
    let work = profile(vec![task(3, vec![Step::Run(millis(100))])]);
    let one = outcome(&machine(1), "performance", &work, Nanos::ZERO);
    assert_eq!(one.launch, Some(millis(300)));
    // Two on one CPU, one on the other, for 100 ms; then each of the two has
    // a CPU and half of its work before it.
    let two = outcome(&machine(2), "performance", &work, Nanos::ZERO);
    assert_eq!(two.launch, Some(millis(150)));
    let three = outcome(&machine(3), "performance", &work, Nanos::ZERO);
    assert_eq!(three.launch, Some(millis(100)));
}

#[test]
fn current_ondemand_evaluates_when_the_launch_begins_and_a_period_later() {
    let work = profile(vec![task(1, vec![Step::Run(millis(300))])]);
    let found = outcome(&machine(1), "ondemand", &work, Nanos::ZERO);
    let [up, ..] = found.transitions[..] else { panic!("{found:?}") };
    assert_eq!((up.at - found.begins, up.khz), (millis(100), Khz(1_200_000)));
    // 100 ms at a sixth of the speed do 16.7 ms of the work.
    let launch = found.launch.unwrap().as_secs_f64();
    assert!((launch - (0.1 + 0.3 - 0.1 / 6.0)).abs() < 1e-6, "{launch}");
}

/// When a launch gets full speed under a boost. The governor's last evaluation
/// was 40 ms before the launch.
fn up_after(name: &str, boost: &Boost) -> Nanos {
    let machine = machine(1);
    let governor = governor(name, 1);
    let mut beat = task(1, vec![Step::Runtime(millis(1)), Step::Timer(millis(10))]);
    (beat.begins, beat.times) = (Begins::AtStart, None);
    let work = profile(vec![beat, task(1, vec![Step::Run(millis(500))])]);
    let launch = Launch {
        machine: &machine,
        governor: &governor,
        profile: &work,
        boost,
        phase: millis(40),
        record: true,
    };
    launch.check().unwrap();
    let outcome = launch.run();
    let full = outcome.transitions.iter().find(|change| change.khz == Khz(1_200_000));
    full.unwrap().at - outcome.begins
}

#[test]
fn boosts_take_effect_as_fast_as_the_kernel_allows() {
    let reaction = millis(1);
    let plain = Boost::plain(reaction, Tunable::SamplingRate, 50_000, 100_000);
    // After 60 ms a sample of a window that was partly idle, and a period
    // later one that was not.
    for era in ["ondemand", "ondemand:3.0", "ondemand:3.4", "ondemand:3.13"] {
        assert_eq!(up_after(era, &Boost::none()), millis(160), "{era}");
    }
    assert_eq!(up_after("ondemand:3.0", &plain), millis(110));
    // Rearmed: 50 ms after the tick before the write, and once more.
    assert_eq!(up_after("ondemand:3.4", &plain), millis(100));
    assert_eq!(up_after("ondemand:3.13", &plain), millis(100));
    // After the write it evaluates when the background task sleeps, after 2 ms,
    // and again 50 ms later.
    assert_eq!(up_after("ondemand", &plain), millis(52));
    // The second write is seen at the tick after 13 ms.
    let tap = Boost::double_tap(reaction, millis(12), 100_000, 100_000);
    assert_eq!(up_after("ondemand", &tap), millis(15));
    let raised = Boost::min_freq(reaction, 1_200_000, 200_000);
    assert_eq!(up_after("ondemand", &raised), reaction);
    assert_eq!(up_after("ondemand:3.0", &raised), reaction);
}

#[test]
fn after_silence_one_write_is_enough() {
    // The launch itself made ondemand evaluate the load, so the window until the
    // write is entirely busy.
    let machine = machine(1);
    let governor = governor("ondemand", 1);
    let work = profile(vec![task(1, vec![Step::Run(millis(500))])]);
    let boost = Boost::plain(millis(1), Tunable::SamplingRate, 50_000, 100_000);
    let phase = Nanos::ZERO;
    let launch = Launch {
        machine: &machine,
        governor: &governor,
        profile: &work,
        boost: &boost,
        phase,
        record: true,
    };
    let outcome = launch.run();
    assert_eq!(outcome.transitions[0].at - outcome.begins, millis(5));
}

#[test]
fn limits_are_restored_after_the_launch() {
    let machine = machine(1);
    let governor = governor("ondemand", 1);
    let work = profile(vec![task(1, vec![Step::Run(millis(100))])]);
    let boost = Boost::min_freq(Nanos::ZERO, 1_200_000, 200_000);
    let phase = Nanos::ZERO;
    let launch = Launch {
        machine: &machine,
        governor: &governor,
        profile: &work,
        boost: &boost,
        phase,
        record: true,
    };
    assert_eq!(launch.run().launch, Some(millis(100)));
}

#[test]
fn a_boost_that_the_governor_refuses_fails_the_check() {
    let machine = machine(1);
    let governor = governor("schedutil", 1);
    let work = profile(vec![task(1, vec![Step::Run(millis(100))])]);
    let boost = Boost::plain(Nanos::ZERO, Tunable::SamplingRate, 50_000, 100_000);
    let phase = Nanos::ZERO;
    let launch = Launch {
        machine: &machine,
        governor: &governor,
        profile: &work,
        boost: &boost,
        phase,
        record: false,
    };
    assert_eq!(launch.check().unwrap_err().to_string(), "this governor has no sampling_rate");
}

#[test]
fn the_mean_over_phases_is_that_of_an_even_spread() {
    // On 3.0, a launch at the moment x of a period of 100 ms gets full speed
    // after a full window, 100 + (100 − x) ms later: 150 ms on average, of which
    // five sixths are lost.
    let machine = machine(1);
    let governor = governor("ondemand:3.0", 1);
    let work = Profile::launch(millis(1_000), Nanos::ZERO, 1);
    let boost = Boost::none();
    let phase = Nanos::ZERO;
    let launch = Launch {
        machine: &machine,
        governor: &governor,
        profile: &work,
        boost: &boost,
        phase,
        record: false,
    };
    let phases = over_phases(&launch, millis(100), 50).unwrap();
    let fast = outcome(&machine, "performance", &work, Nanos::ZERO).launch.unwrap();
    let lost = phases.mean_seconds() - fast.as_secs_f64();
    assert!((0.115..0.135).contains(&lost), "{lost}");
    assert_eq!(phases.launches.len(), 50);
    assert!(phases.min() < phases.mean() && phases.mean() < phases.max());
}

fn any_step() -> impl Strategy<Value = Step> {
    let length = (1_u64..60_000).prop_map(Nanos::from_micros);
    (0..4, length).prop_map(|(kind, length)| match kind {
        0 => Step::Run(length),
        1 => Step::Runtime(length),
        2 => Step::Sleep(length),
        _ => Step::Timer(length),
    })
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let task = (1_usize..3, proptest::collection::vec(any_step(), 1..6))
        .prop_map(|(threads, steps)| task(threads, steps));
    proptest::collection::vec(task, 1..4).prop_map(profile)
}

fn any_governor() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(crate::model::governor::NAMES.to_vec())
}

proptest! {
    #[test]
    fn frequencies_stay_in_the_table_and_energy_sums_up(
        profile in any_profile(),
        name in any_governor(),
        cpus in 1_usize..4,
        phase in 0_u64..100,
    ) {
        let machine = machine(cpus);
        let found = outcome(&machine, name, &profile, millis(phase));
        let table = &machine.table;
        for change in &found.transitions {
            let known = table.points().iter().any(|p| Khz::from(p.frequency) == change.khz);
            prop_assert!(known, "{change:?}");
        }
        prop_assert_eq!(found.transitions.len() as u64, found.changes);
        // Energy is between that of idle CPUs and that of busy ones.
        let time = found.length.as_secs_f64() * cpus as f64;
        let most = time * 0.629;
        prop_assert!(found.cpu.0 >= time * 0.005 - 1e-9 && found.cpu.0 <= most + 1e-9);
        let launch = found.launch.unwrap();
        prop_assert_eq!(found.length, launch + profile.tail);
        // The simulation is deterministic.
        prop_assert_eq!(outcome(&machine, name, &profile, millis(phase)), found);
    }

    #[test]
    fn no_governor_beats_full_speed(work in 1_u64..400, name in any_governor()) {
        let machine = machine(1);
        let work = profile(vec![task(1, vec![Step::Run(millis(work))])]);
        let fast = outcome(&machine, "performance", &work, Nanos::ZERO).launch;
        prop_assert!(outcome(&machine, name, &work, Nanos::ZERO).launch >= fast);
    }

    #[test]
    fn more_work_takes_longer(work in 1_u64..400, more in 1_u64..100, name in any_governor()) {
        let machine = machine(1);
        let launch = |work| {
            let work = profile(vec![task(1, vec![Step::Run(millis(work))])]);
            outcome(&machine, name, &work, Nanos::ZERO).launch
        };
        prop_assert!(launch(work) < launch(work + more));
    }

    #[test]
    fn a_higher_load_never_gets_a_lower_frequency(load in 0_u64..100, name in any_governor()) {
        let after = |load: u64| {
            let mut governor = governor(name, 1);
            let mut clock = crate::model::Clock::new(&exynos_table(), Ties::Faster);
            clock.begin_at(Khz(800_000));
            let activity = |now, busy| crate::model::governor::CpuActivity { now, busy, running: 1 };
            governor.start(&activity(Nanos::ZERO, &[Nanos::ZERO]), &mut clock);
            let busy = [Nanos::from_micros(load * 1_000)];
            governor.on_tick(&activity(millis(100), &busy), &mut clock);
            clock.current()
        };
        prop_assert!(after(load) <= after(load + 1));
    }
}
