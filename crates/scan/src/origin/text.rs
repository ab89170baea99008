//! Tables as text: CAIDA's prefix2as, and `prefix/length` with an AS as pyasn and others have it.

use std::{io::BufRead, net::IpAddr};

use ipnet::IpNet;

use crate::origin::{
    lines::{BadLine, Failed, asn, for_each, quoted},
    table::{Added, Table},
};

const EXPECTED: &str = "a prefix, its length and its AS numbers, as in \"192.0.2.0 24 64496_64497\"";

/// Adds all lines.
pub(crate) fn read(table: &mut Table, input: impl BufRead, added: &mut Added) -> Result<(), Failed> {
    for_each(input, |line, content| {
        let (prefix, asns) =
            parse(content).ok_or_else(|| BadLine { line, found: quoted(content), expected: EXPECTED })?;
        table.insert(prefix, &asns, added);
        Ok(())
    })?;
    Ok(())
}

fn parse(content: &str) -> Option<(IpNet, Vec<u32>)> {
    let mut fields = content.split_whitespace();
    let first = fields.next()?;
    let prefix: IpNet = if first.contains('/') {
        first.parse().ok()?
    } else {
        let (address, length) = (first.parse::<IpAddr>().ok()?, fields.next()?);
        let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
        IpNet::new(address, length.parse().ok().filter(|_| is_number)?).ok()?
    };
    // `_` between origins, `,` within a set of an aggregate: any of these may run the address.
    let asns = fields.next()?.split(['_', ',']).map(asn).collect::<Option<Vec<u32>>>()?;
    fields.next().is_none().then_some((prefix, asns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_tables_are_read() {
        for (line, prefix, asns) in [
            ("1.0.0.0\t24\t13335", "1.0.0.0/24", &[13335][..]),
            ("2001:200::\t32\t2500", "2001:200::/32", &[2500]),
            ("1.0.0.0 24 30_10_20", "1.0.0.0/24", &[30, 10, 20]),
            ("1.0.0.0\t24\t30_10,20", "1.0.0.0/24", &[30, 10, 20]),
            ("1.0.0.0/24\t13335", "1.0.0.0/24", &[13335]),
            ("1.0.0.0/24 AS4294967295", "1.0.0.0/24", &[u32::MAX]),
        ] {
            assert_eq!(parse(line), Some((prefix.parse().unwrap(), asns.to_vec())), "{line}");
        }
    }

    #[test]
    fn what_is_no_prefix_with_an_as_is_refused() {
        for line in [
            "1.0.0.0",
            "1.0.0.0 24",
            "1.0.0.0 33 1",
            "1.0.0.0 +24 1",
            "1.0.0.0/24",
            "1.0.0 24 1",
            "1.0.0.0 24 x",
            "1.0.0.0 24 0",
            "1.0.0.0 24 1_",
            "1.0.0.0 24 4294967296",
            "1.0.0.0 24 1 2",
            "2001:db8:: 129 1",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
