//! Key logs: the SSLKEYLOGFILE format (RFC 9850), lines of `LABEL client_random secret` in hexadecimal.

use std::collections::BTreeMap;

/// Which secret a line of a key log holds. Others (TLS 1.2, exporters) are of no use for packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretLabel {
    /// `CLIENT_EARLY_TRAFFIC_SECRET`: 0-RTT.
    ClientEarly,
    /// `CLIENT_HANDSHAKE_TRAFFIC_SECRET`
    ClientHandshake,
    /// `SERVER_HANDSHAKE_TRAFFIC_SECRET`
    ServerHandshake,
    /// `CLIENT_TRAFFIC_SECRET_0`: 1-RTT before any key update.
    ClientTraffic,
    /// `SERVER_TRAFFIC_SECRET_0`
    ServerTraffic,
}

/// The random value in a ClientHello, which names a connection in key logs.
pub type ClientRandom = [u8; 32];

/// Secrets by connection.
#[derive(Clone, Default)]
pub struct KeyLog {
    secrets: BTreeMap<ClientRandom, BTreeMap<SecretLabel, Vec<u8>>>,
    lines_not_understood: u64,
}

impl KeyLog {
    /// Adds the lines of a key log. What is said twice counts as said last.
    pub fn read(&mut self, text: &[u8]) {
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            match parse_line(line) {
                Some(Line::Secret(label, random, secret)) => {
                    self.secrets.entry(random).or_default().insert(label, secret);
                }
                Some(Line::OfNoUse) => {}
                None => self.lines_not_understood += 1,
            }
        }
    }

    /// `None` when the log has none.
    pub fn secret(&self, random: &ClientRandom, label: SecretLabel) -> Option<&[u8]> {
        self.secrets.get(random)?.get(&label).map(Vec::as_slice)
    }

    /// Whether anything is known of a connection.
    pub fn knows(&self, random: &ClientRandom) -> bool {
        self.secrets.contains_key(random)
    }

    /// The connections it names, in ascending order.
    pub fn client_randoms(&self) -> impl Iterator<Item = &ClientRandom> {
        self.secrets.keys()
    }

    /// Number of connections it names.
    pub fn connections(&self) -> usize {
        self.secrets.len()
    }

    /// Lines that are neither empty, nor comments, nor of the format.
    pub fn lines_not_understood(&self) -> u64 {
        self.lines_not_understood
    }
}

impl std::fmt::Debug for KeyLog {
    /// Shows sizes only: secrets do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyLog").field("connections", &self.secrets.len()).finish_non_exhaustive()
    }
}

enum Line {
    Secret(SecretLabel, ClientRandom, Vec<u8>),
    OfNoUse,
}

/// `None` when the line breaks the format.
fn parse_line(line: &[u8]) -> Option<Line> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (label, random, secret) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let (random, secret) = (hexadecimal(random)?, hexadecimal(secret)?);
    let label = match label {
        b"CLIENT_EARLY_TRAFFIC_SECRET" => SecretLabel::ClientEarly,
        b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" | b"QUIC_CLIENT_HANDSHAKE_TRAFFIC_SECRET" => SecretLabel::ClientHandshake,
        b"SERVER_HANDSHAKE_TRAFFIC_SECRET" | b"QUIC_SERVER_HANDSHAKE_TRAFFIC_SECRET" => SecretLabel::ServerHandshake,
        b"CLIENT_TRAFFIC_SECRET_0" | b"QUIC_CLIENT_TRAFFIC_SECRET_0" => SecretLabel::ClientTraffic,
        b"SERVER_TRAFFIC_SECRET_0" | b"QUIC_SERVER_TRAFFIC_SECRET_0" => SecretLabel::ServerTraffic,
        other if other.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') => return Some(Line::OfNoUse),
        _ => return None,
    };
    Some(Line::Secret(label, random.try_into().ok()?, secret))
}

fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_client_random_and_label() {
        let random = "11".repeat(32);
        let mut log = KeyLog::default();
        log.read(
            format!("# by hand\r\n\nCLIENT_TRAFFIC_SECRET_0 {random} aAbB\r\nEXPORTER_SECRET {random} 00\n").as_bytes(),
        );
        assert_eq!(log.secret(&[0x11; 32], SecretLabel::ClientTraffic), Some([0xaa, 0xbb].as_slice()));
        assert_eq!(log.secret(&[0x11; 32], SecretLabel::ServerTraffic), None);
        assert_eq!((log.connections(), log.lines_not_understood()), (1, 0));
    }

    #[test]
    fn lines_that_break_the_format_are_counted() {
        let random = "11".repeat(32);
        let mut log = KeyLog::default();
        for line in [
            "CLIENT_TRAFFIC_SECRET_0".to_owned(),
            format!("CLIENT_TRAFFIC_SECRET_0 {random} abc"),
            format!("CLIENT_TRAFFIC_SECRET_0 {random} zz"),
            format!("CLIENT_TRAFFIC_SECRET_0 {} 00", "11".repeat(31)),
            format!("CLIENT_TRAFFIC_SECRET_0 {random} 00 00"),
            format!("no-label {random} 00"),
        ] {
            log.read(line.as_bytes());
        }
        assert_eq!((log.connections(), log.lines_not_understood()), (0, 6));
    }
}
