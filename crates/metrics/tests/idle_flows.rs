//! What a flow costs of which there is a single packet. Alone in its process, so that the peak is that of the analysis. Counted
//! by the allocator: what is resident also depends on the pages of the machine.

use std::io::Cursor;

use peak_alloc::PeakAlloc;
use quiclab_metrics::{AnalysisSettings, analyze};
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings};

const FLOWS: u32 = 60_000;
/// Bytes of a flow.
const LIMIT: usize = 1_000;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// One packet from each of many clients to one server, as pcap: what a scan looks like.
fn scan(protocol: u8, transport: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1_u32] {
        file.extend(word.to_le_bytes());
    }
    for flow in 0..FLOWS {
        let segment = transport(flow);
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        frame.extend((20 + segment.len() as u16).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 10]);
        frame.extend(&flow.to_be_bytes()[1..]);
        frame.extend([192, 0, 2, 1]);
        frame.extend(segment);
        let length = frame.len() as u32;
        for word in [1_700_000_000 + flow / 1_000, flow % 1_000 * 1_000, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// A datagram with a short header that could be one of QUIC.
fn datagram(flow: u32) -> Vec<u8> {
    let port = 40_000 + (flow % 20_000) as u16;
    let mut bytes = [&port.to_be_bytes()[..], &443_u16.to_be_bytes(), &38_u16.to_be_bytes(), &[0, 0, 0x40]].concat();
    bytes.extend(flow.to_be_bytes());
    bytes.extend([0; 25]);
    bytes
}

fn syn(flow: u32) -> Vec<u8> {
    let port = 40_000 + (flow % 20_000) as u16;
    let numbers = [flow.to_be_bytes(), [0; 4], [0x50, 2, 0xff, 0xff], [0; 4]].concat();
    [&port.to_be_bytes()[..], &443_u16.to_be_bytes(), &numbers].concat()
}

#[test]
fn a_flow_of_one_packet_takes_less_than_a_kilobyte() {
    let captures = [scan(6, syn), scan(17, datagram)];
    for capture in &captures {
        HEAP.reset_peak_usage();
        let before = HEAP.current_usage();
        let reader = CaptureReader::new(Cursor::new(capture)).unwrap();
        let dissector = Dissector::new(DissectorSettings::default());
        let analysis = analyze(reader, dissector, AnalysisSettings::default(), &mut |_, _, _| {}).unwrap();
        assert_eq!(analysis.summed_up.flows_of_one_packet, u64::from(FLOWS));
        let of_flow = (HEAP.peak_usage() - before) / FLOWS as usize;
        eprintln!("{of_flow} bytes of a flow");
        assert!(of_flow < LIMIT, "{of_flow} bytes of a flow at the peak, expected less than {LIMIT}");
    }
}
