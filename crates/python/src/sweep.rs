//! Units of sweeps over sizes and policies of a tier.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::prelude::*;
use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_cachesim::tier::TierPolicy;
use unjank_host::{Bytes, Nanos};
use unjank_measure::Monitor;
use unjank_swap::simulate::load::Meaning;
use unjank_swap::simulate::{Latency, Launching, Load, MemoryOptions, load};
use unjank_swap::sweep::{self, Cell, Content, Options};
use unjank_swap::synth::{Preset, Synth};
use unjank_swap::trace::{self, Numbering, Trace};

use crate::errors::{of_file, of_host, of_json, wrong};
use crate::signals::interruptible;

/// The default length of a launch.
const LAUNCH: Nanos = Nanos::from_millis(10_000);

/// The names of all policies of a tier.
#[pyfunction]
pub(crate) fn tier_policies() -> Vec<String> {
    TierPolicy::all().iter().map(ToString::to_string).collect()
}

/// The name of a policy as results have it: without parameters that have their default values.
#[pyfunction]
pub(crate) fn tier_policy(name: &str) -> PyResult<String> {
    Ok(name.parse::<TierPolicy>().map_err(wrong)?.to_string())
}

/// One trace, or synthetic phone, with one size of memory under all sizes and policies of a tier.
#[pyclass(frozen, module = "unjank._native")]
pub(crate) struct Unit {
    name: String,
    source: Source,
    memory: Option<MemoryOptions>,
    options: Options,
}

enum Source {
    Synthetic(&'static Preset, u64),
    File(PathBuf, trace::Options),
}

#[pymethods]
impl Unit {
    /// `trace` is a path, or the name of a preset after `synthetic: `.
    #[new]
    #[pyo3(signature = (trace, *, name, memory, tiers, policies, format, columns, skip_bad, memory_policy, readahead, seed))]
    #[expect(clippy::too_many_arguments, reason = "only unjank.cluster calls it, by name")]
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 makes it from any sequence")]
    fn new(
        trace: &str,
        name: String,
        memory: Option<u64>,
        tiers: Vec<u64>,
        policies: Vec<String>,
        format: Option<&str>,
        columns: Option<&str>,
        skip_bad: bool,
        memory_policy: &str,
        readahead: u32,
        seed: u64,
    ) -> PyResult<Self> {
        let policies = policies.iter().map(|policy| policy.parse::<TierPolicy>().map_err(wrong));
        let options = Options {
            tiers: tiers.into_iter().map(Bytes).collect(),
            policies: policies.collect::<PyResult<_>>()?,
            write_budget: None,
            launching: Launching::lasting(LAUNCH),
            latency: Latency::default(),
        };
        options.count().map_err(|error| of_host(&error))?;
        let mut size = memory.map(Bytes);
        let (mut pinned, mut minfree) = (Bytes::default(), Bytes::default());
        let source = if let Some(preset) = trace.strip_prefix("synthetic: ") {
            let preset = Preset::named(preset).map_err(wrong)?;
            let pages = |pages: u32| Bytes(u64::from(pages) * trace::PAGE);
            size = size.or(Some(preset.phone.memory()));
            (pinned, minfree) = (pages(preset.phone.pinned), pages(preset.phone.minfree));
            Source::Synthetic(preset, seed)
        } else {
            let reading = trace::Options {
                format: format.map(str::parse).transpose().map_err(wrong)?,
                columns: columns.map(str::parse).transpose().map_err(wrong)?,
                skip_bad,
                ..trace::Options::default()
            };
            Source::File(trace.into(), reading)
        };
        let policy: MemoryPolicy = memory_policy.parse().map_err(wrong)?;
        let readahead = Readahead::new(readahead);
        let memory = size.map(|size| MemoryOptions { size, policy, readahead, pinned, minfree });
        Ok(Self { name, source, memory, options })
    }

    /// The content of the trace as text, equal for equal content. Reads the file.
    fn content(&self, py: Python<'_>) -> PyResult<String> {
        let content = match &self.source {
            Source::Synthetic(preset, seed) => Ok(Content::synthetic(preset, *seed)),
            Source::File(path, reading) => py
                .detach(|| Content::of_files(std::slice::from_ref(path), reading))
                .map_err(|error| of_file(path, &error)),
        };
        Ok(content?.text().to_owned())
    }

    /// Identifies the unit by everything that determines its results.
    fn key(&self, content: &str) -> String {
        self.unit(&Content::from_text(content)).key.to_string()
    }

    /// The events and distinct pages of the trace.
    fn count(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let counted = interruptible(py, |stop| match &self.source {
            Source::Synthetic(preset, seed) => count(&mut Synth::new(**preset, *seed), stop),
            Source::File(path, reading) => {
                count(&mut Trace::open(std::slice::from_ref(path), reading)?, stop)
            }
        })?;
        Ok(counted.map_err(|error| of_host(&error))?.expect("it was not stopped"))
    }

    /// The cells of these sizes of the tier and policies, as JSON: an array of objects.
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 makes it from any sequence")]
    fn run(&self, py: Python<'_>, places: Vec<(u64, String)>, threads: usize) -> PyResult<String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(wrong)?;
        let cells = interruptible(py, |stop| pool.install(|| self.cells(&places, stop)))?;
        let mut cells = cells.map_err(|error| of_host(&error))?.expect("it was not stopped");
        cells.sort_by(|one, other| one.combination.cmp(&other.combination));
        serde_json::to_string(&cells).map_err(of_json)
    }
}

impl Unit {
    fn unit(&self, content: &Content) -> sweep::Unit {
        sweep::Unit::new(&self.name, content, self.memory, &self.options)
    }

    fn load(&self, monitor: &dyn Monitor) -> unjank_host::Result<Option<Load>> {
        let meaning = match self.memory {
            Some(_) => Meaning::Programs,
            None => Meaning::Paging,
        };
        let launching = self.options.launching;
        match &self.source {
            Source::Synthetic(preset, seed) => {
                load(&mut Synth::new(**preset, *seed), meaning, launching, monitor)
            }
            Source::File(path, reading) => {
                let mut trace = Trace::open(std::slice::from_ref(path), reading)?;
                load(&mut trace, meaning, launching, monitor)
            }
        }
    }

    fn cells(
        &self,
        places: &[(u64, String)],
        monitor: &dyn Monitor,
    ) -> unjank_host::Result<Option<Vec<Cell>>> {
        let Some(load) = self.load(monitor)? else { return Ok(None) };
        let cells = Mutex::new(Vec::with_capacity(places.len()));
        let keep = |cell| {
            let mut cells = cells.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            cells.push(cell);
            Ok(())
        };
        // Nothing asks for its key.
        let unit = self.unit(&Content::read_once(0));
        let whole = sweep::run(&unit, &load, places, &self.options, keep, monitor)?;
        let cells = cells.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(whole.then_some(cells))
    }
}

/// Events and distinct pages; `None` after a signal.
fn count(
    trace: &mut impl trace::Events,
    monitor: &dyn Monitor,
) -> unjank_host::Result<Option<(u64, u64)>> {
    let (mut numbering, mut dense) = (Numbering::default(), unjank_cachesim::Dense::new());
    let (mut batch, mut keys, mut pages, mut events) = (Vec::new(), Vec::new(), Vec::new(), 0);
    loop {
        let more = trace.read(&mut batch, 1 << 16)?;
        events += batch.len() as u64;
        keys.clear();
        keys.extend(batch.iter().map(|event| numbering.key(event)));
        pages.clear();
        dense
            .pages(&keys, &mut pages)
            .map_err(|error| unjank_host::Error::Invalid(error.to_string()))?;
        batch.clear();
        if monitor.stop_requested() {
            return Ok(None);
        }
        if !more {
            return Ok(Some((events, dense.keys().len() as u64)));
        }
    }
}
