//! The Huffman code of HPACK and QPACK, RFC 7541 appendix B, for reading.

use std::sync::LazyLock;

/// Symbols: the bytes, and the end of the string.
const SYMBOLS: usize = 257;
const END_OF_STRING: u16 = 256;
const LONGEST: usize = 30;
/// A string ends with less than a byte of the beginning of the code for its end, RFC 7541 section 5.2.
const MOST_PADDING: u32 = 7;
/// Bits of the code of each symbol. The codes themselves follow from them: shorter ones come first, and those of one length are
/// numbered in the order of the symbols.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12,
    10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6,
    5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28,
    27, 27, 27, 27, 27, 26, 30,
];

/// The codes of one length, which are consecutive numbers.
#[derive(Clone, Copy, Default)]
struct Codes {
    first: u32,
    count: u32,
    /// Index of the symbol of the first one.
    symbol_at: usize,
}

struct Table {
    by_length: [Codes; LONGEST + 1],
    /// Symbols in the order of their codes.
    symbols: Vec<u16>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut symbols: Vec<u16> = (0..SYMBOLS as u16).collect();
    symbols.sort_by_key(|&symbol| LENGTHS[usize::from(symbol)]);
    let mut by_length = [Codes::default(); LONGEST + 1];
    let (mut first, mut symbol_at) = (0, 0);
    for (length, codes) in by_length.iter_mut().enumerate() {
        let count = LENGTHS.iter().filter(|&&it| usize::from(it) == length).count();
        first <<= 1;
        *codes = Codes { first, count: count as u32, symbol_at };
        first += count as u32;
        symbol_at += count;
    }
    Table { by_length, symbols }
});

/// The string. `None`: it does not end as it must, or contains the code for its end.
pub fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(encoded.len() * 2);
    let (mut code, mut length) = (0u32, 0);
    for bit in encoded.iter().flat_map(|&byte| (0..8).rev().map(move |bit| u32::from(byte >> bit & 1))) {
        code = code << 1 | bit;
        length += 1;
        // The longest codes are complete: every one of 30 bits is a symbol.
        let codes = TABLE.by_length.get(length as usize)?;
        let Some(offset) = code.checked_sub(codes.first).filter(|&offset| offset < codes.count) else { continue };
        match TABLE.symbols[codes.symbol_at + offset as usize] {
            END_OF_STRING => return None,
            symbol => decoded.push(symbol as u8),
        }
        (code, length) = (0, 0);
    }
    let is_padding = length <= MOST_PADDING && code == (1 << length) - 1;
    is_padding.then_some(decoded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Independent of the table by lengths: symbol by symbol, as long as the code says.
    fn encode(text: &[u8]) -> Vec<u8> {
        let mut bits = Vec::new();
        for &byte in text {
            let length = LENGTHS[usize::from(byte)];
            let codes = TABLE.by_length[usize::from(length)];
            let before = LENGTHS[..usize::from(byte)].iter().filter(|&&it| it == length).count() as u32;
            let code = codes.first + before;
            bits.extend((0..length).rev().map(|bit| code >> bit & 1 == 1));
        }
        bits.resize(bits.len().next_multiple_of(8), true);
        bits.chunks(8).map(|bits| bits.iter().fold(0, |byte, &bit| byte << 1 | u8::from(bit))).collect()
    }

    /// RFC 7541 appendix C.4 and C.6.
    #[test]
    fn the_examples_of_the_rfc_are_read() {
        let cases: [(&str, &[u8]); 4] = [
            ("www.example.com", &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff]),
            ("no-cache", &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]),
            ("302", &[0x64, 0x02]),
            ("private", &[0xae, 0xc3, 0x77, 0x1a, 0x4b]),
        ];
        for (text, encoded) in cases {
            assert_eq!(decode(encoded).as_deref(), Some(text.as_bytes()), "{text}");
        }
    }

    /// RFC 7541 appendix B: the first and the last code of some lengths.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let code = |symbol: u8| encode(&[symbol]);
        assert_eq!(code(b'0'), [0x07]);
        assert_eq!(code(b'z'), [0xf7]);
        assert_eq!(code(0), [0xff, 0xc7]);
        assert_eq!(code(22), [0xff, 0xff, 0xff, 0xfb]);
        assert_eq!(code(255), [0xff, 0xff, 0xfb, 0xbf]);
        // Kraft: the code is complete.
        let sum: u64 = LENGTHS.iter().map(|&length| 1u64 << (LONGEST - usize::from(length))).sum();
        assert_eq!(sum, 1 << LONGEST);
    }

    #[test]
    fn a_wrong_end_is_refused() {
        assert_eq!(decode(&[0x07]).as_deref(), Some(&b"0"[..]));
        assert_eq!(decode(&[0x06]), None, "padding of another code");
        assert_eq!(decode(&[0xff]), None, "eight bits of padding");
        assert_eq!(decode(&[0xff; 4]), None, "the end of the string itself");
    }

    proptest! {
        #[test]
        fn any_string_comes_back(text in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decode(&encode(&text)), Some(text));
        }

        #[test]
        fn any_bytes_are_read_or_refused(encoded in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(text) = decode(&encoded) {
                prop_assert_eq!(encode(&text), encoded);
            }
        }
    }
}
