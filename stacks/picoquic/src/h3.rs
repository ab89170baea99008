//! HTTP/3 over QUIC, with picoquic's own implementation of it, h3zero: its settings and streams, its frames and QPACK. What it leaves to
//! programs is here: files.

use std::{ffi::CString, path::PathBuf, ptr, slice};

use anyhow::{Context as _, Result, bail, ensure};
use quiclab_contract::{Downloads, Request};

use crate::{
    application::{Application, Codes, Quic},
    events::ProtocolError,
    ffi,
    files::{Answers, Body},
    settings::Settings,
};

/// The name in ALPN (RFC 9114, section 3.1).
pub const ALPN: &[u8] = b"h3";

/// Error codes (RFC 9114, section 8.1): `H3_NO_ERROR`, `H3_INTERNAL_ERROR`, `H3_REQUEST_CANCELLED`.
const CODES: Codes = Codes { done: 0x100, failed: 0x102, stopped: 0x10c };
/// `H3_STREAM_CREATION_ERROR`.
const STREAM_CREATION_ERROR: u64 = 0x103;
/// `H3_FRAME_ERROR`.
const FRAME_ERROR: u64 = 0x106;

/// Bytes of a file that are collected before they are written.
const STORE_BUFFER: usize = 64 * 1024;
/// Longest request and longest head of an answer, in bytes: as long as h3zero's own.
const MAX_HEAD: usize = 1024;
/// Bytes before a field section: its frame's type, and its length in two bytes.
const BEFORE_SECTION: usize = 3;

/// The bit of a stream's number that only the server's streams have (RFC 9000, section 2.1).
const OF_SERVER: u64 = 1;
/// The bit that only unidirectional streams have.
const UNIDIRECTIONAL: u64 = 2;

/// A part of a message.
enum Part<'a> {
    /// The field section is whole.
    Head(&'a ffi::h3zero_header_parts_t),
    /// Some of the content.
    Content(&'a [u8]),
}

/// h3zero's state of a connection: settings, control streams, and the position in each stream.
struct Streams(*mut ffi::h3zero_callback_ctx_t);

impl Streams {
    fn new() -> Result<Self> {
        // SAFETY: without parameters, which only h3zero's own server needs.
        let context = unsafe { ffi::h3zero_callback_create_context(ptr::null_mut()) };
        ensure!(!context.is_null(), "h3zero has no memory for a connection");
        Ok(Self(context))
    }

    /// Sends the settings, unless they are sent.
    fn begin(&self, quic: Quic) -> Result<()> {
        // SAFETY: both live.
        let outcome = unsafe { ffi::h3zero_protocol_init_safe(quic.0, self.0) };
        ensure!(outcome == 0, "h3zero cannot open its control stream: {outcome:#x}");
        Ok(())
    }

    fn stream(&self, quic: Quic, stream: u64) -> Result<*mut ffi::h3zero_stream_ctx_t> {
        // SAFETY: both live.
        let found = unsafe { ffi::h3zero_find_or_create_stream(quic.0, stream, self.0, 1, 1) };
        ensure!(!found.is_null(), "h3zero has no memory for stream {stream}");
        Ok(found)
    }

    /// Reads a stream that the peer has opened for itself: settings, QPACK.
    fn read_remote(&self, quic: Quic, stream: u64, data: &[u8]) -> Result<()> {
        ensure!(
            stream & UNIDIRECTIONAL != 0,
            ProtocolError { code: STREAM_CREATION_ERROR, what: "a bidirectional stream of the server" }
        );
        let found = self.stream(quic, stream)?;
        let range = data.as_ptr_range();
        let mut code = FRAME_ERROR;
        // SAFETY: all of them live during the call.
        let end = unsafe {
            ffi::h3zero_parse_incoming_remote_stream_ex(range.start, range.end, found, self.0, quic.0, &mut code)
        };
        ensure!(!end.is_null(), ProtocolError { code, what: "a control stream that h3zero cannot read" });
        Ok(())
    }

    /// Reads a stream with a request and its answer. True: `fin` ended it, with all frames whole.
    fn read(
        &self,
        quic: Quic,
        stream: u64,
        data: &[u8],
        fin: bool,
        mut on_part: impl FnMut(Part) -> Result<()>,
    ) -> Result<bool> {
        let found = self.stream(quic, stream)?;
        // h3zero does not write to what it reads, though its types would allow it.
        let mut at = data.as_ptr().cast_mut();
        // SAFETY: the end of the same slice.
        let end = unsafe { at.add(data.len()) };
        while at < end {
            // SAFETY: the stream's state lives in h3zero's context, as one of HTTP/3; nothing else uses it during the call.
            let state = unsafe { &mut (*found).ps.stream_state };
            let had_head = state.header_found() != 0;
            let (mut available, mut code) = (0, FRAME_ERROR);
            // SAFETY: within the slice.
            at = unsafe { ffi::h3zero_parse_data_stream(at, end, state, &mut available, &mut code) };
            ensure!(!at.is_null(), ProtocolError { code, what: "a frame that h3zero cannot read" });
            if !had_head && state.header_found() != 0 {
                on_part(Part::Head(&state.header))?;
            }
            if available > 0 {
                // SAFETY: h3zero has found so many bytes of content there.
                on_part(Part::Content(unsafe { slice::from_raw_parts(at, available) }))?;
                // SAFETY: as above.
                at = unsafe { at.add(available) };
            }
        }
        if !fin {
            return Ok(false);
        }
        // SAFETY: as above.
        let state = unsafe { &(*found).ps.stream_state };
        // Also with the first bytes of a frame.
        let is_whole = state.frame_prefix_parsed() == 0 && state.frame_header_read == 0;
        ensure!(
            is_whole && state.header_found() != 0,
            ProtocolError { code: FRAME_ERROR, what: "a stream that ends within a frame" }
        );
        Ok(true)
    }

    /// The method and the path of a request that is whole.
    fn request(&self, quic: Quic, stream: u64) -> Result<(ffi::h3zero_method_enum, Vec<u8>)> {
        // SAFETY: as in `read`.
        let header = unsafe { &(*self.stream(quic, stream)?).ps.stream_state.header };
        let path = match header.path.is_null() {
            true => Vec::new(),
            // SAFETY: h3zero keeps the path as long as the stream.
            false => unsafe { slice::from_raw_parts(header.path, header.path_length) }.to_vec(),
        };
        Ok((header.method, path))
    }

    /// Nothing more comes on this stream.
    fn forget(&self, quic: Quic, stream: u64) {
        // SAFETY: both live; what is found is deleted once.
        unsafe {
            let found = ffi::h3zero_find_stream(self.0, stream);
            if !found.is_null() {
                ffi::h3zero_delete_stream(quic.0, self.0, found);
            }
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed only here. The connection may be gone.
        unsafe { ffi::h3zero_callback_delete_context(ptr::null_mut(), self.0) };
    }
}

/// A HEADERS frame around a field section that h3zero writes.
fn headers(write: impl FnOnce(*mut u8, *mut u8) -> *mut u8) -> Result<Vec<u8>> {
    let mut frame = vec![0; MAX_HEAD];
    let range = frame[BEFORE_SECTION..].as_mut_ptr_range();
    let end = write(range.start, range.end);
    ensure!(!end.is_null(), "a field section of more than {MAX_HEAD} bytes");
    let length = end as usize - range.start as usize;
    frame.truncate(BEFORE_SECTION + length);
    frame[0] = ffi::h3zero_frame_header as u8;
    // A varint of two bytes (RFC 9000, section 16), as h3zero's own server has it.
    frame[1..BEFORE_SECTION].copy_from_slice(&(0x4000 | length as u16).to_be_bytes());
    Ok(frame)
}

/// The beginning of a DATA frame (RFC 9114, section 7.2.1).
fn data_frame(length: usize) -> Vec<u8> {
    let mut frame = vec![ffi::h3zero_frame_data as u8];
    // A varint of eight bytes.
    frame.extend((0xc000_0000_0000_0000 | length as u64).to_be_bytes());
    frame
}

/// Answers from a folder.
pub struct Server {
    streams: Streams,
    www: PathBuf,
    answers: Answers,
}

impl Server {
    /// Answers from the settings' folder.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn new(settings: &Settings) -> Result<Self> {
        Ok(Self { streams: Streams::new()?, www: settings.www.clone(), answers: Answers::default() })
    }

    fn answer(&mut self, quic: Quic, stream: u64) -> Result<()> {
        let (method, path) = self.streams.request(quic, stream)?;
        self.streams.forget(quic, stream);
        if method != ffi::h3zero_method_get {
            // SAFETY: h3zero writes into the range.
            let head = headers(|at, end| unsafe { ffi::h3zero_create_bad_method_header_frame(at, end) })?;
            return quic.send(stream, &head, true);
        }
        match Body::open(&path, &self.www) {
            Ok(body) => {
                let kind = ffi::h3zero_content_type_text_plain;
                // SAFETY: as above.
                let mut head = headers(|at, end| unsafe { ffi::h3zero_create_response_header_frame(at, end, kind) })?;
                let length = body.bytes().len();
                if length == 0 {
                    return quic.send(stream, &head, true);
                }
                head.extend(data_frame(length));
                quic.send(stream, &head, false)?;
                self.answers.insert(stream, body);
                quic.activate(stream)
            }
            Err(error) => {
                eprintln!("{}: {error}", String::from_utf8_lossy(&path));
                // SAFETY: as above.
                let head = headers(|at, end| unsafe { ffi::h3zero_create_not_found_header_frame(at, end) })?;
                quic.send(stream, &head, true)
            }
        }
    }
}

impl Application for Server {
    fn codes(&self) -> Codes {
        CODES
    }

    fn open(&mut self, quic: Quic) -> Result<()> {
        self.streams.begin(quic)
    }

    fn on_data(&mut self, quic: Quic, stream: u64, data: &[u8], fin: bool) -> Result<()> {
        if stream & UNIDIRECTIONAL != 0 {
            return self.streams.read_remote(quic, stream, data);
        }
        match self.streams.read(quic, stream, data, fin, |_| Ok(()))? {
            true => self.answer(quic, stream),
            false => Ok(()),
        }
    }

    fn on_reset(&mut self, quic: Quic, stream: u64, _code: u64) -> Result<()> {
        self.streams.forget(quic, stream);
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
    streams: Streams,
    downloads: Downloads,
}

impl Client {
    /// Fetches `requests` into the settings' folder.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn new(requests: &[Request], settings: &Settings) -> Result<Self> {
        Ok(Self { streams: Streams::new()?, downloads: Downloads::new(requests, settings, STORE_BUFFER) })
    }
}

/// A request, as h3zero's client writes it.
fn request(request: &Request) -> Result<Vec<u8>> {
    let mut frame = vec![0; MAX_HEAD];
    let host = CString::new(request.authority())?;
    let mut length = 0;
    // SAFETY: everything lives during the call.
    let outcome = unsafe {
        ffi::h3zero_client_create_stream_request(
            frame.as_mut_ptr(),
            frame.len(),
            request.path.as_ptr(),
            request.path.len(),
            0,
            host.as_ptr(),
            &mut length,
        )
    };
    ensure!(outcome == 0, "{}: h3zero cannot write this request: {outcome:#x}", request.path);
    frame.truncate(length);
    Ok(frame)
}

impl Application for Client {
    fn codes(&self) -> Codes {
        CODES
    }

    fn open(&mut self, quic: Quic) -> Result<()> {
        self.streams.begin(quic)?;
        // picoquic itself keeps what the server does not allow yet.
        while let Some(next) = self.downloads.next() {
            let stream = quic.next_stream();
            quic.send(stream, &request(next)?, true)?;
            self.downloads.sent(stream);
        }
        Ok(())
    }

    fn on_data(&mut self, quic: Quic, stream: u64, data: &[u8], fin: bool) -> Result<()> {
        if stream & OF_SERVER != 0 {
            return self.streams.read_remote(quic, stream, data);
        }
        let Some((download, folder)) = self.downloads.running(stream) else { return Ok(()) };
        let on_part = |part: Part| {
            match part {
                Part::Head(head) => {
                    let status = head.status.to_string();
                    download.on_headers(|name| (name == ":status").then_some(status.as_bytes()), folder)?;
                }
                Part::Content(bytes) => download.store(bytes)?,
            }
            Ok(())
        };
        if self.streams.read(quic, stream, data, fin, on_part)? {
            self.streams.forget(quic, stream);
            self.downloads.finish(stream).context("the answer")?;
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
