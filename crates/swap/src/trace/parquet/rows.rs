//! Reading events out of a table.

use ::parquet::column::reader::ColumnReader;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use unjank_host::Nanos;

use super::super::event::{Backing, Event, Operation};
use super::super::names::{Full, Member, Names};
use super::super::reader::Stop;
use super::super::skipped::Place;
use super::super::source::Whole;

/// Rows decoded at once.
const CHUNK: usize = 8192;

/// Reads a table, one group of rows after the other.
pub(in super::super) struct Rows {
    reader: SerializedFileReader<Whole>,
    /// Where the table has the columns that are known; [`COLUMNS`] says which is which.
    places: [Option<usize>; COLUMNS.len()],
    next_group: usize,
    columns: Option<[Column; COLUMNS.len()]>,
    /// Rows that are left in the group.
    left: usize,
    /// Rows that were read.
    done: u64,
}

const COLUMNS: [&str; 10] = [
    "time_ns",
    "process",
    "pid",
    "space",
    "page",
    "operation",
    "backing",
    "cgroup",
    "launch_id",
    "command_pid",
];
/// A table lacks the others where nothing is known.
const NEEDED: [usize; 3] = [0, 4, 5];

/// The values of a column's chunk of rows.
#[derive(Default)]
struct Column {
    reader: Option<ColumnReader>,
    levels: Vec<i16>,
    numbers: Vec<i64>,
    texts: Vec<ByteArray>,
}

impl Rows {
    /// The table in `file`, or why it is none of a trace.
    pub(in super::super) fn open(file: Whole) -> Result<Self, String> {
        let reader = guarded(|| SerializedFileReader::new(file)).map_err(|why| why.to_string())?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let mut places = [None; COLUMNS.len()];
        for (index, column) in schema.columns().iter().enumerate() {
            let known = COLUMNS.iter().position(|name| column.path().string() == *name);
            if let Some(known) = known {
                if column.max_rep_level() > 0 || column.max_def_level() > 1 {
                    return Err(format!("the column {} holds lists", COLUMNS[known]));
                }
                places[known] = Some(index);
            }
        }
        for needed in NEEDED {
            if places[needed].is_none() {
                return Err(format!("the table has no column {}", COLUMNS[needed]));
            }
        }
        Ok(Self { reader, places, next_group: 0, columns: None, left: 0, done: 0 })
    }

    /// Appends `most` events or so; false at the end.
    pub(in super::super) fn read(
        &mut self,
        events: &mut Vec<Event>,
        names: &mut Names,
        most: usize,
    ) -> Result<bool, Stop> {
        let enough = events.len().saturating_add(most);
        while events.len() < enough {
            if self.left == 0 && !self.open_group()? {
                return Ok(false);
            }
            let rows = self.left.min(CHUNK).min(enough - events.len());
            let place = Place::Row(self.done);
            let Some(columns) = &mut self.columns else { return Ok(false) };
            for (index, column) in columns.iter_mut().enumerate() {
                column
                    .read(rows)
                    .map_err(|why| Stop::At(place, format!("column {}: {why}", COLUMNS[index])))?;
            }
            rows_to_events(columns, rows, self.done, events, names)?;
            self.left -= rows;
            self.done += rows as u64;
        }
        Ok(true)
    }

    fn open_group(&mut self) -> Result<bool, Stop> {
        let stop = |why: ParquetError| Stop::At(Place::Row(self.done), why.to_string());
        if self.next_group >= self.reader.num_row_groups() {
            return Ok(false);
        }
        let columns = guarded(|| {
            let group = self.reader.get_row_group(self.next_group)?;
            begin_somewhere(group.metadata())?;
            let mut columns: [Column; COLUMNS.len()] = Default::default();
            for (column, place) in columns.iter_mut().zip(self.places) {
                column.reader = place.map(|place| group.get_column_reader(place)).transpose()?;
            }
            Ok((columns, group.metadata().num_rows()))
        });
        let (columns, rows) = columns.map_err(stop)?;
        self.left = usize::try_from(rows).map_err(|_| {
            Stop::At(Place::Row(self.done), "a group has less than no rows".to_owned())
        })?;
        self.columns = Some(columns);
        self.next_group += 1;
        // A group may be empty, and then the next one is meant.
        if self.left == 0 { self.open_group() } else { Ok(true) }
    }
}

impl Column {
    /// Decodes `rows` rows, one level for each, and one value for each that has one.
    fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        self.levels.clear();
        self.numbers.clear();
        self.texts.clear();
        let (levels, numbers, texts) = (&mut self.levels, &mut self.numbers, &mut self.texts);
        let mut read = 0;
        while read < rows {
            let wanted = rows - read;
            let (records, ..) = guarded(|| match reader {
                ColumnReader::Int64ColumnReader(reader) => {
                    reader.read_records(wanted, Some(levels), None, numbers)
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    let mut small = Vec::new();
                    let result = reader.read_records(wanted, Some(levels), None, &mut small);
                    numbers.extend(small.into_iter().map(|number| i64::from(number as u32)));
                    result
                }
                ColumnReader::ByteArrayColumnReader(reader) => {
                    reader.read_records(wanted, Some(levels), None, texts)
                }
                // pandas makes these of whole numbers of which some are missing.
                ColumnReader::DoubleColumnReader(reader) => {
                    let mut doubles = Vec::new();
                    let result = reader.read_records(wanted, Some(levels), None, &mut doubles);
                    for number in doubles {
                        numbers.push(whole(number)?);
                    }
                    result
                }
                _ => Err(wrong("it holds neither whole numbers nor text")),
            })?;
            if records == 0 {
                return Err(wrong("it ends before the others do"));
            }
            read += records;
        }
        // A column that every row has comes without levels.
        if self.levels.is_empty() {
            self.levels.resize(rows, 1);
        }
        let values = self.levels.iter().filter(|level| **level == 1).count();
        if self.levels.len() != rows || values != self.numbers.len().max(self.texts.len()) {
            return Err(wrong("it has not as many values as rows"));
        }
        Ok(())
    }
}

fn rows_to_events(
    columns: &[Column; COLUMNS.len()],
    rows: usize,
    done: u64,
    events: &mut Vec<Event>,
    names: &mut Names,
) -> Result<(), Stop> {
    let mut at = [0; COLUMNS.len()];
    // The index of a row's value, if it has one.
    let mut index = |column: usize, row: usize| {
        let has = columns[column].levels.get(row) == Some(&1);
        at[column] += usize::from(has);
        has.then(|| at[column] - 1)
    };
    for row in 0..rows {
        let stop = |what: &str| Stop::At(Place::Row(done + row as u64), what.to_owned());
        let full = |full: Full| stop(full.0);
        let [time, process, pid, space, page, operation, backing, cgroup, launch, command] =
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|column| index(column, row));
        let number = |column: usize, index: Option<usize>| {
            index.and_then(|index| columns[column].numbers.get(index)).copied()
        };
        let text = |column: usize, index: Option<usize>| {
            index.and_then(|index| columns[column].texts.get(index)).map(ByteArray::data)
        };
        let operation = text(5, operation).and_then(Operation::from_name);
        let backing = match text(6, backing) {
            Some(name) => {
                Backing::from_name(name).ok_or_else(|| stop("there is no such backing"))?
            }
            None => Backing::Unknown,
        };
        let process = text(1, process).unwrap_or_default();
        let cgroup = text(7, cgroup).unwrap_or_default();
        let small = |column: usize, index: Option<usize>, what: &str| {
            let number = number(column, index).map(u32::try_from).transpose();
            number.map_err(|_| stop(what))
        };
        let member = Member {
            name: process,
            pid: small(2, pid, "the pid is no number of a process")?,
            cgroup,
            launch: small(8, launch, "the launch is no number of one")?,
            command: small(9, command, "the command is no number of a process")?,
        };
        events.push(Event {
            at: Nanos(number(0, time).ok_or_else(|| stop("there is no time"))? as u64),
            page: number(4, page).ok_or_else(|| stop("there is no page"))? as u64,
            who: names.member(member).map_err(full)?,
            space: names.space_number(text(3, space).unwrap_or_default()).map_err(full)?,
            operation: operation.ok_or_else(|| stop("there is no such operation"))?,
            backing,
        });
    }
    Ok(())
}

/// A real number that is a whole one, and exactly so.
fn whole(number: f64) -> Result<i64, ParquetError> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && (0.0..=EXACT).contains(&number) {
        Ok(number as i64)
    } else {
        Err(wrong("it holds a number that is not whole"))
    }
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// The crate that decodes takes it for granted that no column begins before the file.
fn begin_somewhere(group: &RowGroupMetaData) -> Result<(), ParquetError> {
    for column in group.columns() {
        let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        if begin < 0 || column.compressed_size() < 0 {
            return Err(wrong("a column begins before the file, or is shorter than nothing"));
        }
    }
    Ok(())
}

/// The crate that decodes may panic on a damaged file. That is an error of the file, and what was
/// decoded so far is not looked at again.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(wrong("the file is damaged")))
}
