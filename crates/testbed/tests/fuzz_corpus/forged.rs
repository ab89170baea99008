//! Results that are nearly right: a manifest as the agent writes it, with some of its numbers and names changed, and rings of packets with
//! some of their bytes changed. Random bytes hardly ever get past the JSON.

use quiclab_agent_protocol::{
    report::{Outcome, Report, TapReport},
    slot::{BLOCK, Blob, MANIFEST_ROOM, Manifest, RESULTS_MAGIC, header},
};

use super::{Sparse, read};

/// Takes numbers from an input; zeros when it is used up.
struct Draw<'a>(&'a [u8]);

impl Draw<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes([(); 8].map(|()| self.byte()))
    }

    /// Mostly `usual`; else a value near it, a round one or any.
    fn near(&mut self, usual: u64) -> u64 {
        match self.byte() {
            200..=209 => usual.wrapping_add(1),
            210..=219 => usual.wrapping_sub(1),
            220..=229 => usual.wrapping_add(u64::from(self.byte()) * BLOCK as u64),
            230..=239 => u64::from(self.byte()),
            240..=244 => u64::MAX,
            245..=249 => MANIFEST_ROOM,
            250.. => self.word(),
            _ => usual,
        }
    }

    fn name(&mut self, number: usize) -> String {
        match self.byte() {
            0..=39 => "tap/sender".into(),
            40..=79 => "tap/behind-bottleneck".into(),
            80..=99 => "download/a".into(),
            100..=119 => "download/b".into(),
            120..=129 => "client/keys.log".into(),
            130..=179 => format!("server/{number}"),
            180..=219 => format!("client/qlog/{number}"),
            220..=229 => format!("server/../{number}"),
            230..=239 => format!("client/{}", "x/".repeat(usize::from(self.byte()) * 8)),
            240..=247 => "server/\u{1b}[31m\0".into(),
            _ => {
                let length = usize::from(self.byte() % 40);
                String::from_utf8_lossy(&(0..length).map(|_| self.byte()).collect::<Vec<_>>()).into_owned()
            }
        }
    }
}

/// Results that follow from the input.
pub fn results(input: &[u8]) {
    let mut draw = Draw(input);
    let block_bytes = 4096_u64;
    let (mut blobs, mut contents) = (Vec::new(), Vec::new());
    for number in 0..usize::from(draw.byte() % 12) {
        let name = draw.name(number);
        let bytes = match name.strip_prefix("tap/") {
            Some(_) => ring(&mut draw, block_bytes as usize),
            None => vec![b'x'; usize::from(draw.byte()) * 40],
        };
        let offset = draw.near(MANIFEST_ROOM + contents.len() as u64);
        let length = draw.near(bytes.len() as u64);
        contents.extend(&bytes);
        contents.resize(contents.len().next_multiple_of(BLOCK), 0);
        blobs.push(Blob { name, offset, length });
    }
    let mut taps = Vec::new();
    for name in ["sender", "behind-bottleneck"].into_iter().take(usize::from(draw.byte() % 3)) {
        let length = blobs.iter().find(|blob| blob.name == format!("tap/{name}")).map_or(0, |blob| blob.length);
        let block_bytes = draw.near(block_bytes);
        let blocks_used = draw.near(length.checked_div(block_bytes).unwrap_or(0));
        let (packets_seen, packets_lost) = (draw.near(10), draw.near(0));
        let snaplen = (draw.byte() % 4 == 0).then(|| draw.near(100) as u32);
        taps.push(TapReport {
            name: name.into(),
            snaplen,
            packets_seen,
            packets_lost,
            block_bytes,
            blocks_used,
            last_block_bytes: None,
            no_hardware_stamps: None,
            has_headers: false,
        });
    }
    let report = Report {
        outcome: Outcome::Done,
        server: None,
        client: None,
        client_lifetime_ns: Some(draw.near(1_000_000)),
        cpu_use: None,
        qdiscs: Vec::new(),
        drops_to_server: None,
        thefts: None,
        forwarder: None,
        offloads: Default::default(),
        taps,
        send_sizes: None,
        cut: [("download/a".to_owned(), draw.near(0))].into(),
        lost_logs: Vec::new(),
        drained: true,
        kernel_release: "6.1".into(),
        cross_traffic: None,
    };
    let json = serde_json::to_vec(&Manifest { report, blobs }).expect("it is plain data");
    let mut head = header(RESULTS_MAGIC, draw.near(json.len() as u64)).to_vec();
    head.extend(json);
    read(Sparse { head: &head, blobs: &contents });
}

/// Blocks of packets, some of whose fields are changed.
fn ring(draw: &mut Draw, block_bytes: usize) -> Vec<u8> {
    let mut ring = Vec::new();
    for _ in 0..draw.byte() % 4 {
        let mut block = vec![0; block_bytes];
        let count = usize::from(draw.byte() % 16);
        put(&mut block, 12, draw.near(count as u64));
        put(&mut block, 16, draw.near(48));
        for number in 0..count {
            let at = 48 + number * 240;
            let length = u64::from(draw.byte() % 140);
            let fields = [(0, 240), (4, 1_700_000_000), (8, u64::from(draw.byte())), (12, length), (16, length)];
            for (field, usual) in fields {
                put(&mut block, at + field, draw.near(usual));
            }
            let start = draw.near(82) as u16;
            block[at + 24..at + 26].copy_from_slice(&start.to_ne_bytes());
        }
        ring.extend(block);
    }
    ring
}

fn put(block: &mut [u8], at: usize, value: u64) {
    block[at..at + 4].copy_from_slice(&(value as u32).to_ne_bytes());
}
