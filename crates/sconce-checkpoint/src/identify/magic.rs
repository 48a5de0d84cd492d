//! Files that begin with a signature.

use super::FileKind;

/// A signature, where it stands, and what it says.
type Magic = (usize, &'static [u8], FileKind);

/// Looked at in this order. Signatures too short to trust have further conditions in [`find`].
static MAGICS: &[Magic] = &[
    (0, b"PYTORCH1", FileKind::PreviewArchive),
    (4, b"PTMF", FileKind::MobileFlatbuffer),
    (4, b"TFL3", FileKind::TfLite),
    (0, b"\x93NUMPY", FileKind::Npy),
    (0, b"GGUF", FileKind::Gguf),
    (0, b"lmgg", FileKind::Ggml),
    (0, b"fmgg", FileKind::Ggml),
    (0, b"tjgg", FileKind::Ggml),
    (0, b"algg", FileKind::Ggml),
    (0, b"\x89HDF\r\n\x1a\n", FileKind::Hdf5),
    (0, b"7z\xbc\xaf\x27\x1c", FileKind::SevenZip),
    (0, b"Rar!\x1a\x07", FileKind::Rar),
    (0, b"\x1f\x8b", FileKind::Gzip),
    (0, b"\xfd7zXZ\0", FileKind::Xz),
    (0, b"\x28\xb5\x2f\xfd", FileKind::Zstd),
    (0, b"\x04\x22\x4d\x18", FileKind::Lz4),
    (0, b"PAR1", FileKind::Parquet),
    (0, b"ARROW1", FileKind::Arrow),
    (0, b"SQLite format 3\0", FileKind::Sqlite),
    (0, b"%PDF-", FileKind::Pdf),
    (0, b"\x89PNG\r\n\x1a\n", FileKind::Png),
    (0, b"\xff\xd8\xff", FileKind::Jpeg),
    (0, b"GIF8", FileKind::Gif),
    (0, b"\x7fELF", FileKind::Elf),
    (0, b"\xfe\xed\xfa\xce", FileKind::MachO),
    (0, b"\xfe\xed\xfa\xcf", FileKind::MachO),
    (0, b"\xce\xfa\xed\xfe", FileKind::MachO),
    (0, b"\xcf\xfa\xed\xfe", FileKind::MachO),
    (0, b"\xca\xfe\xba\xbe\0\0\0", FileKind::MachO),
];

/// TensorFlow's index of a checkpoint is a table of LevelDB's form, which ends so.
const TABLE_END: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();

pub(super) fn find(bytes: &[u8], tail: &[u8]) -> Option<FileKind> {
    let stands_at =
        |at: usize, magic: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(magic));
    if let Some(&(_, _, kind)) = MAGICS.iter().find(|(at, magic, _)| stands_at(*at, magic)) {
        return Some(kind);
    }
    if let Some([b'E', b'T', a, b]) = bytes.get(4..8)
        && a.is_ascii_digit()
        && b.is_ascii_digit()
    {
        return Some(FileKind::ExecuTorch);
    }
    if let [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] = bytes {
        return Some(FileKind::Bzip2);
    }
    if is_windows_program(bytes) {
        return Some(FileKind::Pe);
    }
    if tail.ends_with(&TABLE_END) {
        return Some(FileKind::TfCheckpoint);
    }
    None
}

fn is_windows_program(bytes: &[u8]) -> bool {
    let offset = bytes.get(0x3c..0x40).and_then(|field| field.try_into().ok());
    let offset = offset.map_or(0, |field| u32::from_le_bytes(field) as usize);
    bytes.starts_with(b"MZ")
        && bytes.get(offset..).is_some_and(|header| header.starts_with(b"PE\0\0"))
}

/// zlib's two header bytes, for the compression levels that programs use: too short to be looked at
/// before all else.
pub(super) fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..])
}
