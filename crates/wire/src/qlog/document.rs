//! The whole file: one object with traces, or a sequence of records.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::value::RawValue;

use super::error::QlogError;
use super::event::QlogEvent;
use super::summary::QlogSummary;
use super::text::{RECORD_SEPARATOR, Stop, Text};
use super::trace::{FileFields, OpenTrace, Outlet};

/// Members by which a header is told from any other JSON.
const HEADER_MEMBERS: [&str; 6] =
    ["qlog_version", "qlog_format", "file_schema", "serialization_format", "traces", "trace"];

/// Traces of one file that are kept: what is known of each takes memory, and an empty one takes 3 bytes of the file.
const MAXIMUM_TRACES: usize = 65_536;

/// Longest title and version of a file: each of its traces has a copy.
const MAXIMUM_TITLE_BYTES: usize = 1_024;

/// Members of a foreign object that an error names.
const MAXIMUM_NAMED: usize = 5;

const A_HEADER: &str = "a qlog header: an object with `qlog_version` or `file_schema`";

/// A file being read.
pub(super) struct Document<'a, R: Read> {
    text: Text<R>,
    outlet: Outlet<'a>,
    trace: Option<OpenTrace>,
    /// A header was recognised.
    is_qlog: bool,
    /// End of the last event, member or record that was used.
    used_up_to: u64,
    /// The value at hand.
    value: Vec<u8>,
}

impl<'a, R: Read> Document<'a, R> {
    pub fn new(input: R, on_event: &'a mut dyn FnMut(QlogEvent)) -> Self {
        let outlet = Outlet { summary: QlogSummary::default(), on_event };
        Document { text: Text::new(input), outlet, trace: None, is_qlog: false, used_up_to: 0, value: Vec::new() }
    }

    pub fn read(mut self) -> Result<QlogSummary, QlogError> {
        let mut stop = None;
        // An interrupted record gives way to the one that follows.
        while stop.is_none() {
            match self.records() {
                Ok(()) => break,
                Err(Stop::Interrupted) if self.is_qlog => self.outlet.summary.count("record cut short by the next one"),
                Err(other) => stop = Some(other),
            }
        }
        self.end_trace();
        match stop {
            Some(Stop::Error(error)) => return Err(error),
            Some(_) if self.is_qlog => self.outlet.summary.cut_at_byte = Some(self.used_up_to),
            Some(_) => {
                let found = "the end of the first value before any qlog member".to_owned();
                return Err(QlogError::NotQlog { byte_offset: self.text.offset(), found, expected: A_HEADER });
            }
            None if self.is_qlog => {}
            None => return Err(QlogError::Empty),
        }
        Ok(self.outlet.summary)
    }

    /// Reads values at the outermost level until the end.
    fn records(&mut self) -> Result<(), Stop> {
        loop {
            match self.text.peek()? {
                None => return Ok(()),
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.text.advance(),
                Some(RECORD_SEPARATOR) => self.separator()?,
                Some(b'{') if self.is_qlog && self.trace.is_some() => self.record()?,
                Some(b'{') => self.header()?,
                Some(first) => self.foreign(first)?,
            }
        }
    }

    /// A separator promises a record; a file that ends after it is cut.
    fn separator(&mut self) -> Result<(), Stop> {
        self.used_up_to = self.text.offset();
        self.text.advance();
        match self.text.peek()? {
            None if self.is_qlog => Err(Stop::Cut),
            _ => Ok(()),
        }
    }

    /// Text that is no object: an error before the header, counted and passed over after it.
    fn foreign(&mut self, first: u8) -> Result<(), Stop> {
        if !self.is_qlog {
            let found = format!("`{}` (0x{first:02x})", char::from(first).escape_default());
            return Err(QlogError::NotQlog { byte_offset: self.text.offset(), found, expected: A_HEADER }.into());
        }
        self.outlet.summary.count("text between records");
        while let Some(byte) = self.text.peek()? {
            if matches!(byte, b'\n' | RECORD_SEPARATOR) {
                break;
            }
            self.text.advance();
        }
        Ok(())
    }

    /// A record after a sequence's header: an event, or the header of the next file of a concatenation.
    fn record(&mut self) -> Result<(), Stop> {
        self.used_up_to = self.text.offset();
        self.text.value(&mut self.value)?;
        self.used_up_to = self.text.offset();
        let members = if mentions_header(&self.value) { members(&self.value) } else { None };
        match members.filter(|members| !members.contains_key("name") && members.contains_key("trace")) {
            None => {
                if let Some(trace) = &mut self.trace {
                    trace.take_event(&self.value, &mut self.outlet);
                }
            }
            Some(members) => {
                let mut file = FileFields::default();
                for (name, text) in &members {
                    file.set(name, text.get().as_bytes(), &mut self.outlet.summary);
                }
                let text = members["trace"].get().as_bytes().to_vec();
                self.begin_sequence(&file, &text);
            }
        }
        Ok(())
    }

    /// The first object of the file, or of the next file of a concatenation.
    fn header(&mut self) -> Result<(), Stop> {
        let begin = self.text.offset();
        let mut file = FileFields::default();
        let mut foreign_names = Vec::new();
        let mut sequence = None;
        let mut has_traces = false;
        let mut is_header = false;
        let first_trace = self.outlet.summary.traces.len();
        self.text.advance();
        let mut is_first = true;
        while let Some(name) = self.next_member(&mut is_first)? {
            if HEADER_MEMBERS.contains(&name.as_str()) {
                is_header = true;
                self.is_qlog = true;
            } else if foreign_names.len() < MAXIMUM_NAMED {
                foreign_names.push(name.clone());
            }
            match name.as_str() {
                "traces" => {
                    has_traces = true;
                    self.traces(&file)?;
                }
                "trace" => {
                    self.text.value(&mut self.value)?;
                    sequence = Some(std::mem::take(&mut self.value));
                }
                "qlog_version" | "file_schema" | "title" => {
                    self.text.value(&mut self.value)?;
                    file.set(&name, &self.value, &mut self.outlet.summary);
                }
                _ => self.text.skip()?,
            }
            self.used_up_to = self.text.offset();
        }
        if !is_header {
            let found = format!("an object with the members {foreign_names:?}");
            if !self.is_qlog {
                return Err(QlogError::NotQlog { byte_offset: begin, found, expected: A_HEADER }.into());
            }
            self.outlet.summary.count("object without a preceding header");
            return Ok(());
        }
        // Members after the traces.
        for trace in &mut self.outlet.summary.traces[first_trace..] {
            if trace.version.is_empty() {
                trace.version = file.version.clone().unwrap_or_default();
            }
            if trace.title.is_none() {
                trace.title.clone_from(&file.title);
            }
        }
        match sequence {
            Some(text) => self.begin_sequence(&file, &text),
            None if !has_traces => self.begin_sequence(&file, b"{}"),
            None => {}
        }
        Ok(())
    }

    fn begin_sequence(&mut self, file: &FileFields, text: &[u8]) {
        self.end_trace();
        let summary = &mut self.outlet.summary;
        let mut trace = OpenTrace::begin(file, true, summary);
        match members(text) {
            None => summary.count("trace of a header"),
            Some(members) => {
                for (name, text) in members {
                    trace.set_member(&name, text.get().as_bytes(), summary);
                }
            }
        }
        trace.apply_file(file, summary);
        self.trace = Some(trace);
    }

    fn traces(&mut self, file: &FileFields) -> Result<(), Stop> {
        self.text.punctuation("traces", [b'[', b'['], "`[`")?;
        let mut is_first = true;
        while self.next_element(&mut is_first)? {
            if self.text.token()? != b'{' {
                self.text.skip()?;
                self.outlet.summary.count("trace that is not an object");
                continue;
            }
            if self.outlet.summary.traces.len() >= MAXIMUM_TRACES {
                self.text.skip()?;
                self.outlet.summary.count("trace after the first 65536");
                continue;
            }
            self.text.advance();
            let trace = OpenTrace::begin(file, false, &mut self.outlet.summary);
            self.trace = Some(trace);
            self.trace_members()?;
            self.end_trace();
        }
        Ok(())
    }

    fn trace_members(&mut self) -> Result<(), Stop> {
        let mut is_first = true;
        while let Some(name) = self.next_member(&mut is_first)? {
            if name == "events" {
                self.events()?;
            } else if OpenTrace::knows_member(&name) {
                self.text.value(&mut self.value)?;
                if let Some(trace) = &mut self.trace {
                    trace.set_member(&name, &self.value, &mut self.outlet.summary);
                }
            } else {
                self.text.skip()?;
            }
            self.used_up_to = self.text.offset();
        }
        Ok(())
    }

    fn events(&mut self) -> Result<(), Stop> {
        self.text.punctuation("events", [b'[', b'['], "`[`")?;
        self.used_up_to = self.text.offset();
        let mut is_first = true;
        while self.next_element(&mut is_first)? {
            self.text.token()?;
            self.used_up_to = self.text.offset();
            self.text.value(&mut self.value)?;
            self.used_up_to = self.text.offset();
            if let Some(trace) = &mut self.trace {
                trace.take_event(&self.value, &mut self.outlet);
            }
        }
        Ok(())
    }

    fn end_trace(&mut self) {
        if let Some(mut trace) = self.trace.take() {
            trace.finish(&mut self.outlet);
        }
    }

    /// The name of an object's next member; `None` after its last.
    fn next_member(&mut self, is_first: &mut bool) -> Result<Option<String>, Stop> {
        if !self.next(is_first, b'}', "object", "`,` or `}`")? {
            return Ok(None);
        }
        let byte_offset = self.text.offset();
        self.text.value(&mut self.value)?;
        let Ok(name) = serde_json::from_slice(&self.value) else {
            let found = String::from_utf8_lossy(&self.value[..self.value.len().min(20)]).into_owned();
            return Err(
                QlogError::Malformed { byte_offset, what: "name of a member", found, expected: "a string" }.into()
            );
        };
        self.text.punctuation("member", [b':', b':'], "`:`")?;
        Ok(Some(name))
    }

    /// False after an array's last element.
    fn next_element(&mut self, is_first: &mut bool) -> Result<bool, Stop> {
        self.next(is_first, b']', "array", "`,` or `]`")
    }

    /// Passes over what stands before the next member or element. A comma after the last one is let pass, with a warning.
    fn next(
        &mut self,
        is_first: &mut bool,
        close: u8,
        what: &'static str,
        expected: &'static str,
    ) -> Result<bool, Stop> {
        if std::mem::replace(is_first, false) {
            if self.text.token()? != close {
                return Ok(true);
            }
        } else if self.text.punctuation(what, [b',', close], expected)? == close {
            return Ok(false);
        } else if self.text.token()? != close {
            return Ok(true);
        } else {
            self.outlet.summary.warn(format!("a comma before the end of an {what}"));
        }
        self.text.advance();
        Ok(false)
    }
}

impl FileFields {
    fn set(&mut self, name: &str, text: &[u8], summary: &mut QlogSummary) {
        let Ok(text) = serde_json::from_slice::<String>(text) else { return };
        if text.len() > MAXIMUM_TITLE_BYTES {
            summary.count(&format!("{name} of a file, of more than 1 KiB"));
            return;
        }
        match name {
            "title" => self.title = Some(text),
            "qlog_version" => self.version = Some(text),
            "file_schema" => self.version = self.version.take().or(Some(text)),
            _ => {}
        }
    }
}

/// Cheap look before a record is taken apart a second time.
fn mentions_header(text: &[u8]) -> bool {
    text.windows(b"\"trace\"".len()).any(|window| window == b"\"trace\"")
}

fn members(text: &[u8]) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_slice(text).ok()
}
