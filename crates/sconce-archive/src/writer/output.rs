//! Where an archive goes: a writer that only moves forward, its cursor, and a small buffer.

use std::io::{self, IoSlice, Seek, Write};

/// Writes of at least this many bytes bypass the buffer; the buffer holds twice as much.
const LARGE: usize = 64 << 10;

/// How `len` bytes are passed over.
type Skip<W> = fn(&mut W, u64) -> io::Result<()>;

pub(super) struct Output<W> {
    inner: W,
    skip: Skip<W>,
    pending: Vec<u8>,
    position: u64,
    /// A write failed, so that nobody knows how much of it arrived.
    broken: bool,
}

impl<W: Write> Output<W> {
    pub(super) fn new(inner: W) -> Self {
        Output { inner, skip: write_zeros, pending: Vec::new(), position: 0, broken: false }
    }

    pub(super) fn with_holes(inner: W) -> Self
    where
        W: Seek,
    {
        Output { inner, skip: seek_over, pending: Vec::new(), position: 0, broken: false }
    }

    /// Bytes written so far, those in the buffer too.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.attempt(data.len() as u64, |output| {
            if output.pending.len() + data.len() > 2 * LARGE {
                output.flush_pending()?;
            }
            if data.len() >= LARGE {
                output.flush_pending()?;
                return output.inner.write_all(data);
            }
            output.pending.extend_from_slice(data);
            Ok(())
        })
    }

    /// Writes all slices, in as few writes as the system takes.
    pub(super) fn write_slices(&mut self, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        let len = slices.iter().map(|slice| slice.len() as u64).sum();
        self.attempt(len, |output| {
            output.flush_pending()?;
            let mut left = slices;
            IoSlice::advance_slices(&mut left, 0);
            while !left.is_empty() {
                match output.inner.write_vectored(left) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => IoSlice::advance_slices(&mut left, count),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    }

    /// Passes over `len` bytes, which read as zero.
    pub(super) fn skip(&mut self, len: u64) -> io::Result<()> {
        self.attempt(len, |output| {
            output.flush_pending()?;
            (output.skip)(&mut output.inner, len)
        })
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.attempt(0, |output| {
            output.flush_pending()?;
            output.inner.flush()
        })?;
        Ok(self.inner)
    }

    /// Runs what moves the cursor by `len`, never again once it failed.
    fn attempt(
        &mut self,
        len: u64,
        write: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        let end = self.position.checked_add(len).filter(|_| !self.broken);
        let Some(end) = end else {
            let message = if self.broken { "an earlier write failed" } else { "too long" };
            return Err(io::Error::other(message));
        };
        self.broken = true;
        write(self)?;
        self.broken = false;
        self.position = end;
        Ok(())
    }

    fn flush_pending(&mut self) -> io::Result<()> {
        self.inner.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

fn write_zeros<W: Write>(inner: &mut W, len: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), len), inner).map(drop)
}

fn seek_over<W: Seek>(inner: &mut W, len: u64) -> io::Result<()> {
    let distance = i64::try_from(len)
        .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "the hole is too long"))?;
    inner.seek_relative(distance)
}
