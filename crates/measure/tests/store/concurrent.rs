//! Several programs that use one store at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use unjank_measure::Error;
use unjank_measure::store::{Store, Stored};

use super::{Bench, ids, record};

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let bench = Bench::new();
    thread::scope(|scope| {
        for writer in 0..6 {
            let path = bench.path();
            scope.spawn(move || {
                let mut store = Store::open(&path).expect("it opens");
                for run in 0..10 {
                    let stored = store.put(&record(writer * 100 + run, "jitter native"));
                    assert_eq!(stored.expect("it is stored"), Stored::New);
                }
            });
        }
    });
    assert_eq!(ids(&bench.store()).len(), 60);
}

#[test]
fn a_store_that_is_being_created_is_no_other_programs() {
    for _ in 0..100 {
        let bench = Bench::new();
        let created = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !created.load(Ordering::Relaxed) {
                        Store::open(&bench.path()).expect("it opens");
                    }
                });
            }
            bench.store().put(&record(1, "jitter native")).expect("it is stored");
            created.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_writer_waits_for_another_one_only_as_long_as_it_may() {
    let (bench, _) = Bench::filled(1);
    let other = Connection::open(bench.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut store = Store::open_patiently(&bench.path(), Duration::from_millis(1)).unwrap();
    let refused = store.put(&record(2, "checkup")).unwrap_err();
    assert!(
        matches!(&refused, Error::NotStored { source, .. } if matches!(**source, Error::Busy(_)))
    );
    drop(other);
    store.put(&record(2, "checkup")).unwrap();
}
