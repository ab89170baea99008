//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    os::fd::AsFd as _,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use quiclab_contract::{
    Downloads, Request, TestCase, hq,
    perf::{COUNTERS, Exchanges},
};

use crate::{
    context::{Context, Session},
    settings::Settings,
    socket::Socket,
    ssl::{Read, Ssl},
};

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it may go on without looking whether the time of perf is over.
const PERF_STEP: Duration = Duration::from_millis(10);

/// Bytes read from a stream at once.
const CHUNK: usize = 32 * 1024;

/// Bytes of a file that are collected before they are written.
const STORE_BUFFER: usize = 64 * 1024;

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is shorter or longer than announced, the
/// connection ends early, or a file cannot be written.
pub fn run(settings: &Settings) -> Result<()> {
    let context = Context::new(settings)?;
    let (first, others) = settings.connections();
    if others.is_empty() {
        return Fetch::new(&context, settings, first, None)?.finish(false).map(|_| ());
    }
    let session = Fetch::new(&context, settings, first, None)?.finish(true)?;
    let session = session.context("the server gave no session ticket")?;
    Fetch::new(&context, settings, others, Some(session))?.finish(false)?;
    Ok(())
}

/// Files or exchanges of perf, which the streams carry.
enum Application {
    Files(Downloads),
    Perf(Exchanges),
}

impl Application {
    fn new(settings: &Settings, requests: &[Request]) -> Self {
        match settings.perf {
            Some(sizes) => {
                let exchanges = Exchanges::new(sizes, requests.len(), settings.streams, settings.perf_duration);
                Self::Perf(exchanges.with(settings.perf_load))
            }
            None => Self::Files(Downloads::new(requests, settings, STORE_BUFFER)),
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Files(downloads) => downloads.are_complete(),
            Self::Perf(exchanges) => exchanges.are_complete(),
        }
    }
}

/// A connection that fetches. Streams are freed first, the socket last.
struct Fetch<'a> {
    streams: Vec<(u64, Ssl)>,
    connection: Ssl,
    application: Application,
    settings: &'a Settings,
    is_connected: bool,
    update_due: bool,
    resumes: bool,
    buffer: Vec<u8>,
    socket: Socket,
}

impl<'a> Fetch<'a> {
    /// A connection that has not begun. A session is resumed.
    fn new(context: &Context, settings: &'a Settings, requests: &[Request], session: Option<Session>) -> Result<Self> {
        let socket = Socket::bind(settings.local())?;
        let server = settings.resolve()?;
        let connection = Ssl::connect_to(context, settings, socket.as_fd(), server, session.as_ref())?;
        Ok(Self {
            streams: Vec::new(),
            connection,
            application: Application::new(settings, requests),
            settings,
            is_connected: false,
            update_due: settings.test_case == TestCase::KeyUpdate,
            resumes: session.is_some(),
            buffer: vec![0; CHUNK],
            socket,
        })
    }

    /// Goes on until everything is there, and a session where `keep_session` says to wait for one. That session.
    fn finish(mut self, keep_session: bool) -> Result<Option<Session>> {
        let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
        let mut session = None;
        loop {
            // OpenSSL may receive during any call, also for what was looked at before.
            while self.step()? {}
            session = Session::take().or(session);
            if self.application.is_complete() && !self.update_due && (!keep_session || session.is_some()) {
                break;
            }
            if let Some(reason) = self.connection.end() {
                bail!("the connection ended early: {reason}");
            }
            let most = if self.is_connected {
                self.settings.perf_duration.map(|_| PERF_STEP)
            } else {
                let left = deadline.checked_duration_since(Instant::now());
                Some(left.with_context(|| format!("no handshake within {HANDSHAKE_TIMEOUT:?}"))?)
            };
            self.socket.wait(&self.connection, most)?;
        }
        ensure!(!self.resumes || self.connection.is_resumed(), "the server did not resume the session");
        // Tell the server, so that it need not wait for its idle timeout.
        self.connection.close();
        Ok(session)
    }

    /// Does what is due. True: something moved, so more may be due.
    fn step(&mut self) -> Result<bool> {
        if !self.is_connected {
            self.is_connected = self.connection.connect()?;
            if !self.is_connected {
                return Ok(false);
            }
            COUNTERS.connected();
        }
        if self.update_due && self.connection.update_keys() {
            self.update_due = false;
        }
        let mut has_moved = self.open()?;
        let Self { streams, application, buffer, .. } = self;
        let mut failure = None;
        streams.retain(|(number, stream)| {
            let outcome = exchange(application, *number, stream, buffer, &mut has_moved);
            outcome.map_err(|error| failure = Some(error.context(format!("stream {number}")))).unwrap_or(false)
        });
        failure.map_or(Ok(has_moved), Err)
    }

    /// Opens as many streams as are wanted and allowed. True: there were some.
    fn open(&mut self) -> Result<bool> {
        let before = self.streams.len();
        loop {
            let line = match &self.application {
                Application::Files(downloads) => downloads.next().map(hq::line),
                Application::Perf(exchanges) => exchanges.wants_stream().then(Vec::new),
            };
            let stream = line.and_then(|line| Some((line, self.connection.open_stream()?)));
            let Some((line, stream)) = stream else { return Ok(self.streams.len() > before) };
            let number = stream.number();
            match &mut self.application {
                Application::Files(downloads) => {
                    let taken = stream.write(&line, true)?;
                    ensure!(taken == line.len(), "the server's window is smaller than a request");
                    downloads.sent(number);
                }
                Application::Perf(exchanges) => exchanges.opened(number),
            }
            self.streams.push((number, stream));
        }
    }
}

/// Writes and reads as far as that goes, and notes whether it went at all. False: the answer is complete.
fn exchange(
    application: &mut Application,
    number: u64,
    stream: &Ssl,
    buffer: &mut [u8],
    has_moved: &mut bool,
) -> Result<bool> {
    if let Application::Perf(exchanges) = application {
        while let Some((piece, is_last)) = exchanges.rest(number) {
            let bytes = piece.bytes();
            let wanted = bytes.len();
            let taken = stream.write(bytes, is_last)?;
            *has_moved |= taken > 0;
            if exchanges.take(number, taken) || taken < wanted {
                break;
            }
        }
    }
    loop {
        let length = match stream.read(buffer)? {
            Read::Nothing => return Ok(true),
            Read::Bytes(length) => Some(length),
            Read::End => None,
        };
        *has_moved = true;
        match application {
            Application::Files(downloads) => {
                let Some((download, folder)) = downloads.running(number) else { return Ok(false) };
                download.create(folder)?;
                match length {
                    Some(length) => download.store(&buffer[..length])?,
                    None => downloads.finish(number)?,
                }
            }
            Application::Perf(exchanges) => match length {
                Some(length) => exchanges.on_data(number, length)?,
                None => exchanges.on_end(number)?,
            },
        }
        if length.is_none() {
            return Ok(false);
        }
    }
}
