//! `unjank launch boost` beside the real power-profiles-daemon, on the test's own bus and
//! without the machine's drivers, so that no real profile changes. A stand-in for polkit
//! authorizes every request.
//!
//! Needs root, power-profiles-daemon and dbus. Without them, fails if `UNJANK_TEST_ALL=1`,
//! otherwise prints that it was skipped.

mod boosted;
mod message_bus;

use std::path::Path;
use std::process::Command;

use boosted::{IDLE, MIN, Phone, sees_starts};
use dbus::Message;
use dbus::arg::Variant;
use message_bus::Bus;
use unjank_host::power_profile::PowerProfiles;
use unjank_host::process::Helper;
use unjank_needs::wait;

/// Path in Debian and Fedora.
const DAEMON: &str = "/usr/libexec/power-profiles-daemon";
/// Runs the daemon where it finds no drivers, and no state of an earlier run.
const ALONE: &str = "for dir in /sys/devices /sys/firmware /var/lib; do \
                     mount -t tmpfs none \"$dir\" || exit; done; exec \"$0\"";
const NAME: &str = "net.hadess.PowerProfiles";

fn is_here() -> bool {
    let there = Path::new(DAEMON).exists() && message_bus::is_there();
    sees_starts() && unjank_needs::is_there("power-profiles-daemon and dbus-daemon", there)
}

fn start_daemon(bus: &Bus) -> Helper {
    let mut daemon = Command::new("unshare");
    daemon.args(["--mount", "sh", "-c", ALONE, DAEMON]);
    let daemon = message_bus::quietly(daemon.env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address));
    wait::until("power-profiles-daemon", || choose(bus, "balanced"));
    daemon
}

/// Chooses a profile, as a desktop does. Returns whether the daemon accepted it.
fn choose(bus: &Bus, profile: &str) -> bool {
    let value = Variant(profile.to_owned());
    let mut message = Message::call_with_args(
        NAME,
        "/net/hadess/PowerProfiles",
        "org.freedesktop.DBus.Properties",
        "Set",
        (NAME, "ActiveProfile", value),
    );
    message.set_auto_start(false);
    bus.call(message).is_ok()
}

#[test]
fn nothing_is_boosted_while_the_profile_is_power_saver() {
    if !is_here() {
        return;
    }
    let phone = Phone::new();
    let bus = Bus::start(&phone.path("root"));
    let mut command = phone.command(&[]);
    command.env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address);
    let mut service = phone.boost_with(command);
    assert_eq!(service.status()["power_saver"], false);
    // It begins after the service of boosts, and ends a boost.
    let app = phone.launch_busy(MIN, "1200000");
    let daemon = start_daemon(&bus);
    assert!(choose(&bus, "power-saver"));
    service.until_said("power profile power-saver: launches are not boosted");
    phone.until_reads(MIN, "200000");
    phone.let_end(app);
    service.until_said(": power saver; ");
    service.until_status("power_saver", true);
    let mut app = phone.launch(IDLE);
    // The profile counts before a program is examined, so other programs are counted as well.
    let rejected = || service.status()["counts"]["not"]["power-saver"].as_u64() > Some(0);
    wait::until("it is rejected", rejected);
    app.wait().unwrap();
    let shown = phone.ask("status", &[], 0);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("not boosting: the power profile is power-saver"), "{shown}");
    // A request to resume does not override the profile.
    phone.ask("resume", &[], 0);
    assert_eq!(service.status()["power_saver"], true);

    assert!(choose(&bus, "balanced"));
    service.until_said("power profile power-saver no longer: launches are boosted again");
    phone.let_end(phone.launch_busy(MIN, "1200000"));
    phone.until_reads(MIN, "200000");

    // A profile of a daemon that has ended does not last.
    assert!(choose(&bus, "power-saver"));
    service.until_status("power_saver", true);
    drop(daemon);
    service.until_status("power_saver", false);
    assert_eq!(service.end(), Some(0));
    assert_eq!(service.boosts().len(), 2, "{}", service.log());
}

#[test]
fn a_profile_that_was_chosen_before_counts_and_ends_with_its_bus() {
    if !is_here() {
        return;
    }
    let phone = Phone::new();
    let bus = Bus::start(&phone.path("root"));
    let daemon = start_daemon(&bus);
    assert!(choose(&bus, "power-saver"));
    let mut command = phone.command(&[]);
    command.env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address);
    let mut service = phone.boost_with(command);
    service.until_status("power_saver", true);
    drop((daemon, bus));
    service.until_status("power_saver", false);
    assert_eq!(service.end(), Some(0));
}

#[test]
fn a_configuration_boosts_in_power_saver_too() {
    if !is_here() {
        return;
    }
    let phone = Phone::new().with("boost", "in_power_saver = true");
    let bus = Bus::start(&phone.path("root"));
    let _daemon = start_daemon(&bus);
    assert!(choose(&bus, "power-saver"));
    let profiles = PowerProfiles::connect(&bus.address).yes().unwrap();
    assert!(profiles.is_power_saver().unwrap());
    let mut command = phone.command(&[]);
    command.env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address);
    let mut service = phone.boost_with(command);
    phone.let_end(phone.launch_busy(MIN, "1200000"));
    assert_eq!(service.end(), Some(0));
}
