//! The bytes behind run-time tensors: shared by views, written in place.
//!
//! Aliasing is what PyTorch programs rely on, so a storage is shared by reference counting and
//! written through any of its views. A [`std::cell::RefCell`] keeps that sound without `unsafe`: a
//! kernel borrows its inputs and its output for one call; an overlap that it did not plan for is an
//! error, never undefined behaviour. Storages stay on one thread; inside a call kernels may hand
//! the borrowed slices to other threads.

use std::any::Any;
use std::cell::{Cell, OnceCell, Ref, RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;

use crate::alloc::caching_allocator::{Block, Content, poison};
use crate::tensor::quantizer::Quantization;
use crate::{Charge, Error, Memory, PodElement, Result};

/// A run of bytes that tensors are views of, `torch.UntypedStorage` at run time.
///
/// Cloning shares. Either its own memory, or a file's weights that several interpreters share and that
/// are copied the first time somebody writes to them. Its own memory is charged to the [`Memory`]
/// that is entered when it is made; if it is longer than 128 bytes, it starts at a multiple of
/// 64.
#[derive(Clone)]
pub struct Storage(Rc<Inner>);

struct Inner {
    nbytes: usize,
    buffer: RefCell<Buffer>,
    writes: Cell<u32>,
    quantizer: OnceCell<Quantization>,
}

/// Up to this many bytes lie beside the reference count, in one allocation.
pub const INLINE_BYTES: usize = 128;

enum Buffer {
    Small([u64; INLINE_BYTES / 8], #[allow(dead_code, reason = "given back when dropped")] Charge),
    Owned(Block, #[allow(dead_code, reason = "given back when dropped")] Charge),
    Shared(sconce_tensor::Storage),
}

impl Buffer {
    /// Memory whose content is of no account: some older content, or zeros.
    fn new(nbytes: usize) -> Result<Buffer> {
        let charge = Memory::charge(nbytes)?;
        match nbytes {
            0..=INLINE_BYTES => {
                let mut words = [0; INLINE_BYTES / 8];
                poison(bytemuck::cast_slice_mut(&mut words));
                Ok(Buffer::Small(words, charge))
            }
            _ => Ok(Buffer::Owned(Block::of_tensor(nbytes, Content::Any)?, charge)),
        }
    }

    /// Its own bytes, and perhaps some behind them.
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Buffer::Small(words, _) => Some(bytemuck::cast_slice_mut(words)),
            Buffer::Owned(block, _) => Some(block.bytes_mut()),
            Buffer::Shared(_) => None,
        }
    }
}

impl Storage {
    /// Zeroed memory.
    ///
    /// # Errors
    /// Where the system has not that much, or the [`Memory`] that is entered allows no more.
    pub fn zeroed(nbytes: usize) -> Result<Storage> {
        let charge = Memory::charge(nbytes)?;
        if nbytes <= INLINE_BYTES {
            return Ok(Storage::new(nbytes, Buffer::Small([0; INLINE_BYTES / 8], charge)));
        }
        Ok(Storage::new(nbytes, Buffer::Owned(Block::of_tensor(nbytes, Content::Zeros)?, charge)))
    }

    /// Memory that the caller overwrites, all of it: it may hold what another tensor held. In debug builds and
    /// under a fuzzer it is poisoned, so that an element that a kernel forgets shows as NaN, -1 or true.
    pub fn for_overwrite(nbytes: usize) -> Result<Storage> {
        Ok(Storage::new(nbytes, Buffer::new(nbytes)?))
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
        let owned = Storage::for_overwrite(bytes.len())?;
        owned.write::<u8>()?.copy_from_slice(bytes);
        Ok(owned)
    }

    /// Gives its memory away, for other threads and for longer than the run: without a copy where nobody else holds
    /// it. What is given away is charged to nobody.
    ///
    /// # Errors
    /// Where it is being written, or memory is short.
    pub fn into_shared(self) -> Result<sconce_tensor::Storage> {
        let nbytes = self.0.nbytes;
        let block = match Rc::try_unwrap(self.0).map(|inner| inner.buffer.into_inner()) {
            Ok(Buffer::Shared(storage)) => return Ok(storage),
            Ok(Buffer::Owned(block, _)) => block,
            Ok(Buffer::Small(words, _)) => copied(&bytemuck::cast_slice(&words)[..nbytes])?,
            Err(shared) => {
                let shared = Storage(shared);
                let bytes = shared.read::<u8>()?;
                copied(&bytes)?
            }
        };
        let device = sconce_tensor::Device::CPU;
        Ok(sconce_tensor::Storage::from_owner(block, nbytes as u64, device)?)
    }

    fn new(nbytes: usize, buffer: Buffer) -> Storage {
        let (buffer, quantizer) = (RefCell::new(buffer), OnceCell::new());
        Storage(Rc::new(Inner { nbytes, buffer, writes: Cell::new(0), quantizer }))
    }

    /// How its integers stand for real numbers, where they are quantized.
    pub fn quantization(&self) -> Option<&Quantization> {
        self.0.quantizer.get()
    }

    /// Says so, once.
    ///
    /// # Errors
    /// Where it was said otherwise: every view of a storage is quantized alike here.
    pub fn set_quantization(&self, quantization: Quantization) -> Result<()> {
        if *self.0.quantizer.get_or_init(|| quantization.clone()) == quantization {
            return Ok(());
        }
        Err(Error::not_implemented("views of one storage that are quantized differently"))
    }

    /// What is kept beside bytes that several interpreters share: [`sconce_tensor::Storage::derived`]. `None` of a
    /// storage with memory of its own, which may be written.
    pub fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        match &*self.0.buffer.try_borrow().ok()? {
            Buffer::Shared(storage) => storage.derived(make),
            _ => None,
        }
    }

    /// Lets go of the memory that its bytes take in pages of a mapped file: [`sconce_tensor::Storage::release`].
    pub fn release(&self) {
        if let Ok(buffer) = self.0.buffer.try_borrow()
            && let Buffer::Shared(storage) = &*buffer
        {
            storage.release();
        }
    }

    /// Its size.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.0.nbytes
    }

    /// How often it has been lent for writing: a number that changes whenever its elements may have.
    pub fn writes(&self) -> u32 {
        self.0.writes.get()
    }

    /// Whether both are the same storage.
    #[inline]
    pub fn ptr_eq(&self, other: &Storage) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Whether nobody else holds it.
    #[inline]
    pub fn is_unique(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// Whether nobody else holds it and its memory is its own, not a file's.
    #[inline]
    pub fn is_disposable(&self) -> bool {
        let own = |buffer: Ref<'_, Buffer>| !matches!(*buffer, Buffer::Shared(_));
        self.is_unique() && self.0.buffer.try_borrow().is_ok_and(own)
    }

    /// The whole storage as elements; bytes that make no whole element are left out.
    ///
    /// # Errors
    /// Where it is being written.
    #[inline]
    pub fn read<T: PodElement>(&self) -> Result<Ref<'_, [T]>> {
        let buffer = self.0.buffer.try_borrow().map_err(|_| in_use())?;
        Ref::filter_map(buffer, |buffer| {
            let bytes = match buffer {
                Buffer::Small(words, _) => bytemuck::cast_slice(words),
                Buffer::Owned(block, _) => block.bytes(),
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
    #[inline]
    pub fn write<T: PodElement>(&self) -> Result<RefMut<'_, [T]>> {
        let mut buffer = self.0.buffer.try_borrow_mut().map_err(|_| in_use())?;
        self.0.writes.set(self.0.writes.get().wrapping_add(1));
        if let Buffer::Shared(storage) = &*buffer {
            let data = storage.data()?;
            let mut own = Buffer::new(self.0.nbytes)?;
            if let Some(bytes) = own.bytes_mut().and_then(|bytes| bytes.get_mut(..data.len())) {
                bytes.copy_from_slice(data);
            }
            *buffer = own;
        }
        RefMut::filter_map(buffer, |buffer| {
            let whole = self.0.nbytes / size_of::<T>() * size_of::<T>();
            bytemuck::try_cast_slice_mut(buffer.bytes_mut()?.get_mut(..whole)?).ok()
        })
        .map_err(|_| Error::runtime("the bytes of a storage cannot be written"))
    }
}

/// A copy in memory of its own.
fn copied(bytes: &[u8]) -> Result<Block> {
    let mut block = Block::for_overwrite(bytes.len())?;
    if let Some(to) = block.bytes_mut().get_mut(..bytes.len()) {
        to.copy_from_slice(bytes);
    }
    Ok(block)
}

fn whole<T: PodElement>(bytes: &[u8]) -> Option<&[T]> {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::try_cast_slice(&bytes[..whole]).ok()
}

fn in_use() -> Error {
    Error::runtime("a kernel reads and writes one storage at the same time")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than a storage holds itself; Miri takes minutes for a megabyte.
    const LARGE: usize = if cfg!(miri) { 1 << 10 } else { 1 << 20 };

    #[test]
    fn weights_are_copied_on_the_first_write() {
        let file = sconce_tensor::Tensor::from_vec(vec![1f32, 2.0], &[2]).unwrap();
        let file = file.storage().unwrap();
        let own = Storage::shared(file).unwrap();
        let alias = own.clone();
        let before = alias.writes();
        own.write::<f32>().unwrap()[0] = 7.0;
        assert_ne!(alias.writes(), before);
        assert_eq!(alias.read::<f32>().unwrap()[..], [7.0, 2.0]);
        assert_eq!(file.data().unwrap()[..4], 1f32.to_ne_bytes());
    }

    #[test]
    fn memory_is_given_away() {
        for nbytes in [0, 8, INLINE_BYTES, INLINE_BYTES + 8, LARGE] {
            let storage = Storage::zeroed(nbytes).unwrap();
            storage.write::<u8>().unwrap().fill(3);
            let (kept, address) = (storage.clone(), storage.read::<u8>().unwrap().as_ptr());
            let copy = kept.into_shared().unwrap();
            assert_eq!(copy.data().unwrap(), vec![3; nbytes]);
            let given = storage.into_shared().unwrap();
            assert_eq!(given.data().unwrap(), vec![3; nbytes]);
            // What was the storage's alone is not copied.
            assert_eq!(given.data().unwrap().as_ptr() == address, nbytes > INLINE_BYTES);
            assert!((copy.data().unwrap().as_ptr() as usize).is_multiple_of(64) || nbytes == 0);
        }
    }

    #[test]
    fn memory_is_zeroed_though_it_is_used_again() {
        for nbytes in [0, 1, 64, INLINE_BYTES, INLINE_BYTES + 1, LARGE] {
            let first = Storage::for_overwrite(nbytes).unwrap();
            first.write::<u8>().unwrap().fill(7);
            drop(first);
            let second = Storage::zeroed(nbytes).unwrap();
            assert!(second.read::<u8>().unwrap().iter().all(|&byte| byte == 0));
            assert_eq!(second.read::<u8>().unwrap().len(), nbytes);
        }
    }

    #[test]
    fn overlapping_borrows_are_errors() {
        let storage = Storage::zeroed(210).unwrap();
        assert_eq!(storage.read::<f32>().unwrap().len(), 52);
        let reading = storage.read::<u8>().unwrap();
        assert!(storage.write::<u8>().is_err());
        drop(reading);
        let writing = storage.write::<u8>().unwrap();
        assert_eq!(writing.as_ptr() as usize % 64, 0);
        assert!(storage.read::<u8>().is_err());
    }

    #[test]
    fn memory_to_overwrite_is_poisoned_in_debug_builds() {
        for nbytes in [8, INLINE_BYTES, INLINE_BYTES + 8, LARGE] {
            let storage = Storage::for_overwrite(nbytes).unwrap();
            let is_poisoned = storage.read::<f32>().unwrap().iter().all(|x| x.is_nan());
            assert_eq!(is_poisoned, cfg!(any(debug_assertions, fuzzing)), "{nbytes}");
        }
    }
}
