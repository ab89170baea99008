//! The QUIC configuration: ngtcp2's own values, plus what the settings ask for.

use std::{ffi::c_int, fmt::Write as _, fs::File, io::BufWriter, mem, time::Duration};

use anyhow::{Context, Result};
use ngtcp2_sys::*;
use quiclab_contract::{Role, TestCase};

use crate::{
    callbacks,
    settings::{CongestionControl, Settings},
};

/// QUIC version 1 (RFC 9000), and version 2 (RFC 9369).
pub const V1: u32 = 1;
pub const V2: u32 = 0x6b33_43cf;

/// What `v2` offers, best one first.
static VERSIONS: [u32; 2] = [V2, V1];

const SECOND: u64 = 1_000_000_000;

/// Time without any packet after which a connection is given up.
pub const IDLE_TIMEOUT: u64 = 30 * SECOND;

/// How long a server may take to complete the handshake. A server itself has no limit, as by ngtcp2's own values, but the idle timeout.
const HANDSHAKE_TIMEOUT: u64 = 10 * SECOND;

/// Flow control windows, in bytes, as in ngtcp2's own programs: far above the bandwidth-delay products of interest.
const CONNECTION_WINDOW: u64 = 24 * 1024 * 1024;
const STREAM_WINDOW: u64 = 16 * 1024 * 1024;
/// For requests and HTTP/3's own streams.
const SMALL_WINDOW: u64 = 256 * 1024;

/// Of a stream of `perf`. ngtcp2 ends a connection with its INTERNAL_ERROR when the acknowledged parts of a stream have 4000 gaps, and the
/// received ones too many, which losses at some Gbit/s can make of 16 MiB: of 8 MiB there are 7000 packets, and so 3500 gaps.
const PERF_STREAM_WINDOW: u64 = 8 * 1024 * 1024;

/// Most requests that a client may have open.
const REQUESTS: u64 = 100;

/// A time as ngtcp2 has it.
pub fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// Most bytes of a response that the client has not read yet.
fn stream_window(settings: &Settings) -> u64 {
    if settings.test_case == TestCase::Perf { PERF_STREAM_WINDOW } else { STREAM_WINDOW }
}

/// ngtcp2's settings of a connection that begins now.
pub fn settings(settings: &Settings, now: u64) -> ngtcp2_settings {
    // SAFETY: a plain structure for which zeros are valid, filled by ngtcp2.
    let mut own = unsafe {
        let mut own: ngtcp2_settings = mem::zeroed();
        ngtcp2_settings_default_versioned(NGTCP2_SETTINGS_VERSION as c_int, &mut own);
        own
    };
    own.initial_ts = now;
    own.cc_algo = match settings.congestion_control {
        CongestionControl::Reno => ngtcp2_cc_algo_NGTCP2_CC_ALGO_RENO,
        CongestionControl::Cubic => ngtcp2_cc_algo_NGTCP2_CC_ALGO_CUBIC,
        CongestionControl::Bbr => ngtcp2_cc_algo_NGTCP2_CC_ALGO_BBR,
    };
    if settings.role == Role::Client {
        own.handshake_timeout = HANDSHAKE_TIMEOUT + nanoseconds(settings.certificate_delay);
    }
    if let Some(rtt) = settings.handshake.initial_rtt() {
        own.initial_rtt = nanoseconds(rtt);
    }
    own.max_window = CONNECTION_WINDOW;
    own.max_stream_window = stream_window(settings);
    if settings.test_case == TestCase::Version2 {
        own.preferred_versions = VERSIONS.as_ptr();
        own.preferred_versionslen = VERSIONS.len();
        own.available_versions = VERSIONS.as_ptr();
        own.available_versionslen = VERSIONS.len();
    }
    if settings.qlog.is_some() {
        own.qlog_write = Some(callbacks::on_qlog);
    }
    own
}

/// The transport parameters of this side.
pub fn parameters(settings: &Settings) -> ngtcp2_transport_params {
    // SAFETY: as above.
    let mut own = unsafe {
        let mut own: ngtcp2_transport_params = mem::zeroed();
        ngtcp2_transport_params_default_versioned(NGTCP2_TRANSPORT_PARAMS_VERSION as c_int, &mut own);
        own
    };
    own.max_idle_timeout = IDLE_TIMEOUT;
    own.initial_max_data = CONNECTION_WINDOW;
    own.initial_max_stream_data_bidi_local = stream_window(settings);
    // A request of perf can be as long as an answer.
    own.initial_max_stream_data_bidi_remote =
        if settings.test_case == TestCase::Perf { PERF_STREAM_WINDOW } else { SMALL_WINDOW };
    own.initial_max_stream_data_uni = SMALL_WINDOW;
    // Control, QPACK encoder and decoder (RFC 9114, section 6.2).
    own.initial_max_streams_uni = 3;
    own.initial_max_streams_bidi = if settings.role == Role::Server { REQUESTS } else { 0 };
    own
}

/// Creates the qlog of the connection with this original destination. `None`: none was asked for.
///
/// # Errors
/// What the file system answers.
pub fn qlog(settings: &Settings, original: &ngtcp2_cid) -> Result<Option<BufWriter<File>>> {
    let Some(folder) = &settings.qlog else { return Ok(None) };
    let mut name = String::new();
    for byte in &original.data[..original.datalen] {
        let _ = write!(name, "{byte:02x}");
    }
    let path = folder.join(format!("{name}_{}.sqlog", settings.role.name()));
    let file = File::create(&path).with_context(|| format!("QLOGDIR: creating {}", path.display()))?;
    Ok(Some(BufWriter::new(file)))
}
