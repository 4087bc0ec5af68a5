//! Load profiles in both formats: every valid one can be run.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_launch::model::Profile;

fuzz_target!(|text: &str| {
    if let Ok(profile) = Profile::from_toml(text, "fuzz.toml") {
        assert!(profile.threads() > 0);
    }
    if let Ok(imported) = Profile::from_rt_app(text, "fuzz.json") {
        assert!(imported.profile.tasks.iter().all(|task| !task.steps.is_empty()));
    }
});
