//! Packet protection as a sender applies it, RFC 9001 section 5, written apart from the code that removes it. Secrets are
//! constants, which `keys.log` holds too.

use quiclab_wire::{ClientRandom, Role, SecretLabel, VERSION_2};
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey, quic};
use ring::hkdf;

/// RFC 9001 section 5.2; RFC 9369 section 3.3.1.
const INITIAL_SALTS: [[u8; 20]; 2] = [
    *b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
    *b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
];

/// What a key log says of a connection.
pub const LABELS: [(SecretLabel, &str); 5] = [
    (SecretLabel::ClientEarly, "CLIENT_EARLY_TRAFFIC_SECRET"),
    (SecretLabel::ClientHandshake, "CLIENT_HANDSHAKE_TRAFFIC_SECRET"),
    (SecretLabel::ServerHandshake, "SERVER_HANDSHAKE_TRAFFIC_SECRET"),
    (SecretLabel::ClientTraffic, "CLIENT_TRAFFIC_SECRET_0"),
    (SecretLabel::ServerTraffic, "SERVER_TRAFFIC_SECRET_0"),
];

/// Cipher suites by number in TLS, with the random of the connection whose secrets fit them.
pub const SUITES: [(u16, ClientRandom); 3] = [(0x1301, [0x11; 32]), (0x1303, [0x11; 32]), (0x1302, [0x22; 32])];

pub const CLIENT_ID: &[u8] = b"client..";
/// The server's connection ID of the handshake. Shorter than [`LATER_ID`]: an endpoint may mix lengths.
pub const SERVER_ID: &[u8] = b"server.";
/// One that the server gives out later.
pub const LATER_ID: &[u8] = b"another.";
/// Connection IDs that a client's first Initial may name; those behind the first may stand in 1-RTT packets too.
const ORIGINAL_IDS: [&[u8]; 4] = [b"original", LATER_ID, b"", b"twenty bytes exactly"];

/// What the packets of one connection have in common.
#[derive(Clone, Copy)]
pub struct Session {
    /// Connection IDs of the handshake.
    pub client_id: &'static [u8],
    pub server_id: &'static [u8],
    /// Which secrets: those of the label with the lowest number consist of this byte.
    pub secrets: u8,
}

/// Its secrets are those of `keys.log`.
pub const SESSION: Session = Session { client_id: CLIENT_ID, server_id: SERVER_ID, secrets: 0xa0 };

const TAG_BYTES: usize = 16;
/// What the length field, of two bytes, allows.
const MAXIMUM_PLAIN_BYTES: usize = 16_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Initial,
    Handshake,
    ZeroRtt,
    OneRtt,
}

/// A packet before it is protected.
///
/// | bytes | |
/// |--:|---|
/// | 1 | 1 and 2 bytes of the packet number less 1; 4 and 8 which ID; 16 key phase; 32 and 64 which suite; 128 a wrong tag |
/// | 4 | packet number, little-endian |
/// | | frames |
pub struct Plain<'a> {
    pub flags: u8,
    pub packet_number: u32,
    pub frames: &'a [u8],
}

impl<'a> Plain<'a> {
    /// `None` where there is not even a packet number.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let [flags, a, b, c, d, frames @ ..] = bytes else { return None };
        let frames = &frames[..frames.len().min(MAXIMUM_PLAIN_BYTES)];
        Some(Plain { flags: *flags, packet_number: u32::from_le_bytes([*a, *b, *c, *d]), frames })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        [&[self.flags], &self.packet_number.to_le_bytes()[..], self.frames].concat()
    }
}

struct Secret {
    /// Index into [`SUITES`].
    suite: usize,
    is_version_2: bool,
    bytes: Vec<u8>,
}

impl Secret {
    fn hash(&self) -> hkdf::Algorithm {
        if self.suite == 2 { hkdf::HKDF_SHA384 } else { hkdf::HKDF_SHA256 }
    }

    fn aead(&self) -> &'static aead::Algorithm {
        [&aead::AES_128_GCM, &aead::CHACHA20_POLY1305, &aead::AES_256_GCM][self.suite]
    }

    fn header_protection(&self) -> &'static quic::Algorithm {
        [&quic::AES_128, &quic::CHACHA20, &quic::AES_256][self.suite]
    }

    fn expand(&self, label: &str, length: usize) -> Vec<u8> {
        let prefix = if self.is_version_2 { "quicv2 " } else { "quic " };
        expand(&hkdf::Prk::new_less_safe(self.hash(), &self.bytes), &format!("{prefix}{label}"), length)
    }
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand(secret: &hkdf::Prk, label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let head = [0, length as u8, label.len() as u8];
    let mut output = vec![0; length];
    let info = [&head, label.as_bytes(), &[0]];
    secret.expand(&info, Length(length)).and_then(|it| it.fill(&mut output)).expect("lengths are small");
    output
}

/// Secret of a label in `keys.log`: as long as the suite's hash.
pub fn secret_of(label: SecretLabel, suite: usize) -> Vec<u8> {
    SESSION.secret_of(label, suite)
}

impl Session {
    pub fn secret_of(&self, label: SecretLabel, suite: usize) -> Vec<u8> {
        vec![self.secrets + label as u8; if suite == 2 { 48 } else { 32 }]
    }
}

fn secret(session: &Session, form: Form, version: u32, sender: Role, plain: &Plain) -> Secret {
    let is_version_2 = version == VERSION_2;
    let suite = usize::from(plain.flags >> 5 & 3) % SUITES.len();
    let label = match (form, sender) {
        (Form::Initial, _) => {
            let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &INITIAL_SALTS[usize::from(is_version_2)]);
            let initial = salt.extract(original_id(plain));
            let label = if sender == Role::Client { "client in" } else { "server in" };
            return Secret { suite: 0, is_version_2, bytes: expand(&initial, label, 32) };
        }
        (Form::Handshake, Role::Client) => SecretLabel::ClientHandshake,
        (Form::Handshake, Role::Server) => SecretLabel::ServerHandshake,
        (Form::ZeroRtt, _) => SecretLabel::ClientEarly,
        (Form::OneRtt, Role::Client) => SecretLabel::ClientTraffic,
        (Form::OneRtt, Role::Server) => SecretLabel::ServerTraffic,
    };
    Secret { suite, is_version_2, bytes: session.secret_of(label, suite) }
}

fn which_id(plain: &Plain) -> usize {
    usize::from(plain.flags >> 2 & 3)
}

fn original_id(plain: &Plain) -> &'static [u8] {
    ORIGINAL_IDS[which_id(plain)]
}

/// The protected packet.
pub fn seal(form: Form, version: u32, sender: Role, plain: &Plain) -> Vec<u8> {
    seal_of(&SESSION, form, version, sender, plain)
}

/// The protected packet of another connection than [`SESSION`].
pub fn seal_of(session: &Session, form: Form, version: u32, sender: Role, plain: &Plain) -> Vec<u8> {
    let secret = secret(session, form, version, sender, plain);
    let number_bytes = usize::from(plain.flags & 3) + 1;
    // So much that there is a sample, RFC 9001 section 5.4.2.
    let padding = (4 - number_bytes).saturating_sub(plain.frames.len());
    let mut payload = [plain.frames, &[0; 4][..padding]].concat();
    let length = number_bytes + payload.len() + TAG_BYTES;

    let mut packet = header(session, form, version, sender, plain, length);
    packet[0] |= plain.flags & 3;
    let number_offset = packet.len();
    packet.extend(&plain.packet_number.to_be_bytes()[4 - number_bytes..]);

    let is_updated = form == Form::OneRtt && plain.flags & 16 != 0;
    let updated =
        is_updated.then(|| Secret { bytes: secret.expand("ku", secret.bytes.len()), suite: secret.suite, ..secret });
    let of_payload = updated.as_ref().unwrap_or(&secret);
    let key = of_payload.expand("key", secret.aead().key_len());
    let mut nonce = of_payload.expand("iv", aead::NONCE_LEN);
    for (byte, number) in nonce[8..].iter_mut().zip(plain.packet_number.to_be_bytes()) {
        *byte ^= number;
    }
    let key = LessSafeKey::new(UnboundKey::new(secret.aead(), &key).expect("a key of the right length"));
    let nonce = Nonce::try_assume_unique_for_key(&nonce).expect("a nonce of the right length");
    key.seal_in_place_append_tag(nonce, Aad::from(&packet), &mut payload).expect("a payload of some bytes");
    packet.extend(payload);

    let key = secret.expand("hp", secret.header_protection().key_len());
    let key = quic::HeaderProtectionKey::new(secret.header_protection(), &key).expect("a key of the right length");
    let mask = key.new_mask(&packet[number_offset + 4..][..16]).expect("a sample of 16 bytes");
    packet[0] ^= mask[0] & if form == Form::OneRtt { 0x1f } else { 0x0f };
    for (byte, mask) in packet[number_offset..][..number_bytes].iter_mut().zip(&mask[1..]) {
        *byte ^= mask;
    }
    if plain.flags & 128 != 0
        && let Some(last) = packet.last_mut()
    {
        *last ^= 1;
    }
    packet
}

/// Up to the packet number. `length` is of all that follows.
fn header(session: &Session, form: Form, version: u32, sender: Role, plain: &Plain, length: usize) -> Vec<u8> {
    let (own, peer) = match sender {
        Role::Client => (session.client_id, session.server_id),
        Role::Server => (session.server_id, session.client_id),
    };
    let destination = match (form, sender) {
        (Form::Initial | Form::ZeroRtt, Role::Client) => original_id(plain),
        (Form::OneRtt, _) if which_id(plain) > 0 => original_id(plain),
        _ => peer,
    };
    if form == Form::OneRtt {
        return [&[0x40 | (plain.flags & 16) >> 2], destination].concat();
    }
    // RFC 9000 table 5; RFC 9369 section 3.2 counts from one more.
    let number = [(Form::Initial, 0), (Form::ZeroRtt, 1), (Form::Handshake, 2)];
    let number = number.iter().find(|(of, _)| *of == form).map_or(0, |(_, number)| *number);
    let number = if version == VERSION_2 { number + 1 } else { number };
    let mut header = vec![0xc0 | number << 4];
    header.extend(version.to_be_bytes());
    for id in [destination, own] {
        header.push(id.len() as u8);
        header.extend(id);
    }
    if form == Form::Initial {
        header.push(0);
    }
    header.extend((0x4000 | length as u16).to_be_bytes());
    header
}
