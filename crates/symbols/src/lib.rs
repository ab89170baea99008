//! Names of functions in ELF files: [`FunctionNames::read`], then [`FunctionNames::at`] for each place in the file, and [`shown`] for people.

use std::{fmt, fs::File};

use cpp_demangle::{DemangleOptions, Symbol};
use object::{Object, ObjectSegment, ObjectSymbol, ReadCache, ReadRef, SymbolKind};

/// Most symbols that are read of each table of a file.
const MOST_SYMBOLS: usize = 4_000_000;

/// Names in C++ that are longer, in bytes, stay as they are.
const LONGEST_CPP_NAME: usize = 4096;

/// The functions of an ELF file that have names.
#[derive(Clone, Debug, Default)]
pub struct FunctionNames {
    /// Offset in the file, length and address of each segment.
    segments: Vec<(u64, u64, u64)>,
    /// Address, length (0: not known) and name, in the order of addresses.
    functions: Vec<(u64, u64, String)>,
}

impl FunctionNames {
    /// Reads the names of a file. `None`: it is no ELF file, or damaged.
    pub fn read(file: &File) -> Option<Self> {
        Self::parse(&ReadCache::new(file))
    }

    fn parse<'data>(bytes: impl ReadRef<'data>) -> Option<Self> {
        let elf = object::File::parse(bytes).ok()?;
        let segments = elf.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        });
        // A stripped library still has those that others call.
        let symbols = elf.symbols().take(MOST_SYMBOLS).chain(elf.dynamic_symbols().take(MOST_SYMBOLS));
        let functions = symbols.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
        let named = functions.filter_map(|one| Some((one.address(), one.size(), one.name().ok()?.to_owned())));
        let mut functions: Vec<_> = named.filter(|(_, _, name)| !name.is_empty()).collect();
        functions.sort();
        Some(Self { segments: segments.collect(), functions })
    }

    /// Whether no function has a name, as in a stripped program.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function at an offset of the file. `None`: it has no name.
    pub fn at(&self, offset: u64) -> Option<&str> {
        let inside = |(start, length, _): &&(u64, u64, u64)| offset >= *start && offset - *start < *length;
        let (start, _, address) = self.segments.iter().find(inside)?;
        let address = (offset - start).checked_add(*address)?;
        let last = self.functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (start, length, name) = &self.functions[last];
        (*length == 0 || address - start < *length).then_some(name)
    }
}

/// A name for people: without the mangling of Rust and its hash, without that of C++ and its parameters. Other names, and those that make no
/// sense, stay as they are.
pub fn shown(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(demangled) => format!("{demangled:#}"),
        Err(_) => without_mangling_of_cpp(name).unwrap_or_else(|| name.to_owned()),
    }
}

fn without_mangling_of_cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST_CPP_NAME {
        return None;
    }
    let symbol = Symbol::new(name).ok()?;
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut text = Bounded(String::new());
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

/// Text that is not longer than [`LONGEST_CPP_NAME`]: a short name in C++ can stand for one that no memory holds.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST_CPP_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_symbol_ends_where_its_length_says() {
        let function = |address, length, name: &str| (address, length, name.to_owned());
        let names = FunctionNames {
            segments: vec![(0x1000, 0x1000, 0x40_1000)],
            functions: vec![function(0x40_1010, 0x20, "one"), function(0x40_1100, 0, "two")],
        };
        assert_eq!(names.at(0x1010), Some("one"));
        assert_eq!((names.at(0x100f), names.at(0x1030), names.at(0x2000)), (None, None, None));
        assert_eq!(names.at(0x1fff), Some("two"), "its length is not known");
    }

    /// The bytes of a function, which are found in the program by themselves.
    const MARK: &[u8] = b"the bytes of a marked function";

    /// A program that the compiler makes, which Rust's own builds need too. These tests' program may be stripped.
    fn program(options: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let [source, program] = ["source.c", "program"].map(|name| folder.path().join(name));
        let mark = std::str::from_utf8(MARK).unwrap();
        let assembly = format!(".text; .type marked,@function; marked: .ascii \\\"{mark}\\\"; .size marked,.-marked");
        std::fs::write(&source, format!("__asm__(\"{assembly}\");\nint main(void) {{ return 0; }}\n")).unwrap();
        let mut compiler = Command::new("cc");
        assert!(compiler.arg("-o").arg(&program).arg(&source).args(options).status().unwrap().success());
        std::fs::read(&program).unwrap()
    }

    #[test]
    fn a_function_is_found_by_its_place_in_the_file() {
        let bytes = program(&[]);
        let place = bytes.windows(MARK.len()).position(|window| window == MARK).unwrap() as u64;
        let names = FunctionNames::parse(&bytes[..]).unwrap();
        let last = place + MARK.len() as u64 - 1;
        assert_eq!((names.at(place), names.at(last)), (Some("marked"), Some("marked")));
        assert!(names.at(place - 1) != Some("marked") && names.at(last + 1) != Some("marked"));
        assert_eq!(names.at(u64::MAX), None);
    }

    #[test]
    fn a_stripped_program_has_no_names_and_a_text_is_no_program() {
        assert!(FunctionNames::parse(&program(&["-s", "-static"])[..]).unwrap().is_empty());
        assert!(FunctionNames::parse(&b"a text"[..]).is_none());
    }

    #[test]
    fn a_program_that_is_cut_or_damaged_does_no_harm() {
        let bytes = program(&[]);
        for end in [0, 1, 16, 63, 64, 65, 1000, 4096, bytes.len() / 2, bytes.len() - 1] {
            let _ = FunctionNames::parse(&bytes[..end]);
        }
        // Each byte of the header, changed.
        for at in 0..64 {
            let mut damaged = bytes[..bytes.len().min(1 << 20)].to_vec();
            damaged[at] ^= 0xff;
            let _ = FunctionNames::parse(&damaged[..]);
        }
    }

    #[test]
    fn names_are_for_people() {
        assert_eq!(shown("_ZN5quinn10connection4poll17h0123456789abcdefE"), "quinn::connection::poll");
        assert_eq!(shown("main.serve"), "main.serve");
        // What GCC makes of `int bssl::Tls::Seal(char const*) const` and of `std::vector<int>::push_back(int const&)`.
        assert_eq!(shown("_ZNK4bssl3Tls4SealEPKc"), "bssl::Tls::Seal");
        let pushed = "_ZNSt6vectorIiSaIiEE9push_backERKi";
        assert_eq!(shown(pushed), "std::vector<int, std::allocator<int> >::push_back");
        assert_eq!(shown("_Z_no_name"), "_Z_no_name");
    }

    #[test]
    fn a_name_that_doubles_itself_is_not_written_out() {
        // f<pair<pair<..., Y>, X>>, where X and Y stand for what is before them: each pair doubles the one inside it.
        let doubled = |times: u32| {
            let digit = |number| std::char::from_digit(number, 36).unwrap().to_ascii_uppercase();
            let same = (0..times - 1).map(|number| format!("S{}_E", digit(times + number)));
            format!("_Z1fI{}iiE{}Evv", "St4pairI".repeat(times as usize), same.collect::<String>())
        };
        let two = "f<std::pair<std::pair<int, int>, std::pair<int, int> > >";
        assert_eq!(shown(&doubled(2)), two);
        // A name of 199 bytes, which stands for a megabyte.
        assert_eq!(shown(&doubled(16)), doubled(16));
        let templates = "I".repeat(LONGEST_CPP_NAME / 2);
        assert_eq!(shown(&format!("_Z{templates}")), format!("_Z{templates}"));
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic(name in "_Z[NKSTIEPRiLac0-9_]{0,60}", other in ".{0,20}") {
            prop_assert!(shown(&name).len() <= LONGEST_CPP_NAME);
            let _ = shown(&other);
        }

        /// A program that is measured can be any file.
        #[test]
        fn no_file_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), offset: u64, is_elf: bool) {
            let mut bytes = bytes;
            if is_elf {
                bytes.splice(0..0, *b"\x7fELF\x02\x01\x01\0");
            }
            if let Some(names) = FunctionNames::parse(&bytes[..]) {
                let _ = names.at(offset);
            }
        }
    }
}
