//! ECDSA with P-256 whose signatures follow from key and message alone. ring adds random bytes to what its nonces follow from; here they are always
//! the same, so a nonce is a hash of key and message, as in RFC 6979, but not the same one.

use std::sync::Arc;

use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls::{
    Error, SignatureAlgorithm, SignatureScheme,
    crypto::KeyProvider,
    pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer, alg_id},
    sign::{Signer, SigningKey, public_key_to_spki},
};

use super::fixed_random::FixedByte;

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_NISTP256_SHA256;

#[derive(Debug)]
pub(super) struct DeterministicKeys;

impl KeyProvider for DeterministicKeys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let PrivateKeyDer::Pkcs8(der) = &key else {
            return Err(Error::General("private key: expected PKCS #8".to_owned()));
        };
        let random = FixedByte { byte: 0 };
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der.secret_pkcs8_der(), &random);
        let key = key.map_err(|error| {
            Error::General(format!("private key: expected ECDSA with P-256, with its public key: {error}"))
        })?;
        Ok(Arc::new(Ecdsa(Arc::new(key))))
    }
}

#[derive(Clone, Debug)]
struct Ecdsa(Arc<EcdsaKeyPair>);

impl SigningKey for Ecdsa {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&SCHEME).then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(&alg_id::ECDSA_P256, self.0.public_key()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for Ecdsa {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        // A nonce that is no number of the curve's, one of 2^32, is refused; then the next byte gives another one.
        let signature = (0..=u8::MAX).find_map(|byte| self.0.sign(&FixedByte { byte }, message).ok());
        let signature = signature.ok_or_else(|| Error::General("ECDSA: ring does not sign".to_owned()))?;
        Ok(signature.as_ref().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SCHEME
    }
}

#[cfg(test)]
mod tests {
    use p256::{
        ecdsa::{DerSignature, SigningKey as Key, signature::Verifier},
        pkcs8::{EncodePrivateKey, EncodePublicKey},
    };

    use super::*;

    #[test]
    fn a_signature_follows_from_key_and_message_and_another_implementation_accepts_it() {
        let key = Key::from_slice(&[7; 32]).unwrap();
        let der = PrivateKeyDer::Pkcs8(key.to_pkcs8_der().unwrap().as_bytes().to_vec().into());
        let loaded = DeterministicKeys.load_private_key(der).unwrap();
        assert!(loaded.choose_scheme(&[SignatureScheme::ED25519]).is_none());
        let signer = loaded.choose_scheme(&[SignatureScheme::ED25519, SCHEME]).unwrap();
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
        let signer = DeterministicKeys.load_private_key(der).unwrap().choose_scheme(&[SCHEME]).unwrap();
        // The first half of a signature follows from the nonce alone.
        let r = |message: &[u8]| DerSignature::try_from(&signer.sign(message).unwrap()[..]).unwrap();
        let r = |message: &[u8]| p256::ecdsa::Signature::try_from(r(message)).unwrap().split_bytes().0;
        assert_ne!(r(b"one"), r(b"other"));
    }

    #[test]
    fn other_keys_are_refused() {
        for der in [PrivateKeyDer::Pkcs8(vec![1, 2, 3].into()), PrivateKeyDer::Sec1(vec![1, 2, 3].into())] {
            assert!(DeterministicKeys.load_private_key(der).is_err());
        }
    }
}
