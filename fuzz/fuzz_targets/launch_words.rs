//! Output of a launched load app, and readiness conditions from the command line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_launch::bench::Ready;
use unjank_launch::load::Timing;

fuzz_target!(|text: &str| {
    if let Ok(timing) = Timing::parse(text) {
        assert_eq!(Timing::parse(&timing.to_string()).expect("it was printed by us"), timing);
    }
    if let Ok(ready) = text.parse::<Ready>() {
        let _readable = ready.to_string().parse::<Ready>().expect("it is printed as it is typed");
    }
});
