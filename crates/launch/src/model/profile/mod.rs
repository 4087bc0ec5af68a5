//! Load profiles: which tasks run when, and which of them are the launch.
//!
//! | module | subject |
//! |---|---|
//! | `task` | the steps of threads, and when they begin |
//! | `load_profile` | the tasks of a launch and of its background |
//! | `own_toml` | unjank's own format, TOML |
//! | `rt_app` | rt-app's JSON |
//! | `read` | reading either, and checking the profile |
//! | `shipped` | profiles that are part of unjank |

mod load_profile;
mod own_toml;
mod read;
mod rt_app;
mod shipped;
mod task;

pub use load_profile::{Imported, Profile};
pub use read::ProfileError;
pub use shipped::{SHIPPED, shipped};
pub use task::{Begins, Step, Task};
