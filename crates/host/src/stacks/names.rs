//! Names of functions: from the symbols of files, from the kernel's list of symbols,
//! and from the map that a runtime writes for generated code.

use std::collections::{BTreeMap, BTreeSet};

use super::Frame;
use super::code_file::CodeFiles;
use super::mappings::FileNumber;
use super::place::Place;
use crate::clock::Timestamp;
use crate::kernel_symbols;
use crate::program_code::{functions, generated_functions, generated_functions_since};
use crate::root::Root;
use crate::text::steers_terminal;

/// Longer names are cut.
const LONGEST_NAME: usize = 200;

/// The function at each place. A map of generated code counts if it was written after
/// `began`; that of a process in `ran_before`, if it was written since the process began.
pub(super) fn name(
    root: &Root,
    places: &[Place],
    files: &CodeFiles,
    began: Timestamp,
    ran_before: &BTreeSet<u32>,
) -> Vec<Frame> {
    let mut kernel: BTreeSet<u64> = BTreeSet::new();
    let mut by_file: BTreeMap<FileNumber, Vec<u64>> = BTreeMap::new();
    let mut made: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for place in places {
        match *place {
            Place::Kernel(address) => _ = kernel.insert(address),
            Place::File(file, offset) => by_file.entry(file).or_default().push(offset),
            Place::Made(process, address) => made.entry(process).or_default().push(address),
        }
    }
    let mut names: BTreeMap<Place, String> = BTreeMap::new();
    let of_kernel = kernel_symbols::names_of(root, &kernel).unwrap_or_default();
    names.extend(of_kernel.into_iter().map(|(address, name)| (Place::Kernel(address), name)));
    for (number, offsets) in by_file {
        let Some(file) = files.get(number) else { continue };
        let found = file.open(root).map(|open| functions(root, open, &file.path, &offsets));
        let found = found.unwrap_or_default().into_iter();
        names.extend(found.map(|(offset, name)| (Place::File(number, offset), name)));
    }
    for (process, addresses) in made {
        let found = if ran_before.contains(&process) {
            generated_functions(root, process, &addresses)
        } else {
            generated_functions_since(root, process, &addresses, began)
        };
        names
            .extend(found.into_iter().map(|(address, name)| (Place::Made(process, address), name)));
    }
    places.iter().map(|place| frame(*place, names.remove(place), files)).collect()
}

fn frame(place: Place, name: Option<String>, files: &CodeFiles) -> Frame {
    let is_kernel = matches!(place, Place::Kernel(_));
    if let Some(name) = name {
        return Frame { text: clean(&name), is_named: true, is_kernel };
    }
    let text = match place {
        Place::Kernel(_) => "[kernel]".to_owned(),
        Place::File(number, offset) => {
            let file = files.get(number).map_or("", |file| file.name());
            clean(&format!("{file}+{offset:#x}"))
        }
        Place::Made(_, address) => format!("{address:#x}"),
    };
    Frame { text, is_named: false, is_kernel }
}

/// A name of bounded length without characters that steer a terminal.
fn clean(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars().take(LONGEST_NAME) {
        if steers_terminal(character) {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::MappedFile;

    #[test]
    fn places_without_a_name_have_a_file_or_an_address() {
        let mut files = CodeFiles::default();
        let seven = MappedFile { inode: 7, ..MappedFile::default() };
        let file = files.number(b"/usr/lib/lib\x1bx.so", seven, 1).unwrap();
        let places = [Place::File(file, 0x10), Place::Made(9, 0xff), Place::Kernel(1)];
        let frames =
            name(&Root::at("/nonexistent"), &places, &files, Timestamp::now(), &BTreeSet::new());
        let texts: Vec<&str> = frames.iter().map(|frame| frame.text.as_str()).collect();
        assert_eq!(texts, ["lib\\u{1b}x.so+0x10", "0xff", "[kernel]"]);
        assert!(frames.iter().all(|frame| !frame.is_named));
        assert_eq!(frames.iter().filter(|frame| frame.is_kernel).count(), 1);
    }

    #[test]
    fn a_name_is_cut_and_steers_no_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(clean("größer\u{202e}\u{200b}"), "größer\\u{202e}\\u{200b}");
        assert_eq!(clean(&"x".repeat(9_999)).len(), LONGEST_NAME);
    }
}
