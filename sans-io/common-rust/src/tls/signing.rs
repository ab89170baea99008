//! ECDSA with P-256 whose signatures follow from key and message (RFC 6979): those of ring have a random part.

use std::sync::Arc;

use p256::{
    ecdsa::{DerSignature, SigningKey as Key, signature::Signer as _},
    pkcs8::{DecodePrivateKey, EncodePublicKey},
};
use rustls::{
    Error, SignatureAlgorithm, SignatureScheme,
    crypto::KeyProvider,
    pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer},
    sign::{Signer, SigningKey},
};

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_NISTP256_SHA256;

#[derive(Debug)]
pub(super) struct DeterministicKeys;

impl KeyProvider for DeterministicKeys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let PrivateKeyDer::Pkcs8(der) = &key else {
            return Err(Error::General("private key: expected PKCS #8".to_owned()));
        };
        let key = Key::from_pkcs8_der(der.secret_pkcs8_der())
            .map_err(|error| Error::General(format!("private key: expected ECDSA with P-256: {error}")))?;
        Ok(Arc::new(Ecdsa(key)))
    }
}

#[derive(Clone, Debug)]
struct Ecdsa(Key);

impl SigningKey for Ecdsa {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&SCHEME).then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        let der = self.0.verifying_key().to_public_key_der().ok()?;
        Some(SubjectPublicKeyInfoDer::from(der.into_vec()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for Ecdsa {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature: DerSignature = self.0.try_sign(message).map_err(|error| Error::General(error.to_string()))?;
        Ok(signature.as_bytes().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SCHEME
    }
}

#[cfg(test)]
mod tests {
    use p256::pkcs8::EncodePrivateKey;
    use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_signature_repeats_and_is_one_that_ring_takes() {
        let key = Key::from_slice(&[7; 32]).unwrap();
        let der = PrivateKeyDer::Pkcs8(key.to_pkcs8_der().unwrap().as_bytes().to_vec().into());
        let loaded = DeterministicKeys.load_private_key(der).unwrap();
        assert!(loaded.choose_scheme(&[SignatureScheme::ED25519]).is_none());
        let signer = loaded.choose_scheme(&[SignatureScheme::ED25519, SCHEME]).unwrap();
        let signature = signer.sign(b"message").unwrap();
        assert_eq!(signer.sign(b"message").unwrap(), signature);
        let point = key.verifying_key().to_encoded_point(false);
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point.as_bytes()).verify(b"message", &signature).unwrap();
    }

    #[test]
    fn other_keys_are_refused() {
        for der in [PrivateKeyDer::Pkcs8(vec![1, 2, 3].into()), PrivateKeyDer::Sec1(vec![1, 2, 3].into())] {
            assert!(DeterministicKeys.load_private_key(der).is_err());
        }
    }
}
