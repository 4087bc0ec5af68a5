use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Result<Recorded> {
    Recorded::parse(text, Path::new("log.csv"))
}

fn joules(recorded: &Recorded, millis: u64) -> f64 {
    recorded.reading(Nanos::from_millis(millis)).energy.0
}

#[test]
fn columns_are_found_by_their_names_and_units() {
    for text in [
        "time,power\n10,1\n11,3\n",
        "# of a phone\nTime (ms);Current [mA];Voltage [V]\n5000;500;2\n6000;1500;2\n",
        "n,timestamp_ms,watt_mW\n1,0,1000\n2,1000,3000\n",
        "5000,5.0,0.2,1.000\n6000,5.0,0.6,3.000\n",
    ] {
        let recorded = parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(recorded.length(), Nanos::from_millis(1_000), "{text}");
        let energies = [0, 500, 1_000, 9_000].map(|millis| joules(&recorded, millis));
        for (found, exact) in energies.into_iter().zip([0.0, 0.75, 2.0, 2.0]) {
            assert!((found - exact).abs() < 1e-9, "{text}: {energies:?}");
        }
    }
}

#[test]
fn errors_name_the_line() {
    for (text, line, what) in [
        ("a,b\n1,2\n", 1, "expected the names of columns"),
        ("time,power\n1,2\n\n2,x\n", 4, "expected a number in each named column"),
        ("time,power\n1,2\n2\n", 3, "expected a number in each named column"),
        ("time,power\n1,inf\n", 2, "expected a number in each named column"),
        ("time,power\n1,1e300\n", 2, "expected a number in each named column"),
        ("time,power\n1e300,1\n", 2, "expected a number in each named column"),
        ("time,power\n1,2\n", 2, "expected at least two samples"),
        ("", 1, "expected at least two samples"),
    ] {
        let error = parsed(text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("cannot parse log.csv, line {line}: {what}")),
            "{error}"
        );
    }
}

#[test]
fn repeated_moments_are_left_out_and_counted() {
    let recorded = parsed("time,power\n0,1\n1,1\n1,50\n0.5,50\n2,1\n").unwrap();
    let reading = recorded.reading(Nanos::from_millis(2_000));
    assert_eq!(
        (reading.energy, reading.samples.good, reading.samples.damaged),
        (Joules(2.0), 3, 2)
    );
}

#[test]
fn time_passes_in_the_recording_and_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("log.csv"), "time_s,power_W\n0,2\n60,2\n").unwrap();
    let mut replay = Replay::open(&dir.path().join("log.csv"), &Stop::default()).unwrap();
    assert!(replay.pass(Nanos::from_millis(30_000), &|| false));
    let begin = replay.read().unwrap();
    assert!(replay.pass(Nanos::from_millis(20_000), &|| false));
    let spent = replay.read().unwrap().since(&begin);
    assert_eq!((spent.energy, spent.time), (Joules(40.0), Nanos::from_millis(20_000)));
    replay.pass(Nanos::from_millis(20_000), &|| false);
    let spent = replay.read().unwrap().since(&begin);
    assert_eq!((spent.energy, spent.time), (Joules(60.0), Nanos::from_millis(30_000)));
    assert_eq!(spent.cut_short.as_deref(), Some("the recording ended after 60.0 s"));
}

proptest! {
    #[test]
    fn any_text_is_a_recording_or_an_error(text in "[a-z0-9.,;\n -]{0,300}") {
        if let Ok(recorded) = parsed(&format!("time,power\n{text}")) {
            prop_assert!(recorded.reading(recorded.length()).energy.0.is_finite());
        }
        let _any = parsed(&text);
    }

    #[test]
    fn a_written_recording_is_read_back(points in prop::collection::vec((1_u32..10_000, 0_u32..10_000), 2..100)) {
        let (mut text, mut at, mut exact, mut last) = ("time_ms,power_mW\n".to_owned(), 0, 0.0, None);
        for (step, power) in points {
            at += step;
            writeln!(text, "{at},{power}").unwrap();
            if let Some(before) = last.replace(power) {
                exact += f64::from(step) * f64::from(before + power) / 2e6;
            }
        }
        let recorded = parsed(&text).unwrap();
        let found = recorded.reading(Nanos(u64::MAX)).energy.0;
        prop_assert!((found - exact).abs() < 1e-6 * (1.0 + exact), "{} {}", found, exact);
    }
}
