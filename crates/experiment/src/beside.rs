//! Files beside an experiment file: paths to include, and traces. Their contents take the place of their names when the experiment is read, so
//! that a run needs nothing but itself.

use std::path::Path;

use quiclab_path::scenario::CrossTraffic;
use toml::{Table, Value};

use crate::{
    settings::{INCLUDE, SCENARIO, stages::LISTS, takes::Refused},
    value::inline,
};

/// Gives the text of a file that an experiment file names: by the experiment file and the name in it. The error says why there is none.
pub type ReadBeside = fn(&str, &str) -> Result<String, String>;

/// For experiments that may name no other files.
pub(crate) fn read_nothing(_: &str, _: &str) -> Result<String, String> {
    Err("a file cannot be named here".to_owned())
}

/// The value of a setting with the contents of files in place of their names.
///
/// # Errors
/// A file that cannot be read, or that is not what the key needs.
pub(crate) fn with_contents(key: &str, value: Value, file: &str, read: ReadBeside) -> Result<Value, Refused> {
    let read = |name: &str| read(file, name).map_err(|message| Refused::from(format!("{name}: {message}")));
    match value {
        Value::String(name) if key == INCLUDE && name != "none" => Ok(Value::Table(included(&name, &read)?)),
        Value::String(text) if key == SCENARIO && text != "none" => Ok(Value::Table(scenario(&text)?)),
        Value::Array(stages) if LISTS.contains(&key) => with_traces(stages, "", &read),
        other => Ok(other),
    }
}

/// The file of a path: its name, and its two lists.
fn included(name: &str, read: &dyn Fn(&str) -> Result<String, Refused>) -> Result<Table, Refused> {
    let text = read(name)?;
    let wrong = |message: String| Refused::from(format!("{name}: {message}"));
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    for key in ["title", "source"] {
        match table.remove(key) {
            Some(Value::String(_)) => {}
            Some(other) => return Err(wrong(format!("{key}: found {}, expected a string", inline(&other)))),
            None => return Err(wrong(format!("{key}: missing; expected a string"))),
        }
    }
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    let folder = Path::new(name).parent().and_then(Path::to_str).unwrap_or_default();
    let mut contents = Table::from_iter([("include".to_owned(), Value::String(stem.to_owned()))]);
    for list in LISTS {
        let key = list.trim_start_matches("path.");
        let stages = match table.remove(key) {
            Some(Value::Array(stages)) => with_traces(stages, folder, read)?,
            Some(other) => return Err(wrong(format!("{key}: found {}, expected a list of stages", inline(&other)))),
            None => return Err(wrong(format!("{key}: missing; expected a list of stages"))),
        };
        contents.insert(key.to_owned(), stages);
    }
    match table.keys().next() {
        Some(key) => Err(wrong(format!("{key}: unknown key; expected title, source, to_client, to_server"))),
        None => Ok(contents),
    }
}

/// A scenario of the interop runner, and its two lists.
fn scenario(text: &str) -> Result<Table, Refused> {
    let compiled = quiclab_path::scenario::compile(text).map_err(Refused::from)?;
    let lists = compiled.tables().map(|stages| Value::Array(stages.into_iter().map(Value::Table).collect()));
    let keys = LISTS.map(|list| list.trim_start_matches("path.").to_owned());
    let mut contents = Table::from_iter([("scenario".to_owned(), Value::String(text.to_owned()))]);
    contents.extend(keys.into_iter().zip(lists));
    let mut set = |key: &str, value: String| contents.insert(key.to_owned(), Value::String(value));
    match compiled.cross_traffic {
        None => {}
        Some(CrossTraffic::Tcp) => {
            set("cross_traffic", "tcp".to_owned());
        }
        Some(CrossTraffic::Udp { rate, datagram, start }) => {
            set("cross_traffic", "udp".to_owned());
            set("cross_rate", rate.to_string());
            set("cross_datagram", datagram.to_string());
            set("cross_start", start.to_string());
        }
    }
    Ok(contents)
}

/// Stages with the contents of traces in place of `file`, which is below `folder`.
fn with_traces(
    stages: Vec<Value>,
    folder: &str,
    read: &dyn Fn(&str) -> Result<String, Refused>,
) -> Result<Value, Refused> {
    let of_stage = |stage: Value| {
        let Value::Table(mut table) = stage else { return Ok(stage) };
        let reader: fn(&str) -> Result<Value, String> = match table.get("stage").and_then(Value::as_str) {
            Some("rate_trace") => opportunities,
            Some("delay_trace") => steps,
            _ => return Ok(Value::Table(table)),
        };
        let Some(name) = table.remove("file") else { return Ok(Value::Table(table)) };
        let Value::String(name) = name else {
            return Err(Refused::from(format!("file: found {}, expected the name of a file", inline(&name))));
        };
        let name = Path::new(folder).join(name).display().to_string();
        let key =
            if table.get("stage").and_then(Value::as_str) == Some("rate_trace") { "milliseconds" } else { "steps" };
        if table.contains_key(key) {
            return Err(Refused::from(format!("{key}: found a value in addition to file; expected one of the two")));
        }
        let contents = reader(&read(&name)?).map_err(|message| Refused::from(format!("{name}: {message}")))?;
        table.insert(key.to_owned(), contents);
        Ok(Value::Table(table))
    };
    stages.into_iter().map(of_stage).collect::<Result<_, Refused>>().map(Value::Array)
}

/// Lines that are not empty and no comments, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A Mahimahi trace as one text, with its numbers checked so that an error has their line.
fn opportunities(text: &str) -> Result<Value, String> {
    quiclab_path::rate_trace::DeliveryTrace::from_mahimahi(text).map_err(|error| error.to_string())?;
    Ok(Value::String(lines(text).map(|(_, line)| line).collect::<Vec<_>>().join(" ")))
}

/// Two numbers of milliseconds on each line.
fn steps(text: &str) -> Result<Value, String> {
    let step = |(number, line): (usize, &str)| {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        match words[..] {
            [since, delay] if [since, delay].iter().all(|word| word.parse::<u64>().is_ok()) => {
                Ok(Value::Array([since, delay].map(|word| Value::String(format!("{word} ms"))).into()))
            }
            _ => Err(format!(
                "line {number}: found {line:?}, expected two whole numbers of milliseconds: a time and a delay"
            )),
        }
    };
    lines(text).map(step).collect::<Result<_, _>>().map(Value::Array)
}
