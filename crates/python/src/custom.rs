//! Policies that are classes in Python: slow, for ideas.

use std::cell::RefCell;

use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use unjank_cachesim::mrc::Sampler;
use unjank_cachesim::{Page, Replacement, Space, check as rules};

use crate::errors::wrong;
use crate::keys::in_pieces;

/// A policy in Python. The first exception ends its run: after it, the policy is not asked again.
struct Custom<'py> {
    policy: Bound<'py, PyAny>,
    space: Space,
    raised: &'py RefCell<Option<PyErr>>,
}

impl<'py> Custom<'py> {
    fn new(
        class: &Bound<'py, PyAny>,
        space: Space,
        raised: &'py RefCell<Option<PyErr>>,
    ) -> PyResult<Self> {
        let policy = class.call1((space.capacity(), space.footprint()))?;
        Ok(Self { policy, space, raised })
    }

    /// What the policy answers; the default after an exception.
    fn unless_raised<T: Default>(
        &self,
        answer: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> T {
        if self.raised.borrow().is_some() {
            return T::default();
        }
        answer(&self.policy).unwrap_or_else(|error| {
            *self.raised.borrow_mut() = Some(error);
            T::default()
        })
    }

    /// Calls a method; the default after an exception.
    fn ask<T: Default + for<'a> FromPyObject<'a, 'py>>(
        &self,
        method: &str,
        page: Option<Page>,
    ) -> T {
        if self.raised.borrow().is_some() {
            return T::default();
        }
        let answer = match page {
            Some(Page(page)) => self.policy.call_method1(method, (page,)),
            None => self.policy.call_method0(method),
        };
        let answer = answer.and_then(|answer| {
            answer.extract::<T>().map_err(|_| {
                let page = page.map_or_else(String::new, |Page(page)| page.to_string());
                PyTypeError::new_err(format!("{method}({page}) returned {answer}"))
            })
        });
        answer.unwrap_or_else(|error| {
            *self.raised.borrow_mut() = Some(error);
            T::default()
        })
    }
}

/// An answer of any type that does not matter.
#[derive(Default)]
struct Ignored;

impl FromPyObject<'_, '_> for Ignored {
    type Error = PyErr;

    fn extract(_: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        Ok(Self)
    }
}

impl Replacement for Custom<'_> {
    fn contains(&self, page: Page) -> bool {
        // The operator takes any answer that can be true or false.
        self.unless_raised(|policy| policy.contains(page.0))
    }

    fn hit(&mut self, page: Page) {
        self.ask::<Ignored>("hit", Some(page));
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        self.ask::<Option<u32>>("admit", Some(page)).map(Page)
    }

    fn remove(&mut self, page: Page) -> bool {
        self.ask("remove", Some(page))
    }

    fn len(&self) -> u32 {
        self.unless_raised(|policy| Ok(u32::try_from(policy.len()?).unwrap_or(u32::MAX)))
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// The misses of a policy in Python.
#[pyfunction]
pub(crate) fn custom_misses(
    class: &Bound<'_, PyAny>,
    keys: &Bound<'_, PyAny>,
    capacity: u64,
) -> PyResult<u64> {
    let mut sampler = Sampler::new(1.0, 0);
    in_pieces(keys, |keys| sampler.extend(keys).map_err(wrong))?;
    let requests = sampler.finish();
    let space = Space::new(capacity, requests.footprint().into()).map_err(wrong)?;
    let raised = RefCell::new(None);
    let mut policy = Custom::new(class, space, &raised)?;
    let mut misses = 0;
    for page in requests.pages() {
        misses += u64::from(!policy.request(*page));
        if raised.borrow().is_some() {
            break;
        }
        // Cheap signs of a broken policy; `check` finds more.
        if !policy.contains(*page) && policy.len() == 0 || policy.len() > space.capacity() {
            return Err(wrong(format!(
                "after a request for page {}, {} of {} pages are in the cache; check(policy) says \
                 what is wrong",
                page.0,
                policy.len(),
                space.capacity()
            )));
        }
    }
    drop(policy);
    raised.into_inner().map_or(Ok(misses), Err)
}

/// Checks whether a policy in Python keeps the rules of policies.
#[pyfunction]
pub(crate) fn check(class: &Bound<'_, PyAny>) -> PyResult<()> {
    let raised = RefCell::new(None);
    let made = rules::replacement(|space| {
        Custom::new(class, space, &raised).unwrap_or_else(|error| {
            *raised.borrow_mut() = Some(error);
            Custom { policy: class.clone(), space, raised: &raised }
        })
    });
    match (raised.take(), made) {
        (Some(error), _) => Err(error),
        (None, Err(violation)) => Err(PyValueError::new_err(violation.to_string())),
        (None, Ok(())) => Ok(()),
    }
}
