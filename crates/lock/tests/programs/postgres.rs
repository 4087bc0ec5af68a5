//! A PostgreSQL server of the test's own, and clients that all update one row.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use unjank_host::process::send_signal;
use unjank_needs::wait::until;

/// `SIGQUIT`, on which the server ends at once: `pg_ctl(1)`.
const AT_ONCE: i32 = 3;

/// A server that ends when dropped.
pub(crate) struct Server {
    programs: PathBuf,
    user: u32,
    dir: TempDir,
    process: Option<Child>,
    clients: Option<Child>,
}

impl Server {
    /// Makes a database and serves it; `None` without PostgreSQL.
    pub(crate) fn start() -> Option<Self> {
        // Where Debian has it, a directory for each version.
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut programs = versions.map(|version| version.path().join("bin"));
        let programs = programs.find(|it| it.join("postgres").exists());
        let user = Command::new("id").args(["-u", "postgres"]).output().ok();
        let user = user.and_then(|it| String::from_utf8_lossy(&it.stdout).trim().parse().ok());
        let (Some(programs), Some(user)) = (programs, user) else {
            unjank_needs::skip("PostgreSQL");
            return None;
        };
        let dir = tempfile::tempdir().expect("there is room");
        chown(dir.path(), Some(user), Some(user)).expect("root may do that");
        let mut it = Self { programs, user, dir, process: None, clients: None };
        let data = it.dir.path().join("data");
        let mut command = it.command("initdb");
        command.args(["--auth=trust", "--username=postgres", "--no-sync"]).arg(&data);
        assert!(command.status().is_ok_and(|status| status.success()), "{command:?}");
        let mut server = it.command("postgres");
        server.arg("-D").arg(&data).arg("-k").arg(it.dir.path());
        server.args(["-c", "listen_addresses=", "-c", "fsync=off"]);
        it.process = Some(server.spawn().expect("it is there"));
        until("the server serves", || it.ask("select 1").as_deref() == Some("1"));
        Some(it)
    }

    /// Starts `clients` clients that update one row, each in its own transaction
    /// that ends with `then`. Returns when `waiting` of them wait.
    pub(crate) fn contend(&mut self, clients: u32, then: &str, waiting: u32) {
        self.end_clients();
        let table = "create table if not exists counts as select 1 as id, 0::bigint as count";
        self.ask(table).expect("a table");
        let script = self.dir.path().join("update.sql");
        let update = "update counts set count = count + 1 where id = 1;";
        fs::write(&script, format!("begin;\n{update}\n{then}\ncommit;\n")).expect("room");
        let mut pgbench = self.command("pgbench");
        pgbench.args(["--no-vacuum", "--time=1200", "--client", &clients.to_string(), "--file"]);
        pgbench.arg(script).arg("postgres").arg("-h").arg(self.dir.path());
        self.clients = Some(pgbench.args(["-U", "postgres"]).spawn().expect("it is there"));
        let count = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
        until("clients wait for each other", || {
            let count = self.ask(count).and_then(|count| count.parse::<u32>().ok());
            count.is_some_and(|count| count >= waiting)
        });
    }

    /// Its first process.
    pub(crate) fn process(&self) -> u32 {
        self.process.as_ref().expect("it is started").id()
    }

    /// A backend of one of the clients.
    pub(crate) fn backend(&self) -> u32 {
        let query = "select min(pid) from pg_stat_activity where application_name = 'pgbench'";
        let pid = self.ask(query).and_then(|pid| pid.parse().ok());
        pid.expect("clients are connected")
    }

    fn end_clients(&mut self) {
        if let Some(mut clients) = self.clients.take() {
            let _gone = clients.kill();
            let _status = clients.wait();
        }
    }

    fn ask(&self, question: &str) -> Option<String> {
        let mut psql = self.command("psql");
        psql.args(["-U", "postgres", "--tuples-only", "--no-align", "-c", question, "-h"]);
        let output = psql.arg(self.dir.path()).stdout(Stdio::piped()).output().ok()?;
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(answer)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.uid(self.user).gid(self.user).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_clients();
        if let Some(mut server) = self.process.take() {
            let _gone = send_signal(server.id(), AT_ONCE);
            let _status = server.wait();
        }
    }
}
