//! What is transferred.

use quiclab_units::{ByteCount, Duration};
use toml::Value;

use crate::stack::{PERF, Role};

use super::{
    declaration::section,
    value_parser::{Flag, Quantity, Refused, Text, ValueParser, count, size, time, word, words},
};

/// The test case that is nothing but a transfer.
pub(crate) const TRANSFER: &str = "transfer";
/// Number of files at most: more do not fit into the variables of an endpoint.
const MOST_FILES: u32 = 2000;
/// The length of a response, as draft-banks-quic-performance begins a request with it.
pub(crate) const SHORTEST_REQUEST: u64 = 8;
/// File systems take no longer names.
const LONGEST_NAME: u32 = 255;
/// The contract counts certificate delays in milliseconds.
const MILLISECOND: u64 = 1_000_000;
/// An answer to an upload. A longer one would be a transfer of its own, behind the one that is measured.
pub(crate) const LONGEST_ANSWER: ByteCount = ByteCount::from_bytes(1 << 10);
/// The contract counts periods in microseconds.
const MICROSECOND: u64 = 1000;
/// The longest period. The variable of endpoints takes no number of microseconds that has more than 32 bits.
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);
/// A chain of certificates that can always be made, in bytes.
const SMALLEST_CHAIN: u64 = 500;
/// A longer one fits into no message of TLS: its length there has three bytes, and libraries stop earlier.
const LARGEST_CHAIN: u64 = 1 << 20;

section! {
    /// What is transferred.
    pub struct Workload as workload {
        /// a test case of the [endpoint contract](endpoint-contract.md) that both stacks claim
        test_case: String = TRANSFER.to_owned(), takes Text("a test case such as \"transfer\"");
        /// whose packets are measured: with "client" the requests are an upload, and taps, queueing discipline, bottleneck and the
        /// settings of a sender are the client's ([uploads](#uploads))
        sender: Sender = Sender::Server, takes word::<Sender>(), neutral Sender::Server, on [Vm, Uml, Netns];
        /// length of each response; the virtual testbed accepts at most 512 MiB in total
        size: ByteCount = ByteCount::from_bytes(10 << 20), takes size().positive();
        /// whether `workload.size` is the length of each response, or of all `workload.files` together, which share it equally
        size_of: SizeOf = SizeOf::Each, takes word::<SizeOf>(), neutral SizeOf::Each, when has_several_files;
        /// what the responses hold: bytes that nothing compresses, or zeros, which take no memory until a server maps them
        contents: FileContents = FileContents::Random, takes word::<FileContents>(), neutral FileContents::Random, on [Vm, Uml, Netns, Hosts];
        /// true keeps what the client stores until it has been compared with what the server had; with false the client writes to
        /// /dev/null, and its exit status and the packets say whether all has arrived
        keep: bool = true, takes Flag, neutral true, on [Vm, Uml, Netns, Hosts];
        /// length of each request with `workload.test_case` = "perf"; the first 8 bytes say how long the response is
        request_size: ByteCount = ByteCount::from_bytes(SHORTEST_REQUEST), takes size().at_least(ByteCount::from_bytes(SHORTEST_REQUEST)),
            neutral ByteCount::from_bytes(SHORTEST_REQUEST), when has_requests;
        /// time from the beginning of a request to that of the next with `workload.test_case` = "perf", whether the response is complete or
        /// not; with "none" all `workload.files` requests begin together
        period: Option<Duration> = None, takes time().positive().at_most(LONGEST_PERIOD).whole(MICROSECOND, "whole microseconds").or("none"),
            neutral None, on [Vm, Uml, Netns, Hosts];
        /// number of responses, all over one connection
        files: u32 = 1, takes count().at_most(MOST_FILES);
        /// minimum length of each file's name in bytes; longer names make larger requests
        name_bytes: u32 = 1, takes count().at_most(LONGEST_NAME);
        /// maximum number of requests that the client has open at the same time
        streams: Option<u32> = None, takes count().or("all"), neutral None, sets "QUICLAB_STREAMS" of Both except "all";
        /// the server's certificate chain: a size, that of all its certificates in DER; or only its leaf, or with 6
        /// intermediates, together over 9 kB
        certificate: Certificate = Certificate::Small, takes CertificateKinds;
        /// the kind of the server's own key; its authorities always have ECDSA on P-256. A larger key makes a larger leaf, so with
        /// "rsa-2048" a chain that is given as a size needs at least 700 B, with "rsa-4096" 1 kB
        certificate_key: CertificateKey = CertificateKey::EcdsaP256, takes word::<CertificateKey>(), neutral CertificateKey::EcdsaP256;
        /// delay until the server's certificate is available
        certificate_delay: Duration = Duration::ZERO, takes time().whole(MILLISECOND, "whole milliseconds");
        /// virtual time after which the client is considered stuck
        timeout: Duration = Duration::from_secs(300), takes time().positive();
    }
}

impl Workload {
    /// Whether nothing is read from files or stored in them.
    pub fn has_no_files(&self) -> bool {
        self.test_case == PERF
    }

    /// Bytes of all requests and responses together, where requests have bytes of their own.
    pub fn bytes_both_ways(&self) -> ByteCount {
        let requests = if self.has_no_files() { self.request_size.as_bytes() } else { 0 };
        let of_each = self.length_of_each().as_bytes().saturating_add(requests);
        ByteCount::from_bytes(of_each.saturating_mul(u64::from(self.files)))
    }

    /// Bytes that the measured sender transfers: of all responses, or of all requests.
    pub fn sent_bytes(&self) -> ByteCount {
        match self.sender {
            Sender::Server => self.all_bytes(),
            Sender::Client => ByteCount::from_bytes(self.request_size.as_bytes().saturating_mul(u64::from(self.files))),
        }
    }

    /// The size of each response, or of each request where these are measured, in words.
    pub fn described(&self) -> String {
        match self.sender {
            Sender::Server => self.size.to_string(),
            Sender::Client => format!("{} uploaded", self.request_size),
        }
    }

    /// When the last request begins, counted from the first one. Zero without [`Self::period`].
    pub fn last_request(&self) -> Duration {
        let period = self.period.unwrap_or_default().as_nanos();
        Duration::from_nanos(period.saturating_mul(u64::from(self.files.saturating_sub(1))))
    }

    /// Bytes of all responses together.
    pub fn all_bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.length_of_each().as_bytes().saturating_mul(u64::from(self.files)))
    }

    /// Bytes of each response.
    pub fn length_of_each(&self) -> ByteCount {
        match self.size_of {
            SizeOf::Each => self.size,
            SizeOf::All => ByteCount::from_bytes(self.size.as_bytes() / u64::from(self.files)),
        }
    }

    /// Whether the responses can have the size that was asked for.
    pub(crate) fn can_be_shared(&self) -> bool {
        self.size_of == SizeOf::Each || self.size.as_bytes().is_multiple_of(u64::from(self.files))
    }
}

words! {
    /// The end whose packets a run measures.
    pub enum Sender {
        /// The server, which sends responses.
        Server = "server",
        /// The client, which sends requests.
        Client = "client",
    }
}

impl Sender {
    /// The one of the two that belongs to this end.
    pub(crate) fn of<T>(self, server: T, client: T) -> T {
        match self {
            Self::Server => server,
            Self::Client => client,
        }
    }

    /// The role of this end.
    pub fn role(self) -> Role {
        match self {
            Self::Server => Role::Server,
            Self::Client => Role::Client,
        }
    }
}

words! {
    /// What a size is the size of.
    pub enum SizeOf {
        /// Each response.
        Each = "each",
        /// All of them together.
        All = "all",
    }
}

words! {
    /// What responses hold.
    pub enum FileContents {
        /// Bytes that follow from the seed, and that nothing compresses.
        Random = "random",
        /// Zeros.
        Zeros = "zeros",
    }
}

/// Whether there is a difference between each and all.
fn has_several_files(workload: &Workload) -> bool {
    workload.files > 1
}

/// Whether requests have bytes of their own.
fn has_requests(workload: &Workload) -> bool {
    workload.has_no_files()
}

/// What a server's certificate chain is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The leaf alone, some 500 bytes.
    Small,
    /// A leaf with intermediate authorities, over 9 kB: more than three times what a client sends first.
    Large,
    /// Certificates of this many bytes in all (DER), as the TLS message carries them.
    Size(ByteCount),
}

words! {
    /// What kind of key a server has.
    pub enum CertificateKey {
        /// ECDSA on the curve P-256 (FIPS 186-5).
        EcdsaP256 = "ecdsa-p256",
        /// ECDSA on the curve P-384.
        EcdsaP384 = "ecdsa-p384",
        /// RSA with a modulus of 2048 bits. TLS 1.3 signs with RSASSA-PSS (RFC 8446, section 4.2.3).
        Rsa2048 = "rsa-2048",
        /// RSA with a modulus of 4096 bits.
        Rsa4096 = "rsa-4096",
    }
}

impl CertificateKey {
    /// The length of a chain that can be made with every seed: a leaf with its names, this key, and an authority's signature.
    pub fn smallest_chain(self) -> ByteCount {
        ByteCount::from_bytes(match self {
            Self::EcdsaP256 | Self::EcdsaP384 => SMALLEST_CHAIN,
            Self::Rsa2048 => 700,
            Self::Rsa4096 => 1000,
        })
    }
}

/// A size, or a word for one.
struct CertificateKinds;

impl CertificateKinds {
    const WORDS: [(&'static str, Certificate); 2] = [("small", Certificate::Small), ("large", Certificate::Large)];

    fn sizes() -> Quantity<ByteCount> {
        size()
            .at_least(ByteCount::from_bytes(SMALLEST_CHAIN))
            .at_most(ByteCount::from_bytes(LARGEST_CHAIN))
            .because("a leaf with its names, key and signature takes the former, and no TLS library accepts the latter")
    }
}

impl ValueParser for CertificateKinds {
    type Value = Certificate;

    fn read(&self, value: &Value) -> Result<Certificate, Refused> {
        let word = Self::WORDS.iter().find(|(word, _)| value.as_str() == Some(word));
        if let Some((_, kind)) = word {
            return Ok(*kind);
        }
        let size = Self::sizes().read(value).map_err(|refused| {
            let message = format!("{}; or \"small\" or \"large\"", refused.message);
            Refused { message, hint: refused.hint }.with_words(value, &self.words())
        })?;
        Ok(Certificate::Size(size))
    }

    fn write(&self, value: &Certificate) -> Option<Value> {
        let text = match value {
            Certificate::Small => "small".to_owned(),
            Certificate::Large => "large".to_owned(),
            Certificate::Size(size) => size.to_string(),
        };
        Some(Value::String(text))
    }

    fn describe(&self) -> String {
        format!("{}, \"small\" or \"large\"", Self::sizes().describe())
    }

    fn words(&self) -> Vec<&'static str> {
        Self::WORDS.map(|(word, _)| word).to_vec()
    }
}
