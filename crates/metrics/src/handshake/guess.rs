//! Which stack a server probably is, by what its implementation does the same way every time: the order in which it writes its transport
//! parameters, and how long the connection IDs are that it chooses. The idea is that of Zirngibl et al., "QUIC Hunter" (PAM 2024); the table is made from the
//! servers that quiclab runs.

use super::class::HandshakeClass;

/// What is known of a stack's servers.
struct Signature {
    stack: &'static str,
    /// Every transport parameter that it may send, in its order. Those that do not depend on settings are `needed`.
    order: &'static [u64],
    needed: &'static [u64],
    /// Bytes of its connection IDs.
    connection_id_bytes: u64,
    /// It sends them in a new order each time.
    is_shuffled: bool,
}

impl Signature {
    const fn in_order(
        stack: &'static str,
        connection_id_bytes: u64,
        order: &'static [u64],
        needed: &'static [u64],
    ) -> Self {
        Signature { stack, order, needed, connection_id_bytes, is_shuffled: false }
    }

    fn matches(&self, parameters: &[u64], connection_id_bytes: u64) -> bool {
        let is_known = if self.is_shuffled {
            parameters.iter().all(|number| self.order.contains(number))
        } else {
            let mut order = self.order.iter();
            parameters.iter().all(|number| order.any(|next| next == number))
        };
        is_known
            && connection_id_bytes == self.connection_id_bytes
            && self.needed.iter().all(|number| parameters.contains(number))
    }
}

/// Names of RFC 9000 section 18.2 and of its extensions are in docs/reference/handshakes.md.
const SIGNATURES: &[Signature] = &[
    Signature::in_order("aioquic", 8, &[0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17, 32], &[0, 1, 2, 10, 11, 17]),
    Signature::in_order("haproxy", 8, &[0, 2, 16, 15, 1, 3, 4, 5, 6, 7, 8, 9, 12, 14, 17], &[0, 2, 15, 1, 3, 17]),
    Signature::in_order(
        "lsquic",
        8,
        &[1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 0x7158, 32, 0x1057, 0, 15, 16, 17, 2],
        &[1, 4, 0x7158, 0, 15, 2],
    ),
    Signature::in_order(
        "msquic",
        9,
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 32, 0xff04_de1b],
        &[0, 1, 2, 3, 10, 11, 15, 0xff04_de1b],
    ),
    Signature::in_order(
        "neqo",
        10,
        // And 0xff02_de1a before the last, which is one of the reserved numbers.
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0x2ab2, 32],
        &[0, 4, 11, 15, 17, 0x2ab2],
    ),
    Signature::in_order(
        "nginx",
        20,
        &[4, 9, 8, 5, 6, 7, 1, 3, 14, 11, 10, 0, 15, 16, 2],
        &[4, 9, 8, 14, 11, 10, 0, 15],
    ),
    Signature::in_order(
        "ngtcp2",
        18,
        &[0, 13, 2, 16, 15, 5, 6, 7, 4, 8, 9, 1, 3, 10, 11, 12, 14, 32, 0x2ab2, 17],
        &[0, 15, 6, 7, 4, 8, 9, 17],
    ),
    Signature::in_order("openssl", 8, &[12, 0, 15, 16, 1, 3, 14, 11, 4, 5, 6, 7, 8, 9], &[12, 0, 15, 3, 14, 4, 8, 9]),
    Signature::in_order(
        "picoquic",
        8,
        &[5, 4, 8, 1, 3, 10, 9, 12, 6, 7, 14, 11, 15, 0, 16, 2, 32, 0x1057, 0xff04_de1b, 0x7158, 0x2ab2],
        &[5, 4, 8, 3, 11, 15, 0, 2, 0x1057],
    ),
    Signature::in_order(
        "quic-go",
        4,
        &[5, 6, 7, 4, 8, 9, 1, 3, 11, 12, 2, 0, 14, 15, 16, 32],
        &[5, 6, 7, 4, 11, 0, 15],
    ),
    Signature::in_order(
        "quiche",
        20,
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 32],
        &[0, 1, 3, 4, 10, 11, 15],
    ),
    Signature {
        stack: "quinn or noq",
        order: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 0x2ab2, 0xff04_de1b],
        needed: &[0, 1, 2, 15, 0xff04_de1b],
        connection_id_bytes: 8,
        is_shuffled: true,
    },
    Signature::in_order("s2n-quic", 16, &[1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 32, 0, 15, 16], &[1, 4, 5, 14, 0, 15]),
    Signature::in_order(
        "tquic",
        8,
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16],
        &[0, 1, 2, 3, 10, 11, 14, 15],
    ),
    Signature::in_order("x-net-quic", 8, &[0, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16], &[0, 3, 12, 14, 15]),
];

/// RFC 9000 section 18.1: numbers that mean nothing, which some stacks send.
fn is_reserved(number: u64) -> bool {
    number % 31 == 27
}

/// The name of a stack; `None` where its transport parameters are not known, none fits, or more than one does.
pub(super) fn stack(class: &HandshakeClass) -> Option<&'static str> {
    let parameters: Vec<u64> =
        class.transport_parameters.as_ref()?.iter().copied().filter(|number| !is_reserved(*number)).collect();
    let bytes = class.connection_id_bytes?;
    let mut found = SIGNATURES.iter().filter(|signature| signature.matches(&parameters, bytes));
    let first = found.next()?;
    // What is in order is also in no order.
    found.all(|other| other.is_shuffled).then_some(first.stack)
}
