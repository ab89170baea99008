//! What a connection carries: HTTP, of a server or a client. `on_*`: ngtcp2 reports; `poll_*`: it asks.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Context, Result, bail};
use quiclab_sans_io::{
    contract::{Http, Role},
    http::{Fetches, NO_FILE, RequestReader, control_stream, no_error},
};

use crate::{
    outbox::{Outbox, Piece, is_request},
    quic::Quic,
    settings::Settings,
};

/// What happens on the streams of one connection.
pub struct Application {
    http: Http,
    /// What is to be sent on a stream of this side, which is not open yet.
    control: Option<&'static [u8]>,
    pub outbox: Outbox,
    side: Side,
}

enum Side {
    /// With the streams whose answer is not whole.
    Client { fetches: Fetches, running: BTreeSet<i64> },
    /// With the requests that are not whole.
    Server { www: PathBuf, requests: BTreeMap<i64, RequestReader> },
}

impl Application {
    /// One that has sent and received nothing.
    pub fn new(settings: &Settings) -> Self {
        let side = match settings.role {
            Role::Client => Side::Client { fetches: Fetches::new(settings), running: BTreeSet::new() },
            Role::Server => Side::Server { www: settings.www.clone(), requests: BTreeMap::new() },
        };
        Self { http: settings.http, control: control_stream(settings.http), outbox: Outbox::default(), side }
    }

    /// Opens as many streams as are wanted and allowed. Called before each round of sending.
    pub fn open(&mut self, quic: Quic) -> Result<()> {
        if let Some(bytes) = self.control
            && let Some(stream) = quic.open_unidirectional().context("opening the control stream")?
        {
            self.outbox.send(stream, bytes.to_vec(), false);
            self.control = None;
        }
        let Side::Client { fetches, running } = &mut self.side else { return Ok(()) };
        while let Some(request) = fetches.next() {
            let Some(stream) = quic.open_bidirectional().context("opening a stream")? else { break };
            self.outbox.send(stream, request, true);
            fetches.sent(stream.cast_unsigned())?;
            running.insert(stream);
        }
        Ok(())
    }

    /// Data in order.
    pub fn on_data(&mut self, quic: Quic, stream: i64, data: &[u8], fin: bool) -> Result<()> {
        if !is_request(stream) {
            return Ok(());
        }
        match &mut self.side {
            Side::Client { fetches, running } => {
                fetches.receive(stream.cast_unsigned(), data)?;
                if fin {
                    running.remove(&stream);
                    fetches.finish(stream.cast_unsigned())?;
                }
            }
            Side::Server { www, requests } => {
                let reader = requests.entry(stream).or_insert_with(|| RequestReader::new(self.http));
                let mut outcome = reader.receive(data).map(|()| None);
                if fin
                    && outcome.is_ok()
                    && let Some(reader) = requests.remove(&stream)
                {
                    outcome = reader.answer(www).map(Some);
                }
                match outcome {
                    Ok(None) => {}
                    Ok(Some(response)) => self.outbox.answer(stream, response),
                    Err(error) => {
                        eprintln!("stream {stream}: {error}");
                        requests.remove(&stream);
                        quic.reset(stream, NO_FILE);
                    }
                }
            }
        }
        Ok(())
    }

    /// The peer abandons its side of the stream.
    pub fn on_reset(&mut self, stream: i64, code: u64) -> Result<()> {
        match &mut self.side {
            Side::Client { running, .. } if running.contains(&stream) => {
                bail!("stream {stream}: the server reset it with {code:#x}")
            }
            Side::Client { .. } => {}
            Side::Server { requests, .. } => {
                requests.remove(&stream);
            }
        }
        Ok(())
    }

    /// Nothing more happens on the stream.
    pub fn on_closed(&mut self, stream: i64) -> Result<()> {
        self.outbox.remove(stream);
        match &mut self.side {
            Side::Client { running, .. } if running.contains(&stream) => bail!("stream {stream}: closed early"),
            Side::Client { .. } => {}
            Side::Server { requests, .. } => {
                requests.remove(&stream);
            }
        }
        Ok(())
    }

    /// What to send next. `None`: nothing now.
    pub fn poll_piece(&mut self) -> Result<Option<Piece>> {
        self.outbox.poll_piece().context("reading a file")
    }

    /// True where all has come that was to come.
    pub fn is_complete(&self) -> bool {
        match &self.side {
            Side::Client { fetches, .. } => fetches.are_complete(),
            Side::Server { .. } => false,
        }
    }

    /// The code of a connection that ends well.
    pub fn no_error(&self) -> u64 {
        no_error(self.http)
    }
}
