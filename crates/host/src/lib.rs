//! What this machine is, and what it lets a program do.
//!
//! This crate is the only one of the command's crates that talks to the
//! kernel. Every file it reads or writes lies under a [`Root`], so a test (or
//! `unjank host --root DIR`) can put a directory in the machine's place.
//!
//! | module | subject |
//! |---|---|
//! | [`root`] | the file tree that stands for the machine |
//! | [`recording`] | a copy of what was read, without what is private |
//! | [`address_space`] | what is mapped where in another process |
//! | [`block_device`], [`extents`] | block devices, and where files lie on them |
//! | [`cgroup`] | limited CPU time and memory for a program, and its end |
//! | [`clock`] | `CLOCK_MONOTONIC`, absolute sleeps, CPU time of a thread |
//! | [`context_switches`] | how often a thread has left its CPU |
//! | [`control_socket`] | a socket on which a service is asked |
//! | [`energy`] | meters of energy |
//! | [`frequency`] | the frequency that a CPU has at this moment |
//! | [`futex`] | parking and waking threads |
//! | [`hotspot`] | what a HotSpot JVM counts about itself |
//! | [`inotify`] | being told of writes to files |
//! | [`input`] | files that a user names, read until a signal asks to end |
//! | [`memory`] | mappings of this process, page-outs and page faults |
//! | [`files`] | files that are written wherever a user says, by root as well |
//! | [`storage`] | files whose pages can be evicted |
//! | [`notify`] | being told by a program that it is ready |
//! | [`page_cache`] | what the kernel keeps of files |
//! | [`perf_event`] | where in its program a thread is, by the kernel's samples |
//! | [`pm_qos`] | a request to the kernel's power management |
//! | [`program_code`] | what lies at an address of another process |
//! | [`process`] | helper processes, other processes, the proc connector, being `init` |
//! | [`virtio_port`] | talking to the host of a virtual machine |
//! | [`journal`] | changing knobs for a time, and putting them back whatever happens |
//! | [`keeper`] | a process that puts things back if its owner is killed |
//! | [`kernel_symbols`] | where in the kernel a function is |
//! | [`machine`] | what this machine is |
//! | [`pthread_mutex`] | the C library's mutex |
//! | [`rtkit`] | a real-time policy for an ordinary user's thread, over D-Bus |
//! | [`sched`] | scheduling policy, affinity, real-time guards |
//! | [`language_runtime`] | what runs a program's threads: HotSpot, CPython, Go |
//! | [`loop_device`], [`temporary_swap`] | swap for a while |
//! | [`surroundings`] | what the whole machine lives through between two moments |
//! | [`thread_ledger`] | threads whose policy was changed, and putting it back |
//! | [`threads`], [`thread_activity`] | the threads of another process, and what they have done |
//! | [`tracefs`] | private traces of what the scheduler did |
//! | [`waiting_call`] | system calls with which threads wait |
//! | [`wait`] | waiting for several things at once |
#![allow(unsafe_code)]

#[cfg(not(any(target_os = "linux", target_os = "android")))]
compile_error!(
    "unjank measures Linux and Android kernels: there is nothing for it to do elsewhere"
);

pub mod address_space;
mod beneath;
pub mod block_device;
pub mod cgroup;
mod checked_lines;
pub mod clock;
pub mod context_switches;
pub mod control_socket;
pub mod energy;
mod error;
pub mod extents;
pub mod files;
pub mod frequency;
pub mod futex;
pub mod hotspot;
pub mod inotify;
pub mod input;
pub mod journal;
pub mod keeper;
pub mod kernel_symbols;
pub mod language_runtime;
pub mod lines;
pub mod loop_device;
pub mod machine;
pub mod memory;
pub mod notify;
pub mod page_cache;
pub mod perf_event;
pub mod pm_qos;
pub mod process;
pub mod program_code;
pub mod pthread_mutex;
pub mod recording;
pub mod root;
pub mod rtkit;
pub mod sched;
pub mod storage;
mod support;
pub mod surroundings;
pub mod temporary_swap;
pub mod terminal;
pub mod thread_activity;
pub mod thread_ledger;
pub mod threads;
pub mod tracefs;
mod trusted_place;
pub mod virtio_port;
pub mod wait;
pub mod waiting_call;

pub use clock::Timestamp;
pub use error::{Error, ErrorClass, Result};
pub use machine::Machine;
pub use recording::Recording;
pub use root::Root;
pub use support::{Support, Unsupported};
pub use unjank_units::{Bytes, Hertz, Joules, Nanos, Watts};
