//! Whether a server's certificates are those of the host: neqo leaves that to its application.

use anyhow::{Context as _, Result, ensure};
use rustls_pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime, pem::PemObject};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::settings::Settings;

/// Certificate authorities and the host whose certificate they must have signed.
pub struct Trust {
    anchors: Vec<TrustAnchor<'static>>,
    host: ServerName<'static>,
}

impl Trust {
    /// Reads `ca.pem`.
    ///
    /// # Errors
    /// Where it cannot be read, or the host is no name.
    pub fn new(settings: &Settings) -> Result<Self> {
        let path = settings.certs.join("ca.pem");
        let read = CertificateDer::pem_file_iter(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let authorities = read.with_context(|| path.display().to_string())?;
        let anchors = authorities.iter().map(|authority| Ok(anchor_from_trusted_cert(authority)?.to_owned()));
        let anchors = anchors.collect::<Result<Vec<_>>>().with_context(|| path.display().to_string())?;
        ensure!(!anchors.is_empty(), "{}: found no certificate", path.display());
        Ok(Self { anchors, host: ServerName::try_from(settings.host().to_owned())? })
    }

    /// Checks what the server has sent, leaf first.
    ///
    /// # Errors
    /// Where nobody trusted has signed it for this host at this time.
    pub fn check<'a>(&self, sent: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let mut certificates = sent.map(CertificateDer::from_slice);
        let leaf = certificates.next().context("the server sent no certificate")?;
        let others: Vec<_> = certificates.collect();
        let leaf = EndEntityCert::try_from(&leaf).context("the server's certificate")?;
        let usage = KeyUsage::server_auth();
        leaf.verify_for_usage(ALL_VERIFICATION_ALGS, &self.anchors, &others, UnixTime::now(), usage, None, None)
            .context("the server's certificate")?;
        leaf.verify_is_valid_for_subject_name(&self.host).context("the server's certificate")
    }
}
