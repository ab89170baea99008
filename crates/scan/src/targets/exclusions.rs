//! Who is never asked.

mod always;
mod entry;

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, BufRead},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use prefix_trie::PrefixMap;

use crate::targets::{lines::Lines, list::BadLine, name::Name, target::Host};

pub use entry::{BadEntry, Entry};

/// Most unreadable lines of a file that an error lists.
const MOST_LISTED: usize = 20;

/// Prefixes and names that are not asked, and the addresses that never are, whatever a file says.
#[derive(Clone, Debug, Default)]
pub struct Exclusions {
    v4: PrefixMap<Ipv4Net, Source>,
    v6: PrefixMap<Ipv6Net, Source>,
    names: BTreeMap<Name, Source>,
}

/// Where an exclusion comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File {
        /// Its name, as the user gave it.
        file: std::sync::Arc<str>,
        /// Counted from 1.
        line: u64,
    },
    /// It was added during the scan, for this reason.
    Scan(String),
    /// It holds always, for this reason.
    Always(&'static str),
}

/// How an address came to be a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The list has the address itself: those of laboratories are allowed.
    List,
    /// A name resolves to it: only unicast addresses of the Internet are allowed.
    Resolver,
}

/// Why a target is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// The entry that says so.
    pub entry: Entry,
    /// Where the entry is from.
    pub source: Source,
}

/// A file of exclusions that is not understood whole, so that nothing may be asked.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// Lines that are no exclusions.
    #[error("{file}: {}", all(.lines, *.count))]
    Lines {
        /// The file.
        file: String,
        /// How many there are.
        count: u64,
        /// The first ones, at most 20.
        lines: Vec<BadLine>,
    },
    /// The file cannot be read.
    #[error("{file} cannot be read")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
}

fn all(lines: &[BadLine], count: u64) -> String {
    let mut text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if count > lines.len() as u64 {
        text += &format!("; and {} more", count - lines.len() as u64);
    }
    if lines.iter().any(|line| line.expected == entry::NO_SYSTEM) {
        text += "\nhint: write the prefixes that it announces, one in each line, such as 198.18.0.0/15";
    }
    text
}

impl Exclusions {
    /// Adds the entries of a file: a prefix, an address or a name a line, with comments after `#`.
    ///
    /// # Errors
    /// When any line is not understood, or the file cannot be read. Entries before it hold all the same.
    pub fn add_file(&mut self, file: &str, input: impl BufRead) -> Result<u64, BadFile> {
        let name: std::sync::Arc<str> = file.into();
        let mut reader = Lines::new(input);
        let (mut added, mut count, mut bad) = (0, 0, Vec::new());
        loop {
            let read = reader.read().map_err(|source| BadFile::Read { file: file.into(), source })?;
            let read = match read {
                None => break,
                Some(Ok("")) => continue,
                Some(Ok(content)) => Entry::parse(content),
                Some(Err(line)) => Err(BadEntry { found: line.found, expected: line.expected }),
            };
            let line = reader.number();
            match read {
                Ok(entry) => {
                    self.add(entry, Source::File { file: name.clone(), line });
                    added += 1;
                }
                Err(error) => {
                    count += 1;
                    if bad.len() < MOST_LISTED {
                        bad.push(BadLine { line, found: error.found, expected: error.expected });
                    }
                }
            }
        }
        if count > 0 { Err(BadFile::Lines { file: file.into(), count, lines: bad }) } else { Ok(added) }
    }

    /// Adds an entry. One that is there already keeps the source that it has.
    pub fn add(&mut self, entry: Entry, source: Source) {
        match entry {
            Entry::Prefix(IpNet::V4(prefix)) => drop(self.v4.entry(prefix).or_insert(source)),
            Entry::Prefix(IpNet::V6(prefix)) => drop(self.v6.entry(prefix).or_insert(source)),
            Entry::Name(name) => drop(self.names.entry(name).or_insert(source)),
        }
    }

    /// All entries, prefixes first, in order. Those that hold always are not among them.
    pub fn entries(&self) -> impl Iterator<Item = (Entry, &Source)> {
        let v4 = self.v4.iter().map(|(prefix, source)| (Entry::Prefix(prefix.into()), source));
        let v6 = self.v6.iter().map(|(prefix, source)| (Entry::Prefix(prefix.into()), source));
        let names = self.names.iter().map(|(name, source)| (Entry::Name(name.clone()), source));
        v4.chain(v6).chain(names)
    }

    /// Why a line of a list is not asked. `None`: it may be resolved, or asked if it has an address.
    pub fn host(&self, host: &Host) -> Option<Excluded> {
        let by_name = host.name().and_then(|name| self.name(name));
        by_name.or_else(|| host.address().and_then(|address| self.address(address, Origin::List)))
    }

    /// Why a name is not asked: it or a name above it is excluded.
    pub fn name(&self, name: &Name) -> Option<Excluded> {
        if self.names.is_empty() {
            return None;
        }
        let (name, source) = name.with_those_above().find_map(|name| self.names.get_key_value(&name))?;
        Some(Excluded { entry: Entry::Name(name.clone()), source: source.clone() })
    }

    /// Why an address is not asked. Of several prefixes the result names the longest.
    ///
    /// An address that holds another one (IPv4-mapped, NAT64, 6to4) is excluded with that one.
    pub fn address(&self, address: IpAddr, origin: Origin) -> Option<Excluded> {
        let address = address.to_canonical();
        let found = always::excluded(address, origin).or_else(|| self.by_prefix(address));
        found.or_else(|| {
            let IpAddr::V6(v6) = address else { return None };
            let inner = IpAddr::V4(embedded(v6)?);
            always::excluded(inner, origin).or_else(|| self.by_prefix(inner))
        })
    }

    fn by_prefix(&self, address: IpAddr) -> Option<Excluded> {
        let (prefix, source) = match address {
            IpAddr::V4(v4) => self.v4.get_lpm(&v4.into()).map(|(prefix, source)| (IpNet::V4(prefix), source)),
            IpAddr::V6(v6) => self.v6.get_lpm(&v6.into()).map(|(prefix, source)| (IpNet::V6(prefix), source)),
        }?;
        Some(Excluded { entry: Entry::Prefix(prefix), source: source.clone() })
    }
}

/// The IPv4 address that packets to an IPv6 address may reach: NAT64 (RFC 6052 section 2.1) and 6to4 (RFC 3056 section 2).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let at = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => 12,
        [0x2002, ..] => 2,
        _ => return None,
    };
    Some(Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]))
}

/// The network of an address that is left out when it objects, and that a [plan](crate::targets::Plan) counts: a /24 or a /48.
pub fn network(address: IpAddr) -> IpNet {
    // Both lengths are ones that a prefix can have.
    match address.to_canonical() {
        IpAddr::V4(v4) => IpNet::V4(Ipv4Net::new_assert(v4, 24).trunc()),
        IpAddr::V6(v6) => IpNet::V6(Ipv6Net::new_assert(v6, 48).trunc()),
    }
}

impl fmt::Display for Excluded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.entry, self.source)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line } => write!(formatter, "{} line {line}", quiclab_units::shown(file)),
            Self::Scan(reason) => write!(formatter, "{}", quiclab_units::shown(reason)),
            Self::Always(reason) => write!(formatter, "{reason}; always"),
        }
    }
}
