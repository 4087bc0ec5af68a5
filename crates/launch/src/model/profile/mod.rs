//! Load profiles: which tasks run when, and what of it is the launch.
//!
//! | module | subject |
//! |---|---|
//! | `task` | what threads do, and when they begin |
//! | `load_profile` | the tasks of a launch and of the background beside it |
//! | `own_toml` | the program's own form, TOML |
//! | `rt_app` | the JSON of rt-app |
//! | `read` | from either to a profile that can be run |
//! | `shipped` | profiles that are part of the program |

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
