//! What this endpoint can do.

use std::{ops::Deref, path::PathBuf};

use quiclab_contract::{
    Asked, Clock, Extras, Gso, GsoRate, Http, IpVersion, Pacing, Role, SettingsError, Support,
    TestCase::{self, ChaCha20, Handshake, Http3, Perf, Resumption, Retry, Transfer, ZeroRtt},
    perf::Load,
};

use crate::{
    control::kernel_takes_rates,
    handshake::{self, FirstAck, KeyExchange},
};

type Contract = quiclab_contract::Settings<CongestionControl>;

/// Everything this endpoint was asked to do.
pub struct Settings {
    pub contract: Contract,
    pub handshake: handshake::Handshake,
}

impl Deref for Settings {
    type Target = Contract;

    fn deref(&self) -> &Contract {
        &self.contract
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Reno,
    Cubic,
    Bbr2,
}

impl CongestionControl {
    /// The name quiche knows it by.
    pub fn quiche_name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr2 => "bbr2",
        }
    }

    /// True where this release of quiche plans send times for this algorithm. CUBIC and Reno lost their pacer after
    /// quiche 0.24.6 (<https://github.com/cloudflare/quiche/pull/2297>): since then the planned time is always "now".
    fn plans_send_times(self) -> bool {
        cfg!(feature = "paced-loss-based") || self == Self::Bbr2
    }
}

/// What it can do.
pub const SUPPORT: Support<CongestionControl> = Support {
    // In `chacha20` it need do nothing: BoringSSL takes what it is offered.
    server: SERVER,
    client: match cfg!(feature = "boring") {
        true => SERVER,
        false => &[Handshake, Transfer, Retry, Resumption, ZeroRtt, Http3, Perf],
    },
    http: &[Http::H3, Http::Hq],
    congestion_control: &[
        ("cubic", CongestionControl::Cubic),
        ("reno", CongestionControl::Reno),
        ("bbr2", CongestionControl::Bbr2),
    ],
    // With a rate for the segments, where quiche paces at all.
    gso: match cfg!(feature = "paced-loss-based") {
        true => &[Gso::On, Gso::Off, Gso::Paced],
        false => &[Gso::On, Gso::Off],
    },
    pacing: &[Pacing::Off, Pacing::TxTime],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: cfg!(feature = "boring"),
    extras: Extras {
        gso_segments: cfg!(feature = "paced-loss-based"),
        gso_rates: if cfg!(feature = "paced-loss-based") { &[GsoRate::Mark, GsoRate::Message] } else { &[] },
        txtime_clocks: &[Clock::Monotonic, Clock::Tai],
        hystart: true,
        perf_loads: &Load::ALL,
    },
    rules,
};

/// What it can do about handshakes.
pub const HANDSHAKE: handshake::Support = match cfg!(feature = "boring") {
    true => handshake::Support {
        first_ack: &[FirstAck::Padded, FirstAck::Wait],
        default_pto: true,
        key_exchanges: &[KeyExchange::X25519, KeyExchange::X25519MlKem768],
    },
    false => handshake::Support { first_ack: &[], default_pto: false, key_exchanges: &[] },
};

const SERVER: &[TestCase] = &[Handshake, Transfer, Retry, ChaCha20, Resumption, ZeroRtt, Http3, Perf];

fn rules(settings: &mut Contract, asked: &Asked) -> Result<(), SettingsError> {
    // The callback that is held back is asked for resumed sessions too, which need no certificate.
    if !settings.certificate_delay.is_zero() && settings.test_case.takes_two_connections() {
        return Err(asked.refusal("QUICLAB_CERT_DELAY", "0 with resumption and zerortt"));
    }
    let plans_send_times = settings.congestion_control.plans_send_times();
    if settings.pacing == Pacing::TxTime && !plans_send_times {
        return Err(asked.refusal("QUICLAB_PACING", "txtime with bbr2 only, off"));
    }
    if asked.value("QUICLAB_PACING").is_none() && plans_send_times {
        settings.pacing = Pacing::TxTime;
    }
    let spreads = settings.gso == Gso::Paced || settings.gso_segments.is_some();
    if spreads && (settings.pacing != Pacing::TxTime || settings.congestion_control == CongestionControl::Bbr2) {
        let name = if settings.gso == Gso::Paced { "QUICLAB_GSO" } else { "QUICLAB_GSO_SEGMENTS" };
        return Err(asked.refusal(name, "this with txtime and cubic or reno only, whose rate is known"));
    }
    if settings.gso_rate == Some(GsoRate::Message) && !kernel_takes_rates() {
        return Err(asked.refusal("QUICLAB_GSO_RATE", "message on a kernel that knows UDP_SEGMENT_PACING_RATE only"));
    }
    // BBR has a slow start of its own.
    if settings.hystart.is_some() && settings.congestion_control == CongestionControl::Bbr2 {
        return Err(asked.refusal("QUICLAB_HYSTART", "this with cubic or reno only"));
    }
    Ok(())
}

/// Where a server writes the planned send time of each packet; `None`: nowhere.
pub fn planned(settings: &Contract) -> Option<PathBuf> {
    let plans = settings.role == Role::Server && settings.pacing == Pacing::TxTime;
    settings.logs.as_ref().filter(|_| plans).map(|folder| folder.join("planned.csv"))
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
