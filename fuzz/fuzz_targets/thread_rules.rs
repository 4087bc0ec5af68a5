//! Rules for threads from the command line, ledgers of changed threads, and the kernel's data
//! about a thread: its state, its calls, its program, its samples.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::{
    perf_event, program_code, surroundings, thread_activity, thread_ledger, threads, waiting_call,
};
use unjank_jitter::rt::Rule;

fuzz_target!(|bytes: &[u8]| {
    thread_ledger::parse_for_fuzzing(bytes);
    perf_event::parse_for_fuzzing(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    threads::parse_for_fuzzing(text);
    surroundings::parse_for_fuzzing(text);
    program_code::parse_for_fuzzing(text);
    waiting_call::parse_for_fuzzing(text);
    let mut files = text.splitn(3, '\u{1}');
    let mut file = || files.next().unwrap_or_default();
    thread_activity::parse_for_fuzzing(file(), file(), file());
    let (typed, name) = text.split_once('\n').unwrap_or((text, text));
    if let Ok(rule) = typed.parse::<Rule>() {
        let _either = rule.pattern.matches(name);
        let again: Rule = rule.to_string().parse().expect("it is printed as it is typed");
        assert_eq!(again, rule);
    }
});
