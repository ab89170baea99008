//! The client's side: what it asks for, and what it gets.

use std::collections::BTreeMap;

use super::{
    HttpError,
    frames::{self, Frames, Part},
    qpack,
};
use crate::contract::{Downloads, Http, Settings, hq};

/// Bytes that are collected before they are written to a file.
const STORE_BUFFER: usize = 16 * 1024;

/// The requests of one connection, and what has come of them. At most `QUICLAB_STREAMS` run at a time.
#[derive(Debug)]
pub struct Fetches {
    http: Http,
    downloads: Downloads,
    /// Of each running request of HTTP/3, by stream.
    frames: BTreeMap<u64, Frames>,
}

impl Fetches {
    /// All requests of the settings, none of them sent.
    pub fn new<C>(settings: &Settings<C>) -> Self {
        let downloads = Downloads::new(&settings.requests, settings, STORE_BUFFER);
        Self { http: settings.http, downloads, frames: BTreeMap::new() }
    }

    /// What to send on the next stream, with its end; `None`: all is asked for, or too much runs.
    pub fn next(&self) -> Option<Vec<u8>> {
        let request = self.downloads.next()?;
        Some(match self.http {
            Http::Hq => hq::line(request),
            Http::H3 => frames::headers(&qpack::request(&request.authority(), &request.path)),
        })
    }

    /// [`Self::next`] was sent on this stream.
    ///
    /// # Errors
    /// Where the file cannot be created.
    pub fn sent(&mut self, stream: u64) -> Result<(), HttpError> {
        self.downloads.sent(stream);
        match self.http {
            Http::H3 => {
                self.frames.insert(stream, Frames::new());
            }
            Http::Hq => {
                let (download, folder) = self.downloads.running(stream).ok_or(HttpError::Stream(stream))?;
                download.create(folder)?;
            }
        }
        Ok(())
    }

    /// Takes the next bytes of a stream, and stores what is of the file.
    ///
    /// # Errors
    /// Where they are no answer with status 200, or nothing was asked for on this stream; what the file system answers.
    pub fn receive(&mut self, stream: u64, mut bytes: &[u8]) -> Result<(), HttpError> {
        let (download, folder) = self.downloads.running(stream).ok_or(HttpError::Stream(stream))?;
        let Some(frames) = self.frames.get_mut(&stream) else {
            return Ok(download.store(bytes)?);
        };
        while let Some(part) = frames.next(&mut bytes)? {
            match part {
                Part::Headers(block) => {
                    let fields = qpack::read(&block)?;
                    let header = |name: &str| {
                        let field = fields.iter().find(|(known, _)| *known == name);
                        field.map(|(_, value)| value.as_slice())
                    };
                    download.on_headers(header, folder)?;
                }
                Part::Data(data) => download.store(data)?,
            }
        }
        Ok(())
    }

    /// The stream is over.
    ///
    /// # Errors
    /// Where the file is shorter or longer than announced, or there was no answer; what the file system answers.
    pub fn finish(&mut self, stream: u64) -> Result<(), HttpError> {
        if let Some(frames) = self.frames.remove(&stream) {
            frames.end()?;
        }
        Ok(self.downloads.finish(stream)?)
    }

    /// True where every file is stored.
    pub fn are_complete(&self) -> bool {
        self.downloads.are_complete()
    }
}
