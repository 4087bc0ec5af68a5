//! Page numbers and other keys in arrays of Python (`NumPy`, `array.array`) through the buffer
//! protocol.

use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Keys that are passed on at a time.
const PIECE: usize = 1 << 20;

/// The keys of an array. Negative numbers are keys like others.
fn keys(array: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let py = array.py();
    let any = PyUntypedBuffer::get(array).map_err(|_| wrong_type(array, "has no buffer"))?;
    if any.dimensions() != 1 {
        return Err(wrong_type(array, &format!("has {} dimensions", any.dimensions())));
    }
    let format = any.format().to_string_lossy().into_owned();
    if format.starts_with(['>', '!']) && any.item_size() > 1 {
        return Err(wrong_type(array, "has big-endian numbers"));
    }
    if let Ok(buffer) = PyBuffer::<u64>::get(array) {
        return buffer.to_vec(py);
    }
    if let Ok(buffer) = PyBuffer::<i64>::get(array) {
        return Ok(buffer.to_vec(py)?.into_iter().map(i64::cast_unsigned).collect());
    }
    if let Ok(buffer) = PyBuffer::<u32>::get(array) {
        return Ok(buffer.to_vec(py)?.into_iter().map(u64::from).collect());
    }
    if let Ok(buffer) = PyBuffer::<i32>::get(array) {
        let keys = buffer.to_vec(py)?.into_iter().map(|key| i64::from(key).cast_unsigned());
        return Ok(keys.collect());
    }
    if let Ok(buffer) = PyBuffer::<u16>::get(array) {
        return Ok(buffer.to_vec(py)?.into_iter().map(u64::from).collect());
    }
    Err(wrong_type(array, &format!("has items of the format {format:?}")))
}

fn wrong_type(array: &Bound<'_, PyAny>, what: &str) -> PyErr {
    let name = array.get_type().name().map_or_else(|_| "it".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "expected an array of integers with one dimension; {name} {what}: convert it, as with \
         numpy.asarray(x, dtype=\"u8\")"
    ))
}

/// Passes the keys of an array on in pieces. The interpreter is free meanwhile, and between two
/// pieces Ctrl-C is heard.
///
/// # Errors
/// It is no array of integers, or `take` fails.
pub(crate) fn in_pieces(
    array: &Bound<'_, PyAny>,
    mut take: impl FnMut(&[u64]) -> PyResult<()> + Send,
) -> PyResult<()> {
    let py = array.py();
    for piece in keys(array)?.chunks(PIECE) {
        py.detach(|| take(piece))?;
        py.check_signals()?;
    }
    Ok(())
}
