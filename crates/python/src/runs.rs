//! The store of run records. Records travel as JSON, which their schema describes.

use std::path::PathBuf;

use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use unjank_measure::RunRecord;
use unjank_measure::compare::{Options, OtherRuns, compare};
use unjank_measure::store::{Filter, Selector};

use crate::errors::{of_file, of_json, of_store};

/// A store of run records. Each call opens the file, because the command may write to it.
#[pyclass(frozen, module = "unjank.runs")]
pub(crate) struct Store {
    path: PathBuf,
}

impl Store {
    fn open(&self) -> PyResult<unjank_measure::Store> {
        if !self.path.exists() {
            let message = format!("{} does not exist", self.path.display());
            return Err(PyFileNotFoundError::new_err(message));
        }
        unjank_measure::Store::open(&self.path).map_err(|error| of_store(&error))
    }
}

fn selector(run: &str) -> Selector {
    let Ok(selector) = run.parse();
    selector
}

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let store = Self { path };
        py.detach(|| store.open().map(drop))?;
        Ok(store)
    }

    /// The runs, the latest first.
    fn list(
        &self,
        py: Python<'_>,
        command: Option<String>,
        limit: Option<u32>,
    ) -> PyResult<String> {
        py.detach(|| {
            let entries = self.open()?.list(&Filter { command, limit, ..Filter::default() });
            serde_json::to_string(&entries.map_err(|error| of_store(&error))?).map_err(of_json)
        })
    }

    /// A record, with fields that this version does not know.
    fn record(&self, py: Python<'_>, run: &str) -> PyResult<String> {
        py.detach(|| {
            let text = self.open()?.text(&selector(run));
            let (_, text) = text.map_err(|error| of_store(&error))?;
            Ok(text)
        })
    }

    /// A comparison of two runs.
    fn compare(
        &self,
        py: Python<'_>,
        before: &str,
        after: &str,
        min_effect: f64,
        seed: u64,
    ) -> PyResult<String> {
        py.detach(|| {
            let store = self.open()?;
            let find = |run| store.get(&selector(run)).map_err(|error| of_store(&error));
            let (before, after) = (find(before)?, find(after)?);
            let others = store.others_like(&[&before, &after]);
            let options = Options { min_effect, seed };
            let comparison = compare(&before, &after, &OtherRuns::new(&others), &options);
            serde_json::to_string(&comparison.map_err(|error| of_store(&error))?).map_err(of_json)
        })
    }
}

/// The largest file of a record that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// A record from a file, in the form of this version.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "pyo3 makes it from any path")]
pub(crate) fn record_of_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| {
        let file = std::fs::File::open(&path).map_err(|error| of_file(&path, &error))?;
        let text = std::io::read_to_string(std::io::Read::take(file, LARGEST));
        let text = text.map_err(|error| of_file(&path, &error))?;
        let record = RunRecord::import(&text, &path.display().to_string());
        serde_json::to_string(&record.map_err(|error| of_store(&error))?).map_err(of_json)
    })
}
