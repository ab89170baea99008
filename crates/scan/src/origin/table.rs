//! Prefixes and their origins.

use std::{
    collections::BTreeMap,
    io::{self, BufReader, Read},
    net::IpAddr,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use prefix_trie::PrefixMap;
use quiclab_wire::Decompressed;

use crate::origin::{
    lines::{BadLine, Failed},
    mrt, text,
};

const BUFFER: usize = 64 << 10;
const BZIP2_MAGIC: &[u8] = b"BZh";

/// Which AS announces which prefix.
#[derive(Clone, Debug, Default)]
pub struct Table {
    v4: PrefixMap<Ipv4Net, u32>,
    v6: PrefixMap<Ipv6Net, u32>,
    /// What origins prefixes have; many have the same.
    sets: Vec<Box<[u32]>>,
    numbers: BTreeMap<Box<[u32]>, u32>,
}

/// Who announces the prefix that an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The longest prefix of the table.
    pub prefix: IpNet,
    /// Its origins, at least one. In a table of CAIDA and in one of a dump, the first is the one that most peers see.
    pub asns: &'a [u32],
}

/// What a file added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Prefixes of the file, again if it has them again.
    pub prefixes: u64,
    /// Prefixes with several origins.
    pub multi_origin: u64,
    /// Default routes, which say nothing of who runs an address, and are not in the table.
    pub default_routes: u64,
    /// Records of a dump that are no unicast routes, and those whose routes have no origin.
    pub skipped_records: u64,
    /// Records of a dump that cannot be read whole.
    pub unreadable_records: u64,
}

/// Why a file is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A line is no prefix with its origins.
    #[error(transparent)]
    Line(#[from] BadLine),
    /// A dump ends within a record, or has one that is none.
    #[error("record {record}: found {found}, expected an MRT record (RFC 6396)")]
    Record {
        /// Counted from 1.
        record: u64,
        /// What is wrong with it.
        found: String,
    },
    /// The file is compressed in a way that is not read.
    #[error("found bzip2, expected a file that is plain, or compressed with gzip or zstd\nhint: bunzip2")]
    Bzip2,
    /// The reader failed.
    #[error("the table cannot be read")]
    Read(#[from] io::Error),
}

impl From<Failed> for TableError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Line(line) => Self::Line(line),
            Failed::Read(error) => Self::Read(error),
        }
    }
}

impl Table {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file: a text (see docs/reference/scan-lists.md) or an MRT dump, plain or compressed with gzip or zstd. Its content says
    /// which.
    ///
    /// `fewest_peers`: how many peers of a dump have to see an origin for it to count, if any origin of the prefix has so many.
    /// A prefix that is there already gets the origins of both, those that were there first.
    ///
    /// # Errors
    /// At the first line that is no prefix, or where a dump is no dump. What came before is in the table.
    pub fn add(&mut self, input: impl Read, fewest_peers: u32) -> Result<Added, TableError> {
        let mut input = BufReader::with_capacity(BUFFER, Decompressed::detect(input)?);
        // The first read of a decompressor may give less than a head.
        let mut head = Vec::new();
        input.by_ref().take(mrt::HEAD as u64).read_to_end(&mut head)?;
        let (is_dump, is_bzip2) = (mrt::is_head(&head), head.starts_with(BZIP2_MAGIC));
        let whole = BufReader::with_capacity(BUFFER, head.as_slice().chain(input));
        if is_bzip2 {
            return Err(TableError::Bzip2);
        }
        let mut added = Added::default();
        if is_dump {
            mrt::read(self, whole, fewest_peers, &mut added)?;
        } else {
            text::read(self, whole, &mut added)?;
        }
        Ok(added)
    }

    /// Adds a prefix. Its bits beyond its length count as zero.
    pub(crate) fn insert(&mut self, prefix: IpNet, asns: &[u32], added: &mut Added) {
        if prefix.prefix_len() == 0 {
            added.default_routes += 1;
            return;
        }
        let mut asns = asns.to_vec();
        keep_first(&mut asns);
        added.prefixes += 1;
        added.multi_origin += u64::from(asns.len() > 1);
        let prefix = prefix.trunc();
        if let Some(known) = self.exactly(prefix) {
            asns.splice(..0, known.iter().copied());
            keep_first(&mut asns);
        }
        let number = self.number(asns);
        match prefix {
            IpNet::V4(prefix) => self.v4.insert(prefix, number),
            IpNet::V6(prefix) => self.v6.insert(prefix, number),
        };
    }

    /// Who announces an address; IPv4-mapped ones count as IPv4. `None`: nobody.
    pub fn origin(&self, address: IpAddr) -> Option<Origin<'_>> {
        let (prefix, number) = match address.to_canonical() {
            IpAddr::V4(v4) => self.v4.get_lpm(&v4.into()).map(|(prefix, number)| (IpNet::V4(prefix), number)),
            IpAddr::V6(v6) => self.v6.get_lpm(&v6.into()).map(|(prefix, number)| (IpNet::V6(prefix), number)),
        }?;
        Some(Origin { prefix, asns: self.sets.get(*number as usize)? })
    }

    /// How many prefixes there are.
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn exactly(&self, prefix: IpNet) -> Option<&[u32]> {
        let number = match prefix {
            IpNet::V4(prefix) => self.v4.get(&prefix),
            IpNet::V6(prefix) => self.v6.get(&prefix),
        };
        number.and_then(|number| self.sets.get(*number as usize)).map(|set| &**set)
    }

    fn number(&mut self, asns: Vec<u32>) -> u32 {
        if let Some(number) = self.numbers.get(asns.as_slice()) {
            return *number;
        }
        // There are fewer sets than prefixes, and fewer prefixes than fit memory.
        let number = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        let asns: Box<[u32]> = asns.into();
        self.sets.push(asns.clone());
        self.numbers.insert(asns, number);
        number
    }
}

/// Removes those that came before.
fn keep_first(asns: &mut Vec<u32>) {
    let mut seen = std::collections::BTreeSet::new();
    asns.retain(|asn| seen.insert(*asn));
}
