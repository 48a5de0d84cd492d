//! The bytes of a pickle on their way out: gathered, cut into frames from protocol 4 on, and handed
//! to the writer in pieces.

use std::io::{self, Write};

use crate::opcode::byte as op;

/// Bytes after which a frame is closed at the next value; strs and bytes of this length stand
/// outside of frames. CPython: `FRAME_SIZE_TARGET`.
const FRAME_TARGET: usize = 64 * 1024;

/// Frames of fewer bytes go without their header. CPython: `FRAME_SIZE_MIN`.
const FRAME_LEAST: usize = 4;

/// FRAME and its length.
const FRAME_HEADER: usize = 9;

pub(super) struct Output<'w> {
    bytes: Vec<u8>,
    /// Where the open frame's header is.
    frame: Option<usize>,
    framing: bool,
    sink: Option<&'w mut dyn Write>,
}

impl<'w> Output<'w> {
    /// Gathers everything if there is no sink.
    pub(super) fn new(capacity: usize, sink: Option<&'w mut dyn Write>) -> Self {
        let capacity = if sink.is_some() { FRAME_TARGET + 1024 } else { capacity };
        Output { bytes: Vec::with_capacity(capacity), frame: None, framing: false, sink }
    }

    /// Opens frames from here on.
    pub(super) fn start_framing(&mut self) {
        self.framing = true;
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.open_frame();
        self.bytes.push(byte);
    }

    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.open_frame();
        self.bytes.extend_from_slice(bytes);
    }

    #[inline]
    fn open_frame(&mut self) {
        if self.framing && self.frame.is_none() {
            self.frame = Some(self.bytes.len());
            self.bytes.extend_from_slice(&[0; FRAME_HEADER]);
        }
    }

    /// An opcode with its length, and the many bytes that it counts: those of 64 KiB or more go
    /// outside of frames, straight to the writer.
    pub(super) fn counted(&mut self, header: &[u8], data: &[u8]) -> io::Result<()> {
        if data.len() < FRAME_TARGET {
            self.write(header);
            self.write(data);
            return Ok(());
        }
        self.close_frame();
        self.bytes.extend_from_slice(header);
        match &mut self.sink {
            None => self.bytes.extend_from_slice(data),
            Some(sink) => {
                sink.write_all(&self.bytes)?;
                self.bytes.clear();
                sink.write_all(data)?;
            }
        }
        Ok(())
    }

    /// Called before each value, where a frame may end.
    #[inline]
    pub(super) fn boundary(&mut self) -> io::Result<()> {
        if self.framing || self.sink.is_some() { self.boundary_slowly() } else { Ok(()) }
    }

    fn boundary_slowly(&mut self) -> io::Result<()> {
        let start = match self.frame {
            Some(start) => start + FRAME_HEADER,
            None if self.framing => return Ok(()),
            None => 0,
        };
        if self.bytes.len() - start < FRAME_TARGET {
            return Ok(());
        }
        self.close_frame();
        self.flush()
    }

    fn close_frame(&mut self) {
        let Some(start) = self.frame.take() else { return };
        let length = self.bytes.len() - start - FRAME_HEADER;
        if length < FRAME_LEAST {
            self.bytes.drain(start..start + FRAME_HEADER);
            return;
        }
        self.bytes[start] = op::FRAME;
        self.bytes[start + 1..start + FRAME_HEADER].copy_from_slice(&(length as u64).to_le_bytes());
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(sink) = &mut self.sink {
            sink.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Closes the last frame; gives what the writer did not get.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        self.close_frame();
        self.flush()?;
        Ok(self.bytes)
    }
}
