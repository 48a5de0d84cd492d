//! An npz file: a zip archive of stored `.npy` files, as `numpy.savez` makes.

use std::fmt::Write as _;
use std::io::Write;

use sconce_source::StreamReader;
use sconce_tensor::{Layout, Tensor, write_npy};

use crate::formats::export::{Error, StorageUseCounts, elements};

const FORMAT: &str = "npz";
const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
const CENTRAL_SIGNATURE: u32 = 0x0201_4b50;
const END_SIGNATURE: u32 = 0x0605_4b50;
const END64_SIGNATURE: u32 = 0x0606_4b50;
const LOCATOR_SIGNATURE: u32 = 0x0706_4b50;
const FULL: u64 = u32::MAX as u64;
/// 1980-01-01, the first day of zip: files do not depend on when they are made.
const DATE: u16 = 0x0021;
const UTF8: u16 = 0x0800;

/// One archive member, as the directory tells it.
struct Member {
    name: String,
    crc: u32,
    size: u64,
    offset: u64,
}

/// The member's name in the archive: the tensor's with `.npy` behind it.
///
/// A name is kept as it is, except for what could lead out of a folder or upset a terminal when the
/// archive is unpacked: control characters, backslashes, a leading slash, the path components `.`
/// and `..`, and `%` itself are written as `%` and two hexadecimal digits a byte.
///
/// ```
/// assert_eq!(sconce_checkpoint::export::npz_name("layers.0/weight"), "layers.0/weight.npy");
/// assert_eq!(sconce_checkpoint::export::npz_name("../a\n"), "%2E%2E/a%0A.npy");
/// ```
pub fn npz_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let escape = |out: &mut String, c: char| {
        let mut buffer = [0; 4];
        for byte in c.encode_utf8(&mut buffer).bytes() {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    };
    for (at, component) in name.split('/').enumerate() {
        if at == 1 && out.is_empty() {
            out.push_str("%2F");
        } else if at > 0 {
            out.push('/');
        }
        let dots = matches!(component, "." | "..");
        for c in component.chars() {
            if dots || c.is_control() || matches!(c, '\\' | '%') {
                escape(&mut out, c);
            } else {
                out.push(c);
            }
        }
    }
    out + ".npy"
}

/// Writes an npz file, without compression; zip64 where sizes or counts need it. `progress` is told
/// the bytes of every tensor after it was written.
///
/// # Errors
/// [`Error::DType`] and [`Error::Layout`] for tensors that NumPy cannot hold, [`Error::Name`] when
/// two tensors come to the same name, and the errors of reading and writing.
pub fn write_npz(
    tensors: &[(String, Tensor)],
    out: impl Write,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let mut names = std::collections::HashSet::new();
    for (name, tensor) in tensors {
        check_layout(name, tensor, FORMAT)?;
        if tensor.dtype().numpy_descr().is_none() {
            let (name, dtype) = (name.clone(), tensor.dtype());
            return Err(Error::DType { name, dtype, format: FORMAT });
        }
        if !names.insert(npz_name(name)) {
            return Err(Error::Name(format!("two tensors are called '{name}'")));
        }
        if npz_name(name).len() > usize::from(u16::MAX) {
            return Err(Error::Name("a name is longer than the 65,535 bytes of zip".to_owned()));
        }
    }
    let mut out = Counted { out, written: 0 };
    let mut members = Vec::with_capacity(tensors.len());
    let (use_counts, mut reader) = (StorageUseCounts::of(tensors), StreamReader::new());
    for (name, tensor) in tensors {
        let tensor = &use_counts.loaded(tensor)?;
        // A zip member's checksum stands before its bytes; counting them first costs a second look
        // at memory that is warm by then, and keeps the output a plain stream.
        let mut check = Checksum { crc: crc32fast::Hasher::new(), size: 0 };
        write_npy(tensor, &mut check)?;
        let member = Member {
            name: npz_name(name),
            crc: check.crc.finalize(),
            size: check.size,
            offset: out.written,
        };
        out.write_all(&local_header(&member))?;
        write_npy(tensor, &mut out)?;
        elements::passed(&mut reader, tensor)?;
        progress(tensor.nbytes());
        members.push(member);
    }
    let start = out.written;
    for member in &members {
        out.write_all(&central_header(member))?;
    }
    let size = out.written - start;
    out.write_all(&end_records(members.len() as u64, start, size))?;
    out.flush()?;
    Ok(())
}

/// Refuses what has no row of elements, or no elements.
pub(in crate::formats) fn check_layout(
    name: &str,
    tensor: &Tensor,
    format: &'static str,
) -> Result<(), Error> {
    let what = if tensor.nested_parts().is_some() {
        "a nested tensor"
    } else if tensor.layout() != Layout::Strided {
        "a sparse tensor"
    } else if tensor.quantizer().is_some() {
        "a quantized tensor"
    } else if !tensor.has_data() {
        "a tensor without data"
    } else {
        return Ok(());
    };
    Err(Error::Layout { name: name.to_owned(), what, format })
}

fn local_header(member: &Member) -> Vec<u8> {
    let large = member.size >= FULL;
    let size = if large { FULL as u32 } else { member.size as u32 };
    let mut out = Vec::with_capacity(50 + member.name.len());
    out.extend(LOCAL_SIGNATURE.to_le_bytes());
    for field in [if large { 45 } else { 20 }, flags(&member.name), 0, 0, DATE] {
        out.extend(u16::to_le_bytes(field));
    }
    for field in [member.crc, size, size] {
        out.extend(field.to_le_bytes());
    }
    out.extend((member.name.len() as u16).to_le_bytes());
    out.extend(u16::to_le_bytes(if large { 20 } else { 0 }));
    out.extend(member.name.as_bytes());
    if large {
        out.extend(zip64_field(&[member.size, member.size]));
    }
    out
}

fn central_header(member: &Member) -> Vec<u8> {
    let mut wide = Vec::new();
    if member.size >= FULL {
        wide.extend([member.size, member.size]);
    }
    if member.offset >= FULL {
        wide.push(member.offset);
    }
    let narrow = |value: u64| if value >= FULL { FULL as u32 } else { value as u32 };
    let needed = if wide.is_empty() { 20 } else { 45 };
    let mut out = Vec::with_capacity(74 + member.name.len());
    out.extend(CENTRAL_SIGNATURE.to_le_bytes());
    for field in [needed, needed, flags(&member.name), 0, 0, DATE] {
        out.extend(u16::to_le_bytes(field));
    }
    for field in [member.crc, narrow(member.size), narrow(member.size)] {
        out.extend(field.to_le_bytes());
    }
    out.extend((member.name.len() as u16).to_le_bytes());
    out.extend(u16::to_le_bytes(if wide.is_empty() { 0 } else { 4 + 8 * wide.len() as u16 }));
    out.extend([0; 10]); // No comment, disk 0, no attributes.
    out.extend(narrow(member.offset).to_le_bytes());
    out.extend(member.name.as_bytes());
    if !wide.is_empty() {
        out.extend(zip64_field(&wide));
    }
    out
}

fn end_records(count: u64, start: u64, size: u64) -> Vec<u8> {
    let mut out = Vec::new();
    if count >= u64::from(u16::MAX) || start >= FULL || size >= FULL {
        out.extend(END64_SIGNATURE.to_le_bytes());
        out.extend(44u64.to_le_bytes());
        out.extend(45u16.to_le_bytes());
        out.extend(45u16.to_le_bytes());
        out.extend([0; 8]);
        for field in [count, count, size, start] {
            out.extend(field.to_le_bytes());
        }
        out.extend(LOCATOR_SIGNATURE.to_le_bytes());
        out.extend([0; 4]);
        out.extend((start + size).to_le_bytes());
        out.extend(1u32.to_le_bytes());
    }
    let count = count.min(u64::from(u16::MAX)) as u16;
    out.extend(END_SIGNATURE.to_le_bytes());
    out.extend([0; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((size.min(FULL) as u32).to_le_bytes());
    out.extend((start.min(FULL) as u32).to_le_bytes());
    out.extend([0; 2]);
    out
}

fn zip64_field(values: &[u64]) -> Vec<u8> {
    let mut out = Vec::from([1, 0, 8 * values.len() as u8, 0]);
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    out
}

fn flags(name: &str) -> u16 {
    if name.is_ascii() { 0 } else { UTF8 }
}

struct Counted<W> {
    out: W,
    written: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

struct Checksum {
    crc: crc32fast::Hasher,
    size: u64,
}

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.crc.update(bytes);
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sconce_archive::{Directory, verify};
    use sconce_source::{Limits, Source};

    use super::*;

    #[test]
    fn an_archive_reads_back_and_has_no_fault() {
        let tensors = vec![
            ("layers.0.weight".to_owned(), Tensor::from_vec(vec![1f32, 2.0], &[2, 1]).unwrap()),
            ("größe".to_owned(), Tensor::from_vec(vec![7i64], &[]).unwrap()),
            (String::new(), Tensor::from_vec(vec![true, false], &[2]).unwrap()),
        ];
        let mut file = Vec::new();
        let mut told = 0;
        write_npz(&tensors, &mut file, &mut |bytes| told += bytes).unwrap();
        assert_eq!(told, 8 + 8 + 2);
        let source = Source::from_vec("x.npz", file);
        let directory = Directory::read(source, &Limits::default()).unwrap();
        let report = verify::verify(&directory, |_| {});
        assert_eq!(report.findings.len(), 0, "{:?}", report.findings);
        assert_eq!(report.accounted, report.total);
        let names: Vec<_> = directory.entries().iter().map(|e| directory.display_name(e)).collect();
        assert_eq!(names, ["layers.0.weight.npy", "größe.npy", ".npy"]);
        for (entry, (_, tensor)) in directory.entries().iter().zip(&tensors) {
            let again = sconce_tensor::read_npy(&directory.bytes(entry).unwrap()).unwrap();
            assert_eq!(again.sizes(), tensor.sizes());
            assert_eq!(again.contiguous_bytes().unwrap(), tensor.contiguous_bytes().unwrap());
        }
    }

    #[test]
    fn large_members_and_counts_take_zip64() {
        let member = Member { name: "a".into(), crc: 1, size: 5 << 30, offset: 6 << 30 };
        let local = local_header(&member);
        assert_eq!(local[18..26], [0xff; 8]);
        assert_eq!(local[31..35], [1, 0, 16, 0]);
        assert_eq!(local[35..43], (5u64 << 30).to_le_bytes());
        let central = central_header(&member);
        assert_eq!(central[47..51], [1, 0, 24, 0]);
        assert_eq!(central[67..75], (6u64 << 30).to_le_bytes());
        assert_eq!(end_records(3, 10, 20).len(), 22);
        assert_eq!(end_records(70_000, 10, 20).len(), 22 + 56 + 20);
    }

    #[test]
    fn names_stay_inside_their_folder() {
        let cases = [
            ("a.b", "a.b.npy"),
            ("/etc/x", "%2Fetc/x.npy"),
            ("a/../b", "a/%2E%2E/b.npy"),
            ("..\\x", "..%5Cx.npy"),
            ("50%", "50%25.npy"),
            ("\u{9b}", "%C2%9B.npy"),
            ("", ".npy"),
        ];
        for (name, want) in cases {
            assert_eq!(npz_name(name), want);
        }
    }
}
