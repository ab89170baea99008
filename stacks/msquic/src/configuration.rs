//! How the library is configured, and what it says of that.

use std::{mem, ptr, sync::Once};

use anyhow::{Context, Result};
use msquic::{
    AllowedCipherSuiteFlags, Api, BufferRef, CertificateFile, Configuration, Connection, Credential, CredentialConfig,
    CredentialFlags, Registration, Status,
    ffi::{
        HQUIC, QUIC_CONGESTION_CONTROL_ALGORITHM_QUIC_CONGESTION_CONTROL_ALGORITHM_BBR as BBR,
        QUIC_CONGESTION_CONTROL_ALGORITHM_QUIC_CONGESTION_CONTROL_ALGORITHM_CUBIC as CUBIC,
        QUIC_PARAM_CONFIGURATION_SETTINGS, QUIC_PARAM_CONFIGURATION_VERSION_SETTINGS, QUIC_PARAM_CONN_SETTINGS,
        QUIC_PARAM_GLOBAL_RETRY_MEMORY_PERCENT, QUIC_PARAM_GLOBAL_VERSION_SETTINGS,
        QUIC_SERVER_RESUMPTION_LEVEL_QUIC_SERVER_RESUME_AND_ZERORTT as RESUME_AND_ZERO_RTT,
        QUIC_SERVER_RESUMPTION_LEVEL_QUIC_SERVER_RESUME_ONLY as RESUME_ONLY, QUIC_SETTINGS, QUIC_VERSION_SETTINGS,
    },
};
use quiclab_contract::{Pacing, Role, TestCase, hq, perf};

use crate::settings::{CongestionControl, Settings};

/// Bytes of one stream that the peer may send ahead; the library's own value, 64 KiB at first, would limit transfers. The
/// connection's is 16 MiB by default.
const STREAM_WINDOW: u32 = 16 * 1024 * 1024;

/// Requests that a client may have open at the same time; the library's own value is 0.
const STREAMS: u16 = 100;

/// RFC 9000, section 15.
const VERSION_1: u32 = 0x0000_0001;

/// RFC 9369, section 3.1.
const VERSION_2: u32 = 0x6b33_43cf;

/// The list of application protocols.
pub fn alpn(settings: &Settings) -> [BufferRef; 1] {
    [BufferRef::from(if settings.test_case == TestCase::Perf { perf::ALPN } else { hq::ALPN })]
}

/// The configuration of all connections.
///
/// # Errors
/// Where certificates cannot be used.
pub fn open(registration: &Registration, settings: &Settings) -> Result<Configuration> {
    if settings.test_case == TestCase::Retry && settings.role == Role::Server {
        retry_always()?;
    }
    let configuration = Configuration::open(registration, &alpn(settings), None).context("ConfigurationOpen")?;
    // SAFETY: the handle is that of the configuration, which is not closed here.
    let handle = unsafe { configuration.as_raw() };
    set(handle, QUIC_PARAM_CONFIGURATION_SETTINGS, &transport(settings)).context("settings")?;
    if settings.test_case == TestCase::Version2 {
        match settings.role {
            Role::Client => set_versions(handle, QUIC_PARAM_CONFIGURATION_VERSION_SETTINGS, [VERSION_1, VERSION_2])?,
            // A server negotiates before it looks at the configuration.
            Role::Server => set_versions(ptr::null_mut(), QUIC_PARAM_GLOBAL_VERSION_SETTINGS, [VERSION_2, VERSION_1])?,
        }
    }
    configuration.load_credential(&credential(settings)).context("certificates")?;
    Ok(configuration)
}

/// Gives a client's connection its settings before it begins: a stream that is opened before that would not know its
/// window.
///
/// # Errors
/// Where the library refuses.
pub fn prepare(connection: &Connection, settings: &Settings) -> Result<()> {
    // SAFETY: the handle is that of the connection, which is not closed here.
    let handle = unsafe { connection.as_raw() };
    set(handle, QUIC_PARAM_CONN_SETTINGS, &transport(settings)).context("settings")
}

/// Says on stderr which congestion control the connection has, by its own word. Once: there can be thousands of connections in a second.
pub fn tell_congestion_control(connection: &Connection) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        // SAFETY: parameter and type belong together.
        let settings = unsafe { Api::get_param_auto::<QUIC_SETTINGS>(connection.as_raw(), QUIC_PARAM_CONN_SETTINGS) };
        let name = match settings.map(|settings| u32::from(settings.CongestionControlAlgorithm)) {
            Ok(CUBIC) => "cubic",
            Ok(BBR) => "bbr",
            _ => "unknown",
        };
        eprintln!("congestion control: {name}");
    });
}

fn transport(settings: &Settings) -> QUIC_SETTINGS {
    // SAFETY: all zeros is a value of this C structure, with nothing set.
    let mut transport = unsafe { mem::zeroed::<QUIC_SETTINGS>() };
    // SAFETY: both of the union's readings are valid for any bits.
    let is_set = unsafe { &mut transport.__bindgen_anon_1.IsSet };
    is_set.set_CongestionControlAlgorithm(1);
    is_set.set_PacingEnabled(1);
    is_set.set_StreamRecvWindowDefault(1);
    if settings.role == Role::Server {
        is_set.set_PeerBidiStreamCount(1);
        is_set.set_ServerResumptionLevel(1);
    }
    if settings.test_case == TestCase::Perf {
        // It would copy what it sends, and say that it is sent. It is 0 already.
        is_set.set_SendBufferingEnabled(1);
        if settings.role == Role::Server {
            is_set.set_PeerUnidiStreamCount(1);
        }
    }
    transport.PeerUnidiStreamCount = STREAMS;
    let algorithm = match settings.congestion_control {
        CongestionControl::Cubic => CUBIC,
        CongestionControl::Bbr => BBR,
    };
    transport.CongestionControlAlgorithm = algorithm as u16;
    transport.set_PacingEnabled((settings.pacing == Pacing::User).into());
    transport.StreamRecvWindowDefault = STREAM_WINDOW;
    transport.PeerBidiStreamCount = STREAMS;
    transport.set_ServerResumptionLevel(match settings.test_case {
        TestCase::Resumption => RESUME_ONLY as u8,
        TestCase::ZeroRtt => RESUME_AND_ZERO_RTT as u8,
        _ => 0,
    });
    transport
}

fn credential(settings: &Settings) -> CredentialConfig {
    let file = |name| settings.certs.join(name).display().to_string();
    let credential = match settings.role {
        Role::Server => CredentialConfig::new()
            .set_credential(Credential::CertificateFile(CertificateFile::new(file("priv.key"), file("cert.pem")))),
        Role::Client => CredentialConfig::new_client()
            .set_credential_flags(CredentialFlags::USE_TLS_BUILTIN_CERTIFICATE_VALIDATION)
            .set_ca_certificate_file(file("ca.pem")),
    };
    match settings.test_case {
        TestCase::ChaCha20 => credential.set_allowed_cipher_suites(AllowedCipherSuiteFlags::CHACHA20_POLY1305_SHA256),
        _ => credential,
    }
}

/// Makes a client begin with the first version and offer both, and a server prefer the first one.
fn set_versions(handle: HQUIC, parameter: u32, versions: [u32; 2]) -> Result<()> {
    let length = u32::try_from(versions.len())?;
    let value = QUIC_VERSION_SETTINGS {
        AcceptableVersions: versions.as_ptr(),
        OfferedVersions: versions.as_ptr(),
        FullyDeployedVersions: versions.as_ptr(),
        AcceptableVersionsLength: length,
        OfferedVersionsLength: length,
        FullyDeployedVersionsLength: length,
    };
    set(handle, parameter, &value).context("versions")
}

/// The library sends Retry when handshakes take more than a part of the memory; here that part is nothing.
fn retry_always() -> Result<()> {
    set(ptr::null_mut(), QUIC_PARAM_GLOBAL_RETRY_MEMORY_PERCENT, &0_u16).context("Retry")
}

/// Sets a parameter, of which `T` must be the type.
fn set<T>(handle: HQUIC, parameter: u32, value: &T) -> Result<(), Status> {
    // SAFETY: the library only reads it, before this returns.
    unsafe { Api::set_param(handle, parameter, size_of::<T>() as u32, ptr::from_ref(value).cast()) }
}
