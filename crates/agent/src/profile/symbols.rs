//! Finds the functions that places in an ELF file lie in. The files are of strangers.

use std::{collections::BTreeMap, fs::File};

use anyhow::{Context, Result};
use object::{
    Object as _, ObjectSegment as _, ObjectSymbol as _, ObjectSymbolTable as _, ReadCache, ReadRef, SymbolKind,
};

/// Most symbols that are read of a program.
const MOST_SYMBOLS: usize = 4_000_000;
/// Longest name of a function, in characters.
const LONGEST_NAME: usize = 300;

/// Samples by function: `places` are offsets in the file, with their samples.
///
/// # Errors
/// Where it is no ELF file, or has no symbols of functions at all.
pub(super) fn functions(file: File, places: &BTreeMap<u64, u64>) -> Result<BTreeMap<Option<String>, u64>> {
    in_object(&ReadCache::new(file), places)
}

fn in_object<'data>(data: impl ReadRef<'data>, places: &BTreeMap<u64, u64>) -> Result<BTreeMap<Option<String>, u64>> {
    let object = object::File::parse(data).context("is no ELF file")?;
    // The names are read of functions with samples only.
    let mut functions = Vec::new();
    for symbol in object.symbols().take(MOST_SYMBOLS) {
        if symbol.kind() == SymbolKind::Text && symbol.is_definition() {
            functions.push((symbol.address(), symbol.size(), symbol.index(), false));
        }
    }
    // What others may call, which a stripped library still has.
    for symbol in object.dynamic_symbols().take(MOST_SYMBOLS) {
        if symbol.kind() == SymbolKind::Text && symbol.is_definition() {
            functions.push((symbol.address(), symbol.size(), symbol.index(), true));
        }
    }
    // Of two functions at one address the longer one comes last and is taken, then the first of the file.
    functions.sort_by_key(|(address, size, index, is_dynamic)| {
        (*address, *size, std::cmp::Reverse(*is_dynamic), std::cmp::Reverse(index.0))
    });
    anyhow::ensure!(!functions.is_empty(), "was stripped; hint: build it with symbols (no strip, no -s)");
    let segments: Vec<_> = object.segments().map(|segment| (segment.file_range(), segment.address())).collect();
    let mut found = BTreeMap::new();
    for (place, samples) in places {
        let name = address(&segments, *place).and_then(|address| {
            let before = functions.partition_point(|(start, ..)| *start <= address);
            let (start, size, index, is_dynamic) = *functions.get(before.checked_sub(1)?)?;
            // A size of 0 is not known: assembly often has none.
            let is_inside = size == 0 || address - start < size;
            let table = if is_dynamic { object.dynamic_symbol_table() } else { object.symbol_table() };
            let symbol = table.filter(|_| is_inside)?.symbol_by_index(index).ok()?;
            symbol.name_bytes().ok().map(readable)
        });
        *found.entry(name).or_default() += samples;
    }
    Ok(found)
}

/// The address at which a place of the file is loaded, before the program is moved.
fn address(segments: &[((u64, u64), u64)], place: u64) -> Option<u64> {
    segments.iter().find_map(|((start, length), address)| {
        let offset = place.checked_sub(*start).filter(|offset| offset < length)?;
        address.checked_add(offset)
    })
}

/// The name as the source code has it, for programs in Rust without the hash; others as they are.
fn readable(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    format!("{:#}", rustc_demangle::demangle(&name)).chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn a_function_of_this_test() -> u64 {
        std::hint::black_box(7)
    }

    /// The file offset of an address in this very program, as the kernel maps it.
    fn place_of(address: u64) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let found = maps.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let [start, end, offset] =
                [start, end, words.nth(1)?].map(|number| u64::from_str_radix(number, 16).unwrap());
            (start..end).contains(&address).then(|| offset + address - start)
        });
        found.unwrap()
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_place_in_the_file() {
        assert_eq!(a_function_of_this_test(), 7);
        let place = place_of(a_function_of_this_test as fn() -> u64 as usize as u64);
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let found = in_object(&bytes[..], &BTreeMap::from([(place, 3), (u64::MAX, 2)])).unwrap();
        let [(nowhere, 2), (Some(name), 3)] =
            &found.iter().map(|(name, count)| (name.as_deref(), *count)).collect::<Vec<_>>()[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!(*nowhere, None);
        assert!(name.ends_with("symbols::tests::a_function_of_this_test"), "{name}");
    }

    #[test]
    fn what_is_no_program_is_refused_and_a_cut_one_does_no_harm() {
        let places = BTreeMap::from([(0x1234, 1)]);
        assert!(in_object(&b"#!/bin/sh\n"[..], &places).is_err());
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        for end in [0, 1, 16, 63, 64, 65, 1000, 4096, bytes.len() / 2, bytes.len() - 1] {
            let _ = in_object(&bytes[..end], &places);
        }
        // Each byte of the header, changed.
        for at in 0..64 {
            let mut damaged = bytes[..bytes.len().min(1 << 20)].to_vec();
            damaged[at] ^= 0xff;
            let _ = in_object(&damaged[..], &places);
        }
    }
}
