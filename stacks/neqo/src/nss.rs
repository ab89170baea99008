//! The server's key and certificates in a database of NSS, where neqo looks for them by name.

use std::{
    ffi::{CString, c_char, c_int, c_uint, c_ulong, c_void},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    process, ptr,
};

use anyhow::{Context as _, Result, ensure};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tempfile::TempDir;

use crate::settings::Settings;

/// Name of the server's certificate in the database.
pub const NAME: &str = "server";

/// Every usage of a key, `KU_ALL` of NSS.
const ANY_USAGE: c_uint = 0xff;

/// Sessions that the server remembers, as neqo has it.
const SESSIONS: c_int = 1024;

/// `SECItem` of NSS.
#[repr(C)]
struct Item {
    kind: c_uint,
    data: *const u8,
    length: c_uint,
}

impl Item {
    fn new(bytes: &[u8]) -> Self {
        Self { kind: 0, data: bytes.as_ptr(), length: bytes.len() as c_uint }
    }
}

// Functions that neqo-crypto does not declare. It links the libraries that have them.
unsafe extern "C" {
    fn NSS_Initialize(
        folder: *const c_char,
        certificates: *const c_char,
        keys: *const c_char,
        modules: *const c_char,
        flags: c_uint,
    ) -> c_int;
    fn NSS_SetDomesticPolicy() -> c_int;
    fn SSL_ConfigServerSessionIDCache(most: c_int, old: c_uint, timeout: c_uint, folder: *const c_char) -> c_int;
    fn PK11_GetInternalKeySlot() -> *mut c_void;
    fn PK11_NeedUserInit(slot: *mut c_void) -> c_int;
    fn PK11_InitPin(slot: *mut c_void, officer: *const c_char, user: *const c_char) -> c_int;
    fn PK11_ImportDERPrivateKeyInfoAndReturnKey(
        slot: *mut c_void,
        key: *const Item,
        name: *const Item,
        public: *const Item,
        permanent: c_int,
        private: c_int,
        usage: c_uint,
        imported: *mut *mut c_void,
        context: *mut c_void,
    ) -> c_int;
    fn SECKEY_DestroyPrivateKey(key: *mut c_void);
    fn PK11_ImportDERCert(
        slot: *mut c_void,
        certificate: *const Item,
        key: c_ulong,
        name: *const c_char,
        trust: c_int,
    ) -> c_int;
    fn PR_GetError() -> c_int;
}

/// The folder of the database. It goes when the value does.
pub struct Database {
    _folder: TempDir,
}

impl Database {
    /// Starts NSS with a new database in a new folder below `parent`, and stores `cert.pem` and `priv.key` in it.
    ///
    /// # Errors
    /// Where they cannot be read, or NSS refuses them.
    pub fn new(settings: &Settings, parent: &Path) -> Result<Self> {
        let (path, key_path) = (settings.certs.join("cert.pem"), settings.certs.join("priv.key"));
        let read = CertificateDer::pem_file_iter(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = read.with_context(|| path.display().to_string())?;
        ensure!(!chain.is_empty(), "{}: found no certificate", path.display());
        let key = PrivateKeyDer::from_pem_file(&key_path).with_context(|| key_path.display().to_string())?;

        // Named by the process, too: the rest of the name is drawn from the seed in the simulator, and a second draw would change what follows.
        let prefix = format!("quiclab-neqo-{}-", process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
        let folder = folder.context("a folder for the database of NSS")?;
        let name = CString::new([b"sql:", folder.path().as_os_str().as_bytes()].concat())?;
        // SAFETY: strings that end with zero and live during the calls.
        unsafe {
            let modules = c"secmod.db".as_ptr();
            check(NSS_Initialize(name.as_ptr(), c"".as_ptr(), c"".as_ptr(), modules, 0), "NSS_Initialize")?;
            check(NSS_SetDomesticPolicy(), "NSS_SetDomesticPolicy")?;
            let cache = CString::new(folder.path().as_os_str().as_bytes())?;
            check(SSL_ConfigServerSessionIDCache(SESSIONS, 0, 0, cache.as_ptr()), "SSL_ConfigServerSessionIDCache")?;
        }
        store(&chain, key.secret_der())?;
        // Finds that NSS has begun, and begins what is neqo's own.
        neqo_crypto::init()?;
        Ok(Self { _folder: folder })
    }
}

/// Stores a key and the chain of its certificate, of which the leaf has a name.
fn store(chain: &[CertificateDer], key: &[u8]) -> Result<()> {
    // SAFETY: NSS has begun; everything pointed to lives during the calls, and NSS keeps copies.
    unsafe {
        let slot = PK11_GetInternalKeySlot();
        ensure!(!slot.is_null(), "PK11_GetInternalKeySlot: error {}", PR_GetError());
        if PK11_NeedUserInit(slot) != 0 {
            check(PK11_InitPin(slot, ptr::null(), ptr::null()), "PK11_InitPin")?;
        }
        let mut imported = ptr::null_mut();
        let outcome = PK11_ImportDERPrivateKeyInfoAndReturnKey(
            slot,
            &Item::new(key),
            ptr::null(),
            ptr::null(),
            1,
            1,
            ANY_USAGE,
            &mut imported,
            ptr::null_mut(),
        );
        check(outcome, "priv.key: PK11_ImportDERPrivateKeyInfoAndReturnKey")?;
        SECKEY_DestroyPrivateKey(imported);
        for (index, certificate) in chain.iter().enumerate() {
            let name = match index {
                0 => NAME.to_owned(),
                _ => format!("{NAME}-{index}"),
            };
            let name = CString::new(name)?;
            let item = Item::new(certificate);
            check(PK11_ImportDERCert(slot, &item, 0, name.as_ptr(), 0), "cert.pem: PK11_ImportDERCert")?;
        }
    }
    Ok(())
}

/// Turns the answer of a function of NSS, of which zero is success, into a result.
fn check(outcome: c_int, what: &str) -> Result<()> {
    // SAFETY: only reads the error of this thread.
    let error = || unsafe { PR_GetError() };
    ensure!(outcome == 0, "{what}: NSS error {}", error());
    Ok(())
}
