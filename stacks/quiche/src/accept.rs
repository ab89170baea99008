//! How a server's connection begins: what is asked of the client first, and what the connection is made of.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use anyhow::Result;
use quiclab_contract::TestCase;

use crate::{hold::Hold, settings::Settings, transport};

/// Makes connections of first packets.
pub struct Acceptor<'a> {
    settings: &'a Settings,
    transport: quiche::Config,
    #[cfg(feature = "boring")]
    certificate: Option<crate::tls::DelayedCertificate>,
}

/// What to do about a client's first Initial packet.
pub enum First {
    /// Send this datagram back and forget the client.
    Answer(Vec<u8>),
    /// A new connection, and what it waits for.
    Connection(Box<quiche::Connection>, Option<Arc<Hold>>),
    Ignore,
}

impl<'a> Acceptor<'a> {
    /// Reads the certificate.
    ///
    /// # Errors
    /// Where it cannot be used.
    #[cfg(feature = "boring")]
    pub fn new(settings: &'a Settings) -> Result<Self> {
        // Where nothing is held the context is quiche's own, as in its example server.
        let (mut transport, certificate) = if Hold::is_asked_for(settings) {
            let (config, certificate) = crate::tls::DelayedCertificate::config(quiche::PROTOCOL_VERSION)?;
            (config, Some(certificate))
        } else {
            (quiche::Config::new(quiche::PROTOCOL_VERSION)?, None)
        };
        transport::configure(&mut transport, settings)?;
        Ok(Self { settings, transport, certificate })
    }

    /// Reads the certificate.
    ///
    /// # Errors
    /// Where it cannot be used.
    #[cfg(not(feature = "boring"))]
    pub fn new(settings: &'a Settings) -> Result<Self> {
        let mut transport = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
        transport::configure(&mut transport, settings)?;
        Ok(Self { settings, transport })
    }

    /// Judges an Initial packet of no known connection.
    ///
    /// # Errors
    /// Where quiche cannot make a connection.
    pub fn judge(&mut self, header: &quiche::Header, peer: SocketAddr, local: SocketAddr) -> Result<First> {
        let mut answer = vec![0; transport::MAX_UDP_PAYLOAD];
        if !quiche::version_is_supported(header.version) {
            let length = quiche::negotiate_version(&header.scid, &header.dcid, &mut answer)?;
            answer.truncate(length);
            return Ok(First::Answer(answer));
        }
        if self.settings.test_case != TestCase::Retry {
            return self.connection(&transport::random_connection_id()?, None, peer, local);
        }
        let token = header.token.as_deref().unwrap_or_default();
        if token.is_empty() {
            let (own, token) = (transport::random_connection_id()?, token_for(peer, &header.dcid));
            let length = quiche::retry(&header.scid, &header.dcid, &own, &token, header.version, &mut answer)?;
            answer.truncate(length);
            return Ok(First::Answer(answer));
        }
        match original_id(token, peer) {
            // The connection takes the id of the Retry packet as its own.
            Some(original) if header.dcid.len() == quiche::MAX_CONN_ID_LEN => {
                self.connection(&header.dcid, Some(&original), peer, local)
            }
            _ => Ok(First::Ignore),
        }
    }

    fn connection(
        &mut self,
        own: &quiche::ConnectionId,
        original: Option<&quiche::ConnectionId>,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> Result<First> {
        let mut quic = quiche::accept(own, original, local, peer, &mut self.transport)?;
        transport::log(&mut quic, self.settings)?;
        #[cfg(feature = "boring")]
        if let Some(certificate) = &self.certificate {
            let hold = Arc::new(Hold::new(self.settings));
            certificate.hold(&mut quic, hold.clone());
            return Ok(First::Connection(Box::new(quic), Some(hold)));
        }
        Ok(First::Connection(Box::new(quic), None))
    }
}

/// The client's address and the id of its first packet. Not authenticated, as in quiche's example server: good enough to
/// show a Retry, not to withstand an attacker.
fn token_for(peer: SocketAddr, first: &quiche::ConnectionId) -> Vec<u8> {
    let mut token = address(peer);
    token.extend_from_slice(first);
    token
}

/// The id of the first packet, where the token is one of `peer`.
fn original_id<'a>(token: &'a [u8], peer: SocketAddr) -> Option<quiche::ConnectionId<'a>> {
    token.strip_prefix(&address(peer)[..]).map(quiche::ConnectionId::from_ref)
}

fn address(peer: SocketAddr) -> Vec<u8> {
    match peer.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_for_the_address_it_was_made_for() {
        let (first, peer) = (quiche::ConnectionId::from_ref(&[7; 8]), SocketAddr::from(([10, 0, 0, 1], 1000)));
        let token = token_for(peer, &first);
        assert_eq!(original_id(&token, peer), Some(first));
        assert_eq!(original_id(&token, SocketAddr::from(([10, 0, 0, 2], 1000))), None);
    }
}
