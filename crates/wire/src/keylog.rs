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

/// Secrets kept of one label and connection: the newest. There are several where a server began TLS anew for a ClientHello
/// that it got again.
const MAXIMUM_SECRETS: usize = 8;

/// Secrets by connection.
#[derive(Clone, Default)]
pub struct KeyLog {
    secrets: BTreeMap<ClientRandom, BTreeMap<SecretLabel, Vec<Vec<u8>>>>,
    lines_not_understood: u64,
}

impl KeyLog {
    /// Adds the lines of a key log. Different secrets of one label and connection are kept side by side.
    pub fn read(&mut self, text: &[u8]) {
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            match parse_line(line) {
                Some(Line::Secret(label, random, secret)) => {
                    let secrets = self.secrets.entry(random).or_default().entry(label).or_default();
                    if !secrets.contains(&secret) {
                        if secrets.len() == MAXIMUM_SECRETS {
                            secrets.remove(0);
                        }
                        secrets.push(secret);
                    }
                }
                Some(Line::OfNoUse) => {}
                None => self.lines_not_understood += 1,
            }
        }
    }

    /// Different ones, in the order of the log; empty when it has none. More than one where several TLS sessions have this
    /// client random: only a packet shows which is its own.
    pub fn secrets(&self, random: &ClientRandom, label: SecretLabel) -> &[Vec<u8>] {
        self.secrets.get(random).and_then(|secrets| secrets.get(&label)).map_or(&[], Vec::as_slice)
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
        assert_eq!(log.secrets(&[0x11; 32], SecretLabel::ClientTraffic), [[0xaa, 0xbb]]);
        assert!(log.secrets(&[0x11; 32], SecretLabel::ServerTraffic).is_empty());
        assert_eq!((log.connections(), log.lines_not_understood()), (1, 0));
    }

    #[test]
    fn different_secrets_of_one_label_are_kept_up_to_a_limit() {
        let random = "11".repeat(32);
        let mut log = KeyLog::default();
        let mut read = |secret: usize| {
            log.read(format!("CLIENT_TRAFFIC_SECRET_0 {random} {secret:02x}").as_bytes());
            log.secrets(&[0x11; 32], SecretLabel::ClientTraffic).iter().map(|secret| secret[0]).collect::<Vec<_>>()
        };
        assert_eq!(read(1), [1]);
        assert_eq!(read(2), [1, 2]);
        assert_eq!(read(1), [1, 2]);
        for secret in 3..=MAXIMUM_SECRETS {
            assert_eq!(read(secret).len(), secret);
        }
        assert_eq!(read(MAXIMUM_SECRETS + 1)[0], 2);
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
