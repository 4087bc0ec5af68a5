//! The state of the analysis while a trace is read.

use std::sync::Arc;

use unjank_measure::{Series, Unit};

use super::accesses::Accesses;
use super::{Analysis, Launch, Options, inversion, launches, paging, thrash};
use crate::trace::{Event, Names, Numbering, Operation, Process, ProcessIndex, Trace};
use unjank_cachesim::Page;
use unjank_cachesim::mrc::StackDistance;
use unjank_cachesim::page::SpaceError;

/// A part for each subject. They share the numbering of pages.
pub(super) struct State {
    numbering: Numbering,
    accesses: Accesses,
    distance: StackDistance,
    distances: Series,
    paging: paging::Follower,
    thrash: thrash::Finder,
    inversion: Option<inversion::Follower>,
    launches: launches::Counter,
    only: [bool; Operation::ALL.len()],
    of_pages: Vec<Event>,
    pages: Vec<Page>,
}

impl State {
    pub(super) fn new(label: &str, options: &Options) -> Self {
        let several = options.priorities.len() > 1;
        Self {
            numbering: Numbering::default(),
            accesses: Accesses::default(),
            distance: StackDistance::new(0),
            distances: Series::of("swap/analyze/reuse_distance", Unit::Pages)
                .with_label("trace", label),
            paging: paging::Follower::new(label),
            thrash: thrash::Finder::new(options.thrash),
            inversion: several.then(|| inversion::Follower::new(&options.priorities)),
            launches: launches::Counter::new(options.launch, options.all_launches),
            only: Operation::ALL.map(|operation| options.only.contains(&operation)),
            of_pages: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// Takes a batch. Events of processes split it, so that everything is processed in order.
    pub(super) fn take(&mut self, events: &[Event], trace: &Trace) -> Result<(), SpaceError> {
        for events in
            events.chunk_by(|one, next| one.operation.is_of_page() && next.operation.is_of_page())
        {
            for event in events {
                self.launches.event(event, trace.names());
            }
            if events[0].operation == Operation::Exit {
                self.paging.exit(events[0].who);
                if let Some(inversion) = &mut self.inversion {
                    inversion.exit(events[0].who);
                }
            }
            if events[0].operation.is_of_page() {
                self.take_pages(events, trace)?;
            }
        }
        Ok(())
    }

    fn take_pages(&mut self, events: &[Event], trace: &Trace) -> Result<(), SpaceError> {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        self.numbering.pages(events, &mut pages)?;
        self.of_pages.clear();
        let mut accessed = Vec::with_capacity(events.len());
        for (event, page) in events.iter().zip(&pages) {
            if self.only[event.operation as usize] {
                self.of_pages.push(*event);
                accessed.push(*page);
                if let Some(distance) = self.distance.request(*page) {
                    self.distances.record_value(distance.into());
                }
            }
            if let Some(back) = self.paging.event(event, *page) {
                self.thrash.take(back);
            }
            if let Some(inversion) = &mut self.inversion {
                inversion.event(event, *page, |space| trace.names().space(space).to_owned());
            }
        }
        self.pages = pages;
        self.accesses.take(&self.of_pages, &accessed)
    }

    pub(super) fn finish(mut self, trace: &Trace, label: &str, options: &Options) -> Analysis {
        let bytes = self.numbering.bytes()
            + self.accesses.bytes()
            + self.distance.bytes()
            + self.paging.bytes()
            + self.inversion.as_ref().map_or(0, inversion::Follower::bytes);
        let summary = trace.summary();
        let has_times = summary.span.get() > 0;
        let skew = self.accesses.skew();
        let names = trace.names();
        let paging = self.paging.finish(has_times);
        let can_tell =
            has_times && paging.page_ins > 0 && paging.page_outs + paging.clean_drops > 0;
        let episodes = self.thrash.finish(summary.span);
        let called = |who| called(names, who);
        let counted = self.launches.finish();
        let launches: Vec<(Arc<str>, Launch)> = counted
            .launches
            .into_iter()
            .map(|launch| (called(launch.who).into(), launch))
            .collect();
        Analysis {
            label: label.to_owned(),
            hot: options.hot,
            accesses: self.accesses.totals(),
            makers: self.accesses.makers(&skew, options.hot, names),
            skew,
            distances: (self.distances.n() > 0).then(|| self.distances.finish()),
            episode_makers: episodes.iter().map(|episode| called(episode.most.0)).collect(),
            episodes: can_tell.then_some(episodes),
            thrash: options.thrash,
            more: [self.thrash.more, counted.more],
            other_launches: counted.others,
            launches_are_assignable: counted.assigned_by_process,
            inversions: self.inversion.map_or_else(Vec::new, inversion::Follower::finish),
            launches,
            paging,
            summary,
            bytes,
        }
    }
}

/// The name of a process, or its number.
fn called(names: &Names, who: ProcessIndex) -> String {
    let Process { name, pid, .. } = names.process(who);
    match pid {
        Some(pid) if name.is_empty() => format!("process {pid}"),
        None if name.is_empty() => "unknown".to_owned(),
        _ => name.clone(),
    }
}
