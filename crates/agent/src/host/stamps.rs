//! What stamps the packets of a tap: the network card, or the kernel.

use super::cards;

/// Why the kernel stamps the packets of a tap at an endpoint that is behind this card.
pub(super) fn why_software(interface: &str) -> String {
    let card = cards::of(interface);
    let driver = card.driver.map_or_else(String::new, |driver| format!(" (driver {driver})"));
    if card.has_hardware_stamps {
        format!(
            "interface {interface}{driver} stamps packets, but the tap is at the endpoint's own interface, and the kernel hands stamps of \
             sent packets to the sender alone; a host with role = \"sniffer\" uses stamps of its card"
        )
    } else {
        format!("interface {interface}{driver} does not stamp packets (ETHTOOL_GET_TS_INFO)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_a_clock_is_the_reason() {
        let why = why_software("lo");
        assert!(why.contains("lo") && why.contains("does not stamp packets"), "{why}");
    }
}
