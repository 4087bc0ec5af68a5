//! unjank's own format: a Parquet table with one row for each event.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `time_ns` | `UINT_64` | nanoseconds since the first event |
//! | `process` | string or null | the process or app |
//! | `pid` | `UINT_32` or null | its process ID |
//! | `space` | string or null | the device or file |
//! | `page` | `UINT_64` | number of a page of 4 KiB within the space |
//! | `operation` | string | `read`, `write`, `page-in` … |
//! | `backing` | string | `anonymous`, `file`, `unknown` |
//! | `cgroup` | string or null | the control group of the process |
//! | `launch_id` | `UINT_32` or null | the number of the launch that the process is part of |
//! | `command_pid` | `UINT_32` or null | the recorded command's process ID, if the process is part of it |
//!
//! Nothing in it is specific to unjank, and columns are found by name, so tables that other
//! programs write are read as well.

mod rows;
mod writer;

pub(super) use rows::Rows;
pub(crate) use writer::Writer;

/// The schema of the table.
const SCHEMA: &str = "message trace {
    required int64 time_ns (INTEGER(64, false));
    optional binary process (STRING);
    optional int32 pid (INTEGER(32, false));
    optional binary space (STRING);
    required int64 page (INTEGER(64, false));
    required binary operation (STRING);
    required binary backing (STRING);
    optional binary cgroup (STRING);
    optional int32 launch_id (INTEGER(32, false));
    optional int32 command_pid (INTEGER(32, false));
}";
