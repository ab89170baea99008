//! Certificates of servers, and why a client trusts them.

use std::{
    fs,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail, ensure};
use quiclab_experiment::run::{Certificate, CertificateKey};
use quiclab_testbed::{certificates, hash};

use super::{hooks::Hooks, settings::PerfSettings};

/// Makes certificates of a new authority in `folder`. Returns the PEM of the authority.
///
/// # Errors
/// Where the folder cannot be written.
pub fn make(folder: &Path) -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("this machine's clock")?.as_secs() as i64;
    // All keys follow from it, so nobody else may guess it.
    let made = certificates::make_at(now, random()?, Certificate::Small, CertificateKey::EcdsaP256)?;
    let authority = made.authority.clone();
    for (name, text) in made.files() {
        fs::write(folder.join(name), text).with_context(|| folder.display().to_string())?;
    }
    Ok(authority)
}

/// A number that nobody can guess.
///
/// # Errors
/// Where this machine has none.
pub fn random() -> Result<u64> {
    let mut bytes = [0; 8];
    fs::File::open("/dev/urandom")
        .and_then(|mut random| std::io::Read::read_exact(&mut random, &mut bytes))
        .context("/dev/urandom")?;
    Ok(u64::from_le_bytes(bytes))
}

/// SHA-256 of a certificate (DER), as `openssl x509 -fingerprint -sha256` prints it but for the colons.
///
/// # Errors
/// Where the text is no certificate.
pub fn pin_of(authority: &str) -> Result<String> {
    let certificate = pem::parse(authority).context("the authority's certificate")?;
    ensure!(certificate.tag() == "CERTIFICATE", "found {:?}, expected a certificate", certificate.tag());
    Ok(hash::of_reader(&mut certificate.contents())?)
}

/// Whether the authority that a server has named is to be trusted.
///
/// # Errors
/// Where nothing speaks for it.
pub fn check(settings: &PerfSettings, authority: &str, hooks: Hooks) -> Result<()> {
    let found = pin_of(authority)?;
    match &settings.pin {
        Some(pin) if *pin == found => Ok(()),
        Some(pin) => bail!("--pin: the server's authority has SHA-256 {found}, expected {pin}"),
        None if settings.insecure => {
            hooks.status("quiclab: --insecure: the server's certificate is not verified");
            Ok(())
        }
        None => bail!(
            "nothing says that the server's certificate is the right one; its authority has SHA-256 {found}\n\
             hint: compare that with what quiclab perf -s has printed, and give it as --pin; or --insecure"
        ),
    }
}
