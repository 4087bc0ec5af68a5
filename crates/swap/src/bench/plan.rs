//! Who touches which pages, in batches.

use unjank_cachesim::access::{Access, AccessKind};
use unjank_cachesim::page::Page;
use unjank_cachesim::workload::Workload;
use unjank_cachesim::workload::steps;

use super::message::{Kind, MOST, Touch};

/// The actor that has the pages of no app: services.
pub(super) const SYSTEM: usize = 0;

/// A workload for real processes: the services, and then the apps.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    workload: &'a Workload,
    /// The actor that has each page; for a page of a file, none.
    actors: Vec<Option<u16>>,
    /// The number of each page among those of its actor, or of the files.
    local: Vec<u32>,
    /// How many pages each actor has.
    pub(super) pages: Vec<u32>,
    /// How many pages the files have.
    pub(super) file_pages: u32,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// An app comes to the front: its actor.
    Launch(usize),
    /// Touches by one actor, and whether they are part of the last launch.
    Touches { actor: usize, launching: bool, touches: Vec<Touch> },
}

impl<'a> Plan<'a> {
    pub(super) fn new(workload: &'a Workload) -> Self {
        let all = &workload.pages;
        let mut app_of = std::collections::HashMap::new();
        for (index, app) in workload.apps.iter().enumerate() {
            app_of.extend(app.processes.iter().map(|process| (*process, index + 1)));
        }
        let mut pages = vec![0; workload.apps.len() + 1];
        let mut file_pages = 0;
        let (mut actors, mut local) = (Vec::new(), Vec::new());
        for page in all.all() {
            let next = if all.is_of_file(page) {
                actors.push(None);
                &mut file_pages
            } else {
                let actor = app_of.get(&all.owner(page)).copied().unwrap_or(SYSTEM);
                actors.push(u16::try_from(actor).ok());
                &mut pages[actor]
            };
            local.push(*next);
            *next += 1;
        }
        Self { workload, actors, local, pages, file_pages }
    }

    /// The number of actors.
    pub(super) fn actors(&self) -> usize {
        self.pages.len()
    }

    /// The number of launches.
    pub(super) fn launches(&self) -> usize {
        self.workload.launches.len()
    }

    /// Pages of all actors and files.
    pub(super) fn footprint(&self) -> u64 {
        self.local.len() as u64
    }

    /// The name of an actor's app.
    pub(super) fn name(&self, actor: usize) -> &str {
        match actor.checked_sub(1) {
            None => "services",
            Some(app) => &self.workload.apps[app].name,
        }
    }

    /// All steps in their order.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        Batches { plan: self, steps: self.workload.steps(), front: SYSTEM, waiting: None }
    }

    /// What an app does when it starts again: the pages of files that its first launch read, and its
    /// own pages that it touched.
    pub(super) fn start(&self, actor: usize) -> Vec<Vec<Touch>> {
        let first = self.workload.launches.iter().position(|launch| launch.app + 1 == actor);
        let accesses = first.into_iter().flat_map(|launch| self.workload.accesses_of(launch));
        let touches = accesses.filter_map(|access| {
            let (of, touch) = self.touch(*access);
            let is_meant = match of {
                None => touch.kind == Kind::ReadFile,
                Some(of) => of == actor,
            };
            is_meant.then_some(touch)
        });
        let touches: Vec<Touch> = touches.collect();
        touches.chunks(MOST).map(<[Touch]>::to_vec).collect()
    }

    /// The actor that has the page, unless that is of a file, and the touch.
    fn touch(&self, access: Access) -> (Option<usize>, Touch) {
        let page: Page = access.page();
        let actor = self.actors[page.index()].map(usize::from);
        let kind = match (actor, access.kind()) {
            (Some(_), AccessKind::Read) => Kind::Read,
            (Some(_), AccessKind::Write) => Kind::Write,
            (Some(_), AccessKind::FirstTouch) => Kind::First,
            (None, AccessKind::Write) => Kind::WriteFile,
            (None, AccessKind::Read | AccessKind::FirstTouch) => Kind::ReadFile,
        };
        (actor, Touch { kind, page: self.local[page.index()] })
    }
}

/// Joins neighbouring touches of one actor.
struct Batches<'a> {
    plan: &'a Plan<'a>,
    steps: steps::Steps<'a>,
    /// The app that was launched last.
    front: usize,
    /// The step that did not fit into the last batch.
    waiting: Option<steps::Step>,
}

impl Iterator for Batches<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let mut batch: Option<(usize, bool, Vec<Touch>)> = None;
        while let Some(step) = self.waiting.take().or_else(|| self.steps.next()) {
            match step {
                // The end of a process frees its pages, which a real one would have to do as well.
                steps::Step::Exit(_) => {}
                steps::Step::Launch(launch) if batch.is_none() => {
                    self.front = launch.app + 1;
                    return Some(Step::Launch(self.front));
                }
                steps::Step::Launch(_) => {
                    self.waiting = Some(step);
                    break;
                }
                steps::Step::Access(at, launch) => {
                    let (of, touch) = self.plan.touch(self.plan.workload.accesses[at]);
                    let launching = launch.is_some();
                    // Files are read by who is in front.
                    let actor = of.unwrap_or(if launching { self.front } else { SYSTEM });
                    match &mut batch {
                        None => batch = Some((actor, launching, vec![touch])),
                        Some((same, part, touches))
                            if (*same, *part) == (actor, launching) && touches.len() < MOST =>
                        {
                            touches.push(touch);
                        }
                        Some(_) => {
                            self.waiting = Some(step);
                            break;
                        }
                    }
                }
            }
        }
        batch.map(|(actor, launching, touches)| Step::Touches { actor, launching, touches })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::workload;
    use super::*;

    #[test]
    fn every_access_is_a_touch_by_who_has_the_page() {
        let workload = workload();
        let plan = Plan::new(&workload);
        assert_eq!(plan.actors(), 4);
        let own: u32 = plan.pages.iter().sum();
        assert_eq!(u64::from(own + plan.file_pages), plan.footprint());
        assert!(plan.pages.iter().all(|pages| *pages > 0), "{:?}", plan.pages);
        let (mut touches, mut launches) = (0, Vec::new());
        for step in plan.steps() {
            match step {
                Step::Launch(actor) => launches.push(actor),
                Step::Touches { actor, touches: batch, .. } => {
                    touches += batch.len();
                    assert!(!batch.is_empty() && batch.len() <= MOST);
                    for touch in batch {
                        let of_file = matches!(touch.kind, Kind::ReadFile | Kind::WriteFile);
                        let pages = if of_file { plan.file_pages } else { plan.pages[actor] };
                        assert!(touch.page < pages, "{touch:?} of {actor}");
                    }
                }
            }
        }
        assert_eq!(touches, workload.accesses.len());
        assert_eq!(launches, [1, 2, 3, 1, 2, 3]);
        assert_eq!(plan.name(1), workload.apps[0].name);
    }

    #[test]
    fn an_app_starts_with_the_pages_of_its_first_launch() {
        let workload = workload();
        let plan = Plan::new(&workload);
        let start: Vec<Touch> = plan.start(2).concat();
        assert!(start.iter().any(|touch| touch.kind == Kind::ReadFile));
        assert!(start.iter().all(|touch| touch.kind != Kind::WriteFile));
        let own = start.iter().filter(|touch| touch.kind != Kind::ReadFile);
        assert!(own.clone().count() > 0 && own.clone().all(|touch| touch.page < plan.pages[2]));
    }
}
