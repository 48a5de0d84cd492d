//! The zip format's own structures as PyTorch writes them: the mirror image of `directory.rs`.

use crate::directory::{
    CENTRAL_LEN, CENTRAL_SIGNATURE, DESCRIPTOR_SIGNATURE, END_LEN, END_SIGNATURE, END64_LEN,
    END64_SIGNATURE, FLAG_DESCRIPTOR, FLAG_UTF8, LOCAL_LEN, LOCAL_SIGNATURE, LOCATOR_LEN,
    LOCATOR_SIGNATURE,
};

/// From this value on, a size or an offset is kept in a zip64 field.
pub(super) const FULL: u64 = u32::MAX as u64;
/// MS-DOS's attribute of a folder, which an empty record with a name that ends in `/` gets.
const ATTRIBUTE_FOLDER: u32 = 0x10;
/// What PyTorch's writer calls itself in the zip64 end record, and what it asks of readers.
const MADE_BY: u16 = 0x031E;
const NEEDS_ZIP64: u16 = 45;

/// The version that readers of deflated data must have.
const NEEDS_DEFLATE: u16 = 20;
/// The zip format's number for deflate.
const DEFLATED: u16 = 8;

/// One record, as its headers describe it.
#[derive(Debug)]
pub(super) struct Header<'a> {
    /// With the folder.
    pub(super) name: &'a [u8],
    pub(super) size: u64,
    /// The same as `size` when the data is stored as it is.
    pub(super) compressed_size: u64,
    pub(super) deflated: bool,
    /// Where the local header begins.
    pub(super) offset: u64,
    /// Not known yet when the local header is written.
    pub(super) crc32: u32,
}

impl Header<'_> {
    fn is_zip64(&self) -> bool {
        self.size >= FULL || self.offset >= FULL
    }

    fn needs(&self) -> u16 {
        if self.deflated { NEEDS_DEFLATE } else { 0 } // PyTorch asks for none for stored data
    }

    fn method(&self) -> u16 {
        if self.deflated { DEFLATED } else { 0 }
    }

    fn flags(&self) -> u16 {
        FLAG_UTF8 | if self.size > 0 { FLAG_DESCRIPTOR } else { 0 }
    }

    /// The zip64 field; the local copy has no compressed size.
    fn zip64(&self, compressed_size: u64) -> Vec<u8> {
        let mut values = Vec::new();
        if self.size >= FULL {
            values.extend([self.size, compressed_size]);
        }
        if self.offset >= FULL {
            values.push(self.offset);
        }
        let mut field = Vec::new();
        if !values.is_empty() {
            put_u16(&mut field, 1);
            put_u16(&mut field, 8 * values.len() as u16);
            values.iter().for_each(|&value| put_u64(&mut field, value));
        }
        field
    }

    /// The local header, padded so that the data after it begins at a multiple of `alignment`;
    /// `None` when a length does not fit its field. `alignment` is not 0.
    pub(super) fn local(&self, alignment: u64) -> Option<Vec<u8>> {
        let zip64 = self.zip64(0);
        let name_len = u16::try_from(self.name.len()).ok()?;
        let start =
            self.offset.checked_add(LOCAL_LEN + u64::from(name_len) + zip64.len() as u64 + 4)?;
        let padding = u16::try_from((alignment - start % alignment) % alignment).ok()?;
        let extra_len = padding.checked_add(zip64.len() as u16 + 4)?;

        let mut out = Vec::with_capacity(LOCAL_LEN as usize + self.name.len() + 64);
        out.extend(LOCAL_SIGNATURE);
        put_u16(&mut out, self.needs());
        put_u16(&mut out, self.flags());
        put_u16(&mut out, self.method());
        put_u32(&mut out, 0); // time and date: there is no clock
        out.extend([0; 12]); // checksum and sizes come after the data
        put_u16(&mut out, name_len);
        put_u16(&mut out, extra_len);
        out.extend(self.name);
        out.extend(zip64);
        out.extend(b"FB");
        put_u16(&mut out, padding);
        out.resize(out.len() + usize::from(padding), b'Z');
        Some(out)
    }

    /// What follows the data; nothing when there is none.
    pub(super) fn descriptor(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.size == 0 {
            return out;
        }
        out.extend(DESCRIPTOR_SIGNATURE);
        put_u32(&mut out, self.crc32);
        for size in [self.compressed_size, self.size] {
            if self.is_zip64() {
                put_u64(&mut out, size);
            } else {
                put_u32(&mut out, size as u32);
            }
        }
        out
    }

    /// The record's entry in the central directory.
    pub(super) fn central(&self) -> Vec<u8> {
        let zip64 = self.zip64(self.compressed_size);
        let mut out = Vec::with_capacity(CENTRAL_LEN + self.name.len() + zip64.len());
        out.extend(CENTRAL_SIGNATURE);
        put_u16(&mut out, 0); // made by
        put_u16(&mut out, self.needs());
        put_u16(&mut out, self.flags());
        put_u16(&mut out, self.method());
        put_u32(&mut out, 0); // time and date
        put_u32(&mut out, self.crc32);
        let compressed_size = if self.size >= FULL { FULL } else { self.compressed_size };
        put_u32(&mut out, clamp(compressed_size));
        put_u32(&mut out, clamp(self.size));
        put_u16(&mut out, self.name.len() as u16);
        put_u16(&mut out, zip64.len() as u16);
        out.extend([0; 6]); // comment length, disk, internal attributes
        put_u32(&mut out, if self.name.ends_with(b"/") { ATTRIBUTE_FOLDER } else { 0 });
        put_u32(&mut out, clamp(self.offset));
        out.extend(self.name);
        out.extend(zip64);
        out
    }
}

/// The three end records of a directory of `count` entries that takes `size` bytes at `offset`.
/// PyTorch always writes the zip64 ones.
pub(super) fn ends(count: u64, size: u64, offset: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity((END64_LEN + LOCATOR_LEN + END_LEN) as usize);
    out.extend(END64_SIGNATURE);
    put_u64(&mut out, END64_LEN - 12); // its length, without what stands before this field's end
    put_u16(&mut out, MADE_BY);
    put_u16(&mut out, NEEDS_ZIP64);
    out.extend([0; 8]); // disks
    for value in [count, count, size, offset] {
        put_u64(&mut out, value);
    }

    out.extend(LOCATOR_SIGNATURE);
    put_u32(&mut out, 0);
    put_u64(&mut out, offset + size);
    put_u32(&mut out, 1);

    out.extend(END_SIGNATURE);
    out.extend([0; 4]); // disks
    let short = count.min(u64::from(u16::MAX)) as u16;
    put_u16(&mut out, short);
    put_u16(&mut out, short);
    put_u32(&mut out, clamp(size));
    put_u32(&mut out, clamp(offset));
    put_u16(&mut out, 0);
    out
}

fn clamp(value: u64) -> u32 {
    value.min(FULL) as u32
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}
