//! The run store on files in every condition.

mod concurrent;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use unjank_host::{ErrorClass, Machine, Nanos, Timestamp};
use unjank_measure::record::{Run, Tool};
use unjank_measure::store::{Filter, Keep, Order, Selector, Store, Stored};
use unjank_measure::{Error, Fact, Findings, RunRecord, Series, Start, Unit};

/// A run of `command` that started `seconds` after 1970.
fn record(seconds: i64, command: &str) -> RunRecord {
    let mut series = Series::new("test/series");
    (1..=100).for_each(|value| series.record(Nanos(value)));
    let mut findings = Findings::default();
    findings.series.push(series.finish());
    let run = Run {
        tool: Tool { version: "0.1.0".to_owned(), commit: None },
        command: command.to_owned(),
        host: Machine::default(),
        settings: [("padding".to_owned(), "p".repeat(10_000).into())].into(),
        findings,
        labels: vec!["modelled".to_owned()],
    };
    let date = jiff::Timestamp::from_second(seconds).expect("a date");
    Start::at(date, Timestamp::from_nanos(0), seconds as u32).finish(Timestamp::from_nanos(7), run)
}

struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("unjank").join("runs.sqlite")
    }

    fn store(&self) -> Store {
        Store::open(&self.path()).expect("it opens")
    }

    /// A store with runs that started 1, 2 … seconds after 1970.
    fn filled(runs: i64) -> (Self, Store) {
        let bench = Self::new();
        let mut store = bench.store();
        for seconds in 1..=runs {
            store.put(&record(seconds, "jitter native")).expect("it is stored");
        }
        (bench, store)
    }
}

fn ids(store: &Store) -> Vec<String> {
    let runs = store.list(&Filter::default()).expect("it is listed");
    runs.into_iter().map(|run| run.id).collect()
}

fn get(store: &Store, selector: &str) -> unjank_measure::Result<RunRecord> {
    store.get(&selector.parse::<Selector>().expect("every text is a selector"))
}

#[test]
fn stored_runs_are_found_again() {
    let (bench, _) = Bench::filled(3);
    let store = bench.store();
    assert_eq!(
        ids(&store),
        ["19700101T000003-000003", "19700101T000002-000002", "19700101T000001-000001"]
    );
    assert_eq!(get(&store, "last").unwrap(), record(3, "jitter native"));
    assert_eq!(get(&store, "last~2").unwrap().id, "19700101T000001-000001");
    assert_eq!(get(&store, "19700101T000002").unwrap().id, "19700101T000002-000002");

    let newest = &store.list(&Filter { limit: Some(1), ..Filter::default() }).unwrap()[0];
    assert_eq!(newest.command, "jitter native");
    assert_eq!(newest.started_at, "1970-01-01T00:00:03Z");
    assert_eq!((newest.elapsed, newest.tool.as_str()), (Nanos(7), "0.1.0"));
    assert_eq!(newest.labels, ["modelled"]);
    assert!(newest.size.get() > 10_000);
    assert!(newest.host.starts_with("kernel "), "{}", newest.host);
}

#[test]
fn opening_a_missing_store_creates_nothing() {
    let bench = Bench::new();
    let mut store = bench.store();
    assert!(ids(&store).is_empty());
    let error = get(&store, "last").unwrap_err();
    assert_eq!(error.to_string(), format!("no run last in {}", bench.path().display()));
    assert_eq!(error.class(), ErrorClass::Usage);
    assert!(store.prune(Keep::Newest(0), false).unwrap().is_empty());
    assert!(!bench.path().parent().unwrap().exists());
}

#[test]
fn the_store_is_private() {
    let (bench, _store) = Bench::filled(1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&bench.path()), 0o600);
    assert_eq!(mode(bench.path().parent().unwrap()), 0o700);
}

#[test]
fn a_run_is_named_by_a_unique_beginning_of_its_id() {
    let (_bench, mut store) = Bench::filled(12);
    let error = get(&store, "19700101T00000").unwrap_err().to_string();
    assert_eq!(
        error,
        "19700101T00000 matches 9 runs: 19700101T000001-000001, \
         19700101T000002-000002, 19700101T000003-000003 …"
    );
    // An id that another one begins with is still a whole id.
    let mut short = record(1, "jitter native");
    short.id = "19700101T000012".to_owned();
    store.put(&short).unwrap();
    assert_eq!(get(&store, "19700101T000012").unwrap().id, "19700101T000012");
    for nothing in ["last~13", "2026", "", "%", "19700101T000001-00000_"] {
        assert!(matches!(get(&store, nothing), Err(Error::NoRun { .. })), "{nothing}");
    }
}

#[test]
fn a_list_can_be_of_one_command_or_of_a_delay() {
    let bench = Bench::new();
    let mut store = bench.store();
    for (seconds, command) in [(1, "jitter native"), (2, "jitter jvm"), (3, "lock probe")] {
        store.put(&record(seconds, command)).unwrap();
    }
    let listed = |command: &str| {
        let filter = Filter { command: Some(command.to_owned()), ..Filter::default() };
        store.list(&filter).unwrap().len()
    };
    assert_eq!(["jitter", "jitter jvm", "jit", "lock probe x", ""].map(listed), [2, 1, 0, 0, 0]);
}

#[test]
fn the_run_that_was_stored_last_is_known_after_the_clock_was_set_back() {
    let bench = Bench::new();
    let mut store = bench.store();
    for (seconds, command) in [(3, "first"), (1, "second"), (2, "third")] {
        store.put(&record(seconds, command)).unwrap();
    }
    let listed = |order| {
        let entries = store.list(&Filter { order, ..Filter::default() }).unwrap();
        entries.into_iter().map(|entry| entry.command).collect::<Vec<String>>()
    };
    assert_eq!(listed(Order::Started), ["first", "third", "second"]);
    assert_eq!(listed(Order::Stored), ["third", "second", "first"]);
}

#[test]
fn a_run_is_stored_once_and_another_with_its_id_is_refused() {
    let (_bench, mut store) = Bench::filled(1);
    let mut run = record(1, "jitter native");
    assert_eq!(store.put(&run).unwrap(), Stored::Already);
    run.elapsed += 1;
    let error = store.put(&run).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Usage);
    assert_eq!(
        error.to_string(),
        "run 19700101T000001-000001 was not stored: the store already has another run \
         19700101T000001-000001"
    );
    assert_eq!(get(&store, "last").unwrap().elapsed, run.elapsed - 1);
}

#[test]
fn an_imported_record_keeps_fields_that_this_version_does_not_know() {
    let bench = Bench::new();
    let mut store = bench.store();
    let mut text = record(1, "jitter native").to_json();
    text.insert_str(1, "\"of_a_later_version\": 42,");
    let (read, stored) = store.import(&text, "phone.json").unwrap();
    assert_eq!((read.id.as_str(), stored), ("19700101T000001-000001", Stored::New));
    assert_eq!(store.text(&Selector::Last(0)).unwrap().1, text);
    let error = store.import("{}", "phone.json").unwrap_err();
    assert!(error.to_string().starts_with("phone.json is not a run record"), "{error}");
}

#[test]
fn pruning_keeps_the_newest_and_gives_space_back() {
    let (bench, mut store) = Bench::filled(40);
    let before = fs::metadata(bench.path()).unwrap().len();
    let pruned = store.prune(Keep::Newest(5), true).unwrap();
    assert_eq!((pruned.len(), ids(&store).len()), (35, 40));
    assert_eq!(store.prune(Keep::Newest(5), false).unwrap(), pruned);
    assert_eq!(ids(&store).len(), 5);
    assert_eq!(ids(&store)[0], "19700101T000040-000028");
    assert!(fs::metadata(bench.path()).unwrap().len() < before / 3);

    let since = Keep::Since(jiff::Timestamp::from_second(39).unwrap());
    assert_eq!(store.prune(since, false).unwrap().len(), 3);
    assert_eq!(ids(&store).len(), 2);
    assert_eq!(store.delete(&Selector::Last(1)).unwrap(), "19700101T000039-000027");
    assert_eq!(ids(&store), ["19700101T000040-000028"]);
}

#[test]
fn a_damaged_record_affects_no_other() {
    let (bench, store) = Bench::filled(3);
    let raw = Connection::open(bench.path()).unwrap();
    raw.execute("UPDATE run SET record = substr(record, 1, 500) WHERE started = 2000000", [])
        .unwrap();
    raw.execute("UPDATE run SET record = x'ff00ff' WHERE started = 1000000", []).unwrap();
    assert_eq!(ids(&store).len(), 3);
    assert_eq!(get(&store, "last").unwrap().id, "19700101T000003-000003");
    let error = get(&store, "last~1").unwrap_err().to_string();
    let origin = format!("run 19700101T000002-000002 in {} is damaged: ", bench.path().display());
    assert!(error.starts_with(&origin) && error.contains("EOF while parsing"), "{error}");
    assert!(get(&store, "last~2").unwrap_err().to_string().ends_with("it is not text"));
}

#[test]
fn a_later_store_is_read_and_left_as_it_is() {
    let (bench, store) = Bench::filled(2);
    drop(store);
    Connection::open(bench.path()).unwrap().execute_batch("PRAGMA user_version = 3").unwrap();
    let before = fs::read(bench.path()).unwrap();
    let mut store = bench.store();
    assert_eq!(ids(&store).len(), 2);
    let error = store.put(&record(9, "jitter native")).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsupported);
    assert!(
        error.to_string().ends_with(
            "was written by a later unjank (store version 3, this one knows 1) and is left as it is"
        ),
        "{error}"
    );
    assert!(store.prune(Keep::Newest(0), false).is_err());
    assert_eq!(fs::read(bench.path()).unwrap(), before);
}

#[test]
fn a_file_of_another_kind_is_reported_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("thing");
    let said = |path: &Path| Store::open(path).unwrap_err().to_string();

    fs::write(&path, "a letter to a friend, long enough to have a header".repeat(40)).unwrap();
    assert!(said(&path).ends_with("is not a run store: it is not an SQLite database"));
    assert!(said(directory.path()).ends_with("is not a run store: it is a directory"));

    let other = directory.path().join("other.sqlite");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE bookmarks (url)").unwrap();
    assert!(said(&other).ends_with("it is the database of another program"));
    assert_eq!(Store::open(&other).unwrap_err().class(), ErrorClass::Usage);

    // An empty file is what a crash leaves between making it and filling it.
    let empty = directory.path().join("empty");
    fs::write(&empty, "").unwrap();
    let mut store = Store::open(&empty).unwrap();
    assert!(ids(&store).is_empty());
    store.put(&record(1, "jitter native")).unwrap();
    assert_eq!(ids(&Store::open(&empty).unwrap()).len(), 1);
}

#[test]
fn a_truncated_or_scribbled_store_is_an_error_never_a_crash() {
    let (bench, store) = Bench::filled(8);
    drop(store);
    let whole = fs::read(bench.path()).unwrap();
    let broken = bench.directory.path().join("broken.sqlite");
    let mut failures = 0;
    for cut in (1..whole.len()).step_by(1_777) {
        fs::write(&broken, &whole[..cut]).unwrap();
        failures += usize::from(try_everything(&broken).is_err());
    }
    assert!(failures > 3, "{failures}");
    for place in (0..whole.len()).step_by(997) {
        let mut scribbled = whole.clone();
        scribbled[place..(place + 16).min(whole.len())].fill(0xa5);
        fs::write(&broken, &scribbled).unwrap();
        let _either = try_everything(&broken);
    }
}

fn try_everything(path: &Path) -> unjank_measure::Result<()> {
    let mut store = Store::open(path)?;
    store.list(&Filter::default())?;
    for back in 0..8 {
        store.get(&Selector::Last(back))?;
    }
    store.put(&record(99, "jitter native"))?;
    store.prune(Keep::Newest(1), false)?;
    Ok(())
}

/// A power cut in the middle of a write: the file and its journal as they are
/// on the disk while a transaction is half done.
#[test]
fn a_write_that_was_cut_off_is_undone() {
    let (bench, store) = Bench::filled(6);
    let before = ids(&store);
    let whole = fs::read(bench.path()).unwrap();
    let after = tempfile::tempdir().unwrap();
    let raw = Connection::open(bench.path()).unwrap();
    raw.execute_batch(
        "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;
         UPDATE run SET record = replace(record, 'p', 'q'), command = 'half done';",
    )
    .unwrap();
    assert_ne!(fs::read(bench.path()).unwrap(), whole, "nothing was written yet");
    for name in ["runs.sqlite", "runs.sqlite-journal"] {
        let from = bench.path().with_file_name(name);
        fs::copy(from, after.path().join(name)).unwrap();
    }
    let survived = Store::open(&after.path().join("runs.sqlite")).unwrap();
    assert_eq!(ids(&survived), before);
    assert_eq!(get(&survived, "last").unwrap(), record(6, "jitter native"));
}

#[test]
fn root_makes_no_store_where_a_link_of_somebody_else_leads() {
    let bench = Bench::new();
    let at = |name: &str| bench.directory.path().join(name);
    let store = |name: &str| Store::open(&at(name)).and_then(|mut s| s.put(&record(1, "with")));
    std::os::unix::fs::symlink(at("elsewhere.sqlite"), at("link.sqlite")).expect("a link");
    store("link.sqlite").expect("this user's own link is followed");
    fs::remove_file(at("elsewhere.sqlite")).expect("the store is where the link leads");
    if std::os::unix::fs::lchown(at("link.sqlite"), Some(65534), None).is_err() {
        return println!("without root, links cannot be given to another user");
    }
    let refused = store("link.sqlite").expect_err("the link of another user");
    assert_eq!(refused.class(), ErrorClass::Permission, "{refused}");
    assert!(!at("elsewhere.sqlite").exists());
}

#[test]
fn root_reads_a_store_of_others_and_writes_none() {
    let (bench, store) = Bench::filled(2);
    drop(store);
    let directory = bench.path().parent().expect("its directory").to_owned();
    if std::os::unix::fs::chown(&directory, Some(65534), None).is_err() {
        return println!("without root, directories cannot be given to another user");
    }
    let before = fs::read(bench.path()).expect("it is there");
    // SQLite would wait for a writer of this one.
    let mut mkfifo = std::process::Command::new("mkfifo");
    let made = mkfifo.arg(directory.join("runs.sqlite-journal")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let mut store = bench.store();
    assert_eq!(store.list(&Filter::default()).expect("it is read").len(), 2);
    let refused = store.put(&record(3, "with")).expect_err("others can write there");
    assert_eq!(refused.class(), ErrorClass::Permission, "{refused}");
    assert!(refused.to_string().contains("root only reads such a store"), "{refused}");
    let new = Store::open(&directory.join("new.sqlite")).and_then(|mut it| it.put(&record(1, "x")));
    assert_eq!(new.expect_err("nothing is made there").class(), ErrorClass::Permission);
    assert_eq!(fs::read(bench.path()).expect("it is there"), before);
    assert_eq!(fs::read_dir(directory).expect("a directory").count(), 2);
}

#[test]
fn a_schema_that_would_execute_code_is_refused() {
    for planted in [
        "ALTER TABLE run RENAME TO other; CREATE VIEW run AS WITH RECURSIVE c(x) AS (SELECT 1 \
         UNION ALL SELECT x + 1 FROM c) SELECT x AS id, 1 AS started FROM c",
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",
    ] {
        let (bench, store) = Bench::filled(1);
        drop(store);
        let planter = Connection::open(bench.path()).expect("it opens");
        planter.execute_batch(planted).expect("it is planted");
        drop(planter);
        let refused = Store::open(&bench.path()).expect_err("it is none");
        assert!(matches!(refused, Error::NotAStore { .. }), "{refused}");
    }
}

#[test]
fn every_number_is_read_as_it_was_stored() {
    let bench = Bench::new();
    let mut store = bench.store();
    let mut stored = record(1, "ipc throughput");
    // The parser must be exact: another one reads the last of these as 9455.166158536584.
    for value in [0.1 + 0.2, 423_049.149_314_907_15, f64::MIN_POSITIVE, 9_455.166_158_536_585] {
        stored.findings.facts.push(Fact::new("test/value", value, Unit::Nanoseconds));
    }
    store.put(&stored).expect("it is stored");
    let read = store.get(&Selector::Last(0)).expect("it is there");
    let values = |record: &RunRecord| {
        record.findings.facts.iter().map(|fact| fact.value.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(values(&read), values(&stored));
}
