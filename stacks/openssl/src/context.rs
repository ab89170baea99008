//! A context of OpenSSL: certificates, TLS, and where its secrets are written.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_long, c_uchar, c_uint, c_void},
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    ptr,
    sync::{Mutex, OnceLock},
};

use anyhow::{Context as _, Result, ensure};
use quiclab_contract::{Role, TestCase, hq, perf};

use crate::{ffi, settings::Settings, ssl::errors};

/// A client's sessions come by the callback only.
const CLIENT_SESSIONS: c_long = (ffi::SSL_SESS_CACHE_CLIENT | ffi::SSL_SESS_CACHE_NO_INTERNAL_STORE) as c_long;

/// `PEM` of OpenSSL.
const PEM: c_int = ffi::SSL_FILETYPE_PEM as c_int;

/// Where secrets are written; of the process, because a callback has no other state.
static KEY_LOG: OnceLock<Mutex<File>> = OnceLock::new();

/// The last session that a server has offered.
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

/// A session of TLS, by which a later connection is resumed.
pub struct Session(pub *mut ffi::SSL_SESSION);

// SAFETY: OpenSSL counts who holds it, with atomic operations.
unsafe impl Send for Session {}

impl Session {
    /// The last one that came. The next call has none, unless another one comes.
    pub fn take() -> Option<Self> {
        SESSION.lock().ok()?.take()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: held by this value.
        unsafe { ffi::SSL_SESSION_free(self.0) };
    }
}

/// The state that all connections of a process share.
pub struct Context {
    /// Valid until the value is dropped.
    pub pointer: *mut ffi::SSL_CTX,
}

/// The name in ALPN, behind its length.
pub fn alpn(settings: &Settings) -> &'static [u8] {
    // As the callback gives it out, it has to live as long as the process.
    static NAMES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let [hq, perf] = NAMES.get_or_init(|| [hq::ALPN, perf::ALPN].map(|name| [&[name.len() as u8], name].concat()));
    if settings.test_case == TestCase::Perf { perf } else { hq }
}

impl Context {
    /// With the role's certificates and what the test case asks for.
    ///
    /// # Errors
    /// Where a file cannot be used, or OpenSSL lacks what was asked for.
    pub fn new(settings: &Settings) -> Result<Self> {
        // SAFETY: plain calls.
        let pointer = unsafe {
            ffi::SSL_CTX_new(match settings.role {
                Role::Server => ffi::OSSL_QUIC_server_method(),
                Role::Client => ffi::OSSL_QUIC_client_method(),
            })
        };
        ensure!(!pointer.is_null(), "SSL_CTX_new: {}", errors());
        let context = Self { pointer };
        match settings.role {
            Role::Server => context.serve(settings)?,
            Role::Client => context.trust(settings)?,
        }
        context.restrict(settings)?;
        if let Some(path) = &settings.key_log {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let _ = KEY_LOG.set(Mutex::new(file.with_context(|| path.display().to_string())?));
            // SAFETY: the function lives as long as the process.
            unsafe { ffi::SSL_CTX_set_keylog_callback(pointer, Some(on_secret)) };
        }
        Ok(context)
    }

    /// A server's key and chain, and the application that it has.
    fn serve(&self, settings: &Settings) -> Result<()> {
        let [chain, key] = ["cert.pem", "priv.key"].map(|name| settings.certs.join(name));
        // SAFETY: OpenSSL reads the strings during the calls; the name of the application and the function live as long as the process.
        unsafe {
            let outcome = ffi::SSL_CTX_use_certificate_chain_file(self.pointer, c_string(&chain)?.as_ptr());
            ensure!(outcome == 1, "{}: {}", chain.display(), errors());
            let outcome = ffi::SSL_CTX_use_PrivateKey_file(self.pointer, c_string(&key)?.as_ptr(), PEM);
            ensure!(outcome == 1, "{}: {}", key.display(), errors());
            let wanted = ptr::from_ref(alpn(settings).first().context("a name in ALPN")?).cast_mut().cast();
            ffi::SSL_CTX_set_alpn_select_cb(self.pointer, Some(choose_application), wanted);
        }
        Ok(())
    }

    /// A client's authorities, without which it trusts nobody.
    fn trust(&self, settings: &Settings) -> Result<()> {
        let path = settings.certs.join("ca.pem");
        // SAFETY: OpenSSL reads the string during the call; the function lives as long as the process.
        unsafe {
            let outcome = ffi::SSL_CTX_load_verify_file(self.pointer, c_string(&path)?.as_ptr());
            ensure!(outcome == 1, "{}: {}", path.display(), errors());
            ffi::SSL_CTX_set_verify(self.pointer, ffi::SSL_VERIFY_PEER as c_int, None);
            let mode = ffi::SSL_CTRL_SET_SESS_CACHE_MODE as c_int;
            ffi::SSL_CTX_ctrl(self.pointer, mode, CLIENT_SESSIONS, ptr::null_mut());
            ffi::SSL_CTX_sess_set_new_cb(self.pointer, Some(on_session));
        }
        Ok(())
    }

    /// The only cipher suite or key exchange, where one is asked for.
    fn restrict(&self, settings: &Settings) -> Result<()> {
        if settings.test_case == TestCase::ChaCha20 {
            // SAFETY: OpenSSL reads the string during the call.
            let outcome =
                unsafe { ffi::SSL_CTX_set_ciphersuites(self.pointer, c"TLS_CHACHA20_POLY1305_SHA256".as_ptr()) };
            ensure!(outcome == 1, "ChaCha20: {}", errors());
        }
        if let Some(key_exchange) = settings.handshake.key_exchange {
            let name = CString::new(key_exchange.group())?;
            let list = ffi::SSL_CTRL_SET_GROUPS_LIST as c_int;
            // SAFETY: OpenSSL reads the string during the call, and does not write to it.
            let outcome = unsafe { ffi::SSL_CTX_ctrl(self.pointer, list, 0, name.as_ptr().cast_mut().cast()) };
            ensure!(outcome == 1, "{}: {}", key_exchange.group(), errors());
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: held by this value; connections hold it too while they live.
        unsafe { ffi::SSL_CTX_free(self.pointer) };
    }
}

fn c_string(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes())
        .with_context(|| format!("{}: a path with a zero byte", path.display()))
}

/// Takes what the client offers, if the application is among it.
///
/// # Safety
/// As OpenSSL calls it, with the application's name behind its length as `wanted`.
unsafe extern "C" fn choose_application(
    _ssl: *mut ffi::SSL,
    chosen: *mut *const c_uchar,
    chosen_length: *mut c_uchar,
    offered: *const c_uchar,
    offered_length: c_uint,
    wanted: *mut c_void,
) -> c_int {
    // SAFETY: by contract; the result points into one of the two lists.
    let outcome = unsafe {
        let wanted: *const c_uchar = wanted.cast_const().cast();
        let length = c_uint::from(*wanted) + 1;
        ffi::SSL_select_next_proto(chosen.cast(), chosen_length, wanted, length, offered, offered_length)
    };
    if outcome == ffi::OPENSSL_NPN_NEGOTIATED as c_int {
        ffi::SSL_TLSEXT_ERR_OK as c_int
    } else {
        ffi::SSL_TLSEXT_ERR_ALERT_FATAL as c_int
    }
}

/// Keeps a session. 1: the reference is taken over.
///
/// # Safety
/// As OpenSSL calls it.
unsafe extern "C" fn on_session(_ssl: *mut ffi::SSL, session: *mut ffi::SSL_SESSION) -> c_int {
    let session = Session(session);
    if let Ok(mut last) = SESSION.lock() {
        *last = Some(session);
    }
    1
}

/// Writes a secret down.
///
/// # Safety
/// As OpenSSL calls it.
unsafe extern "C" fn on_secret(_ssl: *const ffi::SSL, line: *const c_char) {
    // SAFETY: by contract a string.
    let line = unsafe { CStr::from_ptr(line) };
    if let Some(Ok(mut file)) = KEY_LOG.get().map(Mutex::lock)
        && let Err(error) = file.write_all(&[line.to_bytes(), b"\n"].concat())
    {
        eprintln!("SSLKEYLOGFILE: {error}");
    }
}
