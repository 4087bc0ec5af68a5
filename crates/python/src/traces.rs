//! Traces as streams of Arrow batches, and as requests for caches.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int32Array, RecordBatch, RecordBatchReader, StringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use unjank_swap::mrc;
use unjank_swap::trace::{self, Backing, Event, Format, Operation, Options};

use crate::cache::{Requests, check_sample};
use crate::errors::{of_file, of_host, wrong};
use crate::signals::Signals;

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
        trace::Trace::open(&self.paths, &self.options).map_err(|error| of_host(&error))
    }
}

#[pymethods]
impl Trace {
    #[new]
    #[pyo3(signature = (paths, *, format = None, columns = None, skip_bad = false, swap_devices = Vec::new()))]
    fn new(
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
        for path in &paths {
            // Every use reads it anew, which a pipe does not allow.
            let kind = path.metadata().map_err(|error| of_file(path, &error))?;
            if !kind.is_file() {
                return Err(wrong(format!("{} is not a regular file", path.display())));
            }
        }
        let trace = Self { paths, options };
        // An unknown format is an error at once.
        trace.open()?;
        Ok(trace)
    }

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
        // The protocol allows to ignore the wish.
        let _wish = requested_schema;
        let batches = Batches { trace: Some(self.open()?), events: Vec::new(), schema: schema() };
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
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
        let only = match operations {
            None => REQUESTS.to_vec(),
            Some(names) => names.iter().map(|name| operation(name)).collect::<PyResult<_>>()?,
        };
        let most = max_requests.unwrap_or(usize::MAX);
        let options = mrc::Options { only, rate: sample, most, seed };
        let mut trace = self.open()?;
        let signals = Signals::new();
        let read = py.detach(|| mrc::read(&mut trace, &options, &signals));
        let read = read.map_err(|error| of_host(&error))?;
        Ok(Requests(signals.finish(read)?.sample))
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
}

fn schema() -> SchemaRef {
    let names = |index| DataType::Dictionary(Box::new(index), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("at", DataType::UInt64, false),
        Field::new("operation", names(DataType::Int8), false),
        Field::new("page", DataType::UInt64, false),
        Field::new("process", names(DataType::Int32), false),
        Field::new("space", names(DataType::Int32), false),
        Field::new("backing", names(DataType::Int8), false),
    ]))
}

impl Batches {
    /// The next events as columns. Indexes of processes and spaces stay the same in all batches.
    fn batch(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let trace = self.trace.as_mut()?;
        self.events.clear();
        let more = match trace.read(&mut self.events, BATCH) {
            Ok(more) => more,
            Err(error) => {
                self.trace = None;
                return Some(Err(ArrowError::ExternalError(Box::new(error))));
            }
        };
        let (names, events) = (trace.names(), &self.events);
        let small = |index: fn(&Event) -> u8, names: Vec<&str>| -> Result<ArrayRef, ArrowError> {
            let indexes: Int8Array =
                events.iter().map(|event| Some(index(event).cast_signed())).collect();
            let names = Arc::new(StringArray::from(names));
            Ok(Arc::new(DictionaryArray::<Int8Type>::try_new(indexes, names)?))
        };
        let large = |index: fn(&Event) -> u32, names: Vec<&str>| -> Result<ArrayRef, ArrowError> {
            let indexes: Int32Array =
                events.iter().map(|event| Some(index(event).cast_signed())).collect();
            let names = Arc::new(StringArray::from(names));
            Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(indexes, names)?))
        };
        let numbers = |number: fn(&Event) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(events.iter().map(number)))
        };
        let columns = || -> Result<Vec<ArrayRef>, ArrowError> {
            Ok(vec![
                numbers(|event| event.at.get()),
                small(
                    |event| event.operation as u8,
                    Operation::ALL.iter().map(|operation| operation.name()).collect(),
                )?,
                numbers(|event| event.page),
                large(
                    |event| event.who.0,
                    names.processes().iter().map(|process| process.name.as_str()).collect(),
                )?,
                large(
                    |event| u32::from(event.space.0),
                    names.spaces().iter().map(String::as_str).collect(),
                )?,
                small(
                    |event| event.backing as u8,
                    Backing::ALL.iter().map(|backing| backing.name()).collect(),
                )?,
            ])
        };
        let batch =
            columns().and_then(|columns| RecordBatch::try_new(self.schema.clone(), columns));
        if !more {
            self.trace = None;
        }
        Some(batch)
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
