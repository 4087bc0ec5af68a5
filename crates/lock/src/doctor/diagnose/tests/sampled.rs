//! The rules on samples of a thread's code, with and without a trace.

use super::*;

#[test]
fn a_tight_loop_is_suspected_and_with_a_pause_certain() {
    let busy = |cpu, found| thread(cpu, |seen, _| seen.code = found);
    let idle = OtherThreads { idle: 1, ..ALONE };
    let runnable = OtherThreads { runnable: 2, idle: 1, same_cpu: 1 };
    assert_eq!(kinds(&busy(950, code(500, 2, Some(false))), idle), [DiagnosisKind::Spins]);
    let found = diagnose(&busy(950, code(500, 2, Some(false))), &runnable, &PRICES);
    assert_eq!(found[0].certainty, Certainty::Suspected);
    assert!(found[0].evidence.contains("2 threads were ready and did not run"), "{found:?}");
    assert!(found[0].evidence.contains("one other thread may run on this CPU only"), "{found:?}");
    assert!(found[0].evidence.ends_with("a loop that computes looks the same"));
    let found = diagnose(&busy(950, code(500, 1, Some(true))), &ALONE, &PRICES);
    assert_eq!((found[0].kind, found[0].certainty), (DiagnosisKind::Spins, Certainty::Certain));
    assert!(found[0].evidence.contains("in one line of 64 bytes with a pause among them"));
    assert_eq!(
        kinds(&busy(950, code(500, 3, Some(false))), idle),
        [DiagnosisKind::Fine],
        "it computes"
    );
    for (seen, why) in [
        (busy(950, code(500, 2, None)), "nobody else is there"),
        (busy(950, code(500, 9, Some(true))), "spread over the code"),
        (busy(800, code(500, 2, Some(true))), "not busy"),
    ] {
        assert_eq!(kinds(&seen, ALONE), [DiagnosisKind::Fine], "{why}");
    }
    assert_eq!(
        kinds(&busy(950, code(49, 2, Some(true))), idle),
        [DiagnosisKind::CannotTell],
        "few samples"
    );
    let in_kernel = thread(950, |seen, _| {
        seen.code = code(500, 2, Some(true));
        seen.system = seen.user;
    });
    assert_eq!(kinds(&in_kernel, idle), [DiagnosisKind::Fine]);
    let waits_for_cpu = thread(500, |seen, _| {
        seen.code = code(500, 2, Some(true));
        seen.ready = Some(Nanos::from_millis(450));
    });
    assert_eq!(kinds(&waits_for_cpu, ALONE), [DiagnosisKind::Spins]);
}

#[test]
fn the_place_of_a_loop_is_named() {
    let place = |file: Option<&str>, function: Option<&str>| {
        let (file, function) = (file.map(str::to_owned), function.map(str::to_owned));
        let place = Some(CodeLocation { file, offset: 0x10, function });
        let code = Code { place, ..code(500, 1, Some(true)).unwrap_or_default() };
        evidence(&thread(950, |seen, _| seen.code = Some(code)), ALONE)
    };
    assert!(place(Some("/bin/x"), Some("poll_once")).contains("mostly poll_once in /bin/x"));
    assert!(place(Some("/bin/x"), None).contains("mostly /bin/x at 0x10"));
    assert!(place(None, None).contains("mostly code generated at run time, at 0x10"));
}

#[test]
fn without_a_trace_a_thread_in_the_kernel_is_not_judged() {
    assert_eq!(kinds(&untraced(9, |_| {}), ALONE), [DiagnosisKind::Fine], "it hardly runs");
    let seen = untraced(300, |seen| {
        seen.voluntary = 1_800;
        seen.user = Nanos::from_millis(60);
        seen.system = Nanos::from_millis(240);
    });
    assert_eq!(kinds(&seen, ALONE), [DiagnosisKind::CannotTell]);
    assert_eq!(
        evidence(&seen, ALONE),
        "30 % of a CPU, 1800 sleeps or waits a second, 80 % of its CPU time in the kernel; its \
         system calls were not traced"
    );
    let little = untraced(100, |_| {});
    assert!(!evidence(&little, ALONE).contains("in the kernel"), "too little to divide");
    let computes = untraced(950, |seen| seen.code = code(500, 40, None));
    assert_eq!(kinds(&computes, OtherThreads { idle: 3, ..ALONE }), [DiagnosisKind::Fine]);
    let restless = ObservedThread { voluntary: 10, ..computes };
    assert_eq!(kinds(&restless, ALONE), [DiagnosisKind::CannotTell]);
}

#[test]
fn without_a_trace_many_brief_runs_are_suspected_yields() {
    let runs = |cpu, involuntary, voluntary| {
        untraced(cpu, |seen| (seen.involuntary, seen.voluntary) = (involuntary, voluntary))
    };
    let found = diagnose(&runs(75, 25_000, 0), &ALONE, &PRICES);
    assert_eq!((found[0].kind, found[0].certainty), (DiagnosisKind::Yields, Certainty::Suspected));
    assert_eq!(
        found[0].evidence,
        "7.5 % of a CPU; 25,000 times a second another thread took its CPU, each time after 3.00 \
         µs, as after a sched_yield"
    );
    assert_eq!(kinds(&runs(100, 1_000, 499), ALONE), [DiagnosisKind::Yields]);
    for (seen, why) in [
        (runs(75, 999, 0), "seldom"),
        (runs(101, 1_000, 0), "it computes in between"),
        (runs(75, 25_000, 12_500), "it sleeps as well"),
    ] {
        assert_eq!(kinds(&seen, ALONE), [DiagnosisKind::CannotTell], "{why}");
    }
    assert_eq!(kinds(&runs(9, 25_000, 0), ALONE), [DiagnosisKind::Fine], "it hardly runs");
}

#[test]
fn without_a_trace_samples_and_glances_raise_a_suspicion() {
    let samples_in = |samples, function: Option<&str>| {
        let file = Some("/lib/libc.so.6".to_owned());
        let place = Some(CodeLocation { file, offset: 1, function: function.map(str::to_owned) });
        let code = Some(Code { samples, lines: 2, place, ..Code::default() });
        untraced(700, |seen| {
            seen.code = code;
            (seen.user, seen.system) = (Nanos::from_millis(100), Nanos::from_millis(600));
        })
    };
    let found = diagnose(&samples_in(60, Some("__sched_yield")), &ALONE, &PRICES);
    assert_eq!((found[0].kind, found[0].certainty), (DiagnosisKind::Yields, Certainty::Suspected));
    for other in
        [samples_in(49, Some("sched_yield")), samples_in(60, Some("read")), samples_in(60, None)]
    {
        assert_eq!(kinds(&other, ALONE), [DiagnosisKind::CannotTell]);
    }
    let glances = |all, sleeps, voluntary| {
        untraced(50, |seen| {
            seen.glances = Glances { all, sleeps, polls: 1, waits: 2 };
            seen.voluntary = voluntary;
        })
    };
    assert_eq!(kinds(&glances(20, 10, 200), ALONE), [DiagnosisKind::Naps]);
    assert_eq!(kinds(&glances(20, 9, 200), ALONE), [DiagnosisKind::CannotTell]);
    assert_eq!(kinds(&glances(9, 9, 200), ALONE), [DiagnosisKind::CannotTell]);
    assert_eq!(kinds(&glances(20, 20, 199), ALONE), [DiagnosisKind::CannotTell]);
    let found = evidence(&glances(20, 9, 200), ALONE);
    assert!(found.ends_with("of 20 glances, 9 found it in a sleep, 1 in a poll, 2 on a futex"));
    assert_eq!(
        evidence(&glances(20, 10, 200), ALONE),
        "200 sleeps or waits a second, and asleep \
        in nanosleep in 10 of 20 glances; 5.0 % of a CPU"
    );
}
