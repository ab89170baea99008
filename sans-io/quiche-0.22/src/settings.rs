//! What this endpoint can do.

use std::path::PathBuf;

use quiclab_contract::{
    Asked, Clock, Extras, Gso, Http, IpVersion, Pacing, Role, SettingsError, Support,
    TestCase::{Handshake, Transfer},
};

/// Everything this endpoint was asked to do.
pub type Settings = quiclab_contract::Settings<CongestionControl>;

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
}

/// What it can do.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer],
    client: &[Handshake, Transfer],
    http: &[Http::H3, Http::Hq],
    congestion_control: &[
        ("cubic", CongestionControl::Cubic),
        ("reno", CongestionControl::Reno),
        ("bbr2", CongestionControl::Bbr2),
    ],
    gso: &[Gso::On, Gso::Off],
    pacing: &[Pacing::TxTime, Pacing::Off],
    ip: &[IpVersion::V4, IpVersion::V6],
    certificate_delay: false,
    extras: Extras {
        gso_segments: true,
        gso_rates: &[],
        txtime_clocks: &[Clock::Monotonic, Clock::Tai],
        hystart: true,
        ..Extras::NONE
    },
    rules,
};

/// Those of the endpoint for virtual machines.
fn rules(settings: &mut Settings, asked: &Asked) -> Result<(), SettingsError> {
    let is_bbr2 = settings.congestion_control == CongestionControl::Bbr2;
    if settings.gso_segments.is_some() && (settings.pacing != Pacing::TxTime || is_bbr2) {
        return Err(
            asked.refusal("QUICLAB_GSO_SEGMENTS", "this with txtime and cubic or reno only, whose rate is known")
        );
    }
    // BBR has a slow start of its own.
    if settings.hystart.is_some() && is_bbr2 {
        return Err(asked.refusal("QUICLAB_HYSTART", "this with cubic or reno only"));
    }
    Ok(())
}

/// Where a server writes the planned send time of each packet; `None`: nowhere.
pub fn planned(settings: &Settings) -> Option<PathBuf> {
    let plans = settings.role == Role::Server && settings.pacing == Pacing::TxTime;
    settings.logs.as_ref().filter(|_| plans).map(|folder| folder.join("planned.csv"))
}

#[cfg(test)]
mod tests {
    use quiclab_contract::testing::{assert_not_supported, parse};

    use super::*;

    #[test]
    fn a_plain_transfer_uses_http3_and_cubic_with_offload_and_send_times() {
        let settings = parse(&SUPPORT, &[]).unwrap();
        let found = (settings.http, settings.congestion_control, settings.gso, settings.pacing);
        assert_eq!(found, (Http::H3, CongestionControl::Cubic, Gso::On, Pacing::TxTime));
        assert_eq!((settings.txtime_clock, settings.hystart), (Clock::Monotonic, None));
    }

    #[test]
    fn what_it_cannot_do_is_refused_and_not_ignored() {
        let own = [
            ("TESTCASE", "retry"),
            ("TESTCASE", "zerortt"),
            ("TESTCASE", "chacha20"),
            ("QUICLAB_CCA", "bbr"),
            ("QUICLAB_CERT_DELAY", "1"),
            ("QUICLAB_GSO", "paced"),
            ("QUICLAB_PACING", "user"),
        ];
        assert_not_supported(&SUPPORT, &own);
    }

    #[test]
    fn values_that_do_not_go_together_are_refused() {
        for (name, value, with) in [
            ("QUICLAB_GSO_SEGMENTS", "2", ("QUICLAB_PACING", "off")),
            ("QUICLAB_GSO_SEGMENTS", "2", ("QUICLAB_CCA", "bbr2")),
            ("QUICLAB_HYSTART", "off", ("QUICLAB_CCA", "bbr2")),
        ] {
            assert!(parse(&SUPPORT, &[(name, value)]).is_ok(), "{name}");
            let error = parse(&SUPPORT, &[(name, value), with]).unwrap_err();
            assert_eq!(error.exit_status(), 127, "{error}");
        }
    }
}
