//! A zip file's central directory, exactly as it stands.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use sconce_source::{Bytes, Limits, Source, StreamReader};

use crate::inflate::{self, Inflater, inflate};
use crate::{Error, ErrorKind};

pub(crate) const LOCAL_SIGNATURE: [u8; 4] = *b"PK\x03\x04";
pub(crate) const CENTRAL_SIGNATURE: [u8; 4] = *b"PK\x01\x02";
pub(crate) const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
pub(crate) const END64_SIGNATURE: [u8; 4] = *b"PK\x06\x06";
pub(crate) const LOCATOR_SIGNATURE: [u8; 4] = *b"PK\x06\x07";
pub(crate) const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";

pub(crate) const LOCAL_LEN: u64 = 30;
pub(crate) const CENTRAL_LEN: usize = 46;
pub(crate) const END_LEN: u64 = 22;
pub(crate) const END64_LEN: u64 = 56;
pub(crate) const LOCATOR_LEN: u64 = 20;
/// The end record is searched for in this many last bytes: its own length and the longest comment.
const END_SEARCH: u64 = END_LEN + 0xFFFF;

const FLAG_ENCRYPTED: u16 = 1;
const FLAG_PATCH: u16 = 1 << 5;
const FLAG_STRONG_ENCRYPTION: u16 = 1 << 6;
const FLAG_MASKED_HEADER: u16 = 1 << 13;
/// Sizes and checksum follow the data, in a descriptor.
pub(crate) const FLAG_DESCRIPTOR: u16 = 1 << 3;
/// The name is UTF-8.
pub(crate) const FLAG_UTF8: u16 = 1 << 11;

/// How an entry's bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// As they are.
    Stored,
    /// Raw deflate.
    Deflated,
    /// Something else; the number is the zip format's.
    Other(u16),
}

/// One entry of a central directory. Sizes and offsets are in bytes.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(crate) index: u32,
    pub(crate) name: Range<u32>,
    pub(crate) record: Range<u32>,
    method: Method,
    flags: u16,
    crc32: u32,
    compressed_size: u64,
    size: u64,
    header_offset: u64,
}

impl Entry {
    /// Place in the directory, from 0.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// How the bytes are kept.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The general-purpose flags.
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// CRC-32 of the uncompressed bytes, as declared. PyTorch writes 0 when its checksums are off.
    pub fn crc32(&self) -> u32 {
        self.crc32
    }

    /// Bytes taken in the file.
    pub fn compressed_size(&self) -> u64 {
        self.compressed_size
    }

    /// Bytes after decompression.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Where the entry's local header begins.
    pub fn header_offset(&self) -> u64 {
        self.header_offset
    }
}

/// A local header, which repeats (or contradicts) what the directory says of an entry.
#[derive(Debug, Clone)]
pub(crate) struct LocalHeader {
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc32: u32,
    pub(crate) compressed_size: u32,
    pub(crate) size: u32,
    pub(crate) name: Bytes,
    pub(crate) data_offset: u64,
}

/// Where the tables at the end of a zip file lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndRecords {
    pub(crate) end: u64,
    pub(crate) comment: Range<u64>,
    pub(crate) end64: Option<u64>,
    pub(crate) directory: Range<u64>,
    pub(crate) count: u64,
}

/// A zip file's central directory, exactly as it stands.
#[derive(Debug)]
pub struct Directory {
    source: Source,
    limits: Limits,
    /// A copy: a mapped file may change under us, and names are looked at often.
    raw: Vec<u8>,
    entries: Vec<Entry>,
    pub(crate) ends: EndRecords,
    /// Where local headers and the directory begin, in order; made when a store is read.
    starts: OnceLock<Vec<u64>>,
}

impl Directory {
    /// Finds and reads the central directory.
    ///
    /// # Errors
    /// With PyTorch's wording when there is none, it is cut short, or it contradicts the file's
    /// length.
    pub fn read(source: Source, limits: &Limits) -> Result<Directory, Error> {
        let ends = find_ends(&source)?;
        if ends.count > limits.max_entries as u64 {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "the archive has {} entries, the limit is {}",
                    ends.count, limits.max_entries
                ),
            ));
        }
        let size = ends.directory.end - ends.directory.start;
        if size > u64::from(u32::MAX) {
            let message = format!("the central directory takes {size} bytes, the limit is 4 GiB");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let raw = source
            .slice(ends.directory.clone())?
            .map(|bytes| bytes.to_vec())
            .ok_or_else(|| bad_directory("the directory lies beyond the end of the file"))?;
        let mut entries = Vec::with_capacity(ends.count as usize);
        let mut at = 0;
        for index in 0..ends.count {
            let entry = parse_entry(&raw, &mut at, index as u32, &ends, source.len())?;
            entries.push(entry);
        }
        let starts = OnceLock::new();
        Ok(Directory { source, limits: limits.clone(), raw, entries, ends, starts })
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// All entries, in the directory's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Checks that no two records share bytes: readers that go by different tables would see two
    /// things in one place, and a few kilobytes of directory could name one large record a thousand
    /// times.
    ///
    /// # Errors
    /// When records overlap, by what the directory says of them.
    pub fn check_layout(&self) -> Result<(), Error> {
        let end_of = |entry: &Entry| {
            let name = self.raw_name(entry).len() as u64;
            entry.header_offset + LOCAL_LEN + name + entry.compressed_size
        };
        let mut order: Vec<&Entry> = self.entries.iter().collect();
        if !order.is_sorted_by_key(|entry| entry.header_offset) {
            order.sort_by_key(|entry| entry.header_offset);
        }
        for pair in order.windows(2) {
            if end_of(pair[0]) > pair[1].header_offset {
                return Err(Error::new(ErrorKind::Malformed, "two records overlap")
                    .in_record(self.display_name(pair[1]))
                    .at(pair[1].header_offset)
                    .with_note(format!("the other is '{}'", self.display_name(pair[0]))));
            }
        }
        Ok(())
    }

    /// An entry's full name, as bytes: the format does not promise text.
    pub fn raw_name(&self, entry: &Entry) -> &[u8] {
        &self.raw[entry.name.start as usize..entry.name.end as usize]
    }

    /// An entry's full name for people; bytes that are not UTF-8 show as U+FFFD.
    pub fn display_name(&self, entry: &Entry) -> Cow<'_, str> {
        String::from_utf8_lossy(self.raw_name(entry))
    }

    /// The fixed part of an entry's directory record, for comparison with its local header.
    pub(crate) fn raw_record(&self, entry: &Entry) -> &[u8] {
        &self.raw[entry.record.start as usize..entry.record.end as usize]
    }

    pub(crate) fn local_header(&self, entry: &Entry) -> Result<LocalHeader, Error> {
        self.parse_header(entry, |range| Ok(self.source.slice(range)?))
    }

    fn parse_header(
        &self,
        entry: &Entry,
        slice: impl Fn(Range<u64>) -> Result<Option<Bytes>, Error>,
    ) -> Result<LocalHeader, Error> {
        let name = || self.display_name(entry).into_owned();
        let at = entry.header_offset;
        let malformed = |note: &str| {
            let message =
                "PytorchStreamReader failed reading file: invalid header or archive is corrupted";
            Error::new(ErrorKind::Malformed, message).in_record(name()).at(at).with_note(note)
        };
        let beyond = || malformed("the local header lies beyond the end of the file");
        let end = at.checked_add(LOCAL_LEN).ok_or_else(beyond)?;
        let header = slice(at..end)?.ok_or_else(beyond)?;
        if header[..4] != LOCAL_SIGNATURE {
            return Err(malformed("there is no local header where the directory says"));
        }
        let name_len = u64::from(u16_at(&header, 26));
        let extra_len = u64::from(u16_at(&header, 28));
        let data_offset = at + LOCAL_LEN + name_len + extra_len;
        let local_name = slice(at + LOCAL_LEN..at + LOCAL_LEN + name_len)?.ok_or_else(beyond)?;
        Ok(LocalHeader {
            flags: u16_at(&header, 6),
            method: u16_at(&header, 8),
            crc32: u32_at(&header, 14),
            compressed_size: u32_at(&header, 18),
            size: u32_at(&header, 22),
            name: local_name,
            data_offset,
        })
    }

    /// Where in the file an entry's (possibly compressed) bytes lie. Reads its local header; not where the file is
    /// read from a [store](Source::from_store) and the bytes fill the place between this header and the next as
    /// PyTorch lays records out. [`Directory::bytes`] reads the header in any case.
    ///
    /// # Errors
    /// When the local header is not there or the bytes would pass the end of the file.
    pub fn data_range(&self, entry: &Entry) -> Result<Range<u64>, Error> {
        let start = match self.source.store().and_then(|_| self.aligned_start(entry)) {
            Some(start) => start,
            None => self.local_header(entry)?.data_offset,
        };
        self.range_from(entry, start)
    }

    /// From an entry's header to the next, where that holds nothing but the header, the padding of PyTorch's rule and
    /// the entry's bytes, with a descriptor or without.
    pub(crate) fn whole_place(&self, entry: &Entry) -> Option<Range<u64>> {
        self.aligned_start(entry)?;
        Some(entry.header_offset..self.next_header(entry)?)
    }

    fn range_from(&self, entry: &Entry, start: u64) -> Result<Range<u64>, Error> {
        let end = start.checked_add(entry.compressed_size).filter(|end| *end <= self.source.len());
        let Some(end) = end else {
            return Err(Error::new(ErrorKind::Truncated, "record data passes the end of the file")
                .in_record(self.display_name(entry))
                .at(start)
                .with_note(format!(
                    "the record needs {} bytes, the file has {} left",
                    entry.compressed_size,
                    self.source.len().saturating_sub(start)
                )));
        };
        Ok(start..end)
    }

    /// Where an entry's bytes begin by PyTorch's rule: a field of padding brings them to a multiple of 64. `None`
    /// where they would not end where the next header, or the directory, begins.
    fn aligned_start(&self, entry: &Entry) -> Option<u64> {
        const ALIGNMENT: u64 = 64;
        const FIELD: u64 = 4;
        let name = self.raw_name(entry).len() as u64;
        let start = (entry.header_offset + LOCAL_LEN + name + FIELD).next_multiple_of(ALIGNMENT);
        let end = start.checked_add(entry.compressed_size)?;
        let next = self.next_header(entry)?;
        let descriptors: &[u64] = if entry.flags & FLAG_DESCRIPTOR == 0 { &[0] } else { &[16, 24] };
        descriptors.iter().any(|len| end.checked_add(*len) == Some(next)).then_some(start)
    }

    /// Where the header behind an entry's begins, or the directory.
    fn next_header(&self, entry: &Entry) -> Option<u64> {
        let starts = self.starts.get_or_init(|| {
            let headers = self.entries.iter().map(|entry| entry.header_offset);
            let mut starts: Vec<u64> = headers.chain([self.ends.directory.start]).collect();
            starts.sort_unstable();
            starts
        });
        starts.get(starts.partition_point(|&at| at <= entry.header_offset)).copied()
    }

    /// An entry's bytes as they lie in the file, with where they begin. Of a store, the local header and the
    /// bytes are read as one range.
    fn raw_bytes(&self, entry: &Entry) -> Result<(Bytes, u64), Error> {
        let missing = || {
            Error::new(ErrorKind::Truncated, "record data passes the end of the file")
                .in_record(self.display_name(entry))
        };
        let mut hull = None;
        if self.source.store().is_some() {
            /// PyTorch's padding has fewer bytes, and most tools' fields.
            const FIELDS: u64 = 160;
            let at = entry.header_offset;
            let name = self.raw_name(entry).len() as u64;
            let end = at.checked_add(LOCAL_LEN + name + FIELDS + entry.compressed_size);
            let end = end.ok_or_else(missing)?.min(self.source.len());
            hull = self.source.slice(at..end)?;
        }
        let header = match &hull {
            Some(hull) => self.parse_header(entry, |range| Ok(slice_of(hull, range)))?,
            None => self.local_header(entry)?,
        };
        let range = self.range_from(entry, header.data_offset)?;
        let start = range.start;
        let raw = match hull.and_then(|hull| slice_of(&hull, range.clone())) {
            Some(raw) => Some(raw),
            None => self.source.slice(range)?,
        };
        Ok((raw.ok_or_else(missing)?, start))
    }

    /// An entry's bytes: a slice of the file when stored, inflated into memory when not.
    ///
    /// # Errors
    /// When the entry cannot be read, is not of a method PyTorch reads, or declares sizes that its
    /// data does not have. The CRC is not looked at: PyTorch does not either; see
    /// [`Directory::computed_crc32`].
    pub fn bytes(&self, entry: &Entry) -> Result<Bytes, Error> {
        let name = || self.display_name(entry).into_owned();
        self.check_readable(entry)?;
        let (raw, start) = self.raw_bytes(entry)?;
        match entry.method {
            Method::Stored => Ok(raw),
            _ => inflate(&raw, entry.size, &self.limits)
                .map(Bytes::from)
                .map_err(|error| error.in_record(name()).at(start)),
        }
    }

    /// What readers that go by other tables, or by none, take for an entry's bytes: as they lie in the file, and inflated as
    /// far as that goes. Nothing where PyTorch reads the entry and the local header names the same method.
    pub fn other_readings(&self, entry: &Entry) -> Vec<Bytes> {
        /// What a reader of lies may cost.
        const LONGEST: usize = 64 << 20;
        let Ok((raw, _)) = self.raw_bytes(entry) else { return Vec::new() };
        let method = match entry.method {
            Method::Stored => 0,
            Method::Deflated => 8,
            Method::Other(number) => number,
        };
        let agrees = self.local_header(entry).is_ok_and(|local| local.method == method);
        if agrees && self.check_readable(entry).is_ok() {
            return Vec::new();
        }
        let inflated = miniz_oxide::inflate::decompress_to_vec_with_limit(&raw, LONGEST)
            .unwrap_or_else(|error| error.output);
        let mut readings = vec![raw];
        if !inflated.is_empty() {
            readings.push(Bytes::from(inflated));
        }
        readings
    }

    /// Whether the entry is of a kind PyTorch's reader reads.
    ///
    /// # Errors
    /// With PyTorch's wording when it is encrypted, patched, compressed otherwise than by deflate,
    /// or stored with two different sizes.
    pub fn check_readable(&self, entry: &Entry) -> Result<(), Error> {
        let refuse = |why: &str, note: String| {
            let name = self.display_name(entry).into_owned();
            let message =
                format!("PytorchStreamReader failed retrieving file meta-data for {name}: {why}");
            Error::new(ErrorKind::Unsupported, message)
                .in_record(name)
                .at(entry.header_offset)
                .with_note(note)
        };
        if entry.flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED_HEADER) != 0 {
            let note = format!("flags {:#06x} say the record is encrypted", entry.flags);
            return Err(refuse("unsupported encryption", note));
        }
        if entry.flags & FLAG_PATCH != 0 {
            let note = format!("flags {:#06x} say the record is a patch", entry.flags);
            return Err(refuse("unsupported feature", note));
        }
        match entry.method {
            Method::Other(number) => {
                Err(refuse("unsupported method", format!("compression method {number}")))
            }
            Method::Stored if entry.size != entry.compressed_size => {
                let note = format!(
                    "a stored record of {} bytes cannot take {} bytes in the file",
                    entry.size, entry.compressed_size
                );
                Err(Error::new(ErrorKind::Malformed, "record sizes contradict each other")
                    .in_record(self.display_name(entry))
                    .at(entry.header_offset)
                    .with_note(note))
            }
            _ => Ok(()),
        }
    }

    /// Hands an entry's bytes on in parts, inflated where they are compressed: for a reader that goes
    /// over them once, in bounded memory whatever their size. `reader` is for all entries of a file.
    ///
    /// # Errors
    /// As [`Directory::bytes`], the first of `take`, or when the file cannot be read.
    pub fn parts<E: From<Error>>(
        &self,
        entry: &Entry,
        reader: &mut StreamReader,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_readable(entry)?;
        let (raw, start) = self.raw_bytes(entry)?;
        let place = |error: Error| error.in_record(self.display_name(entry)).at(start);
        let mut failed = |error: PartError<E>| match error {
            PartError::Taker(error) => error,
            PartError::Archive(error) => place(error).into(),
        };
        if entry.method == Method::Stored {
            let swept =
                reader.parts(&self.source, &raw, |part| take(part).map_err(PartError::Taker));
            return swept.map_err(&mut failed);
        }
        let inflater = Inflater::new(entry.compressed_size, entry.size, &self.limits);
        let mut inflater = inflater.map_err(place)?;
        let mut take = |part: &[u8]| take(part).map_err(PartError::Taker);
        let swept = reader.parts(&self.source, &raw, |part| inflater.part(part, &mut take));
        swept.map_err(&mut failed)?;
        // An empty record has no part.
        if raw.is_empty() {
            inflater.part(&[], &mut take).map_err(&mut failed)?;
        }
        inflater.finish().map_err(|error| place(error).into())
    }

    /// The CRC-32 of an entry's uncompressed bytes, as they are now. Reads them in parts.
    ///
    /// # Errors
    /// As [`Directory::parts`].
    pub fn computed_crc32(&self, entry: &Entry) -> Result<u32, Error> {
        self.computed_crc32_in(entry, &mut StreamReader::new())
    }

    /// [`Directory::computed_crc32`] in a reader over several entries.
    ///
    /// # Errors
    /// As [`Directory::parts`].
    pub fn computed_crc32_in(
        &self,
        entry: &Entry,
        reader: &mut StreamReader,
    ) -> Result<u32, Error> {
        let mut hasher = crc32fast::Hasher::new();
        self.parts(entry, reader, |part| {
            hasher.update(part);
            Ok::<(), Error>(())
        })?;
        Ok(hasher.finalize())
    }

    /// An entry's bytes for a parser: not in a map, which could change while they are parsed, and no more
    /// of them than [`Limits::pickle_bytes`] allows.
    ///
    /// # Errors
    /// As [`Directory::bytes`], and when they are more.
    pub fn bytes_to_parse(&self, entry: &Entry) -> Result<Bytes, Error> {
        let limit = self.limits.pickle_bytes(entry.compressed_size);
        if entry.size > limit && inflate::is_possible(entry.compressed_size, entry.size) {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "the record takes {} bytes in the file and {} when it is read, more than {limit}",
                    entry.compressed_size, entry.size
                ),
            )
            .in_record(self.display_name(entry))
            .at(entry.header_offset)
            .with_note("--max-pickle-bytes (Limits::max_pickle_bytes) raises the limit"));
        }
        Ok(self.bytes(entry)?.detached())
    }

    /// What the file may make the reader spend.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// Whose error ends a walk over parts.
enum PartError<E> {
    Archive(Error),
    Taker(E),
}

impl<E> From<Error> for PartError<E> {
    fn from(error: Error) -> Self {
        PartError::Archive(error)
    }
}

impl<E> From<sconce_source::Error> for PartError<E> {
    fn from(error: sconce_source::Error) -> Self {
        PartError::Archive(error.into())
    }
}

/// A part of a slice, by where it lies in the file.
fn slice_of(bytes: &Bytes, range: Range<u64>) -> Option<Bytes> {
    let from = |at: u64| usize::try_from(at.checked_sub(bytes.offset())?).ok();
    bytes.slice(from(range.start)?..from(range.end)?)
}

fn bad_directory(note: impl Into<String>) -> Error {
    let message =
        "PytorchStreamReader failed reading zip archive: failed finding central directory";
    Error::new(ErrorKind::Malformed, message).with_note(note)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn find_ends(source: &Source) -> Result<EndRecords, Error> {
    let len = source.len();
    let starts_as_zip = source.starts_with(&LOCAL_SIGNATURE)?;
    let missing = || {
        if starts_as_zip {
            let error = bad_directory(
                "the file begins as a zip archive but its end is missing, as after a download or a \
                 save that was interrupted",
            );
            return Error::new(ErrorKind::Truncated, error.message())
                .with_note(error.note().unwrap_or_default());
        }
        let message = "PytorchStreamReader failed reading zip archive: not a ZIP archive";
        Error::new(ErrorKind::NotThisFormat, message)
    };
    if len < END_LEN {
        return Err(missing());
    }
    let from = len.saturating_sub(END_SEARCH);
    let tail = source.slice(from..len)?.ok_or_else(missing)?;
    let last = tail.len() - END_LEN as usize;
    let end = (0..=last).rev().find(|&at| tail[at..at + 4] == END_SIGNATURE).ok_or_else(missing)?;
    let record = &tail[end..];
    let end_offset = from + end as u64;
    let mut disks = (u64::from(u16_at(record, 4)), u64::from(u16_at(record, 6)));
    let mut here = u64::from(u16_at(record, 8));
    let mut count = u64::from(u16_at(record, 10));
    let mut size = u64::from(u32_at(record, 12));
    let mut offset = u64::from(u32_at(record, 16));
    let comment_len = u64::from(u16_at(record, 20));
    let comment = end_offset + END_LEN..(end_offset + END_LEN + comment_len).min(len);

    let mut end64 = None;
    if let Some(at) = end64_offset(source, end_offset)? {
        let record = source
            .slice(at..at + END64_LEN)?
            .filter(|record| record[..4] == END64_SIGNATURE)
            .ok_or_else(|| {
                bad_directory("the zip64 end record is not where its locator says").at(at)
            })?;
        disks = (u64::from(u32_at(&record, 16)), u64::from(u32_at(&record, 20)));
        here = u64_at(&record, 24);
        count = u64_at(&record, 32);
        size = u64_at(&record, 40);
        offset = u64_at(&record, 48);
        end64 = Some(at);
    }
    if here != count || !matches!(disks, (0, 0) | (1, 1)) {
        let message =
            "PytorchStreamReader failed reading zip archive: unsupported multidisk archive";
        return Err(Error::new(ErrorKind::Unsupported, message).at(end_offset));
    }
    let fits = size / CENTRAL_LEN as u64 >= count;
    let stop = offset.checked_add(size).filter(|stop| *stop <= len);
    let (true, Some(stop)) = (fits, stop) else {
        let message = "PytorchStreamReader failed reading zip archive: invalid header or archive is corrupted";
        return Err(Error::new(ErrorKind::Malformed, message).at(end_offset).with_note(format!(
            "the end record declares {count} entries in {size} bytes at {offset:#x}; the file has \
             {len} bytes"
        )));
    };
    Ok(EndRecords { end: end_offset, comment, end64, directory: offset..stop, count })
}

/// Offset of the zip64 end record, when a locator stands right before the end record.
fn end64_offset(source: &Source, end: u64) -> Result<Option<u64>, Error> {
    let Some(start) = end.checked_sub(LOCATOR_LEN) else { return Ok(None) };
    let locator = source.slice(start..end)?;
    let Some(locator) = locator.filter(|locator| locator[..4] == LOCATOR_SIGNATURE) else {
        return Ok(None);
    };
    let at = u64_at(&locator, 8);
    Ok(at.checked_add(END64_LEN).filter(|stop| *stop <= source.len()).map(|_| at))
}

fn parse_entry(
    raw: &[u8],
    at: &mut usize,
    index: u32,
    ends: &EndRecords,
    file_len: u64,
) -> Result<Entry, Error> {
    let offset = ends.directory.start + *at as u64;
    let corrupt = |note: String| {
        let message = "PytorchStreamReader failed reading zip archive: invalid header or archive is corrupted";
        Error::new(ErrorKind::Malformed, message).at(offset).with_note(note)
    };
    let record = &raw[*at..];
    if record.len() < CENTRAL_LEN || record[..4] != CENTRAL_SIGNATURE {
        return Err(corrupt(format!("entry {index} of the directory is not there")));
    }
    let name_len = usize::from(u16_at(record, 28));
    let extra_len = usize::from(u16_at(record, 30));
    let comment_len = usize::from(u16_at(record, 32));
    let total = CENTRAL_LEN + name_len + extra_len + comment_len;
    if record.len() < total {
        return Err(corrupt(format!("entry {index} passes the end of the directory")));
    }
    let mut size = u64::from(u32_at(record, 24));
    let mut compressed_size = u64::from(u32_at(record, 20));
    let mut header_offset = u64::from(u32_at(record, 42));
    let extra = &record[CENTRAL_LEN + name_len..CENTRAL_LEN + name_len + extra_len];
    read_zip64(extra, &mut size, &mut compressed_size, &mut header_offset).map_err(corrupt)?;
    // The data itself is checked when it is read, with the local header in hand; this catches what
    // the directory alone shows.
    let end = header_offset.checked_add(LOCAL_LEN).and_then(|at| at.checked_add(compressed_size));
    if end.is_none_or(|end| end > file_len) {
        return Err(corrupt(format!(
            "entry {index} declares {compressed_size} bytes at {header_offset:#x}, beyond the end \
             of the file ({file_len} bytes)"
        )));
    }
    let start = *at as u32;
    *at += total;
    Ok(Entry {
        index,
        name: start + CENTRAL_LEN as u32..start + (CENTRAL_LEN + name_len) as u32,
        record: start..start + total as u32,
        method: match u16_at(record, 10) {
            0 => Method::Stored,
            8 => Method::Deflated,
            other => Method::Other(other),
        },
        flags: u16_at(record, 8),
        crc32: u32_at(record, 16),
        compressed_size,
        size,
        header_offset,
    })
}

/// Reads the 64-bit values that replace fields of all ones, in the order the format fixes.
fn read_zip64(
    extra: &[u8],
    size: &mut u64,
    compressed_size: &mut u64,
    header_offset: &mut u64,
) -> Result<(), String> {
    const FULL: u64 = u32::MAX as u64;
    if *size != FULL && *compressed_size != FULL && *header_offset != FULL {
        return Ok(());
    }
    let mut rest = extra;
    while rest.len() >= 4 {
        let (id, len) = (u16_at(rest, 0), usize::from(u16_at(rest, 2)));
        if rest.len() < 4 + len {
            return Err("an extra field passes its entry's end".to_owned());
        }
        if id == 1 {
            let mut values = rest[4..4 + len].chunks_exact(8).map(|chunk| u64_at(chunk, 0));
            for field in [size, compressed_size, header_offset] {
                if *field == FULL {
                    *field = values.next().ok_or("a zip64 extra field lacks a value")?;
                }
            }
            return Ok(());
        }
        rest = &rest[4 + len..];
    }
    // Without the field, all ones is the value itself.
    Ok(())
}
