use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use sconce_source::{Bytes, Source};

use crate::byte_order::swap_words;
use crate::{ByteOrder, Device, Error};

/// What a lazy storage's loader may fail with.
pub type LazyError = Box<dyn std::error::Error + Send + Sync>;

/// Where a lazy storage's bytes come from. A closure that gives them is one.
pub trait Load: Send + Sync {
    /// The bytes.
    ///
    /// # Errors
    /// When they cannot be had.
    fn load(&self) -> Result<Bytes, LazyError>;

    /// Reads the bytes without keeping them, and gives their number: where they are compressed, one part
    /// after another.
    ///
    /// # Errors
    /// As [`Load::load`].
    fn read_through(&self) -> Result<u64, LazyError> {
        self.load().map(|bytes| bytes.len() as u64)
    }

    /// Compares the CRC-32 of what [`Load::load`] gave with what is known of it.
    ///
    /// # Errors
    /// When it is another: the bytes are damaged.
    fn check_crc32(&self, _found: u32) -> Result<(), LazyError> {
        Ok(())
    }
}

impl<F: Fn() -> Result<Bytes, LazyError> + Send + Sync> Load for F {
    fn load(&self) -> Result<Bytes, LazyError> {
        self()
    }
}

/// The bytes behind tensors, `torch.UntypedStorage`.
///
/// A handle: cloning shares, and two tensors over clones of one storage alias, which
/// [`Storage::ptr_eq`] tells. The bytes are a slice of a mapped file or of a buffer, or are loaded
/// on first use and then kept.
///
/// ```
/// use sconce_tensor::{Device, Storage};
/// let storage = Storage::from_bytes(vec![1u8, 2, 3].into(), Device::CPU);
/// assert_eq!(storage.data().unwrap(), [1, 2, 3]);
/// assert!(storage.ptr_eq(&storage.clone()));
/// ```
#[derive(Clone)]
pub struct Storage(Arc<Handle>);

/// One identity; several may share the same content under other device labels.
struct Handle {
    device: Device,
    content: Arc<Content>,
}

struct Content {
    nbytes: u64,
    origin: Origin,
    /// The order the file has, and the width of the words to reverse where it is not the machine's.
    order: ByteOrder,
    word: usize,
    /// The loaded or converted bytes. A failure is kept too, so that asking twice says the same.
    ready: OnceLock<Result<Bytes, Error>>,
    derived: OnceLock<Arc<dyn Any + Send + Sync>>,
}

enum Origin {
    Bytes(Bytes),
    Loader(Box<dyn Load>),
    Nothing,
}

impl Storage {
    fn new(nbytes: u64, origin: Origin, order: ByteOrder, word: usize, device: Device) -> Storage {
        let (ready, derived) = (OnceLock::new(), OnceLock::new());
        let content = Content { nbytes, origin, order, word, ready, derived };
        Storage(Arc::new(Handle { device, content: Arc::new(content) }))
    }

    /// A storage over bytes in this machine's order. Nothing is copied.
    pub fn from_bytes(bytes: Bytes, device: Device) -> Storage {
        Storage::with_byte_order(bytes, ByteOrder::native(), 1, device)
    }

    /// A storage over bytes whose words of `word` bytes ([`DType::swap_size`](crate::DType::swap_size))
    /// are in `order`. Bytes in the other order are copied and converted once, on first use.
    pub fn with_byte_order(bytes: Bytes, order: ByteOrder, word: usize, device: Device) -> Storage {
        Storage::new(bytes.len() as u64, Origin::Bytes(bytes), order, word, device)
    }

    /// A storage over the first `nbytes` of what somebody else holds, in this machine's order. Nothing is copied.
    ///
    /// # Errors
    /// [`Error::StorageLength`] where there are fewer.
    pub fn from_owner(
        owner: impl AsRef<[u8]> + Send + Sync + 'static,
        nbytes: u64,
        device: Device,
    ) -> Result<Storage, Error> {
        let source = Source::from_owner("memory", owner);
        let bytes = source.slice(0..nbytes).ok().flatten();
        let short = Error::StorageLength { expected: nbytes, found: source.len() };
        bytes.map(|bytes| Storage::from_bytes(bytes, device)).ok_or(short)
    }

    /// A storage whose bytes are made by `load` when they are first needed, and then kept.
    ///
    /// `load` must give exactly `nbytes` bytes in this machine's order, and must not ask for this
    /// storage's own data. When it fails, the failure is kept.
    pub fn lazy(nbytes: u64, device: Device, load: Box<dyn Load>) -> Storage {
        Storage::lazy_with_byte_order(nbytes, ByteOrder::native(), 1, device, load)
    }

    /// [`Storage::lazy`] for bytes whose words of `word` bytes are in `order`.
    pub fn lazy_with_byte_order(
        nbytes: u64,
        order: ByteOrder,
        word: usize,
        device: Device,
        load: Box<dyn Load>,
    ) -> Storage {
        Storage::new(nbytes, Origin::Loader(load), order, word, device)
    }

    /// A storage without data, on the device `meta`. For data that was skipped on purpose, give it
    /// its real label with [`Storage::to_device_tag`].
    pub fn meta(nbytes: u64) -> Storage {
        Storage::new(nbytes, Origin::Nothing, ByteOrder::native(), 1, Device::META)
    }

    /// Size in bytes, known without loading.
    pub fn nbytes(&self) -> u64 {
        self.0.content.nbytes
    }

    /// Where the storage lived when it was saved.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The same data under another label. Loading is shared; identity is not: the result is another
    /// storage to [`Storage::ptr_eq`], so label a storage once, before making tensors of it.
    pub fn to_device_tag(&self, device: Device) -> Storage {
        Storage(Arc::new(Handle { device, content: Arc::clone(&self.0.content) }))
    }

    /// Whether [`Storage::data`] can give bytes: false for [`Storage::meta`].
    pub fn has_data(&self) -> bool {
        !matches!(self.0.content.origin, Origin::Nothing)
    }

    /// The bytes, in this machine's order. Loads or converts them on first use.
    ///
    /// # Errors
    /// [`Error::NoData`] for a meta storage; [`Error::Load`] and [`Error::StorageLength`] where a
    /// lazy storage's loader fails or gives another number of bytes.
    #[inline]
    pub fn data(&self) -> Result<&[u8], Error> {
        self.0.content.ready().map(|bytes| &bytes[..])
    }

    /// The bytes as a shareable slice: of the file itself where nothing had to be converted.
    ///
    /// # Errors
    /// Those of [`Storage::data`].
    pub fn bytes(&self) -> Result<Bytes, Error> {
        self.0.content.ready().cloned()
    }

    /// [`Storage::bytes`] without keeping what had to be loaded or converted: for a reader that
    /// needs every storage once, such as one that writes a file, and may not hold them all.
    ///
    /// # Errors
    /// Those of [`Storage::data`].
    pub fn bytes_once(&self) -> Result<Bytes, Error> {
        let content = &self.0.content;
        match (content.ready.get(), &content.origin) {
            (Some(kept), _) => kept.clone(),
            (None, Origin::Bytes(bytes)) if content.is_native() => Ok(bytes.clone()),
            (None, _) => content.load(),
        }
    }

    /// Lets go of the memory that the bytes take in pages of a mapped file: touching them reads the file again. Does
    /// nothing where they are not a file's.
    pub fn release(&self) {
        let content = &self.0.content;
        match (content.ready.get(), &content.origin) {
            (Some(Ok(bytes)), _) | (None, Origin::Bytes(bytes)) => bytes.release(),
            _ => {}
        }
    }

    /// Reads the bytes to see that they can be read. Keeps nothing, and converts nothing.
    ///
    /// # Errors
    /// Those of [`Storage::data`].
    pub fn read_through(&self) -> Result<(), Error> {
        let content = &self.0.content;
        let found = match (content.ready.get(), &content.origin) {
            (Some(kept), _) => return kept.as_ref().map(drop).map_err(Error::clone),
            (None, Origin::Bytes(bytes)) => bytes.len() as u64,
            (None, Origin::Nothing) => return Err(Error::NoData("storage")),
            (None, Origin::Loader(load)) => {
                let read = load.read_through();
                read.map_err(|source| Error::Load {
                    nbytes: content.nbytes,
                    source: source.into(),
                })?
            }
        };
        if found != content.nbytes {
            return Err(Error::StorageLength { expected: content.nbytes, found });
        }
        Ok(())
    }

    /// Compares the CRC-32 of [`Storage::bytes`], which a writer came by, with the one that the file
    /// they are from declares ([`Load::check_crc32`]). Says nothing of bytes that were converted.
    ///
    /// # Errors
    /// When the file declares another.
    pub fn check_crc32(&self, found: u32) -> Result<(), LazyError> {
        match &self.0.content.origin {
            Origin::Loader(load) if self.0.content.is_native() => load.check_crc32(found),
            _ => Ok(()),
        }
    }

    /// What somebody has computed from the bytes and keeps beside them, as long as there are handles of the storage,
    /// whatever their label. There is one such thing: `make` makes it for who asks first. `None` where that was of
    /// another type.
    ///
    /// ```
    /// use sconce_tensor::{Device, Storage};
    /// let storage = Storage::from_bytes(vec![1u8, 2, 3].into(), Device::CPU);
    /// let sum = |storage: &Storage| storage.data().unwrap().iter().map(|&x| u32::from(x)).sum::<u32>();
    /// let kept = storage.derived(|| sum(&storage)).unwrap();
    /// assert_eq!((*kept, *storage.clone().derived(|| 0u32).unwrap()), (6, 6));
    /// assert!(storage.derived(String::new).is_none());
    /// ```
    pub fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        let kept = self.0.content.derived.get_or_init(|| Arc::new(make()));
        Arc::clone(kept).downcast().ok()
    }

    /// Whether both handles are one storage.
    pub fn ptr_eq(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that is equal for handles of one storage and differs between living storages.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

impl Content {
    #[inline]
    fn is_native(&self) -> bool {
        self.word <= 1 || self.order == ByteOrder::native()
    }

    #[inline]
    fn ready(&self) -> Result<&Bytes, Error> {
        if let Origin::Bytes(bytes) = &self.origin
            && self.is_native()
        {
            return Ok(bytes);
        }
        self.ready.get_or_init(|| self.load()).as_ref().map_err(Error::clone)
    }

    fn load(&self) -> Result<Bytes, Error> {
        let bytes = match &self.origin {
            Origin::Bytes(bytes) => bytes.clone(),
            Origin::Nothing => return Err(Error::NoData("storage")),
            Origin::Loader(load) => load
                .load()
                .map_err(|source| Error::Load { nbytes: self.nbytes, source: source.into() })?,
        };
        let found = bytes.len() as u64;
        if found != self.nbytes {
            return Err(Error::StorageLength { expected: self.nbytes, found });
        }
        if self.is_native() {
            return Ok(bytes);
        }
        let mut native = bytes.to_vec();
        bytes.source().release();
        swap_words(&mut native, self.word);
        Ok(native.into())
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.0.content.origin {
            Origin::Bytes(_) => "held",
            Origin::Loader(_) => "lazy",
            Origin::Nothing => "meta",
        };
        write!(f, "Storage({} bytes, {what}, {})", self.nbytes(), self.device())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn other_order_is_converted_once() {
        let foreign = match ByteOrder::native() {
            ByteOrder::Little => ByteOrder::Big,
            ByteOrder::Big => ByteOrder::Little,
        };
        let bytes = Bytes::from(vec![1, 2, 3, 4]);
        let storage = Storage::with_byte_order(bytes.clone(), foreign, 2, Device::CPU);
        let first = storage.data().unwrap();
        assert_eq!(first, [2, 1, 4, 3]);
        assert_eq!(first.as_ptr(), storage.data().unwrap().as_ptr());
        let native = Storage::with_byte_order(bytes.clone(), ByteOrder::native(), 2, Device::CPU);
        assert_eq!(native.data().unwrap().as_ptr(), bytes.as_ptr(), "no copy");
    }

    #[test]
    fn lazy_loads_once_for_every_label() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let load = Box::new(|| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(Bytes::from(vec![7, 8]))
        });
        let storage = Storage::lazy(2, Device::CPU, load);
        let labelled = storage.to_device_tag("cuda:0".parse().unwrap());
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
        assert_eq!(labelled.data().unwrap(), [7, 8]);
        assert_eq!(storage.data().unwrap(), [7, 8]);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        assert_eq!(storage.bytes_once().unwrap()[..], [7, 8]);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1, "what is kept is not loaded again");
        assert!(!labelled.ptr_eq(&storage));
        assert_ne!(labelled.id(), storage.id());
        assert_eq!(labelled.device().to_string(), "cuda:0");
    }

    #[test]
    fn what_is_read_once_is_not_kept() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let load = Box::new(|| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(Bytes::from(vec![7, 8]))
        });
        let storage = Storage::lazy(2, Device::CPU, load);
        for calls in 1..3 {
            assert_eq!(storage.bytes_once().unwrap()[..], [7, 8]);
            assert_eq!(CALLS.load(Ordering::Relaxed), calls);
        }
    }

    #[test]
    fn reading_through_says_what_loading_does() {
        let lazy = |len: usize| {
            Storage::lazy(3, Device::CPU, Box::new(move || Ok(Bytes::from(vec![1; len]))))
        };
        for len in 2..5 {
            let words = |result: Result<(), Error>| result.map_err(|error| error.to_string());
            let want = words(lazy(len).data().map(drop));
            assert_eq!(words(lazy(len).read_through()), want);
        }
        assert!(Storage::meta(1).read_through().is_err());
        assert!(Storage::from_bytes(vec![1].into(), Device::CPU).read_through().is_ok());
    }

    #[test]
    fn checksums_are_of_bytes_as_the_file_has_them() {
        struct Known;
        impl Load for Known {
            fn load(&self) -> Result<Bytes, LazyError> {
                Ok(Bytes::from(vec![1, 2]))
            }

            fn check_crc32(&self, found: u32) -> Result<(), LazyError> {
                if found == 7 { Ok(()) } else { Err("damaged".into()) }
            }
        }
        let native = Storage::lazy(2, Device::CPU, Box::new(Known));
        assert!(native.check_crc32(7).is_ok());
        let labelled = native.to_device_tag("cuda:0".parse().unwrap());
        assert_eq!(labelled.check_crc32(8).unwrap_err().to_string(), "damaged");
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let storage = Storage::lazy_with_byte_order(2, order, 2, Device::CPU, Box::new(Known));
            assert_eq!(storage.check_crc32(8).is_err(), order == ByteOrder::native());
        }
        assert!(Storage::from_bytes(vec![1].into(), Device::CPU).check_crc32(8).is_ok());
    }

    #[test]
    fn lazy_failures_are_errors_and_stay() {
        let short = Storage::lazy(3, Device::CPU, Box::new(|| Ok(Bytes::from(vec![1]))));
        for _ in 0..2 {
            let error = short.data().unwrap_err();
            assert_eq!(error.to_string(), "storage record holds 1 bytes where 3 were expected");
            assert_eq!(error.kind(), ErrorKind::File);
        }
        let broken = Storage::lazy(3, Device::CPU, Box::new(|| Err("disk on fire".into())));
        let error = broken.data().unwrap_err();
        assert_eq!(error.to_string(), "storage of 3 bytes could not be loaded: disk on fire");
        assert_eq!(error.kind(), ErrorKind::Io);
    }

    #[test]
    fn meta_has_a_size_and_no_data() {
        let meta = Storage::meta(1 << 50);
        assert_eq!(meta.nbytes(), 1 << 50);
        assert!(!meta.has_data());
        assert!(matches!(meta.data(), Err(Error::NoData(_))));
        assert!(meta.device().is_meta());
        assert!(meta.to_device_tag(Device::CPU).device().is_cpu());
    }
}
