//! Names of functions as in the source.

use std::fmt;

use cpp_demangle::{DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Longer names are left as they are, and longer results cut: a short C++ name can
/// stand for one that fills the memory.
const LONGEST: usize = 4_096;
const LONGEST_RESULT: usize = 1_000;
/// The depth of nested C++ types.
const DEEPEST: u32 = 64;

/// A Rust name without its hash; a C++ name without parameters; other names
/// unchanged.
pub(super) fn demangle(name: &str) -> String {
    if name.len() <= LONGEST {
        if let Ok(rust) = rustc_demangle::try_demangle(name) {
            return format!("{rust:#}");
        }
        if name.starts_with("_Z") {
            return cpp(name).unwrap_or_else(|| name.to_owned());
        }
    }
    name.to_owned()
}

fn cpp(name: &str) -> Option<String> {
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let symbol = Symbol::new_with_options(name, &parse).ok()?;
    let options = DemangleOptions::new().no_params().no_return_type().recursion_limit(DEEPEST);
    let mut text = Bounded(String::new());
    let whole = symbol.structured_demangle(&mut text, &options);
    (whole.is_ok() || text.0.len() >= LONGEST_RESULT).then_some(text.0)
}

/// A text that takes no more once it is long.
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {}

    fn pop_demangle_node(&mut self) {}

    fn write_string(&mut self, part: &str) -> fmt::Result {
        if self.0.len() >= LONGEST_RESULT {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (name, expected) in [
            ("main", "main"),
            ("_ZN3foo3bar17h0123456789abcdefE", "foo::bar"),
            ("_ZN4node5StartEiPPc", "node::Start"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            ("_Z", "_Z"),
            ("_ZN4node", "_ZN4node"),
        ] {
            assert_eq!(demangle(name), expected);
        }
    }

    #[test]
    fn a_name_cannot_fill_the_memory() {
        // The types a<int, int>, a<a<int, int>, a<int, int> > and so on.
        let bomb = |parts: usize| {
            let twice = |part| format!("S0_IS{part}_S{part}_E");
            format!("_Z1fI1aIiiE{}EvT_", (1..=parts).map(twice).collect::<String>())
        };
        assert_eq!(demangle(&bomb(1)), "f<a<int, int>, a<a<int, int>, a<int, int> > >");
        let cut = demangle(&bomb(9));
        assert!(cut.starts_with("f<a<int") && cut.len() >= LONGEST_RESULT, "{cut}");
        assert!(cut.len() < 2 * LONGEST_RESULT, "{} bytes", cut.len());
        assert_eq!(demangle(&"_ZN".repeat(9_999)).len(), 3 * 9_999);
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_demangled(name in "(_Z|_ZN|_R)?[0-9A-Za-z_]{0,60}") {
            let _either = demangle(&name);
        }
    }
}
