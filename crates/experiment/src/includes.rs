//! Files beside an experiment file: paths to include, and traces. Their contents take the place of their names when the experiment is read, so
//! that a run needs nothing but itself.
//!
//! Whoever wrote the experiment chose these files, and they may be files of the user that are none of his business. So a file that is
//! refused is told by its name, by the place in it and by what was expected there, and never by what it contains.

pub(crate) mod files;
mod included;
mod trace;

use std::path::Path;

use quiclab_path::scenario::CrossTraffic;
use toml::{Table, Value};

use files::{Includes, MOST_TEXT_BYTES, NamedBy};
use trace::Traces;

use crate::settings::{
    stages::{INCLUDE, LISTS, SCENARIO},
    value_parser::Refused,
};

impl Includes<'_> {
    /// The value of a setting with the contents of files in place of their names.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not what the key needs.
    pub(crate) fn with_contents(&self, key: &str, value: Value) -> Result<Value, Refused> {
        let below = (self.named_by == NamedBy::Experiment).then_some("");
        match value {
            Value::String(name) if key == INCLUDE && name != "none" => {
                let folder = Path::new(&name).parent().and_then(Path::to_str).unwrap_or_default();
                let text = self.text(&name, below, MOST_TEXT_BYTES).map_err(|message| format!("{name}: {message}"))?;
                let traces = Traces { includes: self, folder, below: below.or(Some(folder)) };
                Ok(Value::Table(included::read(&name, &text, &traces)?))
            }
            Value::String(text) if key == SCENARIO && text != "none" => Ok(Value::Table(scenario(&text)?)),
            Value::Array(stages) if LISTS.contains(&key) => {
                let traces = Traces { includes: self, folder: "", below };
                let of_stage = |stage: Value| match stage {
                    Value::Table(stage) => match traces.put(stage) {
                        Ok(stage) => Ok(Value::Table(stage)),
                        Err(trace::Wrong { file: Some(name), message, .. }) => Err(format!("{name}: {message}").into()),
                        Err(trace::Wrong { key, message, .. }) => Err(format!("{key}: {message}").into()),
                    },
                    other => Ok(other),
                };
                stages.into_iter().map(of_stage).collect::<Result<_, Refused>>().map(Value::Array)
            }
            other => Ok(other),
        }
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
