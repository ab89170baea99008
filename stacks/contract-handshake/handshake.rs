//! The variables of handshakes, `QUICLAB_FIRST_ACK`, `QUICLAB_DEFAULT_PTO` and `QUICLAB_KEY_EXCHANGE`, for the stacks that can
//! honour them.
//!
//! Not part of the crate `quiclab-contract`, which answers 127 to them, so that stacks without them are not built again when
//! something changes here. The others have a link to this file, and its [`main`] instead of that crate's.

use std::{env, fmt::Display, process::ExitCode, time::Duration};

use quiclab_contract::{NOT_SUPPORTED, Settings, finish};

/// What few stacks can be asked for.
pub struct Support {
    /// What a server can send before its ServerHello.
    pub first_ack: &'static [FirstAck],
    /// True: the probe timeout before the first round-trip time can be set.
    pub default_pto: bool,
    /// What a client can be limited to.
    pub key_exchanges: &'static [KeyExchange],
}

/// A key exchange, by its name in TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "not every stack has both")]
pub enum KeyExchange {
    /// Its key share has 32 bytes.
    X25519,
    /// With ML-KEM; its key share has 1216 bytes.
    X25519MlKem768,
}

impl KeyExchange {
    /// As in the registry of TLS, which is also what BoringSSL and its forks call it.
    #[allow(dead_code, reason = "rustls has types of its own")]
    pub fn group(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519MlKem768 => "X25519MLKEM768",
        }
    }

    fn name(self) -> String {
        self.group().to_ascii_lowercase()
    }
}

/// What a server sends while its certificate is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "no stack has all of them")]
pub enum FirstAck {
    /// An acknowledgment at once.
    Instant,
    /// The same in a datagram of at least 1200 bytes.
    Padded,
    /// Nothing before the ServerHello.
    Wait,
}

impl FirstAck {
    fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Padded => "padded",
            Self::Wait => "wait",
        }
    }
}

/// The whole of an endpoint's `main`, like `quiclab_contract::main`.
pub fn main<C: Copy, E: Display>(
    contract: &quiclab_contract::Support<C>,
    support: &Support,
    play: impl FnOnce(Settings<C>, Handshake) -> Result<(), E>,
) -> ExitCode {
    let mut handshake = Handshake::default();
    let mut others = Vec::new();
    for (name, value) in env::vars() {
        match handshake.set(support, &name, &value) {
            Ok(true) => {}
            Ok(false) => others.push((name, value)),
            Err(refusal) => {
                eprintln!("{refusal}");
                return ExitCode::from(NOT_SUPPORTED);
            }
        }
    }
    let settings = Settings::parse(contract, others);
    let settings = settings.and_then(|settings| Ok((settings.report_progress()?, settings)));
    match settings {
        Ok((_reporter, settings)) => {
            let latencies = settings.perf_latencies.clone();
            finish(play(settings, handshake), latencies.as_deref())
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_status())
        }
    }
}

/// What was asked for; `None` is left to the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// What a server sends before its ServerHello.
    pub first_ack: Option<FirstAck>,
    /// The probe timeout before the first round-trip time.
    pub default_pto: Option<Duration>,
    /// All that a client offers.
    pub key_exchange: Option<KeyExchange>,
}

impl Handshake {
    /// The round-trip time to begin with: its half is its deviation, so a probe timeout is three of it (RFC 9002, sections 5.3
    /// and 6.2.1).
    pub fn initial_rtt(&self) -> Option<Duration> {
        self.default_pto.map(|pto| pto / 3)
    }

    /// Puts in what a variable says. False: it is none of these. An error says what the stack cannot do.
    fn set(&mut self, support: &Support, name: &str, value: &str) -> Result<bool, String> {
        let refused = |supported: &str| Err(format!("{name}: found {value:?}, this endpoint supports {supported}"));
        match name {
            "QUICLAB_FIRST_ACK" => {
                self.first_ack = support.first_ack.iter().find(|one| one.name() == value).copied();
                let names: Vec<_> = support.first_ack.iter().map(|one| one.name()).collect();
                // A client sends no ServerHello, but would ignore it.
                if self.first_ack.is_none() { refused(&names.join(", ")) } else { Ok(true) }
            }
            "QUICLAB_DEFAULT_PTO" => {
                let milliseconds = value.parse().ok().filter(|number| (1..=60_000).contains(number));
                self.default_pto = milliseconds.filter(|_| support.default_pto).map(Duration::from_millis);
                let supported =
                    if support.default_pto { "milliseconds, a whole number, 1 to 60000" } else { "no such setting" };
                if self.default_pto.is_none() { refused(supported) } else { Ok(true) }
            }
            "QUICLAB_KEY_EXCHANGE" => {
                self.key_exchange = support.key_exchanges.iter().find(|one| one.name() == value).copied();
                let names: Vec<_> = support.key_exchanges.iter().map(|one| one.name()).collect();
                if self.key_exchange.is_none() { refused(&names.join(", ")) } else { Ok(true) }
            }
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Support = Support {
        first_ack: &[FirstAck::Instant, FirstAck::Wait],
        default_pto: true,
        key_exchanges: &[KeyExchange::X25519],
    };
    const NONE: Support = Support { first_ack: &[], default_pto: false, key_exchanges: &[] };

    fn set(support: &Support, name: &str, value: &str) -> Result<Handshake, String> {
        let mut own = Handshake::default();
        own.set(support, name, value)?;
        Ok(own)
    }

    #[test]
    fn what_is_supported_is_taken() {
        assert_eq!(set(&ALL, "QUICLAB_FIRST_ACK", "wait").unwrap().first_ack, Some(FirstAck::Wait));
        let third = set(&ALL, "QUICLAB_DEFAULT_PTO", "600").unwrap().initial_rtt();
        assert_eq!(third, Some(Duration::from_millis(200)));
        assert_eq!(set(&ALL, "QUICLAB_CCA", "anything"), Ok(Handshake::default()));
    }

    #[test]
    fn everything_else_is_refused() {
        for (support, name, value) in [
            (&ALL, "QUICLAB_FIRST_ACK", "padded"),
            (&ALL, "QUICLAB_FIRST_ACK", ""),
            (&ALL, "QUICLAB_DEFAULT_PTO", "0"),
            (&ALL, "QUICLAB_DEFAULT_PTO", "1 s"),
            (&NONE, "QUICLAB_FIRST_ACK", "wait"),
            (&NONE, "QUICLAB_DEFAULT_PTO", "600"),
        ] {
            assert!(set(support, name, value).unwrap_err().starts_with(name));
        }
    }
}
