//! Signatures that follow from key and message alone. For ECDSA ring adds random bytes to what its nonces follow from; here they are always
//! the same, so a nonce is a hash of key and message, as in RFC 6979, but not the same one. The salt of RSASSA-PSS (RFC 8017, section 9.1.1) is
//! always the same, too.

use std::sync::Arc;

use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _,
    RSA_PSS_SHA256, RsaKeyPair,
};
use rustls::{
    Error, SignatureAlgorithm, SignatureScheme,
    crypto::KeyProvider,
    pki_types::{AlgorithmIdentifier, PrivateKeyDer, SubjectPublicKeyInfoDer, alg_id},
    sign::{Signer, SigningKey, public_key_to_spki},
};

use super::fixed_random::FixedByte;

#[derive(Debug)]
pub(super) struct DeterministicKeys;

impl KeyProvider for DeterministicKeys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let PrivateKeyDer::Pkcs8(der) = &key else {
            return Err(Error::General("private key: expected PKCS #8".to_owned()));
        };
        let der = der.secret_pkcs8_der();
        for curve in [&P256, &P384] {
            if let Ok(key) = EcdsaKeyPair::from_pkcs8(curve.signing, der, &FixedByte { byte: 0 }) {
                return Ok(Arc::new(Ecdsa { key: Arc::new(key), curve }));
            }
        }
        let key = RsaKeyPair::from_pkcs8(der).map_err(|error| {
            Error::General(format!(
                "private key: found neither ECDSA with P-256 or P-384, with its public key, nor RSA with 2048 to 4096 bits \
                 ({error}); set workload.certificate_key to one of these"
            ))
        })?;
        Ok(Arc::new(Rsa(Arc::new(key))))
    }
}

/// What belongs to a curve in TLS 1.3 (RFC 8446, section 4.2.3).
#[derive(Debug)]
struct Curve {
    signing: &'static EcdsaSigningAlgorithm,
    scheme: SignatureScheme,
    identifier: AlgorithmIdentifier,
}

static P256: Curve = Curve {
    signing: &ECDSA_P256_SHA256_ASN1_SIGNING,
    scheme: SignatureScheme::ECDSA_NISTP256_SHA256,
    identifier: alg_id::ECDSA_P256,
};
static P384: Curve = Curve {
    signing: &ECDSA_P384_SHA384_ASN1_SIGNING,
    scheme: SignatureScheme::ECDSA_NISTP384_SHA384,
    identifier: alg_id::ECDSA_P384,
};

#[derive(Clone, Debug)]
struct Ecdsa {
    key: Arc<EcdsaKeyPair>,
    curve: &'static Curve,
}

impl SigningKey for Ecdsa {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&self.curve.scheme).then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(&self.curve.identifier, self.key.public_key()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for Ecdsa {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        // A nonce that is no number of the curve's, one of 2^32, is refused; then the next byte gives another one.
        let signature = (0..=u8::MAX).find_map(|byte| self.key.sign(&FixedByte { byte }, message).ok());
        let signature = signature.ok_or_else(|| Error::General("ECDSA: ring does not sign".to_owned()))?;
        Ok(signature.as_ref().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        self.curve.scheme
    }
}

#[derive(Clone, Debug)]
struct Rsa(Arc<RsaKeyPair>);

impl Rsa {
    const SCHEME: SignatureScheme = SignatureScheme::RSA_PSS_SHA256;
}

impl SigningKey for Rsa {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&Self::SCHEME).then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(&alg_id::RSA_ENCRYPTION, self.0.public_key()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

impl Signer for Rsa {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut signature = vec![0; self.0.public().modulus_len()];
        let signed = self.0.sign(&RSA_PSS_SHA256, &FixedByte { byte: 0 }, message, &mut signature);
        signed.map_err(|_| Error::General("RSA: ring does not sign".to_owned()))?;
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        Self::SCHEME
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use p256::{
        ecdsa::{DerSignature, SigningKey as Key, signature::Verifier},
        pkcs8::{EncodePrivateKey, EncodePublicKey},
    };
    use rustls::pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn a_signature_follows_from_key_and_message_and_another_implementation_accepts_it() {
        let key = Key::from_slice(&[7; 32]).unwrap();
        let der = PrivateKeyDer::Pkcs8(key.to_pkcs8_der().unwrap().as_bytes().to_vec().into());
        let loaded = DeterministicKeys.load_private_key(der).unwrap();
        assert!(loaded.choose_scheme(&[SignatureScheme::ED25519]).is_none());
        let signer = loaded.choose_scheme(&[SignatureScheme::ED25519, P256.scheme]).unwrap();
        let signature = signer.sign(b"message").unwrap();
        assert_eq!(signer.sign(b"message").unwrap(), signature);
        let public = key.verifying_key();
        let verify = |message: &[u8]| public.verify(message, &DerSignature::try_from(&signature[..]).unwrap());
        assert!(verify(b"message").is_ok() && verify(b"massage").is_err());
        assert_eq!(loaded.public_key().unwrap().as_ref(), public.to_public_key_der().unwrap().as_bytes());
    }

    #[test]
    fn no_two_messages_have_one_nonce() {
        let key = Key::from_slice(&[7; 32]).unwrap();
        let der = PrivateKeyDer::Pkcs8(key.to_pkcs8_der().unwrap().as_bytes().to_vec().into());
        let signer = DeterministicKeys.load_private_key(der).unwrap().choose_scheme(&[P256.scheme]).unwrap();
        // The first half of a signature follows from the nonce alone.
        let r = |message: &[u8]| DerSignature::try_from(&signer.sign(message).unwrap()[..]).unwrap();
        let r = |message: &[u8]| p256::ecdsa::Signature::try_from(r(message)).unwrap().split_bytes().0;
        assert_ne!(r(b"one"), r(b"other"));
    }

    /// Runs openssl in `folder`.
    fn openssl(folder: &Path, arguments: &str) {
        let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn openssl_accepts_the_signatures_of_other_keys_which_follow_from_key_and_message_too() {
        let folder = std::env::temp_dir().join(format!("quiclab-signing-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let pss = " -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest";
        for (made, scheme, digest, options) in [
            ("-algorithm RSA -pkeyopt rsa_keygen_bits:2048", SignatureScheme::RSA_PSS_SHA256, "-sha256", pss),
            ("-algorithm RSA -pkeyopt rsa_keygen_bits:4096", SignatureScheme::RSA_PSS_SHA256, "-sha256", pss),
            ("-algorithm EC -pkeyopt ec_paramgen_curve:P-384", SignatureScheme::ECDSA_NISTP384_SHA384, "-sha384", ""),
        ] {
            openssl(&folder, &format!("genpkey {made} -out key.pem"));
            openssl(&folder, "pkey -in key.pem -pubout -out public.pem");
            openssl(&folder, "pkey -in key.pem -pubout -outform DER -out public.der");
            let loaded =
                DeterministicKeys.load_private_key(PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap());
            let loaded = loaded.unwrap();
            assert!(loaded.choose_scheme(&[P256.scheme]).is_none());
            let signer = loaded.choose_scheme(&[P256.scheme, scheme]).unwrap();
            assert_eq!(signer.scheme(), scheme);
            let signature = signer.sign(b"message").unwrap();
            assert_eq!(signer.sign(b"message").unwrap(), signature, "{made}");
            assert_eq!(loaded.public_key().unwrap().as_ref(), fs::read(folder.join("public.der")).unwrap());
            fs::write(folder.join("signature"), signature).unwrap();
            fs::write(folder.join("message"), "message").unwrap();
            openssl(&folder, &format!("dgst {digest} -verify public.pem{options} -signature signature message"));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn other_keys_are_refused() {
        for der in [PrivateKeyDer::Pkcs8(vec![1, 2, 3].into()), PrivateKeyDer::Sec1(vec![1, 2, 3].into())] {
            assert!(DeterministicKeys.load_private_key(der).is_err());
        }
    }
}
