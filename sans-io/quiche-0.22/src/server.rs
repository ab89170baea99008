//! The server: answers GET requests from a folder until its orders end.

use std::{cell::RefCell, collections::BTreeMap, net::SocketAddr, rc::Rc};

use anyhow::Result;
use quiclab_contract::Role;
use quiclab_sans_io::{Answer, Endpoint, Received};

use crate::{
    accept::{Acceptor, First},
    addresses::address,
    client::next,
    machine,
    outbox::Outbox,
    settings::Settings,
    streams::Streams,
};

/// Largest part of a stream that is read at once.
const RECEIVE_BUFFER: usize = 65_535;

/// A connection id's bytes, which have an order.
type Id = Vec<u8>;

/// The server of all connections.
pub struct Server<'a> {
    settings: &'a Settings,
    acceptor: Rc<RefCell<Acceptor<'a>>>,
    local: SocketAddr,
    peer: SocketAddr,
    outbox: Outbox,
    buffer: Vec<u8>,
    /// By the connection id this server chose. Ordered, so that the order of sending does not depend on chance.
    connections: BTreeMap<Id, Connection>,
    /// The id this server chose, by the one the client's first packets carry (RFC 9000, 7.2).
    first_ids: BTreeMap<Id, Id>,
}

struct Connection {
    quic: quiche::Connection,
    streams: Streams,
}

impl<'a> Server<'a> {
    /// Without connections.
    ///
    /// # Errors
    /// Where the file of planned send times cannot be created.
    pub fn new(settings: &'a Settings, acceptor: Rc<RefCell<Acceptor<'a>>>) -> Result<Self> {
        let [local, peer] = [Role::Server, Role::Client].map(|role| address(settings.ip, role, settings.port));
        Ok(Self {
            settings,
            acceptor,
            local,
            peer,
            outbox: Outbox::new(settings)?,
            buffer: vec![0; RECEIVE_BUFFER],
            connections: BTreeMap::new(),
            first_ids: BTreeMap::new(),
        })
    }

    fn receive(&mut self, mut datagram: Vec<u8>, answer: &mut Answer) -> Result<()> {
        let Ok(header) = quiche::Header::from_slice(&mut datagram, quiche::MAX_CONN_ID_LEN) else {
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
            None => match self.acceptor.borrow_mut().judge(&header, self.peer, self.local)? {
                First::Ignore => return Ok(()),
                First::Answer(datagram) => return self.outbox.send_stateless(datagram, answer),
                First::Connection(quic, _) => {
                    let id = quic.source_id().to_vec();
                    self.first_ids.insert(dcid.to_vec(), id.clone());
                    self.connections.insert(id.clone(), Connection { quic: *quic, streams: Streams::default() });
                    id
                }
            },
        };
        if let Some(connection) = self.connections.get_mut(&id) {
            // A packet that cannot be used is dropped; an error that ends the connection shows as a closed connection.
            let info = quiche::RecvInfo { from: self.peer, to: self.local };
            let _ = connection.quic.recv(&mut datagram, info);
        }
        Ok(())
    }

    /// Sends one batch of each connection. True: some connection may have more.
    fn send(&mut self, answer: &mut Answer) -> Result<bool> {
        let mut more = false;
        for connection in self.connections.values_mut() {
            more |= self.outbox.send_from(&mut connection.quic, answer)?;
        }
        Ok(more)
    }

    /// Forgets connections that are over.
    fn forget(&mut self) -> Result<()> {
        let before = self.connections.len();
        let first_ids = &mut self.first_ids;
        self.connections.retain(|id, connection| {
            let keep = !connection.quic.is_closed();
            if !keep {
                first_ids.retain(|_, own| own != id);
            }
            keep
        });
        if self.connections.len() < before {
            self.outbox.write_planned_times()?;
        }
        Ok(())
    }
}

impl Endpoint for Server<'_> {
    fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer> {
        machine::set_now(now_ns);
        let mut answer = Answer::default();
        self.outbox.begin();
        for datagram in datagrams {
            self.receive(datagram.payload, &mut answer)?;
        }
        loop {
            for Connection { quic, streams } in self.connections.values_mut() {
                // Does nothing but where a timer has run out.
                quic.on_timeout();
                streams.advance(quic, self.settings, &mut self.buffer);
            }
            let more = self.send(&mut answer)?;
            self.forget()?;
            if self.outbox.is_full() {
                answer.next = Some(now_ns);
                return Ok(answer);
            }
            if !more {
                break;
            }
        }
        let timeout = self.connections.values().filter_map(|connection| connection.quic.timeout()).min();
        answer.next = next(timeout, now_ns);
        Ok(answer)
    }

    fn finish(&mut self) -> Result<()> {
        // Connections that are dropped finish their qlog.
        self.outbox.write_planned_times()
    }
}
