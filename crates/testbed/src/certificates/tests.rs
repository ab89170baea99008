use std::{env, process::Command};

use super::*;

const KINDS: [CertificateKey; 4] =
    [CertificateKey::EcdsaP256, CertificateKey::EcdsaP384, CertificateKey::Rsa2048, CertificateKey::Rsa4096];
/// Set for a second process, which prints digests and does nothing else.
const PRINTS: &str = "QUICLAB_TEST_PRINTS_DIGESTS";

/// Makes certificates with the usual key.
fn make(seed: u64, kind: Certificate) -> Result<Certificates> {
    super::make(seed, kind, CertificateKey::EcdsaP256)
}

fn digest(made: Certificates) -> String {
    let bytes = Sha256::digest([made.chain, made.key, made.authority].concat());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_seed_gives_the_same_certificates_and_another_gives_others() {
    let make = |seed| make(seed, Certificate::Large).unwrap();
    assert_eq!(make(1), make(1));
    assert_ne!(make(1).chain, make(2).chain);
}

/// Made with p256 0.13 and sha2 0.10: an upgrade that changes them changes what every run sends.
#[test]
fn certificates_are_the_same_with_every_version_of_their_libraries() {
    let digest = |kind| digest(make(7, kind).unwrap());
    let small = "1e1b41588078f61ca2cb5771bab3a6171fcddff83c21b925dbd5c234565dcb97";
    assert_eq!(digest(Certificate::Small), small);
    let large = "4ab664d546adb0905cc1100aea8711644e89a050977019567c4617bd9f77766c";
    assert_eq!(digest(Certificate::Large), large);
}

/// Made with p384 0.14, rsa 0.10, crypto-primes 0.7 and rand_chacha 0.10.
#[test]
fn keys_of_every_kind_are_the_same_with_every_version_of_their_libraries() {
    let found = KINDS.map(|key| digest(super::make(11, sized(1212), key).unwrap()));
    let expected = [
        "1578c4413bd422f994fc545cf07a4b42d6899b1b98f7cdfa28c64dce884ffc8c",
        "00d2225ea4889dc5dc77b978d18143d4619edd344aae34a14ca9de4d2e8e5e64",
        "3cc2efe199bd0e2a032891ae431fd15dcc37f83793d48ced2989c50267753f6e",
        "f36d5ec2ad413909867b6c09a4ff94d0b3e04da40794f33ddfa5365be29f3dbb",
    ];
    assert_eq!(found, expected);
}

#[test]
fn two_processes_make_the_same_bytes_of_a_seed_with_each_kind_of_key() {
    let digests = KINDS.map(|key| digest(super::make(11, sized(1212), key).unwrap())).join(" ");
    if env::var_os(PRINTS).is_some() {
        println!("digests: {digests}");
        return;
    }
    let name = "certificates::tests::two_processes_make_the_same_bytes_of_a_seed_with_each_kind_of_key";
    let mut other = Command::new(env::current_exe().unwrap());
    let other = other.args(["--exact", name, "--nocapture"]).env(PRINTS, "1").output().unwrap();
    let output = String::from_utf8(other.stdout).unwrap();
    assert!(output.contains(&format!("digests: {digests}")), "{digests}\n{output}");
}

#[test]
fn a_key_follows_from_seed_and_kind() {
    let keys: Vec<_> = [(7, CertificateKey::Rsa2048), (8, CertificateKey::Rsa2048), (7, CertificateKey::Rsa4096)]
        .map(|(seed, kind)| super::make(seed, Certificate::Small, kind).unwrap().key)
        .into();
    assert!(keys[0] != keys[1] && keys[0] != keys[2]);
}

#[test]
fn a_large_chain_is_three_times_what_a_client_sends_first_and_a_small_one_is_not() {
    let bytes = |kind| make(7, kind).unwrap().chain.len() * 3 / 4;
    assert!(bytes(Certificate::Large) > 9000, "{}", bytes(Certificate::Large));
    assert!(bytes(Certificate::Small) < 1000, "{}", bytes(Certificate::Small));
}

fn size(made: &Certificates) -> usize {
    made.der_sizes().iter().sum()
}

fn sized(bytes: u64) -> Certificate {
    Certificate::Size(quiclab_units::ByteCount::from_bytes(bytes))
}

#[test]
fn a_chain_has_the_size_that_was_asked_for_to_the_byte() {
    // Where the lengths of lengths change, and those of the study of instant acknowledgments.
    let create = [640, 895, 1023, 1212, 2000, 2001, 4096, 5113, 10_000, 65_536, 1 << 20];
    for bytes in (500..=600).chain(create) {
        let made = make(bytes, sized(bytes)).unwrap_or_else(|error| panic!("{bytes}: {error:#}"));
        assert_eq!(size(&made) as u64, bytes);
    }
    for seed in 0..40 {
        assert_eq!(size(&make(seed, sized(500)).unwrap()), 500, "seed {seed}");
    }
    assert_eq!(make(7, sized(5113)).unwrap(), make(7, sized(5113)).unwrap());
}

#[test]
fn a_chain_that_is_too_short_for_its_leaf_is_refused_with_the_shortest_length() {
    let error = format!("{:#}", make(7, sized(390)).unwrap_err());
    assert!(error.contains("a chain of 390 B cannot be made: the leaf has 40"), "{error}");
    assert!(error.contains("bytes at least, and 390 are left for it"), "{error}");
}

#[test]
fn a_chain_with_another_key_has_its_size_to_the_byte_too() {
    for key in KINDS {
        let smallest = key.smallest_chain().as_bytes();
        for bytes in (smallest..smallest + 30).chain([1212, 2000, 2001, 5113, 65_536]) {
            let made = super::make(7, sized(bytes), key).unwrap_or_else(|error| panic!("{key:?}, {bytes}: {error:#}"));
            assert_eq!(size(&made) as u64, bytes, "{key:?}");
        }
    }
}

/// Pairs of what is always possible and what is not.
#[test]
fn a_chain_that_is_too_short_for_its_leaf_with_rsa_is_refused() {
    for (key, bytes, expected) in
        [(CertificateKey::Rsa2048, 600, "the leaf has 60"), (CertificateKey::Rsa4096, 850, "the leaf has 86")]
    {
        let error = format!("{:#}", super::make(7, sized(bytes), key).unwrap_err());
        assert!(error.contains(expected) && error.contains(&format!("and {bytes} are left for it")), "{error}");
    }
}

#[test]
fn openssl_finds_the_kind_of_key_and_the_size_of_each_chain() {
    for (key, expected) in [
        (CertificateKey::EcdsaP256, &["id-ecPublicKey", "Public-Key: (256 bit)", "NIST CURVE: P-256"][..]),
        (CertificateKey::EcdsaP384, &["id-ecPublicKey", "Public-Key: (384 bit)", "NIST CURVE: P-384"]),
        (CertificateKey::Rsa2048, &["rsaEncryption", "Public-Key: (2048 bit)", "Exponent: 65537"]),
        (CertificateKey::Rsa4096, &["rsaEncryption", "Public-Key: (4096 bit)", "Exponent: 65537"]),
    ] {
        for kind in [Certificate::Small, Certificate::Large, sized(1212), sized(5113)] {
            let made = super::make(7, kind, key).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("cert.pem");
            std::fs::write(&path, &made.chain).unwrap();
            let path = path.to_str().unwrap();
            let text = openssl(&["x509", "-in", path, "-noout", "-text"]);
            for line in expected {
                assert!(text.contains(line), "{key:?}: {line} is missing in\n{text}");
            }
            let found = (0..).zip(made.chain.split_inclusive("-----END CERTIFICATE-----\n")).map(|(number, pem)| {
                let [pem_path, der_path] = ["pem", "der"].map(|end| folder.path().join(format!("{number}.{end}")));
                std::fs::write(&pem_path, pem).unwrap();
                let [pem_path, der_path] = [pem_path, der_path].map(|path| path.display().to_string());
                openssl(&["x509", "-in", &pem_path, "-outform", "DER", "-out", &der_path]);
                std::fs::metadata(der_path).unwrap().len() as usize
            });
            let found: usize = found.sum();
            assert_eq!(found, size(&made), "{key:?}");
            accept(made);
        }
    }
}

#[test]
fn openssl_accepts_the_chains() {
    for kind in [Certificate::Small, Certificate::Large, sized(500), sized(1212), sized(5113), sized(65_536)] {
        accept(make(7, kind).unwrap());
    }
}

fn accept(made: Certificates) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("cert.pem", &made.chain), ("ca.pem", &made.authority), ("priv.key", &made.key)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let at = |name: &str| folder.path().join(name).display().to_string();
    let time = GUEST_EPOCH_SECONDS.to_string();
    for name in NAMES {
        let arguments = [
            "verify",
            "-attime",
            &time,
            "-verify_hostname",
            name,
            "-CAfile",
            &at("ca.pem"),
            "-untrusted",
            &at("cert.pem"),
            &at("cert.pem"),
        ];
        openssl(&arguments);
    }
    let of_key = openssl(&["pkey", "-in", &at("priv.key"), "-pubout"]);
    let of_certificate = openssl(&["x509", "-in", &at("cert.pem"), "-noout", "-pubkey"]);
    assert_eq!(of_key, of_certificate);
    // What RFC 5958 says of PKCS #8, and that primes are prime.
    assert!(made.key.starts_with("-----BEGIN PRIVATE KEY-----\n"));
    assert!(openssl(&["pkey", "-in", &at("priv.key"), "-noout", "-check"]).contains("Key is valid"));
}

fn openssl(arguments: &[&str]) -> String {
    crate::command::run("openssl", arguments, "openssl").unwrap()
}

#[test]
fn certificates_that_are_made_once_are_those_of_their_kind_and_key() {
    for (kind, key) in
        [(Certificate::Small, KINDS[0]), (Certificate::Small, KINDS[1]), (sized(700), KINDS[0]), (sized(701), KINDS[0])]
    {
        let fresh = || make_at(GUEST_EPOCH_SECONDS, 0, kind, key).unwrap();
        for _ in 0..2 {
            assert_eq!(super::make(0, kind, key).unwrap(), fresh());
        }
    }
}
