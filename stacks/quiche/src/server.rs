//! The server: answers GET requests from a folder until it is killed.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::Result;
use quiche::h3;

use crate::{
    response::Response,
    settings::Settings,
    transport,
    udp::{Sent, Socket},
};

/// Largest datagram that is read whole.
const RECEIVE_BUFFER: usize = 65_535;

/// Serves until killed.
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub fn run(settings: &Settings) -> Result<()> {
    let socket = Socket::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, settings.port)), settings)?;
    let mut server = Server {
        settings,
        transport: transport::config(settings)?,
        http: h3::Config::new()?,
        connections: BTreeMap::new(),
        first_ids: BTreeMap::new(),
    };
    server.serve(socket)
}

/// A connection id's bytes, which have an order.
type Id = Vec<u8>;

struct Server<'a> {
    settings: &'a Settings,
    transport: quiche::Config,
    http: h3::Config,
    /// By the connection id this server chose. Ordered, so that the order of sending does not depend on chance.
    connections: BTreeMap<Id, Connection>,
    /// The id this server chose, by the one the client's first packets carry (RFC 9000, 7.2).
    first_ids: BTreeMap<Id, Id>,
}

struct Connection {
    quic: quiche::Connection,
    /// `None` until the handshake is done.
    http: Option<h3::Connection>,
    /// By stream.
    responses: BTreeMap<u64, Response>,
}

impl Server<'_> {
    fn serve(&mut self, mut socket: Socket) -> Result<()> {
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let mut more_to_send = false;
        loop {
            let timeout = self.connections.values().filter_map(|connection| connection.quic.timeout()).min();
            if !more_to_send && timeout != Some(Duration::ZERO) {
                socket.wait(timeout)?;
            }
            while let Some((length, peer)) = socket.receive(&mut buffer)? {
                self.handle_datagram(&mut buffer[..length], peer, &socket)?;
            }
            for connection in self.connections.values_mut() {
                // Does nothing but where a timer has run out.
                connection.quic.on_timeout();
                connection.advance(&self.http, self.settings);
            }
            more_to_send = self.send(&mut socket)?;
            let first_ids = &mut self.first_ids;
            self.connections.retain(|id, connection| {
                let keep = !connection.quic.is_closed();
                if !keep {
                    first_ids.retain(|_, own| own != id);
                }
                keep
            });
        }
    }

    fn handle_datagram(&mut self, datagram: &mut [u8], peer: SocketAddr, socket: &Socket) -> Result<()> {
        let Ok(header) = quiche::Header::from_slice(datagram, quiche::MAX_CONN_ID_LEN) else {
            return Ok(());
        };
        let dcid: &[u8] = &header.dcid;
        let known = match self.connections.contains_key(dcid) {
            true => Some(dcid.to_vec()),
            false => self.first_ids.get(dcid).cloned(),
        };
        let id = match known {
            Some(id) => id,
            None if header.ty != quiche::Type::Initial => return Ok(()),
            None if !quiche::version_is_supported(header.version) => {
                let mut answer = [0; transport::MAX_UDP_PAYLOAD];
                let length = quiche::negotiate_version(&header.scid, &header.dcid, &mut answer)?;
                socket.send_stateless(&answer[..length], peer);
                return Ok(());
            }
            None => self.accept(dcid.to_vec(), peer, socket.local())?,
        };
        if let Some(connection) = self.connections.get_mut(&id) {
            // A packet that cannot be used is dropped; an error that ends the connection shows as a closed connection.
            let _ = connection.quic.recv(datagram, quiche::RecvInfo { from: peer, to: socket.local() });
        }
        Ok(())
    }

    fn accept(&mut self, first: Id, peer: SocketAddr, local: SocketAddr) -> Result<Id> {
        let own = transport::random_connection_id()?;
        let id = own.to_vec();
        let mut quic = quiche::accept(&own, None, local, peer, &mut self.transport)?;
        transport::log_keys(&mut quic, self.settings)?;
        self.first_ids.insert(first, id.clone());
        self.connections.insert(id.clone(), Connection { quic, http: None, responses: BTreeMap::new() });
        Ok(id)
    }

    /// Sends one batch of each connection, then lets the caller read: acknowledgements that came meanwhile count for the
    /// next batch. True: some connection may have more, and the socket takes it.
    fn send(&mut self, socket: &mut Socket) -> Result<bool> {
        let mut more = false;
        for connection in self.connections.values_mut() {
            match socket.send_from(&mut connection.quic)? {
                Sent::Nothing => {}
                Sent::Batch => more = true,
                Sent::Blocked => return Ok(false),
            }
        }
        Ok(more)
    }
}

impl Connection {
    /// Starts HTTP/3 once the handshake is done, takes requests, hands over responses.
    fn advance(&mut self, http_config: &h3::Config, settings: &Settings) {
        let quic = &mut self.quic;
        if !quic.is_established() || quic.is_draining() || quic.is_closed() {
            return;
        }
        let http = match &mut self.http {
            Some(http) => http,
            None => match h3::Connection::with_transport(quic, http_config) {
                Ok(http) => self.http.insert(http),
                Err(error) => return report(quic, &error.into()),
            },
        };
        loop {
            match http.poll(quic) {
                Ok((stream, h3::Event::Headers { list, .. })) => {
                    self.responses.insert(stream, Response::to(&list, &settings.www));
                }
                Ok((stream, h3::Event::Reset(_))) => {
                    self.responses.remove(&stream);
                }
                Ok((stream, h3::Event::Data)) => {
                    // A GET has no use for a body, but its flow control must not stall.
                    let mut unused = [0; 4096];
                    while http.recv_body(quic, stream, &mut unused).is_ok() {}
                }
                Ok(_) => {}
                Err(h3::Error::Done) => break,
                // HTTP/3 has closed the connection with the right code.
                Err(error) => return report(quic, &error.into()),
            }
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

fn report(quic: &quiche::Connection, error: &anyhow::Error) {
    eprintln!("connection {}: {error:#}", quic.trace_id());
}
