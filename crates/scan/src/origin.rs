//! Who runs an address, and where it answers from; all offline.
//!
//! A [`Table`] knows the origin AS of each prefix: from a text in the form of CAIDA, or from a dump of a router in MRT.
//! [`Cdns`] knows which CDN an AS is. [`airport`] reads the place that some CDNs put into a header.
//!
//! Pure: files are readers that the caller opens. What they hold is not trusted: memory is bounded by what there is to read, and
//! nothing is skipped without being counted.

mod airport;
mod cdn;
mod lines;
mod mrt;
mod table;
mod text;

pub use airport::{Airport, airport};
pub use cdn::{BadCdns, Cdns};
pub use lines::BadLine;
pub use table::{Added, Origin, Table, TableError};
