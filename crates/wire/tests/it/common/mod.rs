//! Captures and frames built by hand, so that the reader is not checked against the writer alone.
#![allow(dead_code)]

/// A frame as a container keeps it.
#[derive(Clone)]
pub struct Record {
    pub interface: u32,
    /// Time in the container's own ticks.
    pub ticks: u64,
    pub frame_length: u32,
    pub captured: Vec<u8>,
}

impl Record {
    pub fn whole(ticks: u64, frame: &[u8]) -> Record {
        Record { interface: 0, ticks, frame_length: frame.len() as u32, captured: frame.to_vec() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }
}

/// Classic pcap. `ticks_per_second` is 10^6 or 10^9.
pub fn pcap(order: Order, ticks_per_second: u64, link_type: u32, records: &[Record]) -> Vec<u8> {
    let magic = if ticks_per_second == 1_000_000 { 0xa1b2_c3d4 } else { 0xa1b2_3c4d };
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for field in [0, 0, 262_144, link_type] {
        file.extend(order.u32(field));
    }
    for record in records {
        file.extend(order.u32((record.ticks / ticks_per_second) as u32));
        file.extend(order.u32((record.ticks % ticks_per_second) as u32));
        file.extend(order.u32(record.captured.len() as u32));
        file.extend(order.u32(record.frame_length));
        file.extend(&record.captured);
    }
    file
}

/// One pcapng block around its body.
pub fn block(order: Order, block_type: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    let mut block = Vec::new();
    block.extend(order.u32(block_type));
    block.extend(order.u32(length));
    block.extend(body);
    block.resize(length as usize - 4, 0);
    block.extend(order.u32(length));
    block
}

pub fn section_header(order: Order) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(order.u32(0x1a2b_3c4d));
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

/// `options`: code and value.
pub fn interface(order: Order, link_type: u16, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(order.u16(link_type));
    body.extend([0; 2]);
    body.extend(order.u32(0));
    for (code, value) in options {
        body.extend(order.u16(*code));
        body.extend(order.u16(value.len() as u16));
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        body.extend([0; 4]);
    }
    block(order, 1, &body)
}

pub fn enhanced_packet(order: Order, record: &Record) -> Vec<u8> {
    let mut body = Vec::new();
    for field in [
        record.interface,
        (record.ticks >> 32) as u32,
        record.ticks as u32,
        record.captured.len() as u32,
        record.frame_length,
    ] {
        body.extend(order.u32(field));
    }
    body.extend(&record.captured);
    block(order, 6, &body)
}

pub fn secrets(order: Order, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(order.u32(kind));
    body.extend(order.u32(data.len() as u32));
    body.extend(data);
    block(order, 10, &body)
}
