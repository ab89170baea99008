//! What the study published: J. Muecke et al., "ReACKed QUICer: Measuring the Performance of Instant Acknowledgments in QUIC
//! Handshakes", IMC 2024, <https://doi.org/10.1145/3646547.3689022>. Only what its text and tables say; nothing is read off pictures.

use super::rows::OTHERS;

/// The study whose tables and figures these are.
pub(super) const STUDY: &str = "ReACKed QUICer (IMC 2024)";

/// What the study published of one CDN.
pub(super) struct PublishedCdn {
    pub name: &'static str,
    /// Table 1: names that a QUIC handshake was done with.
    pub names: u64,
    /// Table 1: the largest share of names with an instant ACK of all its measurements.
    pub largest_percent: f64,
    /// Table 1: by how much that share varies between measurements, in points.
    pub variation_points: f64,
    /// Figure 8, by section 4.3: median of the time from an instant ACK to the ServerHello.
    pub lead_median_ms: Option<f64>,
    /// Figure 10, by appendix D: coalesced answers in which the reported ACK delay is above the RTT.
    pub delay_above_rtt_percent: Option<f64>,
}

/// The study's CDNs, in the order of table 1.
pub(super) const CDNS: [PublishedCdn; 8] = [
    cdn("Akamai", 533, [32.2, 12.9], Some(20.9), Some(99.8)),
    cdn("Amazon", 4338, [41.0, 18.0], Some(6.4), Some(87.3)),
    cdn("Cloudflare", 247_407, [99.9, 0.1], Some(3.2), Some(99.9)),
    cdn("Fastly", 3960, [0.0, 0.0], None, Some(60.5)),
    cdn("Google", 6062, [11.5, 11.5], Some(30.3), Some(34.8)),
    cdn("Meta", 112, [0.0, 0.0], None, Some(100.0)),
    cdn("Microsoft", 34, [0.0, 0.0], None, None),
    cdn(OTHERS, 26_404, [21.5, 2.3], None, Some(77.9)),
];

/// Section 4.3: names at Cloudflare, and the share of their answers with ACK and ServerHello in one datagram, in percent.
pub(super) const COALESCED_PERCENT: [(&str, f64); 4] =
    [("discord.com", 91.9), ("cloudflare.com", 50.5), ("tinyurl.com", 17.7), ("docker.com", 0.7)];

const fn cdn(
    name: &'static str,
    names: u64,
    [largest_percent, variation_points]: [f64; 2],
    lead_median_ms: Option<f64>,
    delay_above_rtt_percent: Option<f64>,
) -> PublishedCdn {
    PublishedCdn { name, names, largest_percent, variation_points, lead_median_ms, delay_above_rtt_percent }
}

/// What was published of the CDN of this name, whatever its case.
pub(super) fn of_cdn(name: &str) -> Option<&'static PublishedCdn> {
    CDNS.iter().find(|cdn| cdn.name.eq_ignore_ascii_case(name))
}
