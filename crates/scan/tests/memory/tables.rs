//! How much memory a table takes that is made to take much.

use std::io::Read;

use quiclab_scan::origin::{Cdns, Table};

use crate::ALLOCATOR;

const MIB: usize = 1 << 20;

/// A head of MRT, type 13, of any length.
fn head(subtype: u16, length: u32) -> Vec<u8> {
    [&[0x66, 0xb2, 0xb7, 0, 0, 13][..], &subtype.to_be_bytes(), &length.to_be_bytes()].concat()
}

fn peak(run: impl FnOnce()) -> usize {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    run();
    ALLOCATOR.peak_usage() - before
}

#[test]
fn what_a_file_claims_takes_no_memory() {
    if !quiclab_testing::has_own_process() {
        return;
    }
    // A line without an end, a gigabyte long.
    let endless = peak(|| assert!(Table::new().add(std::io::repeat(b'1').take(1 << 30), 1).is_err()));
    assert!(endless < MIB, "{endless}");
    let of_cdns = peak(|| assert!(Cdns::read(std::io::BufReader::new(std::io::repeat(b'1').take(1 << 30))).is_err()));
    assert!(of_cdns < MIB, "{of_cdns}");

    // Records that claim more than they have. The parser takes at most 16 MiB for one.
    let claims = peak(|| {
        assert!(Table::new().add(&head(2, u32::MAX)[..], 1).is_err());
        assert!(Table::new().add(&head(2, 16 << 20)[..], 1).is_err());
    });
    assert!(claims < 17 * MIB, "{claims}");

    // A record with 65535 entries of which none is there.
    let message = [0, 0, 0, 1, 8, 1, 0xff, 0xff];
    let record = [head(2, message.len() as u32), message.to_vec()].concat();
    let entries = peak(|| {
        let mut table = Table::new();
        assert_eq!(table.add(&record.repeat(1000)[..], 1).unwrap().unreadable_records, 1000);
    });
    assert!(entries < MIB, "{entries}");
    println!("{endless} {of_cdns} {claims} {entries} bytes");
}
