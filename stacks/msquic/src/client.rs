//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    collections::BTreeMap,
    ffi::CString,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use msquic::{
    ADDRESS_FAMILY_INET, ADDRESS_FAMILY_INET6, Api, Configuration, Connection, ConnectionEvent,
    ConnectionShutdownFlags, Registration, RegistrationConfig, SendFlags, Status, StatusCode, Stream, StreamEvent,
    StreamOpenFlags, StreamStartFlags,
    ffi::{HQUIC, QUIC_PARAM_CONN_RESUMPTION_TICKET},
};
use quiclab_contract::{
    Download, IpVersion, Request, TestCase, hq,
    perf::{COUNTERS, LATENCIES, Load, Sizes},
};

use crate::{
    chunk, configuration,
    key_log::KeyLog,
    perf::{self, Handle, News},
    settings::Settings,
};

/// Bytes that are collected before they are written to a file.
const STORE_BUFFER: usize = 16 * 1024;

/// How long the server may take to complete the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause before the next try, where nobody listens at the server's port.
const PAUSE: Duration = Duration::from_millis(100);

/// How long it may take to send a session ticket, after the first file.
const TICKET_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may be silent: more than the library's own idle timeout of 30 s.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(35);

/// How long one exchange of `perf` may take, of which nothing is heard before its end. The library's own idle timeout ends what is silent.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 86_400);

/// How long the end of a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// `QUIC_PARAM_CONN_FORCE_KEY_UPDATE` of the library's header `msquicp.h`, which its crate does not translate.
const FORCE_KEY_UPDATE: u32 = 0x8500_0000;

/// What the library's thread tells the main thread.
enum Message {
    Connected,
    Ticket(Vec<u8>),
    /// A request is done, or failed.
    Done(Result<()>),
    /// There is another stream.
    Stream(Stream),
    /// A stream can be closed.
    StreamOver(Handle),
    /// The connection is over, before or after its handshake.
    Over(Option<Status>),
}

/// Fetches and stores.
///
/// # Errors
/// Where a handshake fails or takes too long, the server's certificate does not verify, a stream or a connection ends
/// early, no session ticket comes where one is needed, or a file cannot be written.
pub fn run(settings: Settings) -> Result<()> {
    let registration = Registration::new(&RegistrationConfig::new()).context("RegistrationOpen")?;
    let configuration = configuration::open(&registration, &settings)?;
    let client = Client { registration: &registration, configuration: &configuration, settings: &settings };
    if settings.perf_load == Load::Handshakes {
        return client.shake_hands();
    }
    let (first, others) = settings.connections();
    if others.is_empty() {
        return client.fetch(first, None, false).map(|_| ());
    }
    let ticket = client.fetch(first, None, true)?.context("found no session ticket")?;
    client.fetch(others, Some(&ticket), false).map(|_| ())
}

struct Client<'a> {
    registration: &'a Registration,
    configuration: &'a Configuration,
    settings: &'a Settings,
}

/// A connection and its streams, which are closed before it.
struct Session {
    /// Closed before the connection, as the streams that are in it.
    messages: Receiver<Message>,
    streams: BTreeMap<Handle, Stream>,
    /// Requests made so far, without those that follow another one.
    begun: usize,
    /// What they carry in `perf`.
    sizes: Vec<Sizes>,
    connection: Connection,
    key_update: KeyUpdate,
    sender: Sender<Message>,
}

impl Client<'_> {
    /// Opens connections until the time is over: one per URL at a time, each in a thread of its own.
    fn shake_hands(&self) -> Result<()> {
        let deadline = Instant::now() + self.settings.perf_duration.unwrap_or_default();
        let has_failed = AtomicBool::new(false);
        let one = || {
            while Instant::now() < deadline && !has_failed.load(Ordering::Relaxed) {
                self.fetch(&self.settings.requests, None, false)
                    .inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let all: Vec<_> = self.settings.requests.iter().map(|_| scope.spawn(one)).collect();
            let outcomes = all.into_iter().map(|one| one.join().unwrap_or_else(|_| bail!("a thread panicked")));
            outcomes.collect()
        })
    }

    /// Fetches over one connection, and returns the session ticket if one came and `wants_ticket`. Where nobody listens
    /// yet, it tries again.
    fn fetch(&self, requests: &[Request], ticket: Option<&[u8]>, wants_ticket: bool) -> Result<Option<Vec<u8>>> {
        let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
        loop {
            let mut session = self.connect(requests, ticket)?;
            match session.run(self, requests, wants_ticket) {
                Err(error) if is_unreachable(&error) && Instant::now() + PAUSE < deadline => thread::sleep(PAUSE),
                outcome => return outcome,
            }
        }
    }

    /// Begins a connection, with as many requests as it may have at a time.
    fn connect(&self, requests: &[Request], ticket: Option<&[u8]>) -> Result<Session> {
        let first = requests.first().context("REQUESTS: found no URL")?;
        let (sender, messages) = mpsc::channel();
        let connection = self.open(sender.clone())?;
        let key_update = KeyUpdate::new(&connection);
        let Settings { perf, perf_load, streams, .. } = self.settings;
        let sizes = perf.map_or(vec![], |sizes| perf_load.streams(sizes, requests.len(), *streams));
        let mut session =
            Session { messages, streams: BTreeMap::new(), begun: 0, sizes, connection, key_update, sender };
        // SAFETY: the handle is that of the session's connection.
        let handle = unsafe { session.connection.as_raw() };
        if let Some(ticket) = ticket {
            let length = u32::try_from(ticket.len())?;
            // SAFETY: the library copies the ticket.
            unsafe { Api::set_param(handle, QUIC_PARAM_CONN_RESUMPTION_TICKET, length, ticket.as_ptr().cast()) }
                .context("session ticket")?;
        }
        for _ in 0..session.all(requests).min(streams.unwrap_or(usize::MAX)) {
            session.begin(requests, self.settings)?;
        }
        let family = match self.settings.ip {
            IpVersion::V4 => ADDRESS_FAMILY_INET,
            IpVersion::V6 => ADDRESS_FAMILY_INET6,
        };
        let host = CString::new(first.host.as_str())?;
        let start = Api::get_ffi().ConnectionStart.context("ConnectionStart")?;
        // SAFETY: the handles are open, and the library copies the name.
        let status = unsafe { start(handle, self.configuration.as_raw(), family, host.as_ptr(), first.port) };
        Status::ok_from_raw(status).with_context(|| format!("connecting to {}", first.host))?;
        Ok(session)
    }

    fn open(&self, sender: Sender<Message>) -> Result<Connection> {
        let connection = Connection::open(self.registration, |_, _| Ok(())).context("ConnectionOpen")?;
        configuration::prepare(&connection, self.settings)?;
        let key_log = self.settings.key_log.as_deref().map(|path| KeyLog::new(&connection, path)).transpose()?;
        let mut end = None;
        let (began, load) = (Instant::now(), self.settings.perf_load);
        connection.set_callback_handler(move |connection, event| {
            let message = match event {
                ConnectionEvent::Connected { .. } => {
                    if load == Load::Handshakes {
                        LATENCIES.since(began);
                    }
                    COUNTERS.connected();
                    configuration::tell_congestion_control(&connection);
                    if let Some(Err(error)) = key_log.as_ref().map(KeyLog::write) {
                        eprintln!("{error:#}");
                    }
                    Message::Connected
                }
                ConnectionEvent::ResumptionTicketReceived { resumption_ticket } => {
                    Message::Ticket(resumption_ticket.to_owned())
                }
                ConnectionEvent::ShutdownInitiatedByTransport { status, .. } => {
                    end = Some(status);
                    return Ok(());
                }
                ConnectionEvent::ShutdownComplete { .. } => Message::Over(end.take()),
                _ => return Ok(()),
            };
            let _ = sender.send(message);
            Ok(())
        });
        Ok(connection)
    }
}

impl Session {
    /// Waits until all requests are done, and makes those that had to wait.
    fn run(&mut self, client: &Client, requests: &[Request], wants_ticket: bool) -> Result<Option<Vec<u8>>> {
        let mut ticket = None;
        let mut left = self.all(requests);
        let load = client.settings.perf_load;
        let mut patience = HANDSHAKE_TIMEOUT;
        let mut deadline = None;
        while left > 0 || (wants_ticket && ticket.is_none()) {
            if left == 0 {
                patience = TICKET_TIMEOUT;
            }
            let time = deadline.map(|deadline: Instant| deadline.saturating_duration_since(Instant::now()));
            // There may be another message at any time.
            if time.is_some_and(|time| time.is_zero()) {
                break;
            }
            let message = self.messages.recv_timeout(time.unwrap_or(patience));
            if message.is_err() && time.is_some() {
                break;
            }
            match message.with_context(|| format!("nothing happened for {patience:?}"))? {
                Message::Connected => {
                    patience = if client.settings.perf.is_some() { NO_TIMEOUT } else { SILENCE_TIMEOUT };
                    if load != Load::Handshakes {
                        deadline = client.settings.perf_duration.map(|duration| Instant::now() + duration);
                    }
                }
                Message::Ticket(bytes) => ticket = Some(bytes),
                Message::Done(outcome) => {
                    // A request that fails with its connection does not know why.
                    outcome.map_err(|error| self.end().map_or(error, anyhow::Error::from))?;
                    left -= 1;
                    self.begin(requests, client.settings)?;
                }
                Message::Stream(stream) => drop(self.streams.insert(Handle::from(&stream), stream)),
                Message::StreamOver(handle) => drop(self.streams.remove(&handle)),
                Message::Over(status) => return Err(status.map_or(anyhow!("the server closed"), anyhow::Error::from)),
            }
        }
        // The server is told that this is the end, so that it need not wait for its idle timeout.
        self.connection.shutdown(ConnectionShutdownFlags::NONE, 0);
        self.end();
        Ok(ticket)
    }

    /// Waits for the end of the connection, for a while, and returns the library's reason for it.
    fn end(&self) -> Option<Status> {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        loop {
            match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Message::Over(status)) => return status,
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// How many requests are made, without those that follow another one.
    fn all(&self, requests: &[Request]) -> usize {
        if self.sizes.is_empty() { requests.len() } else { self.sizes.len() }
    }

    /// Makes the next request, if there is one. The library holds it back until the server allows another stream.
    fn begin(&mut self, requests: &[Request], settings: &Settings) -> Result<()> {
        let stream = match (self.sizes.get(self.begun), requests.get(self.begun)) {
            (Some(&sizes), _) => self.ask(settings.perf_load, sizes)?,
            (None, Some(request)) if self.sizes.is_empty() => self.get(request, settings)?,
            _ => return Ok(()),
        };
        self.streams.insert(Handle::from(&stream), stream);
        self.begun += 1;
        Ok(())
    }

    fn ask(&self, load: Load, sizes: Sizes) -> Result<Stream> {
        let sender = self.sender.clone();
        let tell = move |news| {
            let _ = sender.send(match news {
                News::Done(outcome) => Message::Done(outcome),
                News::Followed(stream) => Message::Stream(stream),
                News::Over(handle) => Message::StreamOver(handle),
            });
        };
        perf::ask(&self.connection, load, sizes, Arc::new(tell))
    }

    fn get(&self, request: &Request, settings: &Settings) -> Result<Stream> {
        let mut download = Download::new(request.clone(), STORE_BUFFER);
        download.create(&settings.downloads)?;
        let mut download = Some(download);
        let sender = self.sender.clone();
        let name = request.path.clone();
        let key_update = (settings.test_case == TestCase::KeyUpdate).then(|| self.key_update.clone());
        let early = settings.test_case == TestCase::ZeroRtt;
        let flags = if early { StreamOpenFlags::ZERO_RTT } else { StreamOpenFlags::NONE };
        let stream = Stream::open(&self.connection, flags, move |_, event| {
            let outcome = match event {
                StreamEvent::Receive { buffers, .. } => {
                    if let Some(key_update) = &key_update {
                        key_update.when_confirmed();
                    }
                    let Some(download) = download.as_mut() else { return Ok(()) };
                    match buffers.iter().try_for_each(|buffer| download.store(buffer.as_bytes())) {
                        Ok(()) => return Ok(()),
                        outcome => outcome.map_err(anyhow::Error::from),
                    }
                }
                StreamEvent::PeerSendShutdown => {
                    let Some(download) = download.take() else { return Ok(()) };
                    download.finish().map_err(anyhow::Error::from)
                }
                StreamEvent::PeerSendAborted { error_code } => {
                    Err(anyhow!("the server refused it: error {error_code}"))
                }
                StreamEvent::ShutdownComplete { .. } if download.is_some() => {
                    Err(anyhow!("the connection ended early"))
                }
                StreamEvent::SendComplete { client_context, .. } => {
                    // SAFETY: only `chunk::send` sends here.
                    unsafe { chunk::take_back(client_context) };
                    return Ok(());
                }
                _ => return Ok(()),
            };
            download = None;
            let _ = sender.send(Message::Done(outcome.with_context(|| name.clone())));
            Ok(())
        })
        .context("StreamOpen")?;
        stream.start(StreamStartFlags::NONE).context("StreamStart")?;
        let flags = if early { SendFlags::FIN | SendFlags::ALLOW_0_RTT } else { SendFlags::FIN };
        chunk::send(&stream, hq::line(request), flags).context("StreamSend")?;
        Ok(stream)
    }
}

/// The one key update of a connection.
#[derive(Clone)]
struct KeyUpdate {
    connection: HQUIC,
    done: Arc<AtomicBool>,
}

impl KeyUpdate {
    fn new(connection: &Connection) -> Self {
        // SAFETY: streams, and so their handlers, are closed before the connection.
        Self { connection: unsafe { connection.as_raw() }, done: Arc::default() }
    }

    /// Updates the keys if that was not done before. The library refuses as long as the handshake is not confirmed.
    fn when_confirmed(&self) {
        if !self.done.load(Ordering::Relaxed) {
            // SAFETY: the parameter has no value.
            let outcome = unsafe { Api::set_param(self.connection, FORCE_KEY_UPDATE, 0, ptr::null()) };
            self.done.store(outcome.is_ok(), Ordering::Relaxed);
        }
    }
}

/// True where the kernel was told that nobody listens at the server's port.
fn is_unreachable(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Status>().is_some_and(|status| status.0 == StatusCode::QUIC_STATUS_UNREACHABLE as u32)
}
