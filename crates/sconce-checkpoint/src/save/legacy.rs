//! The stream of pickles and raw storages that `torch.save` writes with
//! `_use_new_zipfile_serialization=False`, and always wrote before 1.6.

use std::io::{self, Write};

use num_bigint::BigInt;
use sconce_pickle::{ArenaBuilder, EncodeOptions, Value, encode, encode_into};
use sconce_source::StreamReader;
use sconce_tensor::ByteOrder;

use super::lower::{Lowered, unpicklable};
use super::progress::Progress;
use super::{data, unencodable};
use crate::formats::{MAGIC, PROTOCOL_VERSION};
use crate::{Error, ErrorKind};

/// What PyTorch says of the sizes of C's types, on every machine.
const TYPE_SIZES: [(&str, i64); 3] = [("short", 2), ("int", 4), ("long", 4)];

/// Writes the whole stream, storage by storage.
pub(super) fn write<W: Write>(
    mut out: W,
    lowered: &Lowered<'_>,
    options: &EncodeOptions,
    mut progress: Progress<'_>,
) -> Result<W, Error> {
    for pickle in head(options)? {
        out.write_all(&pickle).map_err(unwritable)?;
    }
    encode_into(&mut out, &lowered.arena, lowered.root, options).map_err(unencodable)?;
    // Sorted as strs, not as numbers.
    let mut keys: Vec<(String, usize)> =
        (0..lowered.storages.len()).map(|at| (at.to_string(), at)).collect();
    keys.sort_unstable();
    let mut values = ArenaBuilder::new();
    let names: Vec<Value> = keys.iter().map(|(key, _)| values.str(key.as_str())).collect();
    let list = values.list(names);
    encode_into(&mut out, values.arena(), list, options).map_err(unencodable)?;
    let mut reader = StreamReader::new();
    for (key, at) in keys {
        let saved = &lowered.storages[at];
        let bytes = data(&saved.storage, &key, saved.dtype, ByteOrder::Little)?;
        // The count of elements, of the type that the storage was first met under.
        let count = (bytes.len() / saved.dtype.item_size()) as i64;
        out.write_all(&count.to_le_bytes()).map_err(unwritable)?;
        let write = |part: &[u8]| {
            out.write_all(part).map_err(unwritable)?;
            progress.advance(part.len());
            Ok::<(), Error>(())
        };
        reader.parts(bytes.source(), &bytes, write)?;
    }
    out.flush().map_err(unwritable)?;
    Ok(out)
}

/// The pickles that come before the object's: magic number, version, and what is said of the
/// machine.
fn head(options: &EncodeOptions) -> Result<[Vec<u8>; 3], Error> {
    let mut values = ArenaBuilder::new();
    let magic = values.big_int(BigInt::from(MAGIC));
    let version = values.int(PROTOCOL_VERSION);
    let mut sizes = Vec::with_capacity(TYPE_SIZES.len());
    for (name, size) in TYPE_SIZES {
        sizes.push((values.str(name), values.int(size)));
    }
    let sizes = values.dict(sizes).map_err(unpicklable)?;
    let system = vec![
        (values.str("protocol_version"), version),
        (values.str("little_endian"), values.bool(true)),
        (values.str("type_sizes"), sizes),
    ];
    let system = values.dict(system).map_err(unpicklable)?;
    let pickle = |value| encode(values.arena(), value, options).map_err(unencodable);
    Ok([pickle(magic)?, pickle(version)?, pickle(system)?])
}

fn unwritable(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

#[cfg(test)]
mod tests {
    use sconce_tensor::{DType, Device, Storage};

    use super::*;
    use crate::save::lower::Saved;

    fn stream(sizes: &[usize], dtype: DType, protocol: u8) -> Vec<u8> {
        let mut values = ArenaBuilder::new();
        let root = values.none();
        let storage = |(at, &size): (usize, &usize)| {
            let storage = Storage::from_bytes(vec![at as u8; size].into(), Device::CPU);
            Saved { storage, dtype }
        };
        let storages = sizes.iter().enumerate().map(storage).collect();
        let lowered = Lowered { arena: values.finish(), root, storages };
        let options = EncodeOptions::default().with_protocol(protocol);
        write(Vec::new(), &lowered, &options, Progress::new(None, &lowered)).unwrap()
    }

    #[test]
    fn a_stream_without_storages() {
        let expected: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\
            \x80\x02}q\0(X\x10\0\0\0protocol_versionq\x01M\xe9\x03X\x0d\0\0\0little_endianq\x02\x88\
            X\x0a\0\0\0type_sizesq\x03}q\x04(X\x05\0\0\0shortq\x05K\x02X\x03\0\0\0intq\x06K\x04\
            X\x04\0\0\0longq\x07K\x04uu.\x80\x02N.\x80\x02]q\0.";
        assert_eq!(stream(&[], DType::Float32, 2), expected);
    }

    #[test]
    fn data_lies_in_the_order_of_keys_as_text() {
        let stream = stream(&[2; 12], DType::UInt8, 2);
        let data: Vec<u8> = stream[stream.len() - 12 * 10..].to_vec();
        let order: Vec<u8> = data.chunks(10).map(|block| block[9]).collect();
        assert_eq!(order, [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn counts_are_of_elements() {
        for (dtype, count) in [(DType::UInt8, 16u8), (DType::Int16, 8), (DType::Complex128, 1)] {
            let stream = stream(&[16], dtype, 2);
            let block = &stream[stream.len() - 24..];
            assert_eq!(block[..8], [count, 0, 0, 0, 0, 0, 0, 0], "{dtype}");
            assert_eq!(block[8..], [0; 16], "{dtype}");
        }
    }

    #[test]
    fn every_pickle_has_the_protocol() {
        for protocol in [2, 3, 4, 5] {
            let stream = stream(&[], DType::Float32, protocol);
            let begins = stream.windows(2).filter(|pair| *pair == [0x80, protocol]).count();
            assert_eq!(begins, 5, "{protocol}");
        }
    }
}
