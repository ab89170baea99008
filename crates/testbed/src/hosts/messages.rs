//! What a host says over its session: words of the script that starts the agent, then lines of JSON, and bytes behind some of them. All of it
//! is foreign.

use std::{
    fs::File,
    io::{BufRead, Read},
    sync::{Mutex, PoisonError},
};

use anyhow::{Result, anyhow};
use quiclab_agent_protocol::{
    hosts::Answer,
    slot::{MANIFEST_ROOM, Manifest},
};

use super::spool::{Spool, fill};

/// Begins the lines of the script.
pub(super) const WORD: &str = "quiclab-agent: ";
/// Most lines of the host's own that are skipped before the script's first one.
const MOST_NOISE: usize = 1000;
/// The longest answer: a manifest, which has this much room in a slot.
const LONGEST_LINE: u64 = MANIFEST_ROOM;

/// What a host can say or do.
#[derive(Debug)]
pub enum What {
    /// A line of the script that starts the agent.
    Word(String),
    /// An answer.
    Answer(Answer),
    /// What a run left, with the bytes of its blobs.
    Results(Box<Manifest>, File),
    /// The session has ended, for this reason.
    Gone(String),
}

/// Reads it.
#[derive(Debug)]
pub struct MessageReader<R> {
    output: R,
    noise: usize,
    has_answered: bool,
}

impl<R: BufRead> MessageReader<R> {
    /// Reads an output from its beginning.
    pub fn new(output: R) -> Self {
        Self { output, noise: 0, has_answered: false }
    }

    /// Whether the agent has said its first word.
    pub fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// The next thing that this host says; `None` at the end. Bytes of results go into `spool`.
    ///
    /// # Errors
    /// Where it is nothing that an agent says.
    pub fn next(&mut self, host: usize, spool: &Mutex<Spool>) -> Result<Option<What>> {
        loop {
            let mut line = Vec::new();
            if self.output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            return match serde_json::from_slice(&line) {
                Ok(Answer::Results(manifest)) => {
                    let opened = spool.lock().unwrap_or_else(PoisonError::into_inner).open(host, &manifest);
                    let (mut file, length) = opened?;
                    fill(&mut file, self.output.by_ref(), length)?;
                    Ok(Some(What::Results(manifest, file)))
                }
                Ok(answer) => {
                    self.has_answered = true;
                    Ok(Some(What::Answer(answer)))
                }
                Err(error) if self.has_answered => Err(anyhow!("the agent's answer cannot be read: {error}")),
                Err(_) => match std::str::from_utf8(&line).ok().and_then(|line| line.trim_end().strip_prefix(WORD)) {
                    Some(word) => Ok(Some(What::Word(word.to_owned()))),
                    // Shells of some hosts greet everybody.
                    None if self.noise < MOST_NOISE => {
                        self.noise += 1;
                        continue;
                    }
                    None => Err(anyhow!("the host says too much before the agent starts")),
                },
            };
        }
    }
}
