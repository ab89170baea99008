//! The server: answers until it is killed.

use std::os::fd::AsFd as _;

use anyhow::{Result, bail, ensure};
use quiclab_contract::{
    PartialBody, TestCase, hq,
    perf::{Answers, COUNTERS},
};

use crate::{
    context::Context,
    settings::Settings,
    socket::Socket,
    ssl::{Read, Ssl},
};

/// Bytes read from a stream at once.
const CHUNK: usize = 16 * 1024;

/// Longest HTTP/0.9 request, in bytes.
const MAX_REQUEST: usize = 4096;

/// Error code of a stream that has no answer. Neither HTTP/0.9 nor perf names one.
const NO_ANSWER: u64 = 1;

/// Serves until it is killed.
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub fn run(settings: &Settings) -> Result<()> {
    let context = Context::new(settings)?;
    let socket = Socket::bind(settings.local())?;
    let listener = Ssl::listen(&context, settings, socket.as_fd())?;
    let mut connections = Vec::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        while let Some(connection) = listener.accept()? {
            connections.push(Connection { streams: Vec::new(), connection, is_known: false });
        }
        // OpenSSL may receive during any call, also for what was looked at before.
        let mut has_moved = true;
        while has_moved {
            has_moved = false;
            connections.retain_mut(|connection| connection.step(settings, &mut buffer, &mut has_moved));
        }
        socket.wait(&listener, None)?;
    }
}

/// A connection and its streams, which are freed first.
struct Connection {
    streams: Vec<Stream>,
    connection: Ssl,
    /// True once its handshake is counted.
    is_known: bool,
}

impl Connection {
    /// Does what is due, and notes whether something moved. False: it is over.
    fn step(&mut self, settings: &Settings, buffer: &mut [u8], has_moved: &mut bool) -> bool {
        while let Some(stream) = self.connection.accept_stream() {
            *has_moved = true;
            if !self.is_known {
                // Streams come behind the handshake only.
                COUNTERS.connected();
                self.is_known = true;
            }
            let exchange = match settings.test_case {
                TestCase::Perf => Exchange::Perf(Answers::default()),
                _ => Exchange::Asking(Vec::new()),
            };
            self.streams.push(Stream { number: stream.number(), stream, exchange });
        }
        self.streams.retain_mut(|stream| match stream.step(settings, buffer, has_moved) {
            Ok(is_open) => is_open,
            Err(error) => {
                eprintln!("stream {}: {error:#}", stream.number);
                stream.stream.reset(NO_ANSWER);
                false
            }
        });
        self.connection.end().is_none()
    }
}

/// A stream of a client.
struct Stream {
    number: u64,
    stream: Ssl,
    exchange: Exchange,
}

/// How far a stream has come.
enum Exchange {
    /// A request, as far as it is there.
    Asking(Vec<u8>),
    /// A file that is being sent.
    Sending(PartialBody),
    /// An exchange of the test case `perf`.
    Perf(Answers),
}

impl Stream {
    /// Reads and writes as far as that goes, and notes whether it went at all. False: everything is handed over.
    fn step(&mut self, settings: &Settings, buffer: &mut [u8], has_moved: &mut bool) -> Result<bool> {
        loop {
            match &mut self.exchange {
                Exchange::Asking(request) => match self.stream.read(buffer)? {
                    Read::Bytes(length) => {
                        request.extend_from_slice(&buffer[..length]);
                        ensure!(request.len() <= MAX_REQUEST, "a request of more than {MAX_REQUEST} bytes");
                    }
                    Read::Nothing => return Ok(true),
                    Read::End => {
                        let path = hq::path(request).unwrap_or_default();
                        match PartialBody::open(path, &settings.www) {
                            Ok(body) => self.exchange = Exchange::Sending(body),
                            Err(error) => bail!("{}: {error}", String::from_utf8_lossy(path)),
                        }
                    }
                },
                Exchange::Sending(body) => {
                    let (bytes, is_last) = body.rest()?;
                    let wanted = bytes.len();
                    let taken = self.stream.write(bytes, is_last)?;
                    *has_moved |= taken > 0;
                    if body.take(taken) {
                        return Ok(false);
                    }
                    if taken < wanted {
                        return Ok(true);
                    }
                }
                Exchange::Perf(answers) => match answers.rest(self.number) {
                    Some((piece, is_last)) => {
                        let bytes = piece.bytes();
                        let wanted = bytes.len();
                        let taken = self.stream.write(bytes, is_last)?;
                        *has_moved |= taken > 0;
                        if answers.take(self.number, taken) {
                            return Ok(false);
                        }
                        if taken < wanted {
                            return Ok(true);
                        }
                    }
                    None => match self.stream.read(buffer)? {
                        Read::Bytes(length) => answers.on_data(self.number, &buffer[..length]),
                        Read::Nothing => return Ok(true),
                        Read::End => answers.on_end(self.number)?,
                    },
                },
            }
        }
    }
}
