//! The bytes behind run-time tensors: shared by views, written in place.
//!
//! Aliasing is what PyTorch programs rely on, so a storage is shared by reference counting and
//! written through any of its views. A [`std::cell::RefCell`] keeps that sound without `unsafe`: a
//! kernel borrows its inputs and its output for one call; an overlap that it did not plan for is an
//! error, never undefined behaviour. Storages stay on one thread; inside a call kernels may hand
//! the borrowed slices to other threads.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use bytemuck::{Pod, Zeroable};

use crate::{Element, Error, Result};

/// The unit of allocation, so that every storage starts at a multiple of 64 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// A run of bytes that tensors are views of, `torch.UntypedStorage` at run time.
///
/// Cloning shares. Either its own memory, or a file's weights that several sessions share and that
/// are copied the first time somebody writes to them.
#[derive(Clone)]
pub struct Storage(Rc<Inner>);

struct Inner {
    nbytes: usize,
    buffer: RefCell<Buffer>,
}

enum Buffer {
    Owned(Vec<CacheLine>),
    Shared(sconce_tensor::Storage),
}

impl Storage {
    /// Zeroed memory.
    ///
    /// # Errors
    /// Where the system has not that much.
    pub fn zeroed(nbytes: usize) -> Result<Storage> {
        let lines = bytemuck::allocation::try_zeroed_vec(nbytes.div_ceil(64)).map_err(|()| {
            Error::runtime(format!(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes."
            ))
        })?;
        Ok(Storage::new(nbytes, Buffer::Owned(lines)))
    }

    /// The bytes of a file's storage, not copied until they are written. Where they do not lie at
    /// an aligned address they are copied at once.
    ///
    /// # Errors
    /// Where the bytes cannot be loaded.
    pub fn shared(storage: &sconce_tensor::Storage) -> Result<Storage> {
        let bytes = storage.data()?;
        if (bytes.as_ptr() as usize).is_multiple_of(16) {
            return Ok(Storage::new(bytes.len(), Buffer::Shared(storage.clone())));
        }
        let owned = Storage::zeroed(bytes.len())?;
        owned.write::<u8>()?.copy_from_slice(bytes);
        Ok(owned)
    }

    fn new(nbytes: usize, buffer: Buffer) -> Storage {
        Storage(Rc::new(Inner { nbytes, buffer: RefCell::new(buffer) }))
    }

    /// Its size.
    pub fn nbytes(&self) -> usize {
        self.0.nbytes
    }

    /// Whether both are the same storage.
    pub fn ptr_eq(&self, other: &Storage) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Whether nobody else holds it.
    pub fn is_unique(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// The whole storage as elements; bytes that make no whole element are left out.
    ///
    /// # Errors
    /// Where it is being written.
    pub fn read<T: Element>(&self) -> Result<Ref<'_, [T]>> {
        let buffer = self.0.buffer.try_borrow().map_err(|_| in_use())?;
        Ref::filter_map(buffer, |buffer| {
            let bytes = match buffer {
                Buffer::Owned(lines) => bytemuck::cast_slice(lines),
                Buffer::Shared(storage) => storage.data().ok()?,
            };
            whole::<T>(bytes.get(..self.0.nbytes)?)
        })
        .map_err(|_| Error::runtime("the bytes of a storage cannot be read"))
    }

    /// The whole storage to write to. Shared weights become this storage's own copy first.
    ///
    /// # Errors
    /// Where it is being read or written, or memory is short.
    pub fn write<T: Element>(&self) -> Result<RefMut<'_, [T]>> {
        let mut buffer = self.0.buffer.try_borrow_mut().map_err(|_| in_use())?;
        if let Buffer::Shared(storage) = &*buffer {
            let mut lines = bytemuck::allocation::try_zeroed_vec(self.0.nbytes.div_ceil(64))
                .map_err(|()| Error::runtime("can't allocate memory to write to weights"))?;
            let bytes: &mut [u8] = bytemuck::cast_slice_mut::<CacheLine, u8>(&mut lines);
            let data = storage.data()?;
            bytes[..data.len()].copy_from_slice(data);
            *buffer = Buffer::Owned(lines);
        }
        RefMut::filter_map(buffer, |buffer| match buffer {
            Buffer::Owned(lines) => {
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(lines);
                let whole = self.0.nbytes / size_of::<T>() * size_of::<T>();
                bytemuck::try_cast_slice_mut(bytes.get_mut(..whole)?).ok()
            }
            Buffer::Shared(_) => None,
        })
        .map_err(|_| Error::runtime("the bytes of a storage cannot be written"))
    }
}

fn whole<T: Element>(bytes: &[u8]) -> Option<&[T]> {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::try_cast_slice(&bytes[..whole]).ok()
}

fn in_use() -> Error {
    Error::runtime("a kernel reads and writes one storage at the same time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_copied_on_the_first_write() {
        let file = sconce_tensor::Tensor::from_vec(vec![1f32, 2.0], &[2]).unwrap();
        let file = file.storage().unwrap();
        let session = Storage::shared(file).unwrap();
        let alias = session.clone();
        session.write::<f32>().unwrap()[0] = 7.0;
        assert_eq!(alias.read::<f32>().unwrap()[..], [7.0, 2.0]);
        assert_eq!(file.data().unwrap()[..4], 1f32.to_ne_bytes());
    }

    #[test]
    fn overlapping_borrows_are_errors() {
        let storage = Storage::zeroed(10).unwrap();
        assert_eq!(storage.read::<f32>().unwrap().len(), 2);
        let reading = storage.read::<u8>().unwrap();
        assert!(storage.write::<u8>().is_err());
        drop(reading);
        let writing = storage.write::<u8>().unwrap();
        assert_eq!(writing.as_ptr() as usize % 64, 0);
        assert!(storage.read::<u8>().is_err());
    }
}
