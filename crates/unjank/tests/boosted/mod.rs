//! A tree of files that represents a phone, `unjank launch boost` on it, and
//! programs of this machine that are launched.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value;
use unjank_host::process::send_signal;

/// Files of the phone's frequency limit and governor.
pub(crate) const MIN: &str = "cpu0/cpufreq/scaling_min_freq";
pub(crate) const RATE: &str = "cpufreq/ondemand/sampling_rate";
pub(crate) const KILL: i32 = 9;
pub(crate) const TERMINATE: i32 = 15;
/// User id of nobody.
pub(crate) const NOBODY: u32 = 65534;
/// A script that idles until the test waits for its end, or has ended.
pub(crate) const IDLE: &str = "read end";

/// Whether program starts can be detected on this machine.
pub(crate) fn sees_starts() -> bool {
    let unjank = Command::new(unjank()).args(["launch", "boost", "plan", "--json"]).output();
    let plan: Value = serde_json::from_slice(&unjank.unwrap().stdout).unwrap();
    let reason = plan["exec"].as_str();
    if let Some(reason) = reason {
        unjank_needs::skip(format!("root: {reason}"));
    }
    reason.is_none()
}

pub(crate) fn unjank() -> &'static str {
    unjank_needs::unjank!()
}

pub(crate) use unjank_needs::wait::until;

/// The recorded tree of the Exynos 4210, and a program to launch. The service's rules match
/// only this program, not those of other tests. Boosts may last 60 s, so that none ends on a
/// busy machine before the test has taken its next step.
pub(crate) struct Phone {
    dir: tempfile::TempDir,
    config: String,
}

impl Phone {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let phone = Self { config: String::new(), dir };
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../host/fixtures/panel-exynos4210")
            .canonicalize()
            .unwrap();
        let copied = Command::new("cp").arg("-r").arg(fixture).arg(phone.path("root")).status();
        assert!(copied.unwrap().success());
        unjank_needs::copy_program("/bin/sh", phone.app());
        let executables = format!("executables = [\"{}\"]", phone.app().display());
        let long = "longest = \"60s\"\nbudget = \"60s\"\nlearn = false";
        phone.with("launch", &executables).with("boost", long)
    }

    /// Appends to a section of the configuration.
    pub(crate) fn with(mut self, section: &str, line: &str) -> Self {
        let header = format!("[{section}]\n");
        if !self.config.contains(&header) {
            self.config.push_str(&header);
        }
        self.config = self.config.replace(&header, &format!("{header}{line}\n"));
        fs::write(self.path("boost.toml"), &self.config).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The launched program: a shell under another name.
    pub(crate) fn app(&self) -> PathBuf {
        self.path("app")
    }

    pub(crate) fn file(&self, knob: &str) -> PathBuf {
        self.path("root/sys/devices/system/cpu").join(knob)
    }

    pub(crate) fn read(&self, knob: &str) -> String {
        fs::read_to_string(self.file(knob)).unwrap().trim_end().to_owned()
    }

    pub(crate) fn until_reads(&self, knob: &str, value: &str) {
        until(&format!("{knob} is {value}"), || self.read(knob) == value);
    }

    pub(crate) fn journals(&self) -> usize {
        let all = fs::read_dir(self.path("state")).unwrap().map(Result::unwrap);
        all.filter(|entry| entry.path().extension().is_some_and(|end| end == "journal")).count()
    }

    /// The command of the service.
    pub(crate) fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(unjank());
        // The power profile of the machine must not matter.
        command.env("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/no/such/bus");
        self.arguments(&mut command, options);
        command
    }

    /// Its arguments.
    pub(crate) fn arguments(&self, command: &mut Command, options: &[&str]) {
        self.arguments_at(&self.path("socket"), command, options);
    }

    /// Its arguments, with another socket.
    pub(crate) fn arguments_at(&self, socket: &Path, command: &mut Command, options: &[&str]) {
        command.args(["launch", "boost", "--no-store", "--root"]).arg(self.path("root"));
        command.arg("--config").arg(self.path("boost.toml"));
        command.arg("--state-dir").arg(self.path("state")).arg("--socket");
        command.arg(socket).args(options).stdin(Stdio::null());
    }

    /// Starts the service and waits until it is ready.
    pub(crate) fn boost(&self, options: &[&str]) -> Service<'_> {
        self.boost_with(self.command(options))
    }

    /// As [`boost`](Self::boost), after another one has ended.
    pub(crate) fn boost_again(&self, options: &[&str]) -> Service<'_> {
        fs::remove_file(self.path("notify")).unwrap();
        self.boost(options)
    }

    /// As [`boost`](Self::boost), with another command.
    pub(crate) fn boost_with(&self, mut command: Command) -> Service<'_> {
        let notified = UnixDatagram::bind(self.path("notify")).unwrap();
        command.env("NOTIFY_SOCKET", self.path("notify")).stdout(Stdio::null());
        command.stderr(File::create(self.path("log")).unwrap());
        let child = command.spawn().unwrap();
        let mut service = Service { child, notified: heard(notified), phone: self };
        service.until_ready();
        service
    }

    /// Starts the program with a script, in its own process group, as a user starts
    /// programs. Its standard input ends when it is waited for.
    pub(crate) fn launch(&self, script: &str) -> Child {
        let mut app = Command::new(self.app());
        app.args(["-c", script]).process_group(0).stdin(Stdio::piped()).spawn().unwrap()
    }

    /// A script that keeps a CPU busy until [`let_end`](Self::let_end).
    pub(crate) fn busy(&self) -> String {
        let (end, there) = (self.path("end"), self.path("boost.toml"));
        // A failed test leaves no busy process.
        format!("while [ -e {} ] && [ ! -e {} ]; do :; done", there.display(), end.display())
    }

    /// Launches a program that is busy until [`let_end`](Self::let_end), and waits
    /// until `knob` has the value `boosted`.
    pub(crate) fn launch_busy(&self, knob: &str, boosted: &str) -> Child {
        let _from_the_last_one = fs::remove_file(self.path("end"));
        let child = self.launch(&self.busy());
        self.until_reads(knob, boosted);
        child
    }

    pub(crate) fn let_end(&self, mut child: Child) {
        fs::write(self.path("end"), "").unwrap();
        child.wait().unwrap();
    }

    /// Runs `unjank launch boost VERB` on the service, as `user`.
    pub(crate) fn ask(&self, verb: &str, options: &[&str], user: u32) -> Output {
        // Other users may not be able to read the build directory.
        let program = self.path("unjank");
        if !program.exists() {
            // `cp` makes the copy. If this process did, a program that another test starts
            // meanwhile could inherit the open copy, and its execution would fail (ETXTBSY).
            let copied = Command::new("cp").arg(unjank()).arg(&program).status().unwrap();
            assert!(copied.success());
        }
        let mut command = Command::new(program);
        command.args(["launch", "boost", verb]).args(options).arg("--socket");
        command.arg(self.path("socket")).uid(user).gid(user).output().unwrap()
    }
}

/// The notifications, line by line. A thread reads them, so that senders never block.
fn heard(notified: UnixDatagram) -> Receiver<String> {
    let (pass_on, lines) = channel();
    thread::spawn(move || {
        let mut message = [0; 1024];
        while let Ok(length) = notified.recv(&mut message) {
            let text = String::from_utf8_lossy(&message[..length]);
            if text.lines().any(|line| pass_on.send(line.to_owned()).is_err()) {
                return;
            }
        }
    });
    lines
}

/// A running service.
pub(crate) struct Service<'a> {
    pub(crate) child: Child,
    notified: Receiver<String>,
    phone: &'a Phone,
}

impl Service<'_> {
    fn until_ready(&mut self) {
        until("it is ready", || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it has ended: {}", self.log());
            self.notified.try_iter().any(|line| line == "READY=1")
        });
    }

    /// Waits until the service has notified systemd with `wanted`.
    pub(crate) fn until_notified(&self, wanted: &str) {
        until(wanted, || self.notified.try_iter().any(|line| line == wanted));
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.phone.path("log")).unwrap()
    }

    /// Its log lines about boosts.
    pub(crate) fn boosts(&self) -> Vec<String> {
        let log = self.log();
        log.lines().filter(|line| line.starts_with("boosted ")).map(str::to_owned).collect()
    }

    /// Waits until a field of its state has this value.
    pub(crate) fn until_status(&self, field: &str, value: bool) {
        until(&format!("{field} is {value}"), || self.status()[field] == value);
    }

    pub(crate) fn until_said(&self, words: &str) {
        until(&format!("{words:?} in {}", self.log()), || self.log().contains(words));
    }

    pub(crate) fn status(&self) -> Value {
        let output = self.phone.ask("status", &["--json"], 0);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{message}{}", self.log());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Ends it with a signal, and returns its exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        send_signal(self.child.id(), TERMINATE).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _waited_for = self.child.wait();
    }
}
