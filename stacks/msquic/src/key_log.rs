//! TLS secrets of a connection, in the NSS key log format.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    ptr,
};

use anyhow::{Context, Result};
use msquic::{
    Api, Connection,
    ffi::{QUIC_PARAM_CONN_TLS_SECRETS, QUIC_TLS_SECRETS},
};

/// Where the library leaves the secrets of one connection. It must live until the connection is closed.
pub struct KeyLog {
    secrets: *mut QUIC_TLS_SECRETS,
    path: PathBuf,
}

impl KeyLog {
    /// Asks for the secrets of a connection that has not begun.
    ///
    /// # Errors
    /// Where the library refuses.
    pub fn new(connection: &Connection, path: &Path) -> Result<Self> {
        // SAFETY: all zeros is a value of this C structure.
        let secrets = Box::into_raw(Box::new(unsafe { std::mem::zeroed::<QUIC_TLS_SECRETS>() }));
        let log = Self { secrets, path: path.to_owned() };
        let size = u32::try_from(size_of::<QUIC_TLS_SECRETS>())?;
        // SAFETY: parameter and type belong together, and the memory is freed after the connection.
        unsafe { Api::set_param(connection.as_raw(), QUIC_PARAM_CONN_TLS_SECRETS, size, secrets.cast()) }?;
        Ok(log)
    }

    /// Appends what is known by now to the file; to be called once, when the handshake is complete.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&self) -> Result<()> {
        // SAFETY: it lives as long as `self`, and the library writes to it on the thread that calls this.
        let secrets = unsafe { ptr::read(self.secrets) };
        let length = usize::from(secrets.SecretLength);
        let random = hex(&secrets.ClientRandom);
        let known = &secrets.IsSet;
        let lines = [
            ("CLIENT_EARLY_TRAFFIC_SECRET", known.ClientEarlyTrafficSecret(), &secrets.ClientEarlyTrafficSecret),
            (
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
                known.ClientHandshakeTrafficSecret(),
                &secrets.ClientHandshakeTrafficSecret,
            ),
            (
                "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                known.ServerHandshakeTrafficSecret(),
                &secrets.ServerHandshakeTrafficSecret,
            ),
            ("CLIENT_TRAFFIC_SECRET_0", known.ClientTrafficSecret0(), &secrets.ClientTrafficSecret0),
            ("SERVER_TRAFFIC_SECRET_0", known.ServerTrafficSecret0(), &secrets.ServerTrafficSecret0),
        ];
        let mut text = String::new();
        for (label, known, secret) in lines {
            if known != 0 {
                let _ = writeln!(text, "{label} {random} {}", hex(secret.get(..length).unwrap_or(secret)));
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| self.path.display().to_string())
    }
}

impl Drop for KeyLog {
    fn drop(&mut self) {
        // SAFETY: `new` made it of a box, and the connection is closed.
        drop(unsafe { Box::from_raw(self.secrets) });
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
