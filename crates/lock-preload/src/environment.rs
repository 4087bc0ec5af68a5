//! Variables of the environment.

use std::ffi::{CStr, c_char};

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

/// A variable, unless the program has more rights than its caller
/// (`secure_getenv(3)`). Only for the constructor: nobody changes the environment
/// while libraries are loaded.
pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a name that ends with zero.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: the environment consists of strings, and is there until the program ends.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}
