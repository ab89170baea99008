//! What is transferred.

use quiclab_units::{ByteCount, Duration};

use super::{
    Draft, Settings, TRANSFER,
    declaration::section,
    takes::{Takes as _, Text, count, size, time, word, words},
};

/// More files than this do not fit into the variables of an endpoint.
const MOST_FILES: u32 = 2000;
/// File systems take no longer names.
const LONGEST_NAME: u32 = 255;
/// The contract counts certificate delays in milliseconds.
const MILLISECOND: u64 = 1_000_000;

section! {
    /// What is transferred.
    pub struct Workload as workload {
        /// a test case of the [endpoint contract](endpoint-contract.md) that both stacks claim
        test_case: String = TRANSFER.to_owned(), takes Text("a test case such as \"transfer\"");
        /// length of each response; the virtual testbed accepts at most 512 MiB in total
        size: ByteCount = ByteCount::from_bytes(10 << 20), takes size().positive();
        /// number of responses, all over one connection
        files: u32 = 1, takes count().at_most(MOST_FILES);
        /// minimum length of each file's name in bytes; longer names make larger requests
        name_bytes: u32 = 1, takes count().at_most(LONGEST_NAME);
        /// maximum number of requests that the client has open at the same time
        streams: Option<u32> = None, takes count().or("all"), neutral None, sets "QUICLAB_STREAMS" of Both except "all";
        /// the server's certificate chain: only its leaf, or with 6 intermediates, together over 9 kB
        certificate: Certificate = Certificate::Small, takes word::<Certificate>();
        /// delay until the server's certificate is available
        certificate_delay: Duration = Duration::ZERO, takes time().whole(MILLISECOND, "whole milliseconds");
        /// virtual time after which the client is considered stuck
        timeout: Duration = Duration::from_secs(300), takes time().positive();
    }
}

impl Workload {
    /// Bytes of all responses together.
    pub fn all_bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.size.as_bytes().saturating_mul(u64::from(self.files)))
    }
}

words! {
    /// What a server's certificate chain is like.
    pub enum Certificate {
        /// The leaf alone, some 500 bytes.
        Small = "small",
        /// With intermediate authorities, over 9 kB: more than three times what a client sends first.
        Large = "large",
    }
}
