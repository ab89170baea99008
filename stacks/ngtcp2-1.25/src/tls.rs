//! The TLS side: AWS-LC, set up as ngtcp2's BoringSSL glue wants it.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    fs::{File, OpenOptions},
    io::Write,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr, slice,
    sync::OnceLock,
};

use anyhow::{Context, Result, ensure};
use aws_lc_sys as ssl;
use ngtcp2_sys::{ngtcp2_crypto_boringssl_configure_client_context, ngtcp2_crypto_boringssl_configure_server_context};
use quiclab_contract::{Role, TestCase};

use crate::{hold::Hold, settings::Settings, shared::Shared};

/// The protocol's name behind its length.
type Protocol = &'static [u8];

static HQ: Protocol = b"\x0ahq-interop";
static PERF: Protocol = b"\x04perf";

fn protocol(settings: &Settings) -> &'static Protocol {
    if settings.test_case == TestCase::Perf { &PERF } else { &HQ }
}

/// The only cipher suite of the test case `chacha20`.
const CHACHA20: &CStr = c"TLS_CHACHA20_POLY1305_SHA256";

/// `SSL_TLSEXT_ERR_OK` and `SSL_TLSEXT_ERR_ALERT_FATAL`, which the bindings do not have.
const ALPN_OK: c_int = 0;
const ALPN_FATAL: c_int = 2;

/// Set once, before the first connection: AWS-LC's callback has no argument of its own.
static KEY_LOG: OnceLock<File> = OnceLock::new();

/// What all connections of a process share.
pub struct TlsContext {
    pub pointer: *mut ssl::SSL_CTX,
    role: Role,
}

impl TlsContext {
    /// Reads the certificates.
    ///
    /// # Errors
    /// Where a file cannot be used.
    pub fn new(settings: &Settings) -> Result<Self> {
        // SAFETY: a new context with one owner.
        let pointer = unsafe { ssl::SSL_CTX_new(ssl::TLS_method()) };
        ensure!(!pointer.is_null(), "SSL_CTX_new failed");
        let context = Self { pointer, role: settings.role };
        match settings.role {
            Role::Server => context.serve(settings)?,
            Role::Client => context.connect(settings)?,
        }
        if settings.test_case == TestCase::ChaCha20 {
            // SAFETY: the context lives, the text ends in a zero.
            let outcome = unsafe { ssl::SSL_CTX_set_ciphersuites(pointer, CHACHA20.as_ptr()) };
            ensure!(outcome == 1, "SSL_CTX_set_ciphersuites failed");
        }
        if let Some(exchange) = settings.handshake.key_exchange {
            let group = CString::new(exchange.group())?;
            // SAFETY: the context lives, the text ends in a zero.
            let outcome = unsafe { ssl::SSL_CTX_set1_groups_list(pointer, group.as_ptr()) };
            ensure!(outcome == 1, "SSL_CTX_set1_groups_list failed");
        }
        if settings.test_case == TestCase::ZeroRtt {
            // SAFETY: the context lives.
            unsafe { ssl::SSL_CTX_set_early_data_enabled(pointer, 1) };
        }
        if let Some(path) = &settings.key_log {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let file = file.with_context(|| format!("SSLKEYLOGFILE {}", path.display()))?;
            let _ = KEY_LOG.set(file);
            // SAFETY: the callback needs nothing but what is static.
            unsafe { ssl::SSL_CTX_set_keylog_callback(pointer, Some(on_key_log)) };
        }
        Ok(context)
    }

    fn serve(&self, settings: &Settings) -> Result<()> {
        let (chain, key) = (settings.certs.join("cert.pem"), settings.certs.join("priv.key"));
        let (chain_text, key_text) = (c_text(&chain)?, c_text(&key)?);
        // SAFETY: the context and both texts live.
        unsafe {
            ngtcp2_crypto_boringssl_configure_server_context(self.pointer.cast());
            let outcome = ssl::SSL_CTX_use_certificate_chain_file(self.pointer, chain_text.as_ptr());
            ensure!(outcome == 1, "CERTS: {} cannot be used", chain.display());
            let outcome = ssl::SSL_CTX_use_PrivateKey_file(self.pointer, key_text.as_ptr(), ssl::SSL_FILETYPE_PEM);
            ensure!(outcome == 1, "CERTS: {} cannot be used", key.display());
            let offer = ptr::from_ref(protocol(settings)).cast_mut();
            ssl::SSL_CTX_set_cert_cb(self.pointer, Some(on_certificate), ptr::null_mut());
            ssl::SSL_CTX_set_alpn_select_cb(self.pointer, Some(on_alpn), offer.cast());
        }
        Ok(())
    }

    fn connect(&self, settings: &Settings) -> Result<()> {
        let authority = settings.certs.join("ca.pem");
        let authority_text = c_text(&authority)?;
        let offer = *protocol(settings);
        // SAFETY: the context and the text live; the callback finds its connection in the SSL object.
        unsafe {
            ngtcp2_crypto_boringssl_configure_client_context(self.pointer.cast());
            let outcome = ssl::SSL_CTX_load_verify_locations(self.pointer, authority_text.as_ptr(), ptr::null());
            ensure!(outcome == 1, "CERTS: {} cannot be used", authority.display());
            ssl::SSL_CTX_set_verify(self.pointer, ssl::SSL_VERIFY_PEER, None);
            // Zero means success here.
            ensure!(ssl::SSL_CTX_set_alpn_protos(self.pointer, offer.as_ptr(), offer.len()) == 0, "ALPN refused");
            let mode = ssl::SSL_SESS_CACHE_CLIENT | ssl::SSL_SESS_CACHE_NO_INTERNAL;
            ssl::SSL_CTX_set_session_cache_mode(self.pointer, mode);
            ssl::SSL_CTX_sess_set_new_cb(self.pointer, Some(on_session));
        }
        Ok(())
    }

    /// The TLS state of a new connection. `host`: what the certificate must be for (client).
    ///
    /// # Errors
    /// Where AWS-LC has no memory or refuses the name.
    pub fn session(&self, host: Option<&str>) -> Result<Tls> {
        // SAFETY: a new object with one owner; it holds a reference to the context by itself.
        let pointer = unsafe { ssl::SSL_new(self.pointer) };
        ensure!(!pointer.is_null(), "SSL_new failed");
        let tls = Tls { pointer };
        match self.role {
            // SAFETY: the object lives.
            Role::Server => unsafe { ssl::SSL_set_accept_state(pointer) },
            Role::Client => {
                let name = CString::new(host.unwrap_or_default()).context("the host's name")?;
                // SAFETY: the object and the name live.
                unsafe {
                    ssl::SSL_set_connect_state(pointer);
                    ensure!(ssl::SSL_set_tlsext_host_name(pointer, name.as_ptr()) == 1, "SNI refused");
                    ensure!(ssl::SSL_set1_host(pointer, name.as_ptr()) == 1, "the host's name was refused");
                }
            }
        }
        Ok(tls)
    }
}

impl Drop for TlsContext {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed only here.
        unsafe { ssl::SSL_CTX_free(self.pointer) };
    }
}

/// TLS state of one connection.
pub struct Tls {
    pub pointer: *mut ssl::SSL,
}

impl Drop for Tls {
    fn drop(&mut self) {
        // SAFETY: made by `session`, freed only here.
        unsafe { ssl::SSL_free(self.pointer) };
    }
}

/// A session ticket with its secrets.
pub struct Ticket(pub *mut ssl::SSL_SESSION);

impl Drop for Ticket {
    fn drop(&mut self) {
        // SAFETY: the reference that `on_session` kept.
        unsafe { ssl::SSL_SESSION_free(self.0) };
    }
}

fn c_text(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).with_context(|| format!("{} has a zero byte", path.display()))
}

/// Takes the one protocol that is served, where the client offers it (RFC 7301, section 3.1).
unsafe extern "C" fn on_alpn(
    _tls: *mut ssl::SSL,
    chosen: *mut *const u8,
    chosen_length: *mut u8,
    offered: *const u8,
    offered_length: c_uint,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: `argument` is what `serve` gave, `offered` what AWS-LC has read and checked.
    let (own, mut rest) =
        unsafe { (*argument.cast::<Protocol>().cast_const(), slice::from_raw_parts(offered, offered_length as usize)) };
    let own = &own[1..=usize::from(own[0])];
    while let Some((&length, names)) = rest.split_first() {
        let Some((name, others)) = names.split_at_checked(usize::from(length)) else { break };
        if name == own {
            // SAFETY: both are for this answer, and `name` is a part of `offered`.
            unsafe {
                *chosen = name.as_ptr();
                *chosen_length = length;
            }
            return ALPN_OK;
        }
        rest = others;
    }
    ALPN_FATAL
}

unsafe extern "C" fn on_key_log(_tls: *const ssl::SSL, line: *const c_char) {
    // SAFETY: AWS-LC gives a text that ends in a zero.
    let mut line = unsafe { CStr::from_ptr(line) }.to_bytes().to_vec();
    line.push(b'\n');
    if let Some(mut file) = KEY_LOG.get() {
        // Nobody to tell.
        let _ = file.write_all(&line);
    }
}

/// Asked for the server's certificate. 1: it is there; -1: AWS-LC asks again when ngtcp2 continues the handshake.
unsafe extern "C" fn on_certificate(tls: *mut ssl::SSL, _argument: *mut c_void) -> c_int {
    // SAFETY: `Connection` has put this there and lives as long as the SSL object.
    let shared = unsafe { Shared::of_tls(tls) };
    if shared.hold.as_ref().is_none_or(Hold::asks) { 1 } else { -1 }
}

/// Keeps the newest session of the connection. 1: the reference is kept.
unsafe extern "C" fn on_session(tls: *mut ssl::SSL, session: *mut ssl::SSL_SESSION) -> c_int {
    // SAFETY: `Connection` has put this there and lives as long as the SSL object.
    let shared = unsafe { Shared::of_tls(tls) };
    shared.ticket.replace(Some(Ticket(session)));
    1
}
