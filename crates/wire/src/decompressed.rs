//! Files that may be compressed.

use std::io::{BufReader, Chain, Cursor, ErrorKind, Read};

use flate2::read::MultiGzDecoder;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// RFC 8878 section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Most memory a zstd stream may ask for, as a power of two: what `zstd --long=27` needs, the most it decodes unasked.
const ZSTD_WINDOW_LOG: u32 = 27;

/// The bytes of a plain, gzip or zstd file, decompressed. What it is, its first bytes say.
pub struct Decompressed<R: Read>(Input<R>);

type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

enum Input<R: Read> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Whole<R>>>>),
}

impl<R: Read> Decompressed<R> {
    /// Reads the first bytes.
    ///
    /// # Errors
    /// Those of the input.
    pub fn detect(mut input: R) -> std::io::Result<Self> {
        let mut magic = [0; 4];
        let mut length = 0;
        while length < magic.len() {
            match input.read(&mut magic[length..]) {
                Ok(0) => break,
                Ok(bytes) => length += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let whole = Cursor::new(magic[..length].to_vec()).chain(input);
        if magic[..2] == GZIP_MAGIC {
            return Ok(Decompressed(Input::Gzip(Box::new(MultiGzDecoder::new(whole)))));
        }
        if magic == ZSTD_MAGIC {
            let mut decoder = zstd::Decoder::new(whole)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            return Ok(Decompressed(Input::Zstd(Box::new(decoder))));
        }
        Ok(Decompressed(Input::Plain(whole)))
    }

    /// Whether the input is not compressed.
    pub fn is_plain(&self) -> bool {
        matches!(self.0, Input::Plain(_))
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.0 {
            Input::Plain(input) => input.read(buffer),
            Input::Gzip(input) => input.read(buffer),
            Input::Zstd(input) => input.read(buffer),
        }
    }
}
