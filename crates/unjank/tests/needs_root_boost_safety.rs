//! `unjank launch boost` with failures, ends, and other programs that change its
//! knobs: with the running kernel's process connector and the recorded clock of
//! a phone.

// A skipped test prints why.
#![allow(clippy::print_stdout)]

mod boosted;
#[path = "../../launch/examples/boost_kills/kills.rs"]
mod kills;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use boosted::{IDLE, KILL, MIN, NOBODY, Phone, RATE, sees_starts, unjank, until};
use kills::{KillSetup, kill_many, watch};
use unjank_host::process::send_signal;

#[test]
fn a_knob_that_another_program_sets_is_taken_again_with_its_new_value() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let mut service = phone.boost(&[]);
    let app = phone.launch_busy(MIN, "1200000");
    fs::write(phone.file(MIN), "500000").unwrap();
    phone.let_end(app);
    service.until_said(&format!("{MIN} is left alone: another program changed it"));
    assert_eq!(phone.read(MIN), "500000");
    service.until_said(&format!("{MIN}: 500000 → 1200000"));
    phone.let_end(phone.launch_busy(MIN, "1200000"));
    phone.until_reads(MIN, "500000");
    let status = service.status();
    assert_eq!(status["counts"]["knobs_lost"], 1);
    assert_eq!((service.end(), phone.read(MIN).as_str()), (Some(0), "500000"));
}

#[test]
fn a_knob_that_another_program_keeps_changing_is_left_to_it() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let service = phone.boost(&[]);
    // The value differs each time: a limit that still shows its former value may only take
    // effect late.
    for theirs in ["500000", "600000", "700000", "800000"] {
        let app = phone.launch_busy(MIN, "1200000");
        let lost = service.status()["counts"]["knobs_lost"].as_u64().unwrap();
        fs::write(phone.file(MIN), theirs).unwrap();
        phone.let_end(app);
        until("it is given up", || service.status()["counts"]["knobs_lost"] == lost + 1);
        if lost < 3 {
            until("it is taken again", || {
                !service.status()["moves"].as_array().unwrap().is_empty()
            });
        }
    }
    service.until_said("is not taken again: other programs keep changing it");
    let mut idle = phone.launch(IDLE);
    until("the launch is counted", || service.status()["counts"]["launches"] == 5);
    idle.wait().unwrap();
    assert_eq!(phone.read(MIN), "800000");
}

#[test]
fn a_pause_ends_boosts_until_it_is_over() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let service = phone.boost(&[]);
    let app = phone.launch_busy(MIN, "1200000");
    assert_eq!(phone.ask("pause", &[], 0).status.code(), Some(0));
    phone.until_reads(MIN, "200000");
    service.until_said(": paused; 1 knob raised ");
    phone.let_end(app);
    assert_eq!(service.status()["paused"], true);
    let mut idle = phone.launch(IDLE);
    until("it is rejected", || service.status()["counts"]["not"]["paused"].as_u64() >= Some(1));
    idle.wait().unwrap();
    assert_eq!(phone.ask("resume", &[], 0).status.code(), Some(0));
    phone.let_end(phone.launch_busy(MIN, "1200000"));
    phone.until_reads(MIN, "200000");
    let status = service.status();
    assert_eq!((&status["paused"], &status["counts"]["boosts"]), (&false.into(), &2.into()));
}

#[test]
fn hundreds_of_connections_of_another_user_do_not_delay_root() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let service = phone.boost(&[]);
    // Every second one asks.
    let connect = |number| {
        let mut stream = UnixStream::connect(phone.path("socket")).unwrap();
        if number % 2 == 0 {
            // A connection that was dropped for a newer one takes no question.
            let _dropped = stream.write_all(b"{\"do\":\"status\"}\n");
        }
        stream
    };
    let connect_all = || {
        let nobody = rustix::process::Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        (0..600).map(connect).collect::<Vec<_>>()
    };
    // In a thread of its own, which stays the user nobody until it ends.
    let crowd = thread::scope(|scope| scope.spawn(connect_all).join().unwrap());
    for (verb, paused) in [("pause", true), ("resume", false)] {
        assert_eq!(phone.ask(verb, &[], 0).status.code(), Some(0));
        assert_eq!(service.status()["paused"], paused);
    }
    drop(crowd);
}

#[test]
fn everybody_may_read_the_state_and_the_socket_s_group_may_change_it() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let service = phone.boost(&[]);
    let seen = phone.ask("status", &[], NOBODY);
    let text = String::from_utf8(seen.stdout).unwrap();
    assert_eq!(seen.status.code(), Some(0));
    assert!(
        text.contains("waiting for launches\ndetects launches by: exec\nchanges /sys"),
        "{text}"
    );
    for verb in ["pause", "resume"] {
        let refused = phone.ask(verb, &[], NOBODY);
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(4), "{message}");
        assert!(message.contains("root, or the group of the socket"), "{message}");
    }
    assert_eq!(service.status()["paused"], false);
    chown(phone.path("socket"), None, Some(NOBODY)).unwrap();
    assert_eq!(phone.ask("pause", &[], NOBODY).status.code(), Some(0));
    assert_eq!(service.status()["paused"], true);
}

#[test]
fn sigterm_in_a_boost_puts_everything_back() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let mut service = phone.boost(&[]);
    let app = phone.launch_busy(MIN, "1200000");
    assert_eq!(service.end(), Some(0));
    assert_eq!((phone.read(MIN).as_str(), phone.journals()), ("200000", 0));
    assert!(service.log().contains(": service stopped; 1 knob raised "), "{}", service.log());
    service.until_notified("STOPPING=1");
    assert!(!phone.path("socket").exists());
    phone.let_end(app);
    let unheard = phone.ask("status", &[], 0);
    let message = String::from_utf8(unheard.stderr).unwrap();
    assert!(message.contains("no service listens at "), "{message}");
    assert!(message.contains("; sudo unjank launch boost starts one"), "{message}");
    assert_eq!(unheard.status.code(), Some(3));
}

#[test]
fn the_keeper_puts_back_what_a_killed_service_has_raised() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let mut service = phone.boost(&["--double-tap"]);
    let app = phone.launch_busy(RATE, "50000");
    send_signal(service.child.id(), KILL).unwrap();
    phone.until_reads(RATE, "100000");
    service.child.wait().unwrap();
    until("the journal is cleared", || phone.journals() == 0);
    phone.let_end(app);
    // A service starts although a killed one has left its socket.
    assert_eq!(phone.boost_again(&[]).end(), Some(0));
}

#[test]
fn killed_at_any_moment_every_knob_has_its_first_value() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let count = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let setup = KillSetup {
        unjank: Path::new(unjank()),
        root: &phone.path("root"),
        directory: &phone.path("."),
        launch: &["/bin/sh", "-c", count].map(str::to_owned),
    };
    let seen = watch(&setup, "double-tap");
    let values = ["100000", "50000", "100000"].map(str::to_owned);
    assert_eq!(seen, [(phone.file(RATE), values)]);
    let killed = kill_many(&setup, 30, 3);
    println!("{killed}");
    assert_eq!(killed.all(), 30);
    assert!(killed.hits > 0 && killed.keepers > 0, "{killed}");
}

#[test]
fn a_second_service_is_refused_and_touches_nothing() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let service = phone.boost(&[]);
    let refused = |socket: &str| {
        let mut command = Command::new(unjank());
        phone.arguments_at(&phone.path(socket), &mut command, &[]);
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        message
    };
    assert!(refused("socket").starts_with("error: another service listens at "));
    let message = refused("elsewhere");
    assert!(
        message.contains(&format!("held by another unjank, process {}", service.child.id())),
        "{message}"
    );
    phone.let_end(phone.launch_busy(MIN, "1200000"));
    phone.until_reads(MIN, "200000");
}

#[test]
fn the_watchdog_is_notified() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let mut command = phone.command(&[]);
    command.env("WATCHDOG_USEC", "400000");
    let service = phone.boost_with(command);
    for _ in 0..3 {
        service.until_notified("WATCHDOG=1");
    }
}

#[test]
fn a_machine_where_nothing_can_be_boosted_says_what_can_be_done() {
    if !sees_starts() {
        return;
    }
    let phone = Phone::new();
    let knob = phone.file(MIN).display().to_string();
    let program = Command::new(unjank());
    let mut in_namespace = Command::new("unshare");
    let script = "mount --bind $0 $0 && mount -o remount,ro,bind $0 && exec \"$@\"";
    in_namespace.args(["--mount", "sh", "-c", script, &knob]).arg(program.get_program());
    phone.arguments(&mut in_namespace, &[]);
    let output = in_namespace.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("cannot be changed: it is mounted read-only here"), "{message}");

    fs::write(phone.file("cpu0/cpufreq/scaling_governor"), "performance\n").unwrap();
    let none = |words: &str| {
        let output = phone.command(&[]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{message}");
        assert!(message.contains(words) && message.contains("unjank launch ramp"), "{message}");
    };
    none("its governor is performance: the clock is always up");
    fs::remove_dir_all(phone.path("root/sys/devices/system/cpu/cpu0/cpufreq")).unwrap();
    none("no clock of this machine can be changed: it has no cpufreq");
}

#[test]
fn mistakes_in_the_configuration_are_reported_with_file_and_line() {
    for (wrong, words) in [
        ("[boost]\nlongset = \"3s\"\n", "boost.toml, line 2: unknown field `longset`"),
        (
            "[end]\n\nlook = 10\n",
            "boost.toml, line 3: invalid type: integer `10`, expected a length of time",
        ),
        ("[boost]\nbudget = \"20\"\n", "boost.toml, line 2: "),
    ] {
        let phone = Phone::new();
        fs::write(phone.path("boost.toml"), wrong).unwrap();
        let output = phone.command(&[]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.starts_with("error: cannot parse ") && message.contains(words),
            "{message}"
        );
        assert!(!phone.path("state").exists(), "nothing was begun");
    }
}
