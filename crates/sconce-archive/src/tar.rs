//! The plain tar files that PyTorch before 0.1.10 wrote.

use std::ops::Range;

use sconce_source::{Bytes, Source};

use crate::{Error, ErrorKind};

const BLOCK: usize = 512;
/// Blocks of attributes (long names, PAX records) longer than this are refused.
const MAX_ATTRIBUTE_BYTES: u64 = 1 << 20;

/// A regular file in a tar archive.
#[derive(Debug, Clone)]
pub struct TarMember {
    /// The name, lossily decoded.
    pub name: String,
    source: Source,
    start: u64,
    len: u64,
}

impl TarMember {
    /// Where its contents begin in the file.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// How many bytes they are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The contents. Of a [store](Source::from_store), they are read.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn bytes(&self) -> Result<Bytes, sconce_source::Error> {
        let bytes = self.source.slice(self.start..self.start + self.len)?;
        Ok(bytes.unwrap_or_else(|| Vec::new().into()))
    }
}

/// The regular files of a tar archive: ustar, PAX and GNU long names.
#[derive(Debug)]
pub struct TarArchive {
    members: Vec<TarMember>,
}

impl TarArchive {
    /// Walks from header to header. Contents are read when they are asked for.
    ///
    /// # Errors
    /// When the first block is no tar header ([`ErrorKind::NotThisFormat`]), or a later one is
    /// damaged or passes the end of the file.
    pub fn read(source: &Source) -> Result<TarArchive, Error> {
        let mut members = Vec::new();
        let mut at = 0u64;
        let mut attributes = Attributes::default();
        while let Some(block) = source.slice(at..at.saturating_add(BLOCK as u64))? {
            if block.iter().all(|&byte| byte == 0) {
                break;
            }
            let Some(header) = Header::parse(&block) else {
                let first = at == 0;
                let kind = if first { ErrorKind::NotThisFormat } else { ErrorKind::Malformed };
                let message = if first { "not a tar archive" } else { "damaged tar header" };
                return Err(Error::new(kind, message).at(at));
            };
            let size = if header.is_attribute() {
                header.size
            } else {
                attributes.size.unwrap_or(header.size)
            };
            let start = at + BLOCK as u64;
            let end = start.checked_add(size).filter(|end| *end <= source.len());
            let Some(end) = end else {
                return Err(Error::new(
                    ErrorKind::Truncated,
                    "tar member passes the end of the file",
                )
                .in_record(header.name)
                .at(at)
                .with_note(format!("it declares {size} bytes")));
            };
            if header.is_attribute() {
                attributes.take(header.kind, source, start..end, at)?;
            } else {
                let attributes = std::mem::take(&mut attributes);
                if header.is_file() {
                    let name = attributes.name.unwrap_or(header.name);
                    members.push(TarMember { name, source: source.clone(), start, len: size });
                }
            }
            at = start + size.div_ceil(BLOCK as u64) * BLOCK as u64;
        }
        if at == 0 {
            return Err(Error::new(ErrorKind::NotThisFormat, "not a tar archive"));
        }
        Ok(TarArchive { members })
    }

    /// The regular files, in order.
    pub fn members(&self) -> &[TarMember] {
        &self.members
    }

    /// The last file called `name`, as Python's `tarfile` chooses; a leading `./` does not matter.
    pub fn find(&self, name: &str) -> Option<&TarMember> {
        let plain =
            |member: &&TarMember| member.name.strip_prefix("./").unwrap_or(&member.name) == name;
        self.members.iter().rev().find(plain)
    }

    /// The file called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn read_member(&self, name: &str) -> Result<&TarMember, Error> {
        self.find(name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("the tar archive has no file '{name}'"))
                .in_record(name)
        })
    }
}

struct Header {
    name: String,
    size: u64,
    kind: u8,
}

impl Header {
    fn parse(block: &[u8]) -> Option<Header> {
        let stored = octal(&block[148..156])?;
        let sum = |signed: bool| -> i64 {
            let byte = |(at, &byte): (usize, &u8)| {
                let byte = if (148..156).contains(&at) { b' ' } else { byte };
                if signed { i64::from(byte as i8) } else { i64::from(byte) }
            };
            block.iter().enumerate().map(byte).sum()
        };
        let stored = i64::try_from(stored).ok()?;
        if stored != sum(false) && stored != sum(true) {
            return None;
        }
        let mut name = text(&block[..100]);
        if &block[257..262] == b"ustar" && block[345] != 0 && block[263] != b' ' {
            name = format!("{}/{name}", text(&block[345..500]));
        }
        Some(Header { name, size: number(&block[124..136])?, kind: block[156] })
    }

    fn is_attribute(&self) -> bool {
        matches!(self.kind, b'x' | b'g' | b'L' | b'K')
    }

    fn is_file(&self) -> bool {
        matches!(self.kind, b'0' | 0 | b'7') && !self.name.ends_with('/')
    }
}

/// What PAX records and GNU long-name blocks say of the member that follows.
#[derive(Default)]
struct Attributes {
    name: Option<String>,
    size: Option<u64>,
}

impl Attributes {
    fn take(&mut self, kind: u8, source: &Source, range: Range<u64>, at: u64) -> Result<(), Error> {
        if range.end - range.start > MAX_ATTRIBUTE_BYTES {
            let message = "tar attributes are longer than 1 MiB";
            return Err(Error::new(ErrorKind::Limit, message).at(at));
        }
        let bytes = source.slice(range)?.unwrap_or_else(|| Vec::new().into());
        match kind {
            b'L' => self.name = Some(text(&bytes)),
            b'x' => self
                .take_pax(&bytes)
                .ok_or_else(|| Error::new(ErrorKind::Malformed, "damaged PAX attributes").at(at))?,
            _ => {}
        }
        Ok(())
    }

    /// Records of the form `LENGTH KEY=VALUE\n`, LENGTH counting itself.
    fn take_pax(&mut self, mut bytes: &[u8]) -> Option<()> {
        while bytes.first().is_some_and(|&byte| byte != 0) {
            let space = bytes.iter().position(|&byte| byte == b' ')?;
            let len: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
            let record = bytes.get(space + 1..len)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|&byte| byte == b'=')?;
            let value = String::from_utf8_lossy(&record[equals + 1..]).into_owned();
            match &record[..equals] {
                b"path" => self.name = Some(value),
                b"size" => self.size = Some(value.parse().ok()?),
                _ => {}
            }
            bytes = &bytes[len..];
        }
        Some(())
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A size: octal digits, or GNU's base 256 when the first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 == 0 {
        return octal(field);
    }
    let start = u64::from(field[0] & 0x7f);
    field[1..].iter().try_fold(start, |n, &byte| n.checked_mul(256)?.checked_add(u64::from(byte)))
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches([' ', '\0']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, size: usize, kind: u8) -> Vec<u8> {
        let mut block = vec![0u8; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[156] = kind;
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        block
    }

    fn file(name: &str, data: &[u8], kind: u8) -> Vec<u8> {
        let mut out = header(name, data.len(), kind);
        out.extend_from_slice(data);
        out.resize(out.len().div_ceil(BLOCK) * BLOCK, 0);
        out
    }

    fn read(bytes: Vec<u8>) -> Result<TarArchive, Error> {
        TarArchive::read(&Source::from_vec("t", bytes))
    }

    #[test]
    fn members_and_long_names() {
        let mut bytes = file("./pickle", b"one", b'0');
        bytes.extend(file("PaxHeader", b"14 path=a/bc\n\n", b'x'));
        bytes.truncate(bytes.len() - BLOCK);
        bytes.extend({
            let mut block = b"13 path=a/bc\n".to_vec();
            block.resize(BLOCK, 0);
            block
        });
        bytes.extend(file("short", b"two", b'0'));
        bytes.extend(file("long", b"named\0", b'L'));
        bytes.extend(file("x", b"three", 0));
        bytes.extend([0; 2 * BLOCK]);
        let tar = read(bytes).unwrap();
        let names: Vec<_> =
            tar.members().iter().map(|m| (m.name.as_str(), m.bytes().unwrap().to_vec())).collect();
        let expected = [("./pickle", "one"), ("a/bc", "two"), ("named", "three")];
        assert_eq!(names, expected.map(|(name, text)| (name, text.as_bytes().to_vec())));
        let found = tar.find("pickle").unwrap();
        assert_eq!((found.start(), found.len()), (512, 3));
    }

    #[test]
    fn broken_ones_are_named() {
        assert_eq!(read(vec![1; 2000]).unwrap_err().kind(), ErrorKind::NotThisFormat);
        assert_eq!(read(vec![0; 2000]).unwrap_err().kind(), ErrorKind::NotThisFormat);
        let long = header("pickle", 4000, b'0');
        assert_eq!(read(long).unwrap_err().kind(), ErrorKind::Truncated);
        let mut damaged = file("a", b"x", b'0');
        damaged.extend([7; BLOCK]);
        assert_eq!(read(damaged).unwrap_err().kind(), ErrorKind::Malformed);
    }
}
