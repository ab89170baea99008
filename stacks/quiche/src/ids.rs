//! Connection ids after the first one: quiche leaves making them and routing by them to the application.

use anyhow::{Context, Result};
use quiche::{Connection, ConnectionId};

use crate::transport;

/// Gives the peer as many connection ids as it takes, once the handshake is complete, and returns the new ones. Without spare ids neither end can
/// change its path (RFC 9000, section 9.5).
///
/// # Errors
/// Where there are no random numbers, or quiche refuses an id.
pub fn give(quic: &mut Connection) -> Result<Vec<ConnectionId<'static>>> {
    let mut given = Vec::new();
    // Until the handshake is complete the peer's limit is not known.
    while quic.is_established() && quic.scids_left() > 0 {
        let (id, token) = (transport::random_connection_id()?, u128::from_ne_bytes(transport::random()?));
        quic.new_scid(&id, token, false).context("a new connection id")?;
        given.push(id);
    }
    Ok(given)
}

/// The connection ids that the peer has retired since this was asked last.
pub fn retired(quic: &mut Connection) -> impl Iterator<Item = ConnectionId<'static>> {
    std::iter::from_fn(|| quic.retired_scid_next())
}

/// True for a datagram whose 1-RTT packet is for `id`. One that is late, for a retired id, must not reach quiche, which would close the connection.
pub fn is_to(datagram: &[u8], id: &ConnectionId) -> bool {
    // The form of the header, then the id: RFC 8999, section 5.2.
    datagram.split_first().is_some_and(|(&first, rest)| first & 0x80 == 0 && rest.starts_with(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_header_has_its_id_behind_the_first_byte() {
        let id = ConnectionId::from_ref(&[7; 4]);
        assert!(is_to(&[0x40, 7, 7, 7, 7, 1], &id));
        assert!(!is_to(&[0xc0, 7, 7, 7, 7, 1], &id), "a long header");
        assert!(!is_to(&[0x40, 7, 7, 7, 8, 1], &id));
        assert!(!is_to(&[0x40, 7, 7, 7], &id));
        assert!(!is_to(&[], &id));
    }
}
