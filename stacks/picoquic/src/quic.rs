//! A QUIC context of picoquic, and its packet loop.

use std::{
    ffi::{CString, c_int, c_void},
    mem,
    path::Path,
    ptr,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use nix::libc;
use quiclab_contract::{Http, IpVersion, Role, TestCase, hq, perf};

use crate::{ffi, h3, settings::Settings};

/// Connections that a server has at once, at most.
const MAX_CONNECTIONS: u32 = 1024;

/// A QUIC context: certificates, tickets, settings of new connections.
pub struct Context {
    pub pointer: *mut ffi::picoquic_quic_t,
    /// The probe timeout of a client's connections before their first round-trip time; `None`: picoquic's own.
    pub default_pto: Option<Duration>,
}

/// The name in ALPN.
pub fn alpn(settings: &Settings) -> &'static [u8] {
    match (settings.test_case, settings.http) {
        (TestCase::Perf, _) => perf::ALPN,
        (_, Http::H3) => h3::ALPN,
        _ => hq::ALPN,
    }
}

fn c_string(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes())
        .with_context(|| format!("{}: a path with a zero byte", path.display()))
}

impl Context {
    /// A context for one role. `clock`: null for that of the machine, otherwise microseconds since the epoch, which outlive the context.
    ///
    /// # Errors
    /// Where picoquic cannot use the certificates, or lacks something that was asked for.
    pub fn new(
        settings: &Settings,
        clock: *mut u64,
        on_event: ffi::picoquic_stream_data_cb_fn,
        state: *mut c_void,
    ) -> Result<Self> {
        let file = |name: &str| c_string(&settings.certs.join(name));
        let (certificate, key, root) = (file("cert.pem")?, file("priv.key")?, file("ca.pem")?);
        let server = settings.role == Role::Server;
        let given = |path: &CString, wanted: bool| if wanted { path.as_ptr() } else { ptr::null() };
        let name = CString::new(alpn(settings))?;
        // SAFETY: picoquic keeps copies of the strings; `state` and the clock outlive the context.
        let pointer = unsafe {
            let now = if clock.is_null() { ffi::picoquic_current_time() } else { *clock };
            // Its algorithms have to be registered before one is named.
            ffi::picoquic_register_all_congestion_control_algorithms();
            ffi::picoquic_create(
                MAX_CONNECTIONS,
                given(&certificate, server),
                given(&key, server),
                given(&root, !server),
                given(&name, !server),
                on_event,
                state,
                None,
                ptr::null_mut(),
                ptr::null_mut(),
                now,
                clock,
                // Without a file it keeps no session tickets, not even in memory. It reads the file once and never writes it by itself.
                c"/dev/null".as_ptr(),
                ptr::null(),
                0,
            )
        };
        ensure!(!pointer.is_null(), "picoquic cannot use the files in {}", settings.certs.display());
        let context = Self { pointer, default_pto: None };
        context.apply(settings)?;
        Ok(context)
    }

    fn apply(&self, settings: &Settings) -> Result<()> {
        // SAFETY: the context lives, and picoquic keeps copies of the strings.
        unsafe {
            let algorithm = ffi::picoquic_get_congestion_algorithm(settings.congestion_control.algorithm.as_ptr());
            ensure!(
                !algorithm.is_null(),
                "picoquic has no congestion control {:?}",
                settings.congestion_control.algorithm
            );
            ffi::picoquic_set_default_congestion_algorithm(self.pointer, algorithm);
            ffi::picoquic_set_client_cert_verification_policy(self.pointer, 1);
            if settings.test_case == TestCase::ChaCha20 {
                let suite = ffi::PICOQUIC_CHACHA20_POLY1305_SHA256 as c_int;
                ensure!(ffi::picoquic_set_cipher_suite(self.pointer, suite) == 0, "picoquic has no ChaCha20");
            }
            if let Some(path) = &settings.key_log {
                ffi::picoquic_set_key_log_file(self.pointer, c_string(path)?.as_ptr());
            }
            if let Some(folder) = &settings.qlog {
                let outcome = ffi::picoquic_set_qlog(self.pointer, c_string(folder)?.as_ptr());
                ensure!(outcome == 0, "{}: picoquic cannot write its qlog there", folder.display());
            }
        }
        Ok(())
    }

    /// Runs picoquic's packet loop until `after` says that it is enough. It is called after each round of sending and receiving.
    ///
    /// # Errors
    /// Where the socket cannot be used.
    pub fn run(&self, settings: &Settings, mut after: impl FnMut() -> bool) -> Result<()> {
        // SAFETY: a plain structure for which zeros are valid.
        let mut parameters: ffi::picoquic_packet_loop_param_t = unsafe { mem::zeroed() };
        parameters.local_port = if settings.role == Role::Server { settings.port } else { 0 };
        parameters.local_af = match settings.ip {
            IpVersion::V4 => libc::AF_INET,
            IpVersion::V6 => libc::AF_INET6,
        };
        parameters.do_not_use_gso = (!settings.gso.is_on()).into();
        let mut after: &mut dyn FnMut() -> bool = &mut after;
        let state = ptr::from_mut(&mut after).cast();
        // SAFETY: the context, the parameters and the closure live during the call.
        let outcome = unsafe { ffi::picoquic_packet_loop_v2(self.pointer, &mut parameters, Some(on_loop), state) };
        ensure!(outcome == 0, "picoquic's packet loop ended with {outcome:#x}");
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed only here. It still reports to the states of its connections.
        unsafe { ffi::picoquic_free(self.pointer) };
    }
}

unsafe extern "C" fn on_loop(
    _quic: *mut ffi::picoquic_quic_t,
    event: ffi::picoquic_packet_loop_cb_enum,
    state: *mut c_void,
    _argument: *mut c_void,
) -> c_int {
    if event != ffi::picoquic_packet_loop_after_send {
        return 0;
    }
    // SAFETY: what `run` has handed over.
    let after = unsafe { &mut *state.cast::<&mut dyn FnMut() -> bool>() };
    if after() { ffi::PICOQUIC_NO_ERROR_TERMINATE_PACKET_LOOP as c_int } else { 0 }
}
