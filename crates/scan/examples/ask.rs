//! One handshake with one server, and a HEAD request: `cargo run -p quiclab-scan --example ask -- ADDRESS [NAME]`.

use std::error::Error;
use std::time::Duration;

use quiclab_scan::{HelloSettings, HttpSettings, KeyShareGroup, Request, ScanSettings, Scanner};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("missing; expected ADDRESS [NAME], such as 127.0.0.1:443")?.parse()?;
    // As browsers have it.
    let key_share_groups = vec![KeyShareGroup::X25519MlKem768, KeyShareGroup::X25519, KeyShareGroup::Secp256r1];
    let hello = HelloSettings { key_share_groups, ..HelloSettings::default() };
    let settings = ScanSettings { hello, http: Some(HttpSettings::default()), ..ScanSettings::default() };
    let mut scanner = Scanner::new(&settings)?;
    scanner.ask(Request { id: 0, address, server_name: arguments.next(), keeps_packets: false });
    let mut is_over = false;
    while !is_over {
        scanner.turn(Duration::from_secs(1), &mut |answer| {
            println!("{answer:#?}");
            is_over = true;
        })?;
    }
    Ok(())
}
