//! Births, execs and ends of threads, their accesses to files, and block requests.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Context, DeviceRequest, StorageEvent};

use super::super::life::{Birth, Life};
use super::super::origin::Origin;
use super::super::requests::Request;
use super::super::span::State;
use super::super::thread::Thread;
use super::super::wait::Wait;
use super::Builder;

impl Builder {
    /// Applies an event of a block request, of a file's pages, or of a thread's birth, exec or end.
    pub(super) fn storage(
        &mut self,
        event: StorageEvent,
        at: Timestamp,
        (current, context): (ThreadId, Context),
        origin: Origin,
    ) {
        match event {
            StorageEvent::Queued(asked) => {
                let request = self.submitted(asked, at, (current, context), origin);
                self.requests.queue(request);
            }
            StorageEvent::Issued(asked) if self.requests.is_queued(&asked) => {
                self.requests.issue(Request { asked, submitted: at, by: origin, file: None });
            }
            StorageEvent::Issued(asked) => {
                let origin = self.queues.dispatched_for(origin);
                let request = self.submitted(asked, at, (current, context), origin);
                self.requests.issue(request);
            }
            StorageEvent::Touched(pages) if context == Context::Thread => {
                self.thread(current).touches(pages.file());
            }
            StorageEvent::Cached(pages) if context == Context::Thread => {
                let thread = self.thread(current);
                thread.reads(pages.file());
                thread.is_reading(at, None);
            }
            StorageEvent::Started { thread, same_process } => {
                self.end_of_id(thread, at);
                let first = if same_process { self.first_of_process(current) } else { thread };
                let birth = Birth { at, parent: current, same_process, first };
                self.thread(thread).life.birth = Some(birth);
            }
            StorageEvent::Executed { process, program, .. } => {
                self.thread(process).life.name = program;
            }
            StorageEvent::Ended { thread, .. } => {
                let thread = self.thread(thread);
                thread.exiting = true;
                thread.life.end = Some(at);
            }
            _ => {}
        }
    }

    /// A request that is given to the block layer now.
    fn submitted(
        &mut self,
        asked: DeviceRequest,
        at: Timestamp,
        (current, context): (ThreadId, Context),
        by: Origin,
    ) -> Request {
        if context == Context::Thread && asked.is_read() {
            self.thread(current).is_reading(at, Some((asked.device, asked.sector)));
        }
        let file = match by {
            Origin::Thread(by) => self.threads.get(&by).and_then(|thread| thread.reads),
            Origin::Interrupt(_) => None,
        };
        Request { asked, submitted: at, by, file }
    }

    fn first_of_process(&self, thread: ThreadId) -> ThreadId {
        let birth = self.threads.get(&thread).and_then(|thread| thread.life.birth);
        birth.map_or(thread, |birth| birth.first)
    }

    /// Stores the former life of an id that is free again.
    pub(super) fn end_of_id(&mut self, thread: ThreadId, at: Timestamp) {
        if let Some(former) = self.threads.remove(&thread) {
            self.former.push((thread, former.finish(at)));
        }
    }

    /// A thread that had ended runs again, so its id now belongs to another thread. In `exec`, this
    /// may be a thread of the same process, long before the exec event: the program is loaded in
    /// between.
    pub(super) fn is_another(&mut self, id: ThreadId, cpu: usize, at: Timestamp) {
        self.end_of_id(id, at);
        let mut thread = Thread::running(Life::default(), Wait::Unknown, cpu, at);
        thread.renamed = Some(at);
        self.threads.insert(id, thread);
    }

    /// A thread that is not the first of its process has executed a program. The
    /// others have ended, and it has the id of the first.
    pub(super) fn takes_over(
        &mut self,
        process: ThreadId,
        before: ThreadId,
        cpu: usize,
        at: Timestamp,
    ) {
        let renamed = self.threads.get(&process).and_then(|thread| thread.renamed);
        let at = renamed.unwrap_or(at);
        let wait = self.threads.get(&before).map(|thread| thread.wait).unwrap_or_default();
        let birth = Some(Birth { at, parent: before, same_process: true, first: process });
        if let Some(former) = self.threads.get_mut(&before) {
            former.life.end = Some(at);
            former.exiting = true;
            former.change(at, State::Asleep { wait, wake: None });
        }
        if renamed.is_some() {
            self.thread(process).life.birth = birth;
            return;
        }
        self.end_of_id(process, at);
        let life = Life { birth, ..Life::default() };
        self.threads.insert(process, Thread::running(life, wait, cpu, at));
    }
}
