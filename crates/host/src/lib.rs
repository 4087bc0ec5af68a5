//! Access to the machine: its description, its kernel, and changes to it.
//!
//! Only this one of the command's crates calls the kernel. Every file that it
//! reads or writes is under a [`Root`], so a test (or `unjank host --root DIR`)
//! can use a directory as the machine.
//!
//! | module | subject |
//! |---|---|
//! | [`root`] | the file tree that stands for the machine |
//! | [`recording`] | a copy of the files that were read, without private content |
//! | [`address_space`] | the memory mappings of another process |
//! | [`block_device`], [`extents`] | block devices, and the position of files on them |
//! | [`cgroup`] | limits of CPU time and memory for a program, and killing it |
//! | [`clock`] | `CLOCK_MONOTONIC`, absolute sleeps, CPU time of a thread |
//! | [`context_switches`] | context switches of a thread |
//! | [`control_socket`] | a socket that answers questions about a service |
//! | [`energy`] | meters of energy |
//! | [`frequency`] | the current frequency of CPUs |
//! | [`futex`] | parking and waking threads |
//! | [`hotspot`] | performance counters of a HotSpot JVM |
//! | [`inode`] | the paths of files that are known by their inodes |
//! | [`inotify`] | notifications of writes to files |
//! | [`input`] | files that a user names, read until a signal asks to end |
//! | [`memory`] | mappings of this process, page-outs and page faults |
//! | [`memory_fs`] | a file system in memory that is never swapped out |
//! | [`files`] | writing files that a user names, safely for root |
//! | [`storage`] | files whose pages can be evicted |
//! | [`notify`] | receiving a program's readiness message |
//! | [`page_cache`] | drops the page cache |
//! | [`passing`], [`socket_directory`] | sockets of this machine: open files through them, a place for them |
//! | [`perf_event`] | samples of the code and the stacks of threads |
//! | [`pm_qos`] | a request to the kernel's power management |
//! | [`program_code`] | the function or variable at an address of another process |
//! | [`process`] | helper processes, other processes, the proc connector, being `init` |
//! | [`virtio_port`] | talking to the host of a virtual machine |
//! | [`journal`] | changing knobs for a time, and putting them back in any case |
//! | [`keeper`] | a process that restores knobs if its owner is killed |
//! | [`kernel_symbols`] | addresses of kernel functions |
//! | [`knobs`] | knobs as users write them |
//! | [`machine`] | the description of this machine |
//! | [`power_profile`] | whether the user has chosen to save power |
//! | [`pthread_mutex`] | the C library's mutex |
//! | [`rtkit`] | a real-time policy for an ordinary user's thread, over D-Bus |
//! | [`sched`] | scheduling policy, affinity, real-time guards |
//! | [`language_runtime`] | the runtime of a program: HotSpot, CPython, Go |
//! | [`loop_device`], [`temporary_swap`] | temporary swap |
//! | [`swap_area`] | the sectors of a device that hold pages of swap |
//! | [`swap_header`], [`swap_switch`] | making swap areas, turning them on and off |
//! | [`swapped_pages`] | which pages of all processes are in swap, and where |
//! | [`stacks`] | the stacks of the threads of a program |
//! | [`surroundings`] | activity of the whole machine between two moments |
//! | [`thread_ledger`] | threads whose policy was changed, and putting it back |
//! | [`thread_pattern`] | patterns of thread names |
//! | [`threads`], [`thread_activity`] | the threads of another process, and their activity |
//! | [`tracefs`] | private traces of the scheduler |
//! | [`unread_sockets`] | Unix sockets with something unread |
//! | [`waiting_call`] | system calls with which threads wait |
//! | [`wait`] | waits for several files at once |
#![allow(unsafe_code)]

#[cfg(not(any(target_os = "linux", target_os = "android")))]
compile_error!("unjank measures Linux and Android kernels; other systems are not supported");

pub mod address_space;
mod beneath;
pub mod block_device;
mod bus;
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
pub mod inode;
pub mod inotify;
pub mod input;
pub mod journal;
pub mod keeper;
pub mod kernel_symbols;
pub mod knobs;
pub mod language_runtime;
#[cfg(test)]
mod lease;
pub mod lines;
pub mod loop_device;
pub mod machine;
pub mod memory;
pub mod memory_fs;
pub mod notify;
pub mod page_cache;
pub mod page_sample;
pub mod passing;
pub mod perf_event;
pub mod pm_qos;
pub mod power_profile;
pub mod pressure_trigger;
pub mod process;
pub mod program_code;
pub mod pthread_mutex;
pub mod recording;
pub mod root;
pub mod rtkit;
pub mod sched;
pub mod socket_directory;
pub mod stacks;
pub mod storage;
mod support;
pub mod surroundings;
pub mod swap_area;
pub mod swap_header;
pub mod swap_switch;
pub mod swapped_pages;
pub mod temporary_swap;
pub mod terminal;
pub mod text;
pub mod thread_activity;
pub mod thread_ledger;
pub mod thread_pattern;
pub mod threads;
pub mod tracefs;
mod trusted_place;
pub mod ublk;
pub mod unread_sockets;
pub mod virtio_port;
pub mod wait;
pub mod waiting_call;
pub mod zram_device;

pub use clock::Timestamp;
pub use error::{Error, ErrorClass, Result};
pub use machine::Machine;
pub use recording::Recording;
pub use root::Root;
pub use support::{Support, Unsupported};
pub use unjank_units::{Bytes, Hertz, Joules, Nanos, Watts};
