//! The server: answers GET requests from a folder until it is killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use anyhow::{Result, ensure};
use quiche::h3;
use quiclab_contract::TestCase;

use crate::{
    accept::{Acceptor, First},
    hold::Hold,
    http::Http,
    ids, perf,
    response::Response,
    settings::{Settings, planned},
    termination,
    udp::{Sent, Socket},
};

/// Largest datagram that is read whole.
const RECEIVE_BUFFER: usize = 65_535;

/// Longest HTTP/0.9 request.
const MAX_REQUEST_LINE: usize = 8192;

/// Serves until killed.
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub fn run(settings: &Settings) -> Result<()> {
    let socket = Socket::bind(settings)?;
    if settings.qlog.is_some() || planned(settings).is_some() {
        termination::watch()?;
    }
    let acceptor = Acceptor::new(settings)?;
    let mut server = Server { settings, acceptor, connections: BTreeMap::new(), routes: BTreeMap::new() };
    server.serve(socket)
}

/// A connection id's bytes, which have an order.
type Id = Vec<u8>;

struct Server<'a> {
    settings: &'a Settings,
    acceptor: Acceptor<'a>,
    /// By the first connection id this server chose. Ordered, so that the order of sending does not depend on chance.
    connections: BTreeMap<Id, Connection>,
    /// The first id this server chose, by each that packets of the client can carry: also by the one of the client's first packets (RFC 9000, 7.2).
    routes: BTreeMap<Id, Id>,
}

struct Connection {
    quic: quiche::Connection,
    /// Those that lead here.
    ids: BTreeSet<Id>,
    /// What its handshake waits for.
    hold: Option<Arc<Hold>>,
    /// True until its certificate has come.
    is_waiting: bool,
    /// `None` until requests can come.
    http: Option<Http>,
    /// Beginnings of HTTP/0.9 requests, by stream.
    requests: BTreeMap<u64, Vec<u8>>,
    /// By stream.
    responses: BTreeMap<u64, Response>,
    /// What there is instead of requests and responses in the test case `perf`.
    perf: perf::Server,
}

impl Server<'_> {
    fn serve(&mut self, mut socket: Socket) -> Result<()> {
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let mut more_to_send = false;
        while !termination::is_asked() {
            let timeout = self.connections.values_mut().filter_map(Connection::timeout).min();
            if !more_to_send && timeout != Some(Duration::ZERO) {
                socket.wait(timeout)?;
            }
            while let Some(received) = socket.receive(&mut buffer)? {
                for datagram in buffer[..received.length].chunks_mut(received.segment) {
                    self.handle_datagram(datagram, received.from, &mut socket)?;
                }
            }
            for (own, connection) in &mut self.connections {
                // Does nothing but where a timer has run out.
                connection.quic.on_timeout();
                connection.route(own, &mut self.routes)?;
                connection.advance(self.settings, &mut buffer);
            }
            more_to_send = self.send(&mut socket)?;
            let before = self.connections.len();
            let routes = &mut self.routes;
            self.connections.retain(|_, connection| {
                let keep = !connection.quic.is_closed();
                if !keep {
                    connection.ids.iter().for_each(|id| drop(routes.remove(id)));
                }
                keep
            });
            if self.connections.len() < before {
                socket.write_planned_times()?;
            }
        }
        // Connections that are dropped finish their qlog.
        socket.write_planned_times()
    }

    fn handle_datagram(&mut self, datagram: &mut [u8], peer: SocketAddr, socket: &mut Socket) -> Result<()> {
        let Ok(header) = quiche::Header::from_slice(datagram, quiche::MAX_CONN_ID_LEN) else {
            return Ok(());
        };
        let dcid: &[u8] = &header.dcid;
        let id = match self.routes.get(dcid) {
            Some(id) => id.clone(),
            None if header.ty != quiche::Type::Initial => return Ok(()),
            None => match self.acceptor.judge(&header, peer, socket.local())? {
                First::Ignore => return Ok(()),
                First::Answer(answer) => {
                    socket.send_stateless(&answer, peer);
                    return Ok(());
                }
                First::Connection(quic, hold) => self.insert(dcid.to_vec(), *quic, hold),
            },
        };
        if let Some(connection) = self.connections.get_mut(&id) {
            // A packet that cannot be used is dropped; an error that ends the connection shows as a closed connection.
            let _ = connection.quic.recv(datagram, quiche::RecvInfo { from: peer, to: socket.local() });
        }
        Ok(())
    }

    fn insert(&mut self, first: Id, quic: quiche::Connection, hold: Option<Arc<Hold>>) -> Id {
        let id = quic.source_id().to_vec();
        let ids = BTreeSet::from([first, id.clone()]);
        self.routes.extend(ids.iter().map(|given| (given.clone(), id.clone())));
        let (requests, responses) = (BTreeMap::new(), BTreeMap::new());
        let is_waiting = hold.is_some();
        let connection =
            Connection { quic, ids, hold, is_waiting, http: None, requests, responses, perf: perf::Server::default() };
        self.connections.insert(id.clone(), connection);
        id
    }

    /// Sends a batch of each connection (see [`Socket::send_from`]), then lets the caller read: acknowledgements that came meanwhile count for the
    /// next batch. True: some connection may have more, and the socket takes it.
    fn send(&mut self, socket: &mut Socket) -> Result<bool> {
        let mut more = false;
        for connection in self.connections.values_mut() {
            let hold = connection.hold.as_ref();
            if hold.is_some_and(|hold| hold.is_silent()) {
                continue;
            }
            match socket.send_from(&mut connection.quic)? {
                Sent::Nothing => continue,
                Sent::Batch => more = true,
                Sent::Blocked => return Ok(false),
            }
            if let Some(hold) = hold {
                hold.on_sent();
            }
        }
        Ok(more)
    }
}

impl Connection {
    /// Gives the client connection ids, notes which ones lead to this connection, whose first is `own`, and says on stderr what becomes of its paths.
    fn route(&mut self, own: &Id, routes: &mut BTreeMap<Id, Id>) -> Result<()> {
        for id in ids::retired(&mut self.quic) {
            self.ids.remove(&id[..]);
            routes.remove(&id[..]);
        }
        for id in ids::give(&mut self.quic)? {
            self.ids.insert(id.to_vec());
            routes.insert(id.to_vec(), own.clone());
        }
        // quiche validates new paths, and follows the client, by itself.
        while let Some(event) = self.quic.path_event_next() {
            eprintln!("connection {}: {event:?}", self.quic.trace_id());
        }
        Ok(())
    }

    /// Time until something is to be done though nothing arrives. Sending asks for a late certificate again.
    fn timeout(&mut self) -> Option<Duration> {
        let hold = self.hold.as_ref().filter(|_| self.is_waiting);
        let certificate = hold.map(|hold| hold.remaining().unwrap_or_default());
        if certificate == Some(Duration::ZERO) {
            self.is_waiting = false;
        }
        self.quic.timeout().into_iter().chain(certificate).min()
    }

    /// Starts HTTP once requests can come, takes requests, hands over responses.
    fn advance(&mut self, settings: &Settings, buffer: &mut [u8]) {
        let quic = &mut self.quic;
        let is_ready = quic.is_established() || quic.is_in_early_data();
        if !is_ready || quic.is_draining() || quic.is_closed() {
            return;
        }
        if settings.test_case == TestCase::Perf {
            return self.perf.advance(quic, buffer);
        }
        let http = match &mut self.http {
            Some(http) => http,
            None => match Http::start(settings, quic) {
                Ok(http) => self.http.insert(http),
                Err(error) => return report(quic, &error),
            },
        };
        let taken = match http {
            Http::H3(http) => take_h3(quic, http, &mut self.responses, settings, buffer),
            Http::Hq => take_hq(quic, &mut self.requests, &mut self.responses, settings, buffer),
        };
        if let Err(error) = taken {
            return report(quic, &error);
        }
        self.responses.retain(|&stream, response| match response.advance(quic, http, stream) {
            Ok(done) => !done,
            Err(error) => {
                report(quic, &error);
                false
            }
        });
    }
}

/// Takes HTTP/3 requests. After an error HTTP/3 has closed the connection with the right code.
fn take_h3(
    quic: &mut quiche::Connection,
    http: &mut h3::Connection,
    responses: &mut BTreeMap<u64, Response>,
    settings: &Settings,
    unused: &mut [u8],
) -> Result<()> {
    loop {
        match http.poll(quic) {
            Ok((stream, h3::Event::Headers { list, .. })) => {
                responses.insert(stream, Response::to_headers(&list, &settings.www));
            }
            Ok((stream, h3::Event::Reset(_))) => {
                responses.remove(&stream);
            }
            Ok((stream, h3::Event::Data)) => {
                // A GET has no use for a body, but its flow control must not stall.
                while http.recv_body(quic, stream, unused).is_ok() {}
            }
            Ok(_) => {}
            Err(h3::Error::Done) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes HTTP/0.9 requests: one line, and the end of the stream.
fn take_hq(
    quic: &mut quiche::Connection,
    requests: &mut BTreeMap<u64, Vec<u8>>,
    responses: &mut BTreeMap<u64, Response>,
    settings: &Settings,
    buffer: &mut [u8],
) -> Result<()> {
    // Client-initiated and bidirectional: RFC 9000, section 2.1.
    for stream in quic.readable().filter(|stream| stream % 4 == 0) {
        while let Ok((length, finished)) = quic.stream_recv(stream, buffer) {
            let line = requests.entry(stream).or_default();
            line.extend_from_slice(&buffer[..length]);
            ensure!(line.len() <= MAX_REQUEST_LINE, "stream {stream}: found no end of the request line");
            if finished {
                responses.insert(stream, Response::to_line(line, &settings.www));
                requests.remove(&stream);
            }
        }
    }
    Ok(())
}

fn report(quic: &quiche::Connection, error: &anyhow::Error) {
    eprintln!("connection {}: {error:#}", quic.trace_id());
}
