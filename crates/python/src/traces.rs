//! Traces as streams of Arrow batches, and as requests for caches.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int32Array, RecordBatch, RecordBatchReader, StringArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use unjank_swap::mrc;
use unjank_swap::trace::{self, Backing, Event, Format, Operation, Options};

use crate::cache::{Requests, check_most, check_sample};
use crate::errors::{of_file, of_host, wrong};
use crate::signals::interruptible;

/// Events of a batch.
const BATCH: usize = 1 << 16;

/// The names of all formats.
#[pyfunction]
pub(crate) fn formats() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.name()).collect()
}

/// A trace, in one or several files that are merged by time. Every use reads it anew.
#[pyclass(frozen, module = "unjank.traces")]
pub(crate) struct Trace {
    paths: Vec<PathBuf>,
    options: Options,
}

impl Trace {
    fn open(&self) -> PyResult<trace::Trace> {
        for path in &self.paths {
            // Every use reads it anew, which a pipe does not allow.
            let kind = path.metadata().map_err(|error| of_file(path, &error))?;
            if !kind.is_file() {
                return Err(wrong(format!("{} is not a regular file", path.display())));
            }
        }
        trace::Trace::open(&self.paths, &self.options).map_err(|error| of_host(&error))
    }
}

#[pymethods]
impl Trace {
    #[new]
    #[pyo3(signature = (paths, *, format = None, columns = None, skip_bad = false, swap_devices = Vec::new()))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        format: Option<&str>,
        columns: Option<&str>,
        skip_bad: bool,
        swap_devices: Vec<String>,
    ) -> PyResult<Self> {
        let options = Options {
            format: format.map(str::parse).transpose().map_err(wrong)?,
            columns: columns.map(str::parse).transpose().map_err(wrong)?,
            skip_bad,
            swap_devices,
            ..Options::default()
        };
        let trace = Self { paths, options };
        // An unknown format is an error at once.
        for input in trace.open()?.summary().inputs.iter().filter(|input| input.is_guessed) {
            let (name, format) = (input.name.display(), input.format.name());
            let warning =
                format!("{name} is read as {format}, which is a guess; confirm it with format=");
            let warning = CString::new(warning).map_err(wrong)?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 2)?;
        }
        Ok(trace)
    }

    /// The formats of the files.
    #[getter]
    fn formats(&self) -> PyResult<Vec<&'static str>> {
        let inputs = self.open()?.summary().inputs;
        Ok(inputs.iter().map(|input| input.format.name()).collect())
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        format!("<Trace: {}>", names.join(", "))
    }

    /// The files.
    #[getter]
    fn paths(&self) -> Vec<PathBuf> {
        self.paths.clone()
    }

    /// All events, through the Arrow C stream interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows ignoring the requested schema.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(Batches::new(self.open()?)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The requests for pages, all or for a sample of the pages.
    #[pyo3(signature = (*, operations = None, sample = 1.0, seed = 0, max_requests = None))]
    fn requests(
        &self,
        py: Python<'_>,
        operations: Option<Vec<String>>,
        sample: f64,
        seed: u64,
        max_requests: Option<usize>,
    ) -> PyResult<Requests> {
        check_sample(sample)?;
        check_most(max_requests)?;
        let only = match operations {
            None => REQUESTS.to_vec(),
            Some(names) => names.iter().map(|name| operation(name)).collect::<PyResult<_>>()?,
        };
        let most = max_requests.unwrap_or(usize::MAX);
        let options = mrc::Options { only, rate: sample, most, seed };
        let mut trace = self.open()?;
        let read = interruptible(py, |stop| mrc::read(&mut trace, &options, stop))?;
        let read = read.map_err(|error| of_host(&error))?.expect("it was not stopped");
        let mut skipped = BTreeMap::new();
        for skip in read.summary.inputs.iter().flat_map(|input| input.skipped.all()) {
            *skipped.entry(skip.reason.to_owned()).or_default() += skip.count;
        }
        Requests::of(read.sample, skipped)
    }
}

/// The operations that count as requests, as in `unjank swap mrc`.
const REQUESTS: [Operation; 5] = [
    Operation::Read,
    Operation::Write,
    Operation::PageIn,
    Operation::PageOut,
    Operation::FirstTouch,
];

fn operation(name: &str) -> PyResult<Operation> {
    let known = Operation::from_name(name.as_bytes());
    known.ok_or_else(|| wrong(format!("unknown operation {name:?}")))
}

/// Reads a trace in batches; ends after an error.
struct Batches {
    trace: Option<trace::Trace>,
    events: Vec<Event>,
    schema: SchemaRef,
    processes: Dictionary,
    spaces: Dictionary,
}

/// Distinct names, and the one of each number.
#[derive(Default)]
struct Dictionary {
    places: HashMap<String, i32>,
    of_number: Vec<i32>,
    /// All names, made anew when there are more.
    array: Option<Arc<StringArray>>,
}

impl Dictionary {
    /// Takes the names that were added since the last time.
    fn update<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names.skip(self.of_number.len()) {
            let next = i32::try_from(self.places.len()).unwrap_or(i32::MAX);
            let place = *self.places.entry(name.to_owned()).or_insert(next);
            self.of_number.push(place);
            if place == next {
                self.array = None;
            }
        }
    }

    /// A column of the names of these numbers.
    fn column(&mut self, numbers: impl Iterator<Item = usize>) -> Result<ArrayRef, ArrowError> {
        let array = self.array.get_or_insert_with(|| {
            let mut names: Vec<(&str, i32)> =
                self.places.iter().map(|(name, place)| (name.as_str(), *place)).collect();
            names.sort_unstable_by_key(|(_, place)| *place);
            Arc::new(StringArray::from_iter_values(names.into_iter().map(|(name, _)| name)))
        });
        let indexes: Int32Array = numbers.map(|number| Some(self.of_number[number])).collect();
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(indexes, array.clone())?))
    }
}

fn schema() -> SchemaRef {
    let names = |index| DataType::Dictionary(Box::new(index), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("time_ns", DataType::UInt64, false),
        Field::new("process", names(DataType::Int32), false),
        Field::new("pid", DataType::UInt32, true),
        Field::new("space", names(DataType::Int32), false),
        Field::new("page", DataType::UInt64, false),
        Field::new("operation", names(DataType::Int8), false),
        Field::new("backing", names(DataType::Int8), false),
    ]))
}

impl Batches {
    fn new(trace: trace::Trace) -> Self {
        Self {
            trace: Some(trace),
            events: Vec::new(),
            schema: schema(),
            processes: Dictionary::default(),
            spaces: Dictionary::default(),
        }
    }

    /// The next events as columns.
    fn batch(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let trace = self.trace.as_mut()?;
        self.events.clear();
        // The exception itself cannot pass the stream.
        let raised = Python::attach(|py| py.check_signals().err());
        if let Some(raised) = raised {
            self.trace = None;
            return Some(Err(ArrowError::ExternalError(raised.to_string().into())));
        }
        let more = match trace.read(&mut self.events, BATCH) {
            Ok(more) => more,
            Err(error) => {
                self.trace = None;
                return Some(Err(ArrowError::ExternalError(Box::new(error))));
            }
        };
        self.processes.update(trace.names().processes().iter().map(|process| &*process.name));
        self.spaces.update(trace.names().spaces().iter().map(String::as_str));
        let batch = self.columns();
        if !more {
            self.trace = None;
        }
        Some(batch)
    }

    fn columns(&mut self) -> Result<RecordBatch, ArrowError> {
        let events = &self.events;
        let pids = self.trace.as_ref().map_or(&[][..], |trace| trace.names().processes());
        let small = |index: fn(&Event) -> u8, names: Vec<&str>| -> Result<ArrayRef, ArrowError> {
            let indexes: Int8Array =
                events.iter().map(|event| Some(index(event).cast_signed())).collect();
            let names = Arc::new(StringArray::from(names));
            Ok(Arc::new(DictionaryArray::<Int8Type>::try_new(indexes, names)?))
        };
        let numbers = |number: fn(&Event) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(events.iter().map(number)))
        };
        let pids: UInt32Array = events.iter().map(|event| pids[event.who.0 as usize].pid).collect();
        let columns = vec![
            numbers(|event| event.at.get()),
            self.processes.column(events.iter().map(|event| event.who.0 as usize))?,
            Arc::new(pids),
            self.spaces.column(events.iter().map(|event| usize::from(event.space.0)))?,
            numbers(|event| event.page),
            small(
                |event| event.operation as u8,
                Operation::ALL.iter().map(|operation| operation.name()).collect(),
            )?,
            small(
                |event| event.backing as u8,
                Backing::ALL.iter().map(|backing| backing.name()).collect(),
            )?,
        ];
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
