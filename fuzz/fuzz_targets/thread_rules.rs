//! Rules for threads as they are typed, ledgers of changed threads, and what
//! the kernel says of a thread.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::thread_ledger;
use unjank_host::threads;
use unjank_jitter::rt::Rule;

fuzz_target!(|bytes: &[u8]| {
    thread_ledger::parse_for_fuzzing(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    threads::parse_for_fuzzing(text);
    let (typed, name) = text.split_once('\n').unwrap_or((text, text));
    if let Ok(rule) = typed.parse::<Rule>() {
        let _either = rule.pattern.matches(name);
        let again: Rule = rule.to_string().parse().expect("it is printed as it is typed");
        assert_eq!(again, rule);
    }
});
