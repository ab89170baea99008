//! The server: answers every request on every connection, until it is killed.

use std::{
    path::PathBuf,
    ptr,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use msquic::{
    Addr, Api, Configuration, Connection, ConnectionEvent, ConnectionRef, Listener, ListenerEvent, Registration,
    RegistrationConfig, SendFlags, Status, Stream, StreamEvent, StreamOpenFlags, StreamRef, StreamShutdownFlags,
    ffi::HQUIC,
};
use quiclab_contract::{Body, TestCase, hq, perf::COUNTERS};

use crate::{chunk, configuration, key_log::KeyLog, perf, settings::Settings};

/// Longest request, in bytes.
const REQUEST_LIMIT: usize = 4096;

/// Aborts a stream whose file is not there; HTTP/0.9 has no status.
const NO_FILE: u64 = 1;

/// Parts of a file that the library has at a time, beside those that it has copied into its own buffer.
const PARTS: usize = 2;

/// What the library's thread tells the main thread, which may close handles.
enum Message {
    /// The connection waits for its certificate.
    Waits(HQUIC),
    Stream(Stream),
    Connection(Connection),
}

// SAFETY: the library's handles may be used by any thread.
unsafe impl Send for Message {}

/// Serves until it is killed.
///
/// # Errors
/// Where the certificate cannot be used or the port not be had.
pub fn run(settings: Settings) -> Result<()> {
    let registration = Registration::new(&RegistrationConfig::new()).context("RegistrationOpen")?;
    let configuration = Arc::new(configuration::open(&registration, &settings)?);
    let address = settings.local();
    let (sender, messages) = mpsc::channel();
    let (accepted, delay, alpn) =
        (Arc::clone(&configuration), settings.certificate_delay, configuration::alpn(&settings));
    let settings = Arc::new(settings);
    let listener = Listener::open(&registration, move |_, event| {
        if let ListenerEvent::NewConnection { connection, .. } = event {
            accept(&connection, &accepted, &settings, &sender)?;
        }
        Ok(())
    })
    .context("ListenerOpen")?;
    listener.start(&alpn, Some(&Addr::from(address))).with_context(|| format!("listening at {address}"))?;
    keep_house(&messages, &configuration, delay)
}

/// Closes what is done, and completes connections whose certificate has come.
fn keep_house(messages: &Receiver<Message>, configuration: &Configuration, delay: Duration) -> Result<()> {
    let mut waiting: Vec<(Instant, HQUIC)> = Vec::new();
    loop {
        let now = Instant::now();
        for (_, connection) in waiting.extract_if(.., |(due, _)| *due <= now) {
            set_configuration(connection, configuration);
        }
        let message = match waiting.first() {
            Some((due, _)) => messages.recv_timeout(due.duration_since(now)),
            None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match message {
            Ok(Message::Waits(connection)) => waiting.push((Instant::now() + delay, connection)),
            Ok(Message::Stream(stream)) => stream.close(),
            Ok(Message::Connection(connection)) => {
                // SAFETY: the handle is only compared.
                let handle = unsafe { connection.as_raw() };
                waiting.retain(|(_, other)| *other != handle);
                connection.close();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("the listener is gone"),
        }
    }
}

/// Gives a connection its configuration; a failure closes the connection.
fn set_configuration(connection: HQUIC, configuration: &Configuration) {
    // SAFETY: a connection that waits is not closed, but by the thread that calls this.
    let connection = std::mem::ManuallyDrop::new(unsafe { Connection::from_raw(connection) });
    if let Err(error) = connection.set_configuration(configuration) {
        eprintln!("ConnectionSetConfiguration: {error}");
    }
}

fn accept(
    connection: &ConnectionRef,
    configuration: &Configuration,
    settings: &Arc<Settings>,
    sender: &Sender<Message>,
) -> Result<(), Status> {
    let key_log = settings
        .key_log
        .as_deref()
        .and_then(|path| KeyLog::new(connection, path).inspect_err(|error| eprintln!("TLS secrets: {error:#}")).ok());
    let (to_main, gives_tickets) = (sender.clone(), settings.test_case.takes_two_connections());
    let (www, is_perf) = (settings.www.clone(), settings.test_case == TestCase::Perf);
    connection.set_callback_handler(move |connection, event| {
        match event {
            ConnectionEvent::Connected { .. } => {
                configuration::tell_congestion_control(&connection);
                if let Some(Err(error)) = key_log.as_ref().map(KeyLog::write) {
                    eprintln!("{error:#}");
                }
                COUNTERS.connected();
                if gives_tickets {
                    send_ticket(&connection);
                }
            }
            ConnectionEvent::PeerStreamStarted { stream, flags } if is_perf => {
                let to_main = to_main.clone();
                let one_way = flags.contains(StreamOpenFlags::UNIDIRECTIONAL);
                // SAFETY: the handle is that of the connection, whose streams are closed before it.
                let connection = unsafe { connection.as_raw() };
                perf::answer(&stream, connection, one_way, move |stream| {
                    let _ = to_main.send(Message::Stream(stream));
                });
            }
            ConnectionEvent::PeerStreamStarted { stream, .. } => answer(&stream, www.clone(), to_main.clone()),
            ConnectionEvent::ShutdownComplete { .. } => {
                // SAFETY: this event makes the application the only owner of the handle.
                let _ = to_main.send(Message::Connection(unsafe { Connection::from_raw(connection.as_raw()) }));
            }
            _ => {}
        }
        Ok(())
    });
    if settings.certificate_delay.is_zero() {
        return connection.set_configuration(configuration);
    }
    // SAFETY: the main thread forgets it before it closes the connection.
    let _ = sender.send(Message::Waits(unsafe { connection.as_raw() }));
    Ok(())
}

fn send_ticket(connection: &Connection) {
    let Some(send) = Api::get_ffi().ConnectionSendResumptionTicket else { return };
    // SAFETY: the handle is open; flags, no data.
    let status = unsafe { send(connection.as_raw(), 0, 0, ptr::null()) };
    if let Err(error) = Status::ok_from_raw(status) {
        eprintln!("ConnectionSendResumptionTicket: {error}");
    }
}

/// Answers one request.
fn answer(stream: &StreamRef, www: PathBuf, to_main: Sender<Message>) {
    let mut request = Vec::new();
    let mut body = None;
    stream.set_callback_handler(move |stream, event| {
        match event {
            StreamEvent::Receive { buffers, .. } => {
                for buffer in buffers {
                    // One byte over the limit shows that it was too long.
                    let room = (REQUEST_LIMIT + 1).saturating_sub(request.len());
                    request.extend(buffer.as_bytes().iter().take(room));
                }
            }
            StreamEvent::PeerSendShutdown => match open(&request, &www) {
                Ok(file) => {
                    if file.left() == 0 {
                        let _ = stream.shutdown(StreamShutdownFlags::GRACEFUL, 0);
                    }
                    let file = body.insert(file);
                    (0..PARTS).for_each(|_| send_next(&stream, file));
                }
                Err(error) => {
                    eprintln!("{error:#}");
                    let _ = stream.shutdown(StreamShutdownFlags::ABORT_SEND, NO_FILE);
                }
            },
            StreamEvent::SendComplete { cancelled, client_context } => {
                // SAFETY: only `send_next` sends here.
                unsafe { chunk::take_back(client_context) };
                if let Some(file) = body.as_mut().filter(|_| !cancelled) {
                    send_next(&stream, file);
                }
            }
            StreamEvent::ShutdownComplete { .. } => {
                // SAFETY: this event makes the application the only owner of the handle.
                let _ = to_main.send(Message::Stream(unsafe { Stream::from_raw(stream.as_raw()) }));
            }
            _ => {}
        }
        Ok(())
    });
}

fn open(request: &[u8], www: &std::path::Path) -> Result<Body> {
    let path =
        hq::path(request).filter(|_| request.len() <= REQUEST_LIMIT).context("found a request that is not GET")?;
    Body::open(path, www).with_context(|| String::from_utf8_lossy(path).into_owned())
}

/// Sends the next part of the file, if there is one.
fn send_next(stream: &Stream, file: &mut Body) {
    let outcome = file.next_chunk().context("reading a file").and_then(|part| {
        let Some(part) = part else { return Ok(()) };
        let flags = if file.left() == 0 { SendFlags::FIN } else { SendFlags::NONE };
        chunk::send(stream, part, flags).context("sending a file")
    });
    if let Err(error) = outcome {
        eprintln!("{error:#}");
        let _ = stream.shutdown(StreamShutdownFlags::ABORT_SEND, NO_FILE);
    }
}
