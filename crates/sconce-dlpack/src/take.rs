//! Tensors taken from others.
#![allow(unsafe_code, reason = "what others lend is a pointer")]

use std::ffi::c_void;
use std::slice;

use sconce_tensor::{DType, Device, Storage, Tensor};

use crate::Error;
use crate::abi::{
    CPU, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION,
};
use crate::dtypes::{from_dl, to_dl};

/// More dimensions than any library has.
const MAX_DIMS: i32 = 64;

/// The structure of somebody else, given back when it is dropped.
trait Managed: 'static {
    fn delete(this: *mut Self);
}

impl Managed for DLManagedTensorVersioned {
    fn delete(this: *mut Self) {
        // SAFETY: whoever made the `Owner` vouched for the pointer, and gives it to nobody else.
        if let Some(deleter) = unsafe { (*this).deleter } {
            // SAFETY: as above; the deleter is called once, since an `Owner` is dropped once.
            unsafe { deleter(this) }
        }
    }
}

impl Managed for DLManagedTensor {
    fn delete(this: *mut Self) {
        // SAFETY: as for the structure with a version.
        if let Some(deleter) = unsafe { (*this).deleter } {
            // SAFETY: as above.
            unsafe { deleter(this) }
        }
    }
}

/// Owns what was lent.
struct Owner<M: Managed>(*mut M);

impl<M: Managed> Drop for Owner<M> {
    fn drop(&mut self) {
        M::delete(self.0);
    }
}

/// The bytes that a lent tensor is a view of, and what gives them back when it is dropped.
struct Lent<O> {
    _owner: O,
    start: *const u8,
    len: usize,
}

// SAFETY: the memory is only read, and DLPack lets consumers read it and call the deleter on any thread; who calls
// `from_blob` vouches for the same.
unsafe impl<O> Send for Lent<O> {}
// SAFETY: as above.
unsafe impl<O> Sync for Lent<O> {}

impl<O> AsRef<[u8]> for Lent<O> {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: whoever called `import`, `borrow` or `from_blob` vouched that the memory that sizes and strides reach is
        // there until the owner is dropped, which is when `self` is; `take` computed `start` and `len` of those.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

/// Takes a tensor that somebody lends. It is given back when the last tensor over its memory is dropped, or here where
/// it cannot be taken. Elements are copied only where strides are negative.
///
/// # Errors
/// For memory of other devices, dtypes that PyTorch does not have, and numbers that contradict each other.
///
/// # Safety
/// `managed` points to a structure that nobody else uses or gives back, and what its sizes and strides reach is memory
/// that is there, and that nobody writes to while it is read, until its deleter is called.
pub unsafe fn import(managed: *mut DLManagedTensorVersioned) -> Result<Tensor, Error> {
    if managed.is_null() {
        return Err(Error::Malformed("it is null".to_owned()));
    }
    // SAFETY: the caller vouches for the pointer; this field is the first in all versions.
    let version = unsafe { (*managed).version };
    let owner = Owner(managed);
    check_version(version)?;
    // SAFETY: the caller vouches for the pointer, and the structure is of a version that is known.
    let tensor = unsafe { &(*managed).dl_tensor };
    // SAFETY: the caller vouches for what it says.
    unsafe { take(tensor, owner) }
}

/// [`import`] from producers from before DLPack 1.0.
///
/// # Errors
/// As [`import`].
///
/// # Safety
/// As [`import`].
pub unsafe fn import_unversioned(managed: *mut DLManagedTensor) -> Result<Tensor, Error> {
    if managed.is_null() {
        return Err(Error::Malformed("it is null".to_owned()));
    }
    let owner = Owner(managed);
    // SAFETY: the caller vouches for the pointer.
    let tensor = unsafe { &(*managed).dl_tensor };
    // SAFETY: the caller vouches for what it says.
    unsafe { take(tensor, owner) }
}

/// A tensor over what somebody lends, who keeps it: the deleter is not called.
///
/// # Errors
/// As [`import`].
///
/// # Safety
/// `managed` points to a structure, and what its sizes and strides reach is memory that is there, and that nobody writes
/// to while it is read, until the last tensor over it is dropped.
pub unsafe fn borrow(managed: *const DLManagedTensorVersioned) -> Result<Tensor, Error> {
    if managed.is_null() {
        return Err(Error::Malformed("it is null".to_owned()));
    }
    // SAFETY: the caller vouches for the pointer; this field is the first in all versions.
    check_version(unsafe { (*managed).version })?;
    // SAFETY: the caller vouches for the pointer, and the structure is of a version that is known.
    let tensor = unsafe { &(*managed).dl_tensor };
    // SAFETY: the caller vouches for what it says.
    unsafe { take(tensor, ()) }
}

/// A tensor over memory of the caller's, `torch.from_blob`: its first element is at `data`, its strides are in elements
/// and may be negative. `owner` is dropped, on whatever thread, when the last tensor over the memory is, or here where
/// there is none.
///
/// # Errors
/// For dtypes that DLPack does not have, and numbers that contradict each other.
///
/// # Safety
/// What sizes and strides reach is memory that is there, and that nobody writes to while it is read, until `owner` is
/// dropped. `owner` may be dropped on any thread.
pub unsafe fn from_blob<O: 'static>(
    data: *mut c_void,
    dtype: DType,
    sizes: &[i64],
    strides: Option<&[i64]>,
    owner: O,
) -> Result<Tensor, Error> {
    let dl = to_dl(dtype).ok_or_else(|| {
        Error::Unsupported(format!("memory of another library as a tensor of dtype {dtype}"))
    })?;
    if strides.is_some_and(|strides| strides.len() != sizes.len()) {
        return Err(Error::Malformed("as many strides as sizes are needed".to_owned()));
    }
    let tensor = DLTensor {
        data,
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: i32::try_from(sizes.len()).unwrap_or(i32::MAX),
        dtype: dl,
        shape: sizes.as_ptr().cast_mut(),
        strides: strides.map_or(std::ptr::null_mut(), |strides| strides.as_ptr().cast_mut()),
        byte_offset: 0,
    };
    // SAFETY: sizes and strides are slices of that length, and the caller vouches for the memory.
    unsafe { take(&tensor, owner) }
}

/// Whether the fields behind the version are those of this version.
fn check_version(version: DLPackVersion) -> Result<(), Error> {
    if version.major == VERSION.major {
        return Ok(());
    }
    // The other fields may be anything else, but for the deleter, whose place never changes.
    let found = format!("{}.{}", version.major, version.minor);
    Err(Error::Unsupported(format!("DLPack {found} is not known here")))
}

/// # Safety
/// `owner` keeps what `tensor` points to, and what it says of memory is so.
unsafe fn take<O: 'static>(tensor: &DLTensor, owner: O) -> Result<Tensor, Error> {
    let malformed = |what: &str| Error::Malformed(what.to_owned());
    if tensor.device.device_type != CPU {
        let kind = tensor.device.device_type;
        return Err(Error::Unsupported(format!(
            "a tensor on another device than the CPU (DLPack's device type {kind})"
        )));
    }
    let dtype = from_dl(tensor.dtype).ok_or_else(|| {
        let found = tensor.dtype;
        let (code, bits, lanes) = (found.code, found.bits, found.lanes);
        let what = format!("DLPack's dtype of code {code}, {bits} bits and {lanes} lanes");
        Error::Unsupported(what + " is none of PyTorch's")
    })?;
    if !(0..=MAX_DIMS).contains(&tensor.ndim) {
        return Err(malformed(&format!("{} dimensions", tensor.ndim)));
    }
    let ndim = tensor.ndim as usize;
    // SAFETY: the caller vouches for what the structure says.
    let sizes = unsafe { numbers(tensor.shape, ndim) }
        .ok_or_else(|| malformed("dimensions without sizes"))?;
    // SAFETY: as above.
    let strides = unsafe { numbers(tensor.strides, ndim) };
    if let Some(negative) = sizes.iter().find(|&&size| size < 0) {
        return Err(malformed(&format!("a dimension of size {negative}")));
    }
    let strides = match strides {
        Some(strides) => strides.to_vec(),
        None => row_major(sizes).ok_or_else(|| malformed("more elements than memory has"))?,
    };
    if sizes.contains(&0) {
        let empty = Storage::from_bytes(Vec::new().into(), Device::CPU);
        let strides: Vec<i64> = strides.iter().map(|stride| stride.max(&0)).copied().collect();
        return Ok(Tensor::strided(empty, dtype, 0, sizes, &strides)?);
    }
    if tensor.data.is_null() {
        return Err(malformed("elements without memory"));
    }
    let reach = reach(sizes, &strides, dtype, tensor.byte_offset);
    let (before, len) = reach.ok_or_else(|| malformed("sizes and strides beyond all memory"))?;
    let first = tensor.data.cast::<u8>().cast_const();
    let offset = usize::try_from(tensor.byte_offset).unwrap_or(usize::MAX).wrapping_sub(before);
    // The element of the lowest address; with negative strides it is not the first.
    let start = first.wrapping_add(offset);
    let lent = Lent { _owner: owner, start, len };
    if strides.iter().all(|&stride| stride >= 0) {
        let storage = Storage::from_owner(lent, len as u64, Device::CPU)?;
        return Ok(Tensor::strided(storage, dtype, 0, sizes, &strides)?);
    }
    let copy = copied(lent.as_ref(), before, sizes, &strides, dtype.item_size())
        .ok_or_else(|| malformed("more elements than memory has"))?;
    Ok(Tensor::contiguous(Storage::from_bytes(copy.into(), Device::CPU), dtype, sizes)?)
}

/// # Safety
/// There are so many numbers at the address, unless it is null.
unsafe fn numbers<'a>(at: *const i64, count: usize) -> Option<&'a [i64]> {
    match (count, at.is_null()) {
        (0, _) => Some(&[]),
        (_, true) => None,
        // SAFETY: the caller vouches for the numbers; the structure that they belong to is held while they are used.
        _ => Some(unsafe { slice::from_raw_parts(at, count) }),
    }
}

fn row_major(sizes: &[i64]) -> Option<Vec<i64>> {
    let mut strides = vec![1; sizes.len()];
    let mut step = 1i64;
    for (stride, &size) in strides.iter_mut().zip(sizes).rev() {
        *stride = step;
        step = step.checked_mul(size.max(1))?;
    }
    Some(strides)
}

/// How many bytes lie before the first element, and from the lowest to the end of the highest; `None` where that is
/// more than there can be.
fn reach(sizes: &[i64], strides: &[i64], dtype: DType, byte_offset: u64) -> Option<(usize, usize)> {
    let (mut low, mut high) = (0i64, 0i64);
    for (&size, &stride) in sizes.iter().zip(strides) {
        let far = stride.checked_mul(size - 1)?;
        match far < 0 {
            true => low = low.checked_add(far)?,
            false => high = high.checked_add(far)?,
        }
    }
    let item = i64::try_from(dtype.item_size()).ok()?;
    let before = low.checked_neg()?.checked_mul(item)?;
    let len = high.checked_sub(low)?.checked_add(1)?.checked_mul(item)?;
    i64::try_from(byte_offset).ok()?.checked_add(len)?;
    Some((usize::try_from(before).ok()?, usize::try_from(len).ok()?))
}

/// The elements, row-major.
fn copied(
    bytes: &[u8],
    before: usize,
    sizes: &[i64],
    strides: &[i64],
    item: usize,
) -> Option<Vec<u8>> {
    let count = sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size as usize))?;
    let mut out = Vec::new();
    out.try_reserve_exact(count.checked_mul(item)?).ok()?;
    let mut index = vec![0i64; sizes.len()];
    for _ in 0..count {
        let step: i64 = index.iter().zip(strides).map(|(&at, &stride)| at * stride).sum();
        let at = (before as i64 + step * item as i64) as usize;
        out.extend_from_slice(bytes.get(at..at + item)?);
        for (at, &size) in index.iter_mut().zip(sizes).rev() {
            *at += 1;
            if *at < size {
                break;
            }
            *at = 0;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::abi::{DLDataType, DLDevice, FLAG_READ_ONLY};
    use crate::export;

    /// What a lent tensor of these tests points to.
    struct Producer {
        data: Vec<f32>,
        sizes: Vec<i64>,
        strides: Option<Vec<i64>>,
    }

    /// A structure over the numbers 0 to 5, as a producer lends it.
    fn lent(sizes: &[i64], strides: Option<&[i64]>, first: usize) -> Box<DLManagedTensorVersioned> {
        let mut producer = Box::new(Producer {
            data: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            sizes: sizes.to_vec(),
            strides: strides.map(<[i64]>::to_vec),
        });
        let dl_tensor = DLTensor {
            data: producer.data.as_mut_ptr().cast(),
            device: DLDevice { device_type: CPU, device_id: 0 },
            ndim: sizes.len() as i32,
            dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
            shape: producer.sizes.as_mut_ptr(),
            strides: producer.strides.as_mut().map_or(ptr::null_mut(), Vec::as_mut_ptr),
            byte_offset: 4 * first as u64,
        };
        Box::new(DLManagedTensorVersioned {
            version: VERSION,
            manager_ctx: Box::into_raw(producer).cast(),
            deleter: Some(give_back),
            flags: 0,
            dl_tensor,
        })
    }

    unsafe extern "C" fn give_back(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: the deleter of a structure from `lent` is called with that structure, once.
        let managed = unsafe { Box::from_raw(managed) };
        // SAFETY: `lent` put it there, and nothing else takes it.
        drop(unsafe { Box::from_raw(managed.manager_ctx.cast::<Producer>()) });
    }

    fn taken(managed: Box<DLManagedTensorVersioned>) -> Result<Tensor, Error> {
        // SAFETY: the structure is from `lent`, whose deleter frees it and what it points to; nobody else has it.
        unsafe { import(Box::into_raw(managed)) }
    }

    #[test]
    fn strides_of_every_kind() {
        let values = |tensor: Tensor| tensor.to_vec::<f32>().unwrap();
        let whole = taken(lent(&[2, 3], None, 0)).unwrap();
        assert_eq!(whole.strides(), [3, 1]);
        assert_eq!(values(whole), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let column = taken(lent(&[2], Some(&[3]), 1)).unwrap();
        assert_eq!(values(column), [1.0, 4.0]);
        let back = taken(lent(&[3, 2], Some(&[-2, 1]), 4)).unwrap();
        assert_eq!(values(back), [4.0, 5.0, 2.0, 3.0, 0.0, 1.0]);
        let repeated = taken(lent(&[2, 2], Some(&[0, 1]), 4)).unwrap();
        assert_eq!(values(repeated), [4.0, 5.0, 4.0, 5.0]);
        let empty = taken(lent(&[0, 7], Some(&[-7, 1]), 0)).unwrap();
        assert_eq!((empty.sizes(), empty.numel()), (&[0, 7][..], 0));
    }

    #[test]
    fn lies_are_errors() {
        let said = |managed: Box<DLManagedTensorVersioned>| taken(managed).unwrap_err().to_string();
        let wrong = |sizes: &[i64], strides: Option<&[i64]>| said(lent(sizes, strides, 0));
        assert!(wrong(&[-1], None).ends_with("a dimension of size -1"));
        assert!(wrong(&[i64::MAX, i64::MAX], None).ends_with("more elements than memory has"));
        assert!(wrong(&[2, 2], Some(&[i64::MAX, 1])).ends_with("beyond all memory"));
        assert!(wrong(&[2], Some(&[i64::MIN])).ends_with("beyond all memory"));
        let mut other = lent(&[4], None, 0);
        other.dl_tensor.device.device_type = 2;
        assert!(said(other).contains("another device than the CPU"));
        other = lent(&[4], None, 0);
        other.dl_tensor.dtype.bits = 33;
        assert!(said(other).contains("is none of PyTorch's"));
        other = lent(&[4], None, 0);
        other.dl_tensor.ndim = 1 << 20;
        assert!(said(other).contains("1048576 dimensions"));
        other = lent(&[4], None, 0);
        other.dl_tensor.data = ptr::null_mut();
        assert!(said(other).contains("without memory"));
        other = lent(&[4], None, 0);
        other.version.major = 2;
        assert!(said(other).contains("DLPack 2.1 is not known here"));
    }

    #[test]
    fn blobs_are_given_back_once_the_last_tensor_is_gone() {
        use std::sync::Arc;
        let (mut memory, owner) = ([1i32, 2, 3, 4, 5, 6], Arc::new(()));
        let data = memory.as_mut_ptr().cast();
        // SAFETY: the memory is the test's and outlives the tensors.
        let blob = |dtype, sizes: &[i64], strides| unsafe {
            from_blob(data, dtype, sizes, strides, Arc::clone(&owner))
        };
        // Column by column, as Fortran has it.
        let tensor = blob(DType::Int32, &[2, 3], Some(&[1, 2])).unwrap();
        assert_eq!(tensor.to_vec::<i32>().unwrap(), [1, 3, 5, 2, 4, 6]);
        let part = tensor.select(0, 1).unwrap();
        drop(tensor);
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(part);
        assert!(blob(DType::QInt8, &[6], None).unwrap_err().to_string().contains("qint8"));
        assert!(blob(DType::Int32, &[6], Some(&[1, 1])).is_err());
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn what_is_borrowed_stays_the_lenders() {
        let lent = Box::into_raw(lent(&[6], None, 0));
        // SAFETY: the structure is there until the end of the test, longer than the tensor.
        let tensor = unsafe { borrow(lent) }.unwrap();
        assert_eq!(tensor.to_vec::<f32>().unwrap()[5], 5.0);
        drop(tensor);
        // SAFETY: nobody else gives it back.
        unsafe { give_back(lent) };
    }

    #[test]
    fn what_is_lent_comes_back() {
        let tensor = Tensor::from_vec(vec![1i64, 2, 3, 4], &[2, 2]).unwrap();
        let lent = export(&tensor.select(0, 1).unwrap()).unwrap();
        // SAFETY: the structure is this test's.
        assert_eq!(unsafe { lent.as_ref() }.flags, FLAG_READ_ONLY);
        // SAFETY: as above; it is given to nobody else.
        let row = unsafe { import(lent.as_ptr()) }.unwrap();
        drop(tensor);
        assert_eq!(row.to_vec::<i64>().unwrap(), [3, 4]);
    }
}
