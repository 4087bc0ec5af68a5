//! Launches as Android reports them: moves to the foreground, in a real control
//! group of this machine, and its log, as recorded.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod boosted;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use boosted::{MIN, Phone};

/// A control group that processes can be moved to: in the cpuset hierarchy, as on
/// Android, or the unified one.
struct TopApp(PathBuf);

impl TopApp {
    fn new() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let places = mounts.lines().filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (place, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
            let is_cpuset = kind == "cgroup" && options.split(',').any(|one| one == "cpuset");
            (is_cpuset || kind == "cgroup2").then(|| Path::new(place).to_owned())
        });
        let name = format!("unjank-top-app-{}", std::process::id());
        let made = places.map(|place| place.join(&name)).find(|path| {
            let made = fs::create_dir(path).is_ok();
            let set = |file: &str| {
                let above = fs::read_to_string(path.parent().unwrap().join(file));
                // The unified hierarchy has these only where they are switched on.
                let _unset = above.and_then(|value| fs::write(path.join(file), value.trim()));
            };
            set("cpuset.cpus");
            set("cpuset.mems");
            made
        });
        if made.is_none() {
            unjank_needs::skip("root and control groups");
        }
        made.map(Self)
    }

    fn list(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for TopApp {
    fn drop(&mut self) {
        let _gone = fs::remove_dir(&self.0);
    }
}

/// A process that idles until it is killed.
fn idle() -> Child {
    Command::new("sleep").arg("600").spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_foreground_process_is_boosted_until_it_is_idle() {
    let Some(top) = TopApp::new() else { return };
    let phone = Phone::new();
    let app = idle();
    let already_there = idle();
    fs::write(top.list(), already_there.id().to_string()).unwrap();
    let config = format!("[detect]\nexec = false\ntop_app = [\"{}\"]\n", top.list().display());
    fs::write(phone.path("boost.toml"), config).unwrap();
    let service = phone.boost(&["--longest", "20s"]);
    fs::write(top.list(), app.id().to_string()).unwrap();
    service.until_said(&format!("sleep ({}) for ", app.id()));
    phone.until_reads(MIN, "200000");
    let boosts = service.boosts();
    assert_eq!(boosts.len(), 1, "{boosts:#?}");
    assert!(boosts[0].contains(": settled; 1 knob raised "), "{}", boosts[0]);
    let status = service.status();
    assert_eq!(status["sources"], serde_json::json!(["top-app"]));
    assert_eq!((&status["counts"]["launches"], &status["counts"]["execs"]), (&1.into(), &0.into()));
    end(app);
    end(already_there);
    drop(top);
}

#[test]
fn the_log_begins_and_ends_boosts() {
    let phone = Phone::new();
    let app = idle();
    let shown = phone.path("shown");
    let script = format!(
        "echo '11-21 20:01:02.3  1810  2045 I am_proc_start: [0,{0},10263,com.example.mail,\
         pre-top-activity,{{com.example.mail/com.example.mail.MainActivity}}]'; \
         echo 'I am_proc_start: [0,{0},10263,com.example.sync,service,{{x/y}}]'; \
         while [ ! -e {1} ]; do sleep 0.01; done; \
         echo 'I wm_activity_launch_time: [0,2313,com.example.mail/.MainActivity,498]'; \
         exec sleep 600",
        app.id(),
        shown.display()
    );
    // The window is so long that the launch does not settle before it is on screen.
    let config = format!(
        "[detect]\nexec = false\nlogcat = [\"sh\", \"-c\", {script:?}]\n[boost]\nlongest = \
         \"60s\"\n[end]\nwindow = \"50s\"\n"
    );
    fs::write(phone.path("boost.toml"), config).unwrap();
    let service = phone.boost(&["--budget", "60s"]);
    phone.until_reads(MIN, "1200000");
    assert_eq!(
        service.status()["launches"],
        serde_json::json!({ app.id().to_string(): "com.example.mail" })
    );
    fs::write(&shown, "").unwrap();
    phone.until_reads(MIN, "200000");
    service.until_said(&format!("boosted com.example.mail ({}) for ", app.id()));
    let boosts = service.boosts();
    assert!(boosts.len() == 1 && boosts[0].contains(": on screen; "), "{boosts:#?}");
    end(app);
}

#[test]
fn the_end_of_the_log_is_reported() {
    let phone = Phone::new();
    let config = "[detect]\nexec = false\nlogcat = [\"echo\", \"nothing\"]\n";
    fs::write(phone.path("boost.toml"), config).unwrap();
    let mut service = phone.boost(&[]);
    service.until_said("logcat is left alone: the system's log has ended");
    assert_eq!(service.status()["sources"], serde_json::json!([]));
    assert_eq!(service.end(), Some(0));
}
