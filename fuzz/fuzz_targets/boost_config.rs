//! The configuration file of the boost service: rules and limits.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use unjank_host::Nanos;
use unjank_launch::remedy::Config;

fuzz_target!(|text: &str| {
    if let Ok(config) = Config::parse(text, Path::new("/etc/unjank/boost.toml")) {
        assert!(config.check().is_ok());
        assert!(config.end.look.0 > Nanos::ZERO && config.idle().window >= config.end.look.0);
    }
});
