//! HTTP/0.9 over QUIC, as the QUIC Interop Runner uses it: a line of request, a file for an answer.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Result, bail, ensure};
use quiclab_contract::{Downloads, Request, hq};

use crate::{
    application::{Application, Quic},
    files::{Answers, Body},
    settings::Settings,
};

/// Bytes of a file that are collected before they are written.
const STORE_BUFFER: usize = 64 * 1024;

/// Longest request, in bytes.
const MAX_REQUEST: usize = 4096;

/// Error code of a stream that has no answer. HTTP/0.9 names none.
const NO_ANSWER: u64 = 1;

/// Answers from a folder.
pub struct Server {
    www: PathBuf,
    /// Requests that are not whole yet, by stream.
    requests: BTreeMap<u64, Vec<u8>>,
    answers: Answers,
}

impl Server {
    /// Answers from the settings' folder.
    pub fn new(settings: &Settings) -> Self {
        Self { www: settings.www.clone(), requests: BTreeMap::new(), answers: Answers::default() }
    }
}

impl Application for Server {
    fn open(&mut self, _quic: Quic) -> Result<()> {
        Ok(())
    }

    fn on_data(&mut self, quic: Quic, stream: u64, data: &[u8], fin: bool) -> Result<()> {
        let request = self.requests.entry(stream).or_default();
        request.extend_from_slice(data);
        ensure!(request.len() <= MAX_REQUEST, "a request of more than {MAX_REQUEST} bytes");
        if !fin {
            return Ok(());
        }
        let line = self.requests.remove(&stream).unwrap_or_default();
        let path = hq::path(&line).unwrap_or_default();
        match Body::open(path, &self.www) {
            Ok(body) => {
                self.answers.insert(stream, body);
                quic.activate(stream)
            }
            Err(error) => {
                eprintln!("{}: {error}", String::from_utf8_lossy(path));
                quic.reset(stream, NO_ANSWER);
                Ok(())
            }
        }
    }

    fn on_reset(&mut self, _quic: Quic, stream: u64, _code: u64) -> Result<()> {
        self.requests.remove(&stream);
        self.answers.remove(stream);
        Ok(())
    }

    fn rest(&mut self, stream: u64) -> Option<(&[u8], bool)> {
        self.answers.rest(stream)
    }

    fn take(&mut self, stream: u64, bytes: usize) {
        self.answers.take(stream, bytes);
    }

    fn is_complete(&self) -> bool {
        true
    }
}

/// Fetches files.
pub struct Client {
    downloads: Downloads,
}

impl Client {
    /// Fetches `requests` into the settings' folder.
    pub fn new(requests: &[Request], settings: &Settings) -> Self {
        Self { downloads: Downloads::new(requests, settings, STORE_BUFFER) }
    }
}

impl Application for Client {
    fn open(&mut self, quic: Quic) -> Result<()> {
        // picoquic itself keeps what the server does not allow yet.
        while let Some(request) = self.downloads.next() {
            let stream = quic.next_stream();
            quic.send(stream, &hq::line(request), true)?;
            self.downloads.sent(stream);
        }
        Ok(())
    }

    fn on_data(&mut self, _quic: Quic, stream: u64, data: &[u8], fin: bool) -> Result<()> {
        let Some((download, folder)) = self.downloads.running(stream) else { return Ok(()) };
        download.create(folder)?;
        download.store(data)?;
        if fin {
            self.downloads.finish(stream)?;
        }
        Ok(())
    }

    fn on_reset(&mut self, _quic: Quic, stream: u64, code: u64) -> Result<()> {
        match self.downloads.running(stream) {
            Some((download, _)) => bail!("{}: the server reset the stream with {code:#x}", download.request.path),
            None => Ok(()),
        }
    }

    fn is_complete(&self) -> bool {
        self.downloads.are_complete()
    }
}
