//! `unjank launch boost` with the running kernel's process connector and the
//! recorded clock of a phone: which launches are boosted, how, and the reports.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod boosted;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use boosted::{IDLE, MIN, NOBODY, Phone, RATE, sees_starts, until};

#[test]
fn the_clock_is_up_while_a_launch_runs_and_exactly_back_afterwards() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let mut service = phone.boost(&[]);
    let app = phone.launch_busy(MIN, "1200000");
    let process = app.id();
    phone.let_end(app);
    phone.until_reads(MIN, "200000");
    // A child in the process group of its parent does not count as a launch.
    let mut follower = Command::new(phone.app());
    let mut follower = follower.args(["-c", IDLE]).stdin(Stdio::piped()).spawn().unwrap();
    let rejected = || service.status()["counts"]["not"]["follower"].as_u64();
    until("the child is rejected", || rejected() >= Some(1));
    follower.wait().unwrap();
    let mut second = phone.launch(IDLE);
    service.until_said(&format!("boosted {} ({})", phone.app().display(), second.id()));
    second.wait().unwrap();
    let boosts = service.boosts();
    assert_eq!(boosts.len(), 2, "one line each: {boosts:#?}");
    let first = format!("boosted {} ({process}) for ", phone.app().display());
    assert!(boosts[0].starts_with(&first), "{}", boosts[0]);
    assert!(boosts[0].contains("; 1 knob raised "), "{}", boosts[0]);

    let status = service.status();
    assert_eq!((&status["counts"]["launches"], &status["latency"]["n"]), (&2.into(), &2.into()));
    assert!(status["counts"]["boosted"].as_u64().unwrap() >= 20_000_000, "{status}");
    assert_eq!(service.end(), Some(0));
    assert_eq!(phone.read(MIN), "200000");
}

#[test]
fn children_of_a_launch_belong_to_it() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let service = phone.boost(&[]);
    // The first process only waits; the second one is busy.
    let busy = format!("{} -c '{}'; true", phone.app().display(), phone.busy());
    let app = phone.launch(&busy);
    phone.until_reads(MIN, "1200000");
    thread::sleep(Duration::from_millis(600));
    assert_eq!(phone.read(MIN), "1200000", "{}", service.log());
    phone.let_end(app);
    phone.until_reads(MIN, "200000");
    until("the boost is logged", || !service.boosts().is_empty());
    assert_eq!(service.boosts().len(), 1, "{:#?}", service.boosts());
    assert_eq!(service.status()["counts"]["launches"], 1);
}

#[test]
fn a_period_is_shortened_and_a_double_tap_writes_twice() {
    if !sees_starts() {
        return;
    }
    // For each method, whether the knob is written again while boosted.
    for (options, twice) in
        [(&["--method", "sampling-rate"][..], false), (&["--double-tap=3s"], true)]
    {
        let phone = Phone::new();
        let service = phone.boost(options);
        let app = phone.launch_busy(RATE, "50000");
        let written = || fs::metadata(phone.file(RATE)).map(|file| file.mtime_nsec()).unwrap();
        let first = written();
        if twice {
            until("it is written again", || written() != first);
        } else {
            thread::sleep(Duration::from_millis(600));
            assert_eq!(written(), first);
        }
        assert_eq!(phone.read(RATE), "50000");
        let second = written();
        thread::sleep(Duration::from_millis(600));
        assert_eq!(written(), second, "{}", service.log());
        assert_eq!(phone.read(MIN), "200000", "another method's");
        phone.let_end(app);
        phone.until_reads(RATE, "100000");
    }
}

#[test]
fn rules_select_the_launches_to_boost() {
    if !sees_starts() {
        return;
    }
    let Some(group) = ControlGroup::new() else { return };
    let place = |name: &str| -> String { format!("control_groups = [\"*/{name}\"]") };
    for rule in ["users = [\"nobody\"]", &place(&group.name), "not_executables = [\"*/app\"]"] {
        let phone = Phone::new().with("launch", rule);
        let service = phone.boost(&[]);
        // They stay until the service has examined them.
        let mut as_nobody = Command::new(phone.app());
        as_nobody.args(["-c", IDLE]).uid(NOBODY);
        let mut in_group = Command::new("sh");
        let app = phone.app();
        let inside = "echo $$ > \"$1\"/cgroup.procs && exec \"$2\" -c \"$3\"";
        in_group.args(["-c", inside, "sh"]).arg(&group.path).args([app.as_os_str(), IDLE.as_ref()]);
        let apart =
            |command: &mut Command| command.process_group(0).stdin(Stdio::piped()).spawn().unwrap();
        let apps = [phone.launch(IDLE), apart(&mut as_nobody), apart(&mut in_group)];
        let wanted = u64::from(!rule.contains("not_"));
        let reason = match rule {
            rule if rule.contains("users") => "user",
            rule if rule.contains("groups") => "control-group",
            _ => "executable",
        };
        // Only the three processes of this test run the app of its rules.
        let counts = || service.status()["counts"].clone();
        let passed = |reason: &str| counts()["not"][reason].as_u64().unwrap_or(0);
        until(rule, || passed(reason) >= 3 - wanted);
        until(rule, || counts()["launches"] == wanted);
        until(rule, || service.boosts().len() as u64 == wanted);
        for mut app in apps {
            app.wait().unwrap();
        }
    }
}

/// A directory in the unified hierarchy.
struct ControlGroup {
    name: String,
    path: std::path::PathBuf,
}

impl ControlGroup {
    fn new() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let unified = |line: &&str| line.split(' ').nth(2) == Some("cgroup2");
        let place = mounts.lines().find(unified).and_then(|line| line.split(' ').nth(1));
        let name = format!("unjank-test-{}", std::process::id());
        let path = place.map(|place| std::path::Path::new(place).join(&name));
        let made = path.filter(|path| fs::create_dir(path).is_ok());
        if made.is_none() {
            unjank_needs::skip("a unified hierarchy of control groups");
        }
        made.map(|path| Self { name, path })
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _gone = fs::remove_dir(&self.path);
    }
}

#[test]
fn a_used_up_budget_ends_a_boost_and_lets_none_begin() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let service = phone.boost(&["--budget", "100ms"]);
    let app = phone.launch_busy(MIN, "1200000");
    service.until_said(": budget used up; 1 knob raised ");
    phone.until_reads(MIN, "200000");
    let mut idle = phone.launch(IDLE);
    until("it is rejected", || service.status()["counts"]["not"]["budget"].as_u64() >= Some(1));
    idle.wait().unwrap();
    phone.let_end(app);
    assert_eq!(service.status()["counts"]["launches"], 1);
    assert_eq!((service.boosts().len(), phone.read(MIN).as_str()), (1, "200000"));
}

#[test]
fn the_state_is_written_for_prometheus() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let file = phone.path("boost.prom");
    let service = phone.boost(&["--metrics-file", file.to_str().unwrap()]);
    let mut idle = phone.launch(IDLE);
    until("the boost is logged", || service.boosts().len() == 1);
    idle.wait().unwrap();
    service.status();
    let text = fs::read_to_string(file).unwrap();
    let mut families = 0;
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            families += usize::from(comment.starts_with("TYPE "));
            assert!(comment.starts_with("HELP ") || comment.starts_with("TYPE "), "{line}");
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("unjank_boost_"), "{line}");
        assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
    }
    assert!(families > 8, "{text}");
    assert!(text.contains("\nunjank_boost_boosts_total 1\n"), "{text}");
    assert!(text.contains("\nunjank_boost_launches_total{result=\"boosted\"} 1\n"), "{text}");
}
