//! Returns of the binder driver, and the objects in a payload.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_binder::object::entries;
use unjank_binder::reply::Return;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (returns, table) = input;
    let mut rest = returns;
    while !rest.is_empty() {
        let before = rest.len();
        let Ok(taken) = Return::take(&mut rest) else { break };
        assert!(rest.len() < before && taken.name().starts_with("BR_"));
    }
    assert_eq!(entries(returns, table).count(), table.len().div_ceil(8));
});
