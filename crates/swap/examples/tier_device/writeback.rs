//! `unjank swap tierd` beside a process of which some pages come back and others stay away.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use unjank_host::process::send_signal;

use crate::beside::beside;
use crate::kernel::{self, WrittenBack};
use crate::memory_device::MemoryDevice;
use crate::tier::{run as unjank, until};
use crate::{Result, user};

const SOCKET: &str = "/run/tierd-test.sock";
/// A process that uses its hot pages more often than once a second.
const HOT_AND_COLD: [&str; 2] = ["hot-and-cold", "300"];
/// One that uses them after a time in which they are written back by age alone.
const WARM: [&str; 2] = ["hot-and-cold", "6000"];
/// One that sleeps for longer than a measurement takes.
const AWAY: [&str; 2] = ["hot-and-cold", "180000"];
/// One whose pages are swapped in as fast as they are swapped out.
const THRASHING: [&str; 1] = ["thrash"];
/// The time of a measurement.
const MEASURED: Duration = Duration::from_secs(90);
/// How often the service is killed.
const KILLS: u32 = 10;
/// Pages that it may write within a small budget.
const BUDGET: u64 = 256;
/// `CAP_SYS_ADMIN` of `include/uapi/linux/capability.h`.
const CAP_SYS_ADMIN: libc::c_ulong = 21;
/// The time that shows that nothing is written.
const NOTHING: Duration = Duration::from_secs(4);

/// `stays`, `kills`, `budget` or `age`.
pub(crate) fn run(part: &str) -> Result<()> {
    let backing = MemoryDevice::start(user::SIZE)?;
    match part {
        "stays" => what_comes_back_stays(&backing.path()),
        "kills" => killed_at_any_moment(&backing.path()),
        "budget" => budget_and_pause(&backing.path()),
        "age" => by_age_alone(&backing.path()),
        _ => Err(format!("{part} is no part").into()),
    }
}

/// Pages that stay away are written back, those that come back are not, and no page is changed.
fn what_comes_back_stays(backing: &str) -> Result<()> {
    let zram = WrittenBack::swap_to(user::SIZE, backing)?;
    beside(&HOT_AND_COLD, || {
        let service = Service::start(&["--after", "3s"])?;
        until(|| Ok(count(&Service::status()?, "stayed_away")? >= user::COLD))?;
        let before = Service::status()?;
        until(|| {
            let again = count(&Service::status()?, "came_back")? - count(&before, "came_back")?;
            Ok(again >= 3 * user::HOT)
        })?;
        let status = Service::status()?;
        let (back, from_device) =
            (count(&status, "came_back")?, count(&status, "came_back_demoted")?);
        println!("writeback: {back} pages came back");
        println!("writeback: {from_device} of them from the device");
        print!("{}", unjank(&["swap", "tierd", "status", "--socket", SOCKET])?);
        service.end()
    })?;
    println!("writeback: {} pages read back", zram.statistics()?[1]);
    zram.turn_off()
}

/// Counts what is read and written beside two processes whose pages are hot, warm and cold.
pub(crate) fn measure(policy: &str) -> Result<()> {
    let backing = MemoryDevice::start(user::SIZE)?;
    let zram = WrittenBack::swap_to(user::SIZE, &backing.path())?;
    beside(&HOT_AND_COLD, || {
        beside(&WARM, || {
            let service = Service::start(&["--after", "3s", "--policy", policy])?;
            println!("{policy}: {:.2} % of a CPU beside both", cost()?);
            print!("{}", unjank(&["swap", "tierd", "status", "--socket", SOCKET])?);
            let [pages, reads, writes] = zram.statistics()?;
            println!("{policy}: {pages} pages on the device, {reads} read, {writes} written");
            service.end()
        })
    })?;
    zram.turn_off()
}

/// The service's CPU time beside a process that sleeps with its pages in swap, and beside one that
/// has pages come back all the time.
pub(crate) fn measure_cost() -> Result<()> {
    let backing = MemoryDevice::start(user::SIZE)?;
    let zram = WrittenBack::swap_to(user::SIZE, &backing.path())?;
    for (name, user) in [("idle", &AWAY[..]), ("thrashing", &THRASHING)] {
        beside(user, || {
            let service = Service::start(&["--after", "3s"])?;
            until(|| Ok(count(&Service::status()?, "stayed_away")? >= user::COLD))?;
            let before = kernel::counter(user::PAGE_INS)?;
            let cost = cost()?;
            let page_ins = (kernel::counter(user::PAGE_INS)? - before) / MEASURED.as_secs();
            println!("{name}: {cost:.2} % of a CPU, {page_ins} page-ins each second");
            service.end()
        })?;
    }
    zram.turn_off()
}

/// The share of a CPU that the service takes, in percent.
fn cost() -> Result<f64> {
    let cpu_time = || {
        let status = Service::status()?;
        status["cpu_time"].as_f64().ok_or_else(|| format!("no cpu_time: {status}").into())
    };
    let before: f64 = cpu_time()?;
    thread::sleep(MEASURED);
    let spent: Result<f64> = cpu_time();
    Ok((spent? - before) / MEASURED.as_nanos() as f64 * 100.0)
}

/// zram goes on without the service, also beside processes whose pages come and go.
fn killed_at_any_moment(backing: &str) -> Result<()> {
    let zram = WrittenBack::swap_to(user::SIZE, backing)?;
    let kill_all = || {
        for kill in 0..KILLS {
            let service = Service::start(&["--after", "1s"])?;
            let (started, writes) = (Instant::now(), zram.statistics()?[2]);
            // Some are killed as soon as they have begun to write, others before or after that.
            let until_killed = Duration::from_millis(300 * u64::from(KILLS - kill));
            until(|| {
                let has_begun = kill % 2 == 0 && zram.statistics()?[2] > writes;
                Ok(has_begun || started.elapsed() >= until_killed)
            })?;
            service.kill()?;
        }
        Ok(())
    };
    beside(&HOT_AND_COLD, || beside(&["churn"], kill_all))?;
    println!("writeback: {KILLS} services killed, {} pages written", zram.statistics()?[2]);
    zram.turn_off()
}

/// No more is written than the user allows.
fn budget_and_pause(backing: &str) -> Result<()> {
    let zram = WrittenBack::swap_to(user::SIZE, backing)?;
    beside(&HOT_AND_COLD, || {
        let service = Service::start(&["--after", "1s", "--per-day", "1MiB"])?;
        unjank(&["swap", "tierd", "pause", "--socket", SOCKET])?;
        let paused_at = zram.statistics()?[2];
        thread::sleep(NOTHING);
        if zram.statistics()?[2] != paused_at {
            return Err("it wrote while it was paused".into());
        }
        unjank(&["swap", "tierd", "resume", "--socket", SOCKET])?;
        until(|| Ok(zram.statistics()?[2] >= BUDGET))?;
        thread::sleep(NOTHING);
        service.end()
    })?;
    println!("writeback: {} pages written within the budget", zram.statistics()?[2]);
    zram.turn_off()
}

/// Where it is not known which pages are in zram.
fn by_age_alone(backing: &str) -> Result<()> {
    let zram = WrittenBack::swap_to(user::SIZE, backing)?;
    beside(&HOT_AND_COLD, || {
        let service = Service::start_blind(&["--after", "2s", "--per-day", "1MiB"])?;
        until(|| Ok(Service::status()?["stopped"] == "budget"))?;
        thread::sleep(NOTHING);
        service.end()?;
        println!("writeback: {} pages written without a budget for all", zram.statistics()?[2]);

        let service = Service::start_blind(&["--after", "2s"])?;
        until(|| Ok(zram.statistics()?[2] >= user::COLD))?;
        print!("{}", unjank(&["swap", "tierd", "status", "--socket", SOCKET])?);
        service.end()
    })?;
    println!("writeback: {} pages written by age", zram.statistics()?[2]);
    println!("writeback: {} pages read back", zram.statistics()?[1]);
    zram.turn_off()
}

/// The service.
struct Service(Child);

impl Service {
    /// Starts it, and waits until it runs.
    fn start(options: &[&str]) -> Result<Self> {
        Self::start_as(Command::new("unjank"), options)
    }

    /// Starts one that cannot see which pages are in zram.
    fn start_blind(options: &[&str]) -> Result<Self> {
        let mut command = Command::new("unjank");
        let drop_capability = || {
            // SAFETY: the call changes this process alone.
            match unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure makes a system call only.
        unsafe { command.pre_exec(drop_capability) };
        Self::start_as(command, options)
    }

    fn start_as(mut command: Command, options: &[&str]) -> Result<Self> {
        command.args(["swap", "tierd", "--no-store", "--socket", SOCKET]).args(options);
        let mut process = command.stderr(Stdio::piped()).spawn()?;
        let mut messages = BufReader::new(process.stderr.take().ok_or("no messages")?);
        let mut line = String::new();
        messages.read_line(&mut line)?;
        if !line.contains("writing cold pages of ") {
            return Err(line.into());
        }
        let tell = |line: String| eprintln!("{line}");
        thread::spawn(move || messages.lines().map_while(std::io::Result::ok).for_each(tell));
        Ok(Self(process))
    }

    fn status() -> Result<Value> {
        let text = unjank(&["swap", "tierd", "status", "--json", "--socket", SOCKET])?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Ends it as a user does.
    fn end(mut self) -> Result<()> {
        send_signal(self.0.id(), libc::SIGTERM)?;
        let status = self.0.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the service: {status}").into()) }
    }

    fn kill(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

fn count(status: &Value, name: &str) -> Result<u64> {
    status["counts"][name].as_u64().ok_or_else(|| format!("no {name}: {status}").into())
}
