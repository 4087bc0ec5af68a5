//! The kinds of pages, spaces and processes that make the hottest accesses.

use std::collections::{BTreeMap, HashMap};

use super::accesses::{Accesses, PAGE_BITS};
use super::kind::PageKind;
use super::skew::Skew;
use crate::trace::{Names, Process};

/// The accesses of one kind of page, space or process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maker {
    /// A kind, a device or file, or a process.
    pub name: String,
    /// Different pages.
    pub pages: u64,
    /// Accesses of these pages.
    pub accesses: u64,
    /// Pages that are among the hottest of the trace.
    pub hot_pages: u64,
    /// Accesses of the hot pages.
    pub hot_accesses: u64,
}

/// Accesses by kind, space and process; each list starts with the most hot accesses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Makers {
    /// Accesses by kind of page.
    pub kinds: Vec<Maker>,
    /// Accesses by device, file or address space.
    pub spaces: Vec<Maker>,
    /// Accesses by process. A page of several processes counts as one of each.
    pub processes: Vec<Maker>,
}

impl Accesses {
    /// Groups accesses by kind, space and process. The hottest `data` (a share of the pages) is
    /// hot; of pages with equal counts, those that came first are hotter.
    pub(super) fn makers(&self, skew: &Skew, data: f64, names: &Names) -> Makers {
        let (threshold, mut at_threshold) = skew.threshold(data);
        let mut hot = vec![false; self.counts.len()];
        for (hot, count) in hot.iter_mut().zip(&self.counts) {
            let there = *count == threshold && at_threshold > 0 && threshold > 0;
            at_threshold -= u64::from(there);
            *hot = there || (*count > threshold && threshold > 0);
        }
        let processes = Processes::of(names);
        // The process with the most accesses of each page; the first one if several have as many.
        let mut users: Vec<(u32, u32)> = vec![(0, 0); self.counts.len()];
        let mut by_process = vec![Maker::default(); processes.names.len()];
        let mut assigned = vec![0_u32; self.counts.len()];
        for Use { process, page, accesses } in self.uses(&processes) {
            let page = page as usize;
            by_process[process as usize].add(accesses, 1, hot[page]);
            assigned[page] = assigned[page].saturating_add(accesses);
            if accesses > users[page].1 {
                users[page] = (process, accesses);
            }
        }
        let mut by_kind = BTreeMap::<PageKind, Maker>::new();
        let mut by_space = vec![Maker::default(); names.spaces().len()];
        for (page, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let about = self.about[page];
            let space = names.spaces().get(usize::from(about.space)).map_or("", String::as_str);
            let kind = PageKind::of(space, about.backing, &processes.names[users[page].0 as usize]);
            by_kind.entry(kind).or_default().add(*count, 1, hot[page]);
            by_space[usize::from(about.space)].add(*count, 1, hot[page]);
            let unassigned = count - assigned[page].min(*count);
            if unassigned > 0 {
                by_process[0].add(unassigned, 1, hot[page]);
            }
        }
        let called = |makers: Vec<Maker>, calls: &[String]| {
            let pairs = makers.into_iter().zip(calls);
            sorted(pairs.map(|(maker, name)| maker.named(name)).collect())
        };
        Makers {
            kinds: sorted(by_kind.into_iter().map(|(kind, m)| m.named(kind.words())).collect()),
            spaces: called(by_space, names.spaces()),
            processes: called(by_process, &processes.names),
        }
    }

    /// The accesses of each page by process name. Processes of one name that access the same page
    /// are one use.
    fn uses(&self, processes: &Processes) -> Vec<Use> {
        let of_pair = |(key, count): (u64, &u32)| Use {
            process: processes.numbers[(key >> PAGE_BITS) as usize],
            page: (key & ((1 << PAGE_BITS) - 1)) as u32,
            accesses: *count,
        };
        let pairs = self.pairs.keys().into_iter().zip(&self.pair_counts);
        let mut uses: Vec<Use> = pairs.map(of_pair).collect();
        uses.sort_unstable_by_key(|it| (it.process, it.page));
        uses.dedup_by(|next, kept| {
            let same = (next.process, next.page) == (kept.process, kept.page);
            if same {
                kept.accesses = kept.accesses.saturating_add(next.accesses);
            }
            same
        });
        uses
    }
}

/// The accesses of one page by the processes of one name.
struct Use {
    process: u32,
    page: u32,
    accesses: u32,
}

impl Maker {
    fn add(&mut self, accesses: u32, pages: u64, hot: bool) {
        self.pages += pages;
        self.accesses += u64::from(accesses);
        if hot {
            self.hot_pages += pages;
            self.hot_accesses += u64::from(accesses);
        }
    }

    fn named(self, name: &str) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        Self { name: name.to_owned(), ..self }
    }
}

fn sorted(mut makers: Vec<Maker>) -> Vec<Maker> {
    makers.retain(|maker| maker.accesses > 0);
    makers.sort_by(|one, other| {
        let hottest = |maker: &Maker| (maker.hot_accesses, maker.accesses);
        hottest(other).cmp(&hottest(one)).then_with(|| one.name.cmp(&other.name))
    });
    makers
}

/// Processes by name: threads and repeated launches of one app are one. Processes without a name
/// have their number.
struct Processes {
    names: Vec<String>,
    /// The name of each process of the trace.
    numbers: Vec<u32>,
}

impl Processes {
    fn of(names: &Names) -> Self {
        let mut found = Self { names: vec![String::new()], numbers: Vec::new() };
        let mut known = HashMap::from([(String::new(), 0)]);
        for Process { name, pid, .. } in names.processes() {
            let name = match pid {
                Some(pid) if name.is_empty() => format!("process {pid}"),
                _ => name.clone(),
            };
            let number = *known.entry(name).or_insert_with_key(|name| {
                found.names.push(name.clone());
                found.names.len() as u32 - 1
            });
            found.numbers.push(number);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::Silent;

    use crate::analyze::{Options, run};
    use crate::trace::{Options as Reading, Trace};

    #[test]
    fn a_page_of_processes_of_one_name_is_one_page_of_that_name() {
        let text = "time,process,pid,page,op\n0,a,1,1,read\n1,a,2,1,read\n2,a,3,1,read\n\
                    3,a,3,2,read\n4,b,4,2,read\n";
        let text = text.as_bytes().to_vec();
        let mut trace = Trace::from_memory("x.csv", text, &Reading::default()).unwrap();
        let options = Options { hot: 1.0, ..Options::default() };
        let analysis = run(&mut trace, "x", &options, &Silent).unwrap();
        assert_eq!(analysis.skew.pages(), 2);
        let found: Vec<_> = analysis
            .makers
            .processes
            .iter()
            .map(|it| (it.name.as_str(), it.pages, it.accesses, it.hot_pages, it.hot_accesses))
            .collect();
        assert_eq!(found, [("a", 2, 4, 2, 4), ("b", 1, 1, 1, 1)]);
    }
}
