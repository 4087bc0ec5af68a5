//! The state of a service in a file, for Prometheus' textfile collector.

use std::path::Path;

use unjank_host::files::{Destination, Readers};

use crate::output;

/// Replaces the file. The collector runs as another user, so everyone may read it, also if the
/// service has a narrow umask. An error is a remark.
pub(crate) fn write_metrics(path: &Path, text: &str) {
    let written =
        Destination::open(path).and_then(|file| file.write_for(Readers::Everyone, text.as_bytes()));
    if let Err(error) = written {
        output::remark(&error.to_string());
    }
}
