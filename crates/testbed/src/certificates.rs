//! Certificates of one run, all of whose bytes follow from its seed.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use quiclab_experiment::run::{Certificate, CertificateKey};
use rcgen::{
    BasicConstraints, Certificate as Signed, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyUsagePurpose, PublicKeyData, SerialNumber,
};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use self::keys::{AuthorityKey, ServerKey};

mod keys;

/// What the endpoints get, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificates {
    /// The server's certificate; a chain would follow leaf first.
    pub chain: String,
    /// The server's private key, PKCS #8.
    pub key: String,
    /// The authority that signed it, which the client trusts.
    pub authority: String,
}

impl Certificates {
    /// The length of each certificate of the chain in DER, leaf first, in bytes.
    pub fn der_sizes(&self) -> Vec<usize> {
        // A letter of base64 has six bits.
        let digits = |text: &str| text.chars().filter(|letter| !letter.is_whitespace() && *letter != '=').count();
        let certificates = self.chain.split("-----BEGIN CERTIFICATE-----").skip(1);
        certificates.map(|text| digits(text.split("-----END").next().unwrap_or_default()) * 6 / 8).collect()
    }

    /// The files by which an endpoint gets them, by name.
    pub fn files(self) -> [(&'static str, String); 3] {
        [("cert.pem", self.chain), ("priv.key", self.key), ("ca.pem", self.authority)]
    }
}

/// Start of the guest's clock, 2026-01-01, in seconds since the Unix epoch.
pub const GUEST_EPOCH_SECONDS: i64 = 1_767_225_600;

/// Names of the server, by the address they lead to.
const NAMES: [&str; 4] = ["server", "server4", "server6", "server46"];
/// Intermediate authorities of a large chain: as many as rustls accepts (webpki takes six). Each adds more than [`PADDING`] bytes.
const INTERMEDIATES: usize = 6;
/// Length of what makes an intermediate's certificate large, in bytes.
const PADDING: usize = 1300;
/// Up to this size, in bytes, a chain is a leaf alone. Such leaves exist: with several names and the proofs of certificate transparency.
const LARGEST_LONE_LEAF: usize = 2000;
/// What the leaf of a longer chain has, about.
const USUAL_LEAF: usize = 1000;
/// What an intermediate authority's certificate has, unless there are too many of them.
const USUAL_INTERMEDIATE: usize = 1500;
/// What it has without padding, about.
const BARE_INTERMEDIATE: usize = 480;
/// Number from which the padding of a leaf is counted, so that it is unlike that of an intermediate.
const LEAF: u64 = 1 << 32;
/// Tries to meet a size to the byte. A signature of ECDSA takes 70 to 72 bytes by chance, so each has a chance of a quarter or more.
const TRIES: u64 = 256;

/// The certificates of the seed 0. Every run's identity covers them, and they take milliseconds: too long for each of 100 000 planned runs.
static OF_SEED_ZERO: Mutex<Vec<(Certificate, CertificateKey, Certificates)>> = Mutex::new(Vec::new());

/// Makes them for the server.
///
/// Its key is of the kind `key`, those of its authorities ECDSA on P-256. Signatures are deterministic: the same seed gives the same bytes.
///
/// # Errors
/// Where the seed gives no key, or where no chain has the size.
pub fn make(seed: u64, kind: Certificate, key: CertificateKey) -> Result<Certificates> {
    if seed != 0 {
        return make_at(GUEST_EPOCH_SECONDS, seed, kind, key);
    }
    let mut known = OF_SEED_ZERO.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., made)) = known.iter().find(|(other, of_key, _)| (*other, *of_key) == (kind, key)) {
        return Ok(made.clone());
    }
    let made = make_at(GUEST_EPOCH_SECONDS, seed, kind, key)?;
    known.push((kind, key, made.clone()));
    Ok(made)
}

/// The same, for a machine whose clock is at `epoch` in seconds since the Unix epoch: valid from a day before for a year.
///
/// # Errors
/// As [`make`].
pub fn make_at(epoch: i64, seed: u64, kind: Certificate, key: CertificateKey) -> Result<Certificates> {
    let epoch = OffsetDateTime::from_unix_timestamp(epoch)?;
    let parameters = |names: Vec<String>, common_name: &str, serial: u64, key: &dyn PublicKeyData| {
        parameters(epoch, names, common_name, serial, key)
    };
    let authority_key = AuthorityKey::derive(seed, "authority")?;
    let mut authority = parameters(vec![], "quiclab authority", seed, &authority_key)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority_certificate = authority.self_signed(&authority_key)?;

    let mut issuer = Issuer::new(authority, authority_key);
    let mut intermediates = Vec::new();
    for (number, length) in (1..).zip(intermediate_paddings(kind)) {
        let name = format!("quiclab intermediate {number}");
        let key = AuthorityKey::derive(seed, &name)?;
        let mut parameters = parameters(vec![], &name, seed.wrapping_add(2 * (number + 1)), &key)?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        parameters.use_authority_key_identifier_extension = true;
        parameters.custom_extensions = vec![padding(seed, number, length)];
        intermediates.push(parameters.signed_by(&key, &issuer)?);
        issuer = Issuer::new(parameters, key);
    }

    let server_key = ServerKey::derive(seed, key)?;
    let names = NAMES.map(str::to_owned).to_vec();
    let mut server = parameters(names, NAMES[0], seed.wrapping_add(1), &server_key)?;
    // No key usage, so any: kwik's TLS asks Java about every certificate as if it were for RSA key exchange.
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let certificate = match kind {
        Certificate::Small | Certificate::Large => server.signed_by(&server_key, &issuer)?,
        Certificate::Size(size) => {
            let others: usize = intermediates.iter().map(|one| one.der().len()).sum();
            let room = usize::try_from(size.as_bytes())?.saturating_sub(others);
            leaf_of(room, seed, |padding| {
                server.custom_extensions = vec![padding];
                Ok(server.signed_by(&server_key, &issuer)?)
            })
            .with_context(|| format!("workload.certificate: a chain of {size} cannot be made"))?
        }
    };
    // The leaf first, then each one's issuer.
    let chain = std::iter::once(&certificate).chain(intermediates.iter().rev()).map(Signed::pem).collect();
    Ok(Certificates { chain, key: server_key.pem, authority: authority_certificate.pem() })
}

/// The intermediate authorities of a chain, from the root: how many bytes the certificate of each is padded by.
fn intermediate_paddings(kind: Certificate) -> Vec<usize> {
    match kind {
        Certificate::Small => vec![],
        Certificate::Large => vec![PADDING; INTERMEDIATES],
        Certificate::Size(size) => {
            let size = usize::try_from(size.as_bytes()).unwrap_or(usize::MAX);
            if size <= LARGEST_LONE_LEAF {
                return vec![];
            }
            let room = size - USUAL_LEAF;
            let count = room.div_ceil(USUAL_INTERMEDIATE).min(INTERMEDIATES);
            vec![(room / count).saturating_sub(BARE_INTERMEDIATE); count]
        }
    }
}

/// The certificate of exactly `size` bytes that `sign` makes with one padding or another.
fn leaf_of(size: usize, seed: u64, mut sign: impl FnMut(CustomExtension) -> Result<Signed>) -> Result<Signed> {
    let mut length = 0;
    let mut smallest = usize::MAX;
    for number in (LEAF..).take(TRIES as usize) {
        let certificate = sign(padding(seed, number, length))?;
        let found = certificate.der().len();
        if found == size {
            return Ok(certificate);
        }
        smallest = smallest.min(found);
        length = (length + size).saturating_sub(found);
    }
    bail!("the leaf has {smallest} bytes at least, and {size} are left for it")
}

/// An extension that nobody knows, full of bytes that no compression shortens: certificates may be compressed (RFC 8879).
fn padding(seed: u64, number: u64, length: usize) -> CustomExtension {
    // Below the arc for examples (RFC 5612 does the same for organisations): 2.999 is free for all.
    const EXAMPLE: &[u64] = &[2, 999, 1];
    let block = |part: u64| Sha256::digest([seed, number, part].map(u64::to_le_bytes).concat());
    let bytes: Vec<u8> = (0..).flat_map(block).take(length).collect();
    let mut content = vec![0x04];
    content.extend(der_length(length));
    content.extend(bytes);
    CustomExtension::from_oid_content(EXAMPLE, content)
}

/// The length of a value in DER (ITU-T X.690, section 10.1): in one byte below 128, otherwise behind the number of its bytes.
fn der_length(length: usize) -> Vec<u8> {
    let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    match length {
        0..128 => vec![length as u8],
        _ => [vec![0x80 | bytes.len() as u8], bytes].concat(),
    }
}

fn parameters(
    epoch: OffsetDateTime,
    names: Vec<String>,
    common_name: &str,
    serial: u64,
    key: &dyn PublicKeyData,
) -> Result<CertificateParams> {
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    // A positive number in any case (RFC 5280, 4.1.2.2).
    parameters.serial_number = Some(SerialNumber::from(serial >> 1 | 1));
    parameters.key_identifier_method = KeyIdMethod::PreSpecified(Sha256::digest(key.der_bytes())[..20].to_vec());
    parameters.not_before = epoch - Duration::days(1);
    parameters.not_after = epoch + Duration::days(365);
    Ok(parameters)
}

#[cfg(test)]
mod tests;
