//! Reads FlatBuffers: tables whose fields lie where the table's own index says, every position checked.

use crate::{Error, ErrorKind};

/// The bytes of a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffer<'a>(pub(super) &'a [u8]);

/// A table: where it starts, and where the index of its fields does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    buffer: Buffer<'a>,
    start: usize,
    index: usize,
    /// The bytes of the index.
    len: usize,
}

/// A list of elements of one size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector<'a> {
    buffer: Buffer<'a>,
    start: usize,
    len: usize,
}

fn outside(at: usize, what: &str) -> Error {
    Error::new(ErrorKind::Malformed, format!("{what} of the flatbuffer lies outside of it"))
        .at(at as u64)
}

impl<'a> Buffer<'a> {
    fn bytes<const N: usize>(self, at: usize, what: &str) -> Result<[u8; N], Error> {
        let found = at.checked_add(N).and_then(|end| self.0.get(at..end));
        found.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| outside(at, what))
    }

    pub(super) fn u8(self, at: usize) -> Result<u8, Error> {
        self.bytes::<1>(at, "a byte").map(|[byte]| byte)
    }

    fn u16(self, at: usize) -> Result<u16, Error> {
        self.bytes(at, "the index of a table").map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, at: usize) -> Result<u32, Error> {
        self.bytes(at, "a number").map(u32::from_le_bytes)
    }

    pub(super) fn i32(self, at: usize) -> Result<i32, Error> {
        self.bytes(at, "a number").map(i32::from_le_bytes)
    }

    pub(super) fn i64(self, at: usize) -> Result<i64, Error> {
        self.bytes(at, "a number").map(i64::from_le_bytes)
    }

    pub(super) fn f64(self, at: usize) -> Result<f64, Error> {
        self.bytes(at, "a number").map(f64::from_le_bytes)
    }

    /// The place that is so many bytes after the number at `at` as it says.
    pub(super) fn follow(self, at: usize) -> Result<usize, Error> {
        let to = (self.u32(at)? as usize).checked_add(at);
        to.filter(|&to| to < self.0.len()).ok_or_else(|| outside(at, "what is pointed to"))
    }

    pub(super) fn table(self, start: usize) -> Result<Table<'a>, Error> {
        let back = i64::from(self.i32(start)?);
        let index = usize::try_from(start as i64 - back).map_err(|_| outside(start, "a table"))?;
        let len = usize::from(self.u16(index)?);
        let inside = index.checked_add(len).is_some_and(|end| end <= self.0.len());
        if len < 4 || !inside {
            return Err(outside(index, "the index of a table"));
        }
        Ok(Table { buffer: self, start, index, len })
    }

    /// The table that the buffer is for.
    pub(super) fn root(self) -> Result<Table<'a>, Error> {
        self.table(self.follow(0)?)
    }
}

impl<'a> Table<'a> {
    pub(super) fn buffer(self) -> Buffer<'a> {
        self.buffer
    }

    /// Where a field is, by its place in the index; `None` where the table has the default.
    pub(super) fn field(self, slot: usize) -> Result<Option<usize>, Error> {
        if slot + 2 > self.len {
            return Ok(None);
        }
        let offset = usize::from(self.buffer.u16(self.index + slot)?);
        Ok((offset != 0).then_some(self.start + offset))
    }

    pub(super) fn number<T>(
        self,
        slot: usize,
        read: impl Fn(Buffer<'a>, usize) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.field(slot)?.map(|at| read(self.buffer, at)).transpose()
    }

    pub(super) fn u32(self, slot: usize) -> Result<u32, Error> {
        Ok(self.number(slot, Buffer::u32)?.unwrap_or(0))
    }

    pub(super) fn u8(self, slot: usize) -> Result<u8, Error> {
        Ok(self.number(slot, Buffer::u8)?.unwrap_or(0))
    }

    pub(super) fn table(self, slot: usize) -> Result<Option<Table<'a>>, Error> {
        let Some(at) = self.field(slot)? else { return Ok(None) };
        self.buffer.table(self.buffer.follow(at)?).map(Some)
    }

    /// Elements of `size` bytes; none where the field is not there.
    pub(super) fn vector(self, slot: usize, size: usize) -> Result<Vector<'a>, Error> {
        let Some(at) = self.field(slot)? else {
            return Ok(Vector { buffer: self.buffer, start: 0, len: 0 });
        };
        let at = self.buffer.follow(at)?;
        let len = self.buffer.u32(at)? as usize;
        let end = len.checked_mul(size).and_then(|bytes| bytes.checked_add(at + 4));
        if end.is_none_or(|end| end > self.buffer.0.len()) {
            return Err(outside(at, "a list"));
        }
        Ok(Vector { buffer: self.buffer, start: at + 4, len })
    }

    /// Bytes; none where the field is not there.
    pub(super) fn bytes(self, slot: usize) -> Result<&'a [u8], Error> {
        let Vector { start, len, .. } = self.vector(slot, 1)?;
        Ok(self.buffer.0.get(start..start + len).unwrap_or_default())
    }

    pub(super) fn text(self, slot: usize) -> Result<&'a str, Error> {
        std::str::from_utf8(self.bytes(slot)?).map_err(|_| {
            let message = "a text of the flatbuffer is not UTF-8";
            Error::new(ErrorKind::Malformed, message).at(self.start as u64)
        })
    }
}

impl<'a> Vector<'a> {
    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn u32s(self) -> impl Iterator<Item = Result<u32, Error>> + use<'a> {
        (0..self.len).map(move |index| self.buffer.u32(self.start + 4 * index))
    }

    pub(super) fn i32s(self) -> impl Iterator<Item = Result<i32, Error>> + use<'a> {
        (0..self.len).map(move |index| self.buffer.i32(self.start + 4 * index))
    }

    pub(super) fn i64s(self) -> impl Iterator<Item = Result<i64, Error>> + use<'a> {
        (0..self.len).map(move |index| self.buffer.i64(self.start + 8 * index))
    }

    pub(super) fn f64s(self) -> impl Iterator<Item = Result<f64, Error>> + use<'a> {
        (0..self.len).map(move |index| self.buffer.f64(self.start + 8 * index))
    }

    pub(super) fn u8s(self) -> impl Iterator<Item = Result<u8, Error>> + use<'a> {
        (0..self.len).map(move |index| self.buffer.u8(self.start + index))
    }

    /// The bytes of structs of a list of them.
    pub(super) fn structs<const N: usize>(
        self,
    ) -> impl Iterator<Item = Result<[u8; N], Error>> + use<'a, N> {
        (0..self.len).map(move |index| self.buffer.bytes(self.start + N * index, "a struct"))
    }

    /// A table of a list of them.
    pub(super) fn table(self, index: usize) -> Result<Table<'a>, Error> {
        if index >= self.len {
            let message = format!("the flatbuffer names entry {index} of a list of {}", self.len);
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        self.buffer.table(self.buffer.follow(self.start + 4 * index)?)
    }

    pub(super) fn tables(self) -> impl Iterator<Item = Result<Table<'a>, Error>> + use<'a> {
        (0..self.len).map(move |index| self.table(index))
    }

    /// Texts of a list of them.
    pub(super) fn texts(self) -> impl Iterator<Item = Result<&'a str, Error>> + use<'a> {
        (0..self.len).map(move |index| {
            let at = self.buffer.follow(self.start + 4 * index)?;
            let len = self.buffer.u32(at)? as usize;
            let bytes = (at + 4).checked_add(len).and_then(|end| self.buffer.0.get(at + 4..end));
            let bytes = bytes.ok_or_else(|| outside(at, "a text"))?;
            std::str::from_utf8(bytes).map_err(|_| {
                let message = "a text of the flatbuffer is not UTF-8";
                Error::new(ErrorKind::Malformed, message).at(at as u64)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_by_its_index() {
        // Root at 12: its index at 4 has 8 bytes, a field at +4 and none at the second place.
        let bytes = [12, 0, 0, 0, 8, 0, 8, 0, 4, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0];
        let root = Buffer(&bytes).root().unwrap();
        assert_eq!((root.u32(4).unwrap(), root.u32(6).unwrap(), root.u32(60).unwrap()), (7, 0, 0));
        assert_eq!(root.bytes(6).unwrap(), b"");
        for cut in 0..bytes.len() {
            let cut = Buffer(&bytes[..cut]);
            assert!(cut.root().and_then(|root| root.u32(4)).is_err());
        }
    }

    #[test]
    fn what_lies_outside_is_refused() {
        for bytes in [
            &[255, 255, 255, 255][..],
            &[4, 0, 0, 0, 255, 255, 255, 127],
            &[4, 0, 0, 0, 0, 0, 0, 128],
            // An index that is the table itself and says that it is long.
            &[4, 0, 0, 0, 0, 0, 0, 0],
        ] {
            assert!(Buffer(bytes).root().is_err(), "{bytes:?}");
        }
    }
}
