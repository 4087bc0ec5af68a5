//! The sources of the pages that the path waited for: swap areas and files.

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::inode::FileId;
use unjank_host::sched::ThreadId;
use unjank_measure::Unit;
use unjank_measure::number::counted;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use super::names::thread_name;
use crate::history::Request;
use crate::path::{Activity, Detail, Segment};

/// The most rows of the table.
const SHOWN: usize = 10;
/// The most files whose paths are looked for.
const NAMED: usize = 100;

/// Where a page came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A swap area, by its path.
    Swap(String),
    File(FileId),
    /// The trace does not tell.
    Unknown,
}

/// A row of the table.
#[derive(Debug, Default)]
struct Row {
    time: Nanos,
    requests: BTreeSet<u32>,
    sectors: u64,
}

impl Source {
    /// `swap`, `file` or `unknown`.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Swap(_) => "swap",
            Self::File(_) => "file",
            Self::Unknown => "unknown",
        }
    }

    /// The path of the swap area or the file; of a file without one, its inode.
    fn name(&self, launch: &Explained) -> String {
        match self {
            Self::Swap(path) => path.clone(),
            Self::File(file) => match launch.files.get(file) {
                Some(path) => path.clone(),
                None => file.to_string(),
            },
            Self::Unknown => String::new(),
        }
    }

    /// `file /usr/lib/libc.so.6`; `None` if it is unknown.
    pub(super) fn words(&self, launch: &Explained) -> Option<String> {
        let name = self.name(launch);
        (*self != Self::Unknown).then(|| format!("{} {name}", self.kind()))
    }
}

/// The source of a page for which the path waited for `request`: the swap area that the request
/// reads, or else `file`, the file of the page fault, or else the file of the request.
pub(super) fn source(
    launch: &Explained,
    file: Option<FileId>,
    request: Option<&Request>,
) -> Source {
    let asked = request.map(|request| &request.asked);
    let is_in =
        |device, sector| launch.swap.iter().find(|area| area.pages(device, sector, 1).is_some());
    match asked.and_then(|asked| is_in(asked.device, asked.sector)) {
        Some(area) => Source::Swap(area.name.clone()),
        None => file
            .or_else(|| request.and_then(|request| request.file))
            .map_or(Source::Unknown, Source::File),
    }
}

/// The files of the pages that the path waited for, whose paths are shown if they are known: at
/// most 100, those with the longest waits.
pub fn shown_files(launch: &Explained) -> BTreeSet<FileId> {
    let mut times: BTreeMap<FileId, Nanos> = BTreeMap::new();
    for (source, _, segment) in page_ins(launch) {
        if let Source::File(file) = source {
            let time = times.entry(file).or_default();
            *time = *time + segment.length();
        }
    }
    let mut times: Vec<(FileId, Nanos)> = times.into_iter().collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    times.into_iter().take(NAMED).map(|(file, _)| file).collect()
}

/// A row for each source and thread, the longest first; `None` if the path never
/// waited for a page.
pub(super) fn table(launch: &Explained) -> Option<Table> {
    let mut rows: BTreeMap<(Source, u32), Row> = BTreeMap::new();
    for (source, thread, segment) in page_ins(launch) {
        let row = rows.entry((source, thread.0)).or_default();
        row.time = row.time + segment.length();
        if let Detail::Request(id) = segment.detail
            && let Some(request) = launch.history.request(id)
            && row.requests.insert(id.0)
        {
            row.sectors += u64::from(request.asked.sectors);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let columns = [
        Column::text("from"),
        Column::text("name"),
        Column::text("for"),
        Column::of("time", Unit::Nanoseconds),
        Column::of("requests", Unit::Count),
        Column::of("size", Unit::Bytes),
    ];
    let title = "Pages that were not in memory";
    let mut table = Table::new("why/page_in", title, columns);
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.time));
    for ((source, thread), row) in rows.iter().take(SHOWN) {
        table.push([
            source.kind().into(),
            source.name(launch).into(),
            thread_name(&launch.history, ThreadId(*thread)).into(),
            TableCell::number(row.time.get() as f64),
            TableCell::number(row.requests.len() as f64),
            TableCell::number(row.sectors.saturating_mul(512) as f64),
        ]);
    }
    let others = rows.len().saturating_sub(SHOWN);
    if others > 0 {
        let time = rows.iter().skip(SHOWN).fold(Nanos::ZERO, |sum, (_, row)| sum + row.time);
        table = table.with_note(format!("{}: {time} in all", counted(others, "other", "others")));
    }
    Some(table)
}

/// The waits for pages, each with its source and the thread that touched the page.
fn page_ins(launch: &Explained) -> impl Iterator<Item = (Source, ThreadId, &Segment)> {
    let segments = launch.path.segments.iter();
    segments.filter(|segment| segment.activity == Activity::PageIn).map(|segment| {
        let request = match segment.detail {
            Detail::Request(id) => launch.history.request(id),
            _ => None,
        };
        let file = segment.page.and_then(|page| page.file);
        let thread = segment.page.map_or(segment.thread, |page| page.thread);
        (source(launch, file, request), thread, segment)
    })
}

#[cfg(test)]
mod tests {
    use unjank_host::block_device::DeviceNumber;
    use unjank_host::swap_area::{Area, whole};
    use unjank_host::tracefs::script::{Script, task};
    use unjank_host::tracefs::{Context, DeviceRequest, EventKind, FilePages, StorageEvent};

    use super::*;
    use crate::report::scripted::explained;

    const DISK: DeviceNumber = DeviceNumber::new(254, 0);

    fn pages(inode: u64) -> FilePages {
        FilePages { device: DISK, inode, first: 0, order: 0 }
    }

    /// Thread 7 touches a page and waits for 8 sectors. `before` happens between.
    fn faults(before: &[StorageEvent], sector: u64) -> Script {
        let asked = DeviceRequest { device: DISK, sector, sectors: 8, letters: "R".into() };
        let storage = |script: Script, cpu, nanos, context, event| {
            script.happens(cpu, nanos, context, EventKind::Storage(event))
        };
        let touched = EventKind::PageFault { address: 0x1000 };
        let mut script = Script::new().runs(0, 0, 0, 7).happens(0, 50, Context::Thread, touched);
        for event in before {
            script = storage(script, 0, 60, Context::Thread, *event);
        }
        script = storage(script, 0, 90, Context::Thread, StorageEvent::Issued(asked));
        script = script.sleeps(0, 100, 7, 0);
        storage(script, 1, 300, Context::Irq, StorageEvent::Completed(asked))
            .happens(1, 300, Context::Irq, EventKind::Waking { task: task(7), cpu: 0 })
            .runs(0, 310, 0, 7)
            .sleeps(0, 400, 7, 0)
    }

    fn with_swap(script: &Script) -> Explained {
        let mut launch = explained(script, 400);
        launch.know_swap(vec![Area::new("/swap".to_owned(), DISK, true, whole(1_000, 80))]);
        launch
    }

    /// The first row, as text and numbers.
    fn row(launch: &Explained) -> (String, f64, f64, f64) {
        let table = table(launch).unwrap();
        let text = |cell: &TableCell| match cell {
            TableCell::Text(text) => text.clone(),
            TableCell::Empty => String::new(),
            TableCell::Number(number) => panic!("{number:?}"),
        };
        let number = |cell: &TableCell| match cell {
            TableCell::Number(number) => number.value,
            other => panic!("{other:?}"),
        };
        let row = &table.rows[0];
        let words = row[..3].iter().map(text).collect::<Vec<_>>().join("|");
        (words, number(&row[3]), number(&row[4]), number(&row[5]))
    }

    #[test]
    fn a_page_of_swap_is_told_from_one_of_a_file() {
        let [swap, file] = [1_072, 1_080].map(|sector| with_swap(&faults(&[], sector)));
        assert_eq!(row(&swap), ("swap|/swap|victim (7)".to_owned(), 200.0, 1.0, 4_096.0));
        assert_eq!(row(&file).0, "unknown||victim (7)", "the sector after the swap area");
        assert!(shown_files(&swap).is_empty());
        assert_eq!(source(&swap, None, None).words(&swap), None);
    }

    #[test]
    fn a_file_is_named_by_what_was_touched_or_else_by_what_was_read() {
        let [touched, cached] = [StorageEvent::Touched, StorageEvent::Cached];
        let file = |inode| FileId { device: DISK, inode };
        // The kernel also reads metadata of the file system: here inode 13.
        for before in [vec![touched(pages(12)), cached(pages(13))], vec![cached(pages(12))]] {
            let mut launch = with_swap(&faults(&before, 8));
            assert_eq!(row(&launch).0, "file|inode 12 on 254,0|victim (7)");
            assert_eq!(shown_files(&launch), [file(12)].into());
            launch.name_files([(file(12), "/usr/lib/libc.so.6".to_owned())].into());
            assert_eq!(row(&launch).0, "file|/usr/lib/libc.so.6|victim (7)");
            let words = source(&launch, Some(file(12)), None).words(&launch);
            assert_eq!(words.as_deref(), Some("file /usr/lib/libc.so.6"));
        }
    }

    #[test]
    fn a_launch_without_page_ins_has_no_table() {
        let script = Script::new().runs(0, 0, 0, 7).sleeps(0, 400, 7, 0);
        assert!(table(&with_swap(&script)).is_none());
    }
}
