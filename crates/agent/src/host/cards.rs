//! What a network card says of its clock, by ethtool.

use super::hardware;
use crate::ethtool::Ethtool;

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
/// Bits of `so_timestamping`: the card stamps what it sends, what it receives, and hands the raw stamps over.
const HARDWARE: u32 = (1 << 0) | (1 << 2) | (1 << 6);

/// What is known of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Card {
    /// Its driver.
    pub driver: Option<String>,
    /// Number of its clock.
    pub ptp_clock: Option<u32>,
    /// Whether it stamps packets.
    pub has_hardware_stamps: bool,
    /// Whether it does so at present; `None` where it cannot say.
    pub stamps_now: Option<bool>,
    /// Why it does not send packets at given times.
    pub no_launch_time: Option<String>,
}

/// `struct ethtool_ts_info`.
#[repr(C)]
#[derive(Default)]
struct Stamps {
    command: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Driver {
    command: u32,
    driver: [u8; 32],
    others: [u8; 160],
}

/// Asks an interface.
pub(super) fn of(interface: &str) -> Card {
    let asked = Ethtool::open(interface).ok();
    let mut driver = Driver { command: ETHTOOL_GDRVINFO, driver: [0; 32], others: [0; 160] };
    let mut stamps = Stamps { command: ETHTOOL_GET_TS_INFO, phc_index: -1, ..Stamps::default() };
    // SAFETY: the command expects an ethtool_drvinfo.
    let has_driver = asked.as_ref().is_some_and(|card| unsafe { card.call((&raw mut driver).cast()) }.is_ok());
    // SAFETY: the command expects an ethtool_ts_info.
    let has_stamps = asked.as_ref().is_some_and(|card| unsafe { card.call((&raw mut stamps).cast()) }.is_ok());
    let end = driver.driver.iter().position(|byte| *byte == 0).unwrap_or(driver.driver.len());
    let driver = has_driver.then(|| String::from_utf8_lossy(&driver.driver[..end]).into_owned());
    let ptp_clock = u32::try_from(stamps.phc_index).ok().filter(|_| has_stamps);
    Card {
        ptp_clock,
        has_hardware_stamps: has_stamps && stamps.so_timestamping & HARDWARE == HARDWARE,
        stamps_now: asked.as_ref().and_then(hardware::is_on),
        no_launch_time: no_launch_time(driver.as_deref(), ptp_clock),
        driver,
    }
}

/// Drivers that take `tc etf offload` (`TC_SETUP_QDISC_ETF` in the kernel's sources). The kernel does not say it of a driver.
const LAUNCH_TIME_DRIVERS: [&str; 4] = ["igb", "igc", "st_gmac", "fsl_enetc"];

/// Launch times are times of the card's own clock.
fn no_launch_time(driver: Option<&str>, ptp_clock: Option<u32>) -> Option<String> {
    let driver = driver.unwrap_or("unknown");
    match ptp_clock {
        None => Some("the card has no clock of its own (ETHTOOL_GET_TS_INFO names no PTP clock)".to_owned()),
        Some(_) if LAUNCH_TIME_DRIVERS.contains(&driver) => None,
        Some(_) => Some(format!(
            "the driver {driver} does not take tc etf offload; those that do are {}",
            LAUNCH_TIME_DRIVERS.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_time_needs_a_clock_and_a_driver_that_takes_it() {
        assert!(no_launch_time(Some("igc"), None).unwrap().contains("no clock of its own"));
        assert_eq!(no_launch_time(Some("igc"), Some(0)), None);
        let why = no_launch_time(Some("mlx5_core"), Some(0)).unwrap();
        assert!(why.contains("mlx5_core") && why.contains("igb, igc"), "{why}");
    }
}
