//! `quiclab diff`

pub mod logs;
mod models;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use quiclab_experiment::RELEASE;
use quiclab_pages::transfer::{
    losses, page,
    sequence::{self, Difference, SeenPacket},
    which::one_record,
};
use quiclab_record::{AnyRecord, Record};
use quiclab_testbed::testbed::is_sample;
use quiclab_units::ShowPath;
use serde_json::json;

use crate::terminal::output;

/// Packets shown before the one at which the records part.
const BEFORE: usize = 3;

/// Says at which packet two records part. Returns 0 where all packets are the same, 1 where not.
///
/// # Errors
/// Where a record cannot be read.
pub fn diff(records: &[PathBuf], page: Option<&Path>, as_json: bool) -> Result<u8> {
    let [one, other] = two(records)?;
    let both = [one_record(one)?, one_record(other)?];
    let paths = both.each_ref().map(PathBuf::as_path);
    let loaded = [AnyRecord::load(paths[0])?, AnyRecord::load(paths[1])?];
    let made = made_with(&loaded[0], &loaded[1]);
    let records = match loaded {
        [AnyRecord::Transfer(one), AnyRecord::Transfer(other)] => [*one, *other],
        [AnyRecord::Models(_), AnyRecord::Models(_)] if page.is_some() => {
            bail!("diff: --page shows packets, which records of models do not have\nhint: leave it out");
        }
        [AnyRecord::Models(one), AnyRecord::Models(other)] => {
            return models::diff(as_json, paths, [&one, &other], &made);
        }
        [one, other] => bail!(
            "diff: found a record of a {} and one of a {}, expected two of the same workload",
            one.run().kind(),
            other.run().kind()
        ),
    };
    let losses = losses::Losses::of(&records);
    let [one, other] = &records;
    let seen = [sequence::read(one)?, sequence::read(other)?];
    let [left, right] = &seen;
    let parting = sequence::first_difference(left, right);
    let parting_content = sequence::first_difference_in_content(left, right);
    if let Some(page) = page {
        let page = page::write_both(paths, page)?;
        let place = parting.and_then(|(number, _)| left.get(number).or_else(|| right.get(number)));
        let place = place.map_or_else(String::new, |packet| format!("#time={:.6}", packet.time_ns as f64 / 1e9));
        status!("both transfers over time: {}{place}", page.shown());
    }
    if as_json {
        let at = |place: Option<(usize, Difference)>| {
            place.map(|(number, difference)| {
                json!({ "packet": number + 1, "in": difference.word(), "one": left.get(number), "other": right.get(number) })
            })
        };
        let all = json!({
            "one": paths[0].display().to_string(),
            "other": paths[1].display().to_string(),
            "made_with": made,
            "samples": samples_among(&records),
            "lost": losses.json(),
            "packets": [left.len(), right.len()],
            "first_difference": at(parting),
            "first_difference_in_content": at(parting_content.map(|number| (number, Difference::Content))),
        });
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        return Ok(u8::from(parting.is_some()));
    }
    let mut text = format!("A  {}\nB  {}\n", paths[0].shown(), paths[1].shown());
    text.push_str(samples(samples_among(&records)));
    for (name, [left, right]) in &made {
        let _ = writeln!(text, "   {name}: A {left}, B {right}");
    }
    let Some((number, difference)) = parting else {
        let _ =
            writeln!(text, "all {} packets at the sender's tap are the same, to the nanosecond and byte", left.len());
        output::print(&text)?;
        return Ok(0);
    };
    let _ = writeln!(text, "{} and {} packets at the sender's tap", left.len(), right.len());
    let _ = writeln!(text, "\nthe first packet that differs is number {}, in its {}", number + 1, difference.word());
    text.push_str(&around(number, &seen));
    let mut shown = number;
    if difference != Difference::Content {
        match parting_content {
            None => text.push_str("\nexcept for times and encrypted bytes, all packets are the same\n"),
            Some(number) => {
                let _ = writeln!(text, "\nthe first packet with different contents is number {}", number + 1);
                text.push_str(&around(number, &seen));
                shown = number;
            }
        }
    }
    for (letter, (record, seen)) in ["A", "B"].into_iter().zip(records.iter().zip(&seen)) {
        if let Some(packet) = seen.get(shown) {
            text.push_str(&logs::around(letter, record, packet)?);
        }
    }
    text.push_str(&losses.text());
    output::print(&text)?;
    Ok(1)
}

/// The two records that were named. A pattern that the shell expanded may have become more.
fn two(paths: &[PathBuf]) -> Result<[&Path; 2]> {
    /// Most paths that are shown; more are only counted.
    const MOST_SHOWN: usize = 6;
    if let [one, other] = paths {
        return Ok([one, other]);
    }
    let mut shown: Vec<_> = paths.iter().take(MOST_SHOWN).map(|path| format!("\n  {}", path.shown())).collect();
    if let Some(more) = paths.len().checked_sub(MOST_SHOWN).filter(|more| *more > 0) {
        shown.push(format!("\n  and {more} more"));
    }
    bail!(
        "diff: found {} folder{}, expected two:{}\nhint: name one record for A and one for B; a pattern such as \
         quiche-*-01-* matches a folder for each combination of settings, so include the settings: \
         quiche-cubic-gso_on-01-*",
        paths.len(),
        if paths.len() == 1 { "" } else { "s" },
        shown.concat()
    )
}

/// Which of both records are samples.
fn samples_among(records: &[Record; 2]) -> [bool; 2] {
    records.each_ref().map(|record| is_sample(&record.run.versions))
}

/// What it means for a comparison of packets that records are samples.
fn samples(which: [bool; 2]) -> &'static str {
    match which {
        [false, false] => "",
        [true, true] => {
            "   both are samples of real time: chance alone makes their packets differ; quiclab ab judges many runs\n"
        }
        [true, false] => "   A is a sample of real time, B is exact: chance alone makes their packets differ\n",
        [false, true] => "   A is exact, B is a sample of real time: chance alone makes their packets differ\n",
    }
}

/// Settings and versions by which two records differ, by name. The release of quiclab is not one of them: it changes no outcome.
fn made_with(one: &AnyRecord, other: &AnyRecord) -> BTreeMap<String, [String; 2]> {
    let [left, right] = [one, other].map(AnyRecord::run);
    let mut made = left.settings_differences(&right);
    if left.seed() != right.seed() {
        made.insert("seed".to_owned(), [left.seed().to_string(), right.seed().to_string()]);
    }
    let names = one.versions().keys().chain(other.versions().keys());
    for name in names.filter(|name| *name != RELEASE) {
        let [one, other] =
            [one, other].map(|record| record.versions().get(name).cloned().unwrap_or_else(|| "nothing".to_owned()));
        if one != other {
            made.insert(name.clone(), [one, other]);
        }
    }
    made
}

/// The packets before `number` and itself, of both.
fn around(number: usize, seen: &[Vec<SeenPacket>; 2]) -> String {
    let mut text = String::new();
    for (letter, seen) in ["A", "B"].into_iter().zip(seen) {
        let first = number.saturating_sub(BEFORE);
        for (place, packet) in seen.iter().enumerate().take(number + 1).skip(first) {
            let mark = if place == number { '>' } else { ' ' };
            let _ = writeln!(text, "{letter} {mark} {:>6}  {packet}", place + 1);
        }
        if seen.len() <= number {
            let _ = writeln!(text, "{letter} >         no more packets");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_or_fewer_than_two_records_are_counted_and_named() {
        let paths: Vec<_> = (1..=9).map(|number| PathBuf::from(format!("good/x-{number:02}"))).collect();
        assert_eq!(two(&paths[..2]).unwrap(), [Path::new("good/x-01"), Path::new("good/x-02")]);
        let many = two(&paths).unwrap_err().to_string();
        assert!(many.starts_with("diff: found 9 folders, expected two:\n  good/x-01\n"), "{many}");
        assert!(many.contains("and 3 more\nhint: name one record for A and one for B"), "{many}");
        assert!(
            two(&paths[..1]).unwrap_err().to_string().starts_with("diff: found 1 folder, expected two:\n  good/x-01\n")
        );
    }
}
