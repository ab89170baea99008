//! One order for the objects of a PDF file, and for the names in their dictionaries.
//!
//! The library that writes them goes through hash maps with random keys: fonts are numbered and written, and resources listed, in another
//! order each time. Nothing that is drawn depends on it. This reads files of that library only, which writes each entry of a dictionary on a
//! line of its own.

use std::collections::BTreeMap;

/// Dictionaries of resources, whose entries have the form `/name 7 0 R` and no order.
const RESOURCES: [&str; 6] = ["/ColorSpace", "/ExtGState", "/Font", "/Pattern", "/Shading", "/XObject"];
/// Behind the number of an object that is referred to.
const REFERENCE: &str = " 0 R";
/// Between the dictionary of an object and its bytes.
const STREAM: &[u8] = b"\nstream\n";

/// The same file, with its objects in the order in which the first one, the catalog, leads to them. `None` where it is laid out in another
/// way than expected.
pub(super) fn ordered(pdf: &[u8]) -> Option<Vec<u8>> {
    let table = table_of(pdf)?;
    let trailer = trailer_of(pdf, table)?;
    let offsets = offsets_of(pdf, table)?;
    let first = *offsets.values().min()?;
    let objects = objects_of(pdf, &offsets, table)?;
    let mut numbers = BTreeMap::new();
    let mut waiting: Vec<u32> = references(trailer).map(|(_, number)| number).collect();
    waiting.reverse();
    let mut order = Vec::new();
    while let Some(number) = waiting.pop() {
        if numbers.contains_key(&number) {
            continue;
        }
        order.push(number);
        numbers.insert(number, order.len() as u32);
        let found: Vec<u32> = references(&objects.get(&number)?.0).map(|(_, number)| number).collect();
        waiting.extend(found.into_iter().rev());
    }
    let mut written = pdf[..first].to_vec();
    let mut lines = String::new();
    for number in &order {
        let (dictionary, stream) = objects.get(number)?;
        lines += &format!("{:010} 00000 n\r\n", written.len());
        written.extend(format!("{} 0 obj\n{}", numbers[number], renumbered(dictionary, &numbers)?).bytes());
        written.extend(*stream);
    }
    let (size, start) = (order.len() + 1, written.len());
    let size_line = |line: &str| match line.trim_start().starts_with("/Size ") {
        true => format!("  /Size {size}\n"),
        false => format!("{line}\n"),
    };
    let trailer: String = renumbered(trailer, &numbers)?.lines().map(size_line).collect();
    written.extend(format!("xref\n0 {size}\n0000000000 65535 f\r\n{lines}{trailer}startxref\n{start}\n%%EOF").bytes());
    Some(written)
}

/// Where the table of objects begins.
fn table_of(pdf: &[u8]) -> Option<usize> {
    const BEFORE: &[u8] = b"startxref\n";
    let end = pdf.windows(BEFORE.len()).rposition(|part| part == BEFORE)? + BEFORE.len();
    str::from_utf8(&pdf[end..]).ok()?.lines().next()?.parse().ok().filter(|start| *start < pdf.len())
}

/// From `trailer` up to `startxref`.
fn trailer_of(pdf: &[u8], table: usize) -> Option<&str> {
    let text = str::from_utf8(&pdf[table..]).ok()?;
    text.get(text.find("trailer")?..text.find("startxref")?)
}

/// Where each object begins, by its number.
fn offsets_of(pdf: &[u8], table: usize) -> Option<BTreeMap<u32, usize>> {
    let text = str::from_utf8(&pdf[table..]).ok()?;
    // Behind `xref` and the range of numbers. Object 0, and numbers without one, are free: `f`.
    let lines = text.lines().skip(2).take_while(|line| *line != "trailer");
    let used = (0..).zip(lines).filter(|(_, line)| line.ends_with('n'));
    used.map(|(number, line)| Some((number, line.get(..10)?.parse().ok()?))).collect()
}

/// The dictionary of each object, with the names in it in order, and what follows it.
fn objects_of<'a>(
    pdf: &'a [u8],
    offsets: &BTreeMap<u32, usize>,
    table: usize,
) -> Option<BTreeMap<u32, (String, &'a [u8])>> {
    let mut starts: Vec<usize> = offsets.values().copied().chain([table]).collect();
    starts.sort_unstable();
    let object = |(number, start): (&u32, &usize)| {
        let end = *starts.iter().find(|other| *other > start)?;
        let bytes = pdf.get(*start..end)?.strip_prefix(format!("{number} 0 obj\n").as_bytes())?;
        let length = bytes.windows(STREAM.len()).position(|part| part == STREAM).unwrap_or(bytes.len());
        let (dictionary, stream) = bytes.split_at(length);
        Some((*number, (sorted(str::from_utf8(dictionary).ok()?), stream)))
    };
    offsets.iter().map(object).collect()
}

/// A dictionary with the entries of each dictionary of resources in it in the order of their names.
fn sorted(dictionary: &str) -> String {
    let mut lines: Vec<&str> = dictionary.split('\n').collect();
    for start in 1..lines.len() {
        let opens = lines[start - 1].trim_start().strip_suffix(" <<").is_some_and(|name| RESOURCES.contains(&name));
        let count = lines[start..].iter().position(|line| line.trim_start() == ">>").unwrap_or(0);
        if opens {
            lines[start..start + count].sort_unstable();
        }
    }
    lines.join("\n")
}

/// Where a dictionary refers to objects, and to which.
fn references(dictionary: &str) -> impl Iterator<Item = (std::ops::Range<usize>, u32)> {
    dictionary.match_indices(REFERENCE).filter_map(|(end, _)| {
        let start = dictionary[..end].rfind(|one: char| !one.is_ascii_digit())? + 1;
        Some((start..end, dictionary[start..end].parse().ok()?))
    })
}

fn renumbered(dictionary: &str, numbers: &BTreeMap<u32, u32>) -> Option<String> {
    let (mut text, mut done) = (String::new(), 0);
    for (place, number) in references(dictionary) {
        text += &dictionary[done..place.start];
        text += &numbers.get(&number)?.to_string();
        done = place.end;
    }
    text += &dictionary[done..];
    Some(text)
}
