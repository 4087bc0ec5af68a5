//! Launches and running programs of this machine, explained from what was recorded of them.
//!
//! | module | subject |
//! |---|---|
//! | `launch` | a launch, from exec until the program was ready |
//! | `window` | a window of a program that runs |
//! | `late` | delays in a recording of the whole machine |
//! | `whole_machine` | all threads of the machine, recorded into a file |
//! | `threads` | the threads of a program that runs, and the one that is explained |
//! | `machine` | what a recording does not have: clocks, swap areas, names |
//! | `clocks` | clock frequencies |

mod clocks;
mod late;
mod launch;
mod machine;
mod threads;
mod whole_machine;
mod window;

pub use late::{explain_delays, state};
pub use launch::{Launch, RecordedLaunch};
pub use machine::{State, StateReader};
pub use threads::choose_thread;
pub use whole_machine::{
    WholeMachine, WholeMachineOptions, WholeMachineProgress, WholeMachineRecorded,
};
pub use window::{Window, record_window};
