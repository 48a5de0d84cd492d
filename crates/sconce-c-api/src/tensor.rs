//! Tensors: memory of the host's or of the library's, which nobody writes to here.

use std::ffi::c_void;
use std::ptr;

use sconce::run::{input, output};
use sconce::{DType, Device, Storage, Tensor};
use sconce_dlpack::DLManagedTensorVersioned;

use crate::errors::{Failure, SCONCE_LIMIT, SCONCE_UNSUPPORTED, sconce_error};
use crate::guard::{Out, Result, array, guarded, reference};
use crate::panics::{delete, quiet};

/// A number of a type of elements, those of PyTorch's c10::ScalarType: `SCONCE_FLOAT32` and its siblings.
pub type sconce_dtype = u32;

/// `torch.uint8`
pub const SCONCE_UINT8: sconce_dtype = 0;
/// `torch.int8`
pub const SCONCE_INT8: sconce_dtype = 1;
/// `torch.int16`
pub const SCONCE_INT16: sconce_dtype = 2;
/// `torch.int32`
pub const SCONCE_INT32: sconce_dtype = 3;
/// `torch.int64`
pub const SCONCE_INT64: sconce_dtype = 4;
/// `torch.float16`
pub const SCONCE_FLOAT16: sconce_dtype = 5;
/// `torch.float32`
pub const SCONCE_FLOAT32: sconce_dtype = 6;
/// `torch.float64`
pub const SCONCE_FLOAT64: sconce_dtype = 7;
/// `torch.complex32`
pub const SCONCE_COMPLEX32: sconce_dtype = 8;
/// `torch.complex64`
pub const SCONCE_COMPLEX64: sconce_dtype = 9;
/// `torch.complex128`
pub const SCONCE_COMPLEX128: sconce_dtype = 10;
/// `torch.bool`
pub const SCONCE_BOOL: sconce_dtype = 11;
/// `torch.bfloat16`
pub const SCONCE_BFLOAT16: sconce_dtype = 15;
/// `torch.float8_e5m2`
pub const SCONCE_FLOAT8_E5M2: sconce_dtype = 23;
/// `torch.float8_e4m3fn`
pub const SCONCE_FLOAT8_E4M3FN: sconce_dtype = 24;
/// `torch.float8_e5m2fnuz`
pub const SCONCE_FLOAT8_E5M2FNUZ: sconce_dtype = 25;
/// `torch.float8_e4m3fnuz`
pub const SCONCE_FLOAT8_E4M3FNUZ: sconce_dtype = 26;
/// `torch.uint16`
pub const SCONCE_UINT16: sconce_dtype = 27;
/// `torch.uint32`
pub const SCONCE_UINT32: sconce_dtype = 28;
/// `torch.uint64`
pub const SCONCE_UINT64: sconce_dtype = 29;
/// What `sconce_tensor_dtype` gives of NULL.
pub const SCONCE_NO_DTYPE: sconce_dtype = u32::MAX;

/// A tensor: a strided view of memory.
#[repr(transparent)]
pub struct sconce_tensor(pub(crate) Tensor);

impl sconce_tensor {
    /// A tensor that is part of something else, as a pointer for as long as that is there.
    pub(crate) fn lent(tensor: &Tensor) -> *const sconce_tensor {
        // The structure is the tensor, `repr(transparent)`.
        ptr::from_ref(tensor).cast()
    }
}

/// What calls the function that gives memory back, when it is dropped.
struct GiveBack {
    deleter: sconce_deleter,
    context: *mut c_void,
}

/// Gives memory of the host's back; it may be called on any thread.
pub type sconce_deleter = Option<unsafe extern "C" fn(context: *mut c_void)>;

impl Drop for GiveBack {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: who gave the function vouched for it and the context; this is dropped once.
            unsafe { deleter(self.context) };
        }
    }
}

pub(crate) fn dtype_of(number: sconce_dtype) -> Result<DType> {
    DType::from_scalar_type_number(number.into())
        .ok_or_else(|| Failure::argument(format!("there is no dtype {number}")))
}

/// The tensor if its elements lie row by row, or else a copy in which they do.
fn row_major(tensor: &Tensor) -> Result<Tensor> {
    match tensor.is_contiguous() {
        true => Ok(tensor.clone()),
        false => Ok(output(&input(tensor)?)?),
    }
}

/// A tensor as DLPack has it, for the caller.
pub(crate) fn lend(tensor: &Tensor) -> Result<*mut DLManagedTensorVersioned> {
    Ok(sconce_dlpack::export(tensor)?.as_ptr())
}

/// A tensor over memory of the caller's: its first element is at `data`, its `strides` are in elements and may be negative;
/// NULL is row by row. Nobody writes to the memory. `deleter`, which may be NULL, is called with `context` when nothing here
/// uses the memory any more, also where this fails; until then the memory stays. Where `deleter` is NULL, it stays as long as
/// the tensor, and what programs keep of it. The caller may write to it while no call is running.
///
/// # Safety
/// `sizes` is NULL or `ndim` numbers, and so is `strides`; what they reach from `data` on is memory as said; `out` is NULL or
/// a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_from_blob(
    data: *mut c_void,
    dtype: sconce_dtype,
    sizes: *const i64,
    strides: *const i64,
    ndim: usize,
    deleter: sconce_deleter,
    context: *mut c_void,
    out: *mut *mut sconce_tensor,
) -> *mut sconce_error {
    let owner = GiveBack { deleter, context };
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, sizes) = unsafe { (Out::pointer(out, "out")?, array(sizes, ndim, "sizes")?) };
        let strides = match strides.is_null() {
            true => None,
            // SAFETY: as the caller says.
            false => Some(unsafe { array(strides, ndim, "strides") }?),
        };
        // SAFETY: as the caller says; the owner calls a function that any thread may call.
        let made =
            unsafe { sconce_dlpack::from_blob(data, dtype_of(dtype)?, sizes, strides, owner) };
        out.give(sconce_tensor(made?));
        Ok(())
    })
}

/// A tensor of DLPack, which is taken: also where this fails it is given back by its deleter.
///
/// # Safety
/// `taken` is NULL or a structure that nobody else uses, and whose memory is there and not written to until its deleter is
/// called, on any thread; `out` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_from_dlpack(
    taken: *mut DLManagedTensorVersioned,
    out: *mut *mut sconce_tensor,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let out = unsafe { Out::pointer(out, "out") };
        if taken.is_null() {
            return Err(Failure::null("taken"));
        }
        // SAFETY: as the caller says.
        let made = unsafe { sconce_dlpack::import(taken) };
        out?.give(sconce_tensor(made?));
        Ok(())
    })
}

/// The tensor as DLPack has it, read only and over the same memory. The caller gives it back by its deleter.
///
/// # Safety
/// The pointers are NULL, or a tensor and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_to_dlpack(
    tensor: *const sconce_tensor,
    out: *mut *mut DLManagedTensorVersioned,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, tensor) = unsafe { (Out::pointer(out, "out")?, reference(tensor, "tensor")?) };
        out.set(lend(&tensor.0)?);
        Ok(())
    })
}

/// A tensor of zeros.
///
/// # Safety
/// `sizes` is NULL or `ndim` numbers; `out` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_new(
    dtype: sconce_dtype,
    sizes: *const i64,
    ndim: usize,
    out: *mut *mut sconce_tensor,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, sizes) = unsafe { (Out::pointer(out, "out")?, array(sizes, ndim, "sizes")?) };
        let dtype = dtype_of(dtype)?;
        if let Some(negative) = sizes.iter().find(|&&size| size < 0) {
            return Err(Failure::argument(format!("a dimension of size {negative}")));
        }
        let bytes = sizes
            .iter()
            .try_fold(dtype.item_size(), |all, &size| all.checked_mul(usize::try_from(size).ok()?));
        let mut zeros = Vec::new();
        let room = bytes.filter(|&bytes| zeros.try_reserve_exact(bytes).is_ok());
        let bytes = room
            .ok_or_else(|| Failure::new(SCONCE_LIMIT, "more elements than memory has room for"))?;
        zeros.resize(bytes, 0u8);
        let storage = Storage::from_bytes(zeros.into(), Device::CPU);
        out.give(sconce_tensor(Tensor::contiguous(storage, dtype, sizes)?));
        Ok(())
    })
}

/// The tensor with elements of another type.
///
/// # Safety
/// The pointers are NULL, or a tensor and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_to(
    tensor: *const sconce_tensor,
    dtype: sconce_dtype,
    out: *mut *mut sconce_tensor,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, tensor) = unsafe { (Out::pointer(out, "out")?, reference(tensor, "tensor")?) };
        out.give(sconce_tensor(tensor.0.to_dtype(dtype_of(dtype)?)?));
        Ok(())
    })
}

/// The tensor with its elements row by row: over the same memory where they lie so.
///
/// # Safety
/// The pointers are NULL, or a tensor and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_contiguous(
    tensor: *const sconce_tensor,
    out: *mut *mut sconce_tensor,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, tensor) = unsafe { (Out::pointer(out, "out")?, reference(tensor, "tensor")?) };
        out.give(sconce_tensor(row_major(&tensor.0)?));
        Ok(())
    })
}

/// The tensor once more, over the same memory; NULL of NULL.
///
/// # Safety
/// `tensor` is NULL or a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_clone(tensor: *const sconce_tensor) -> *mut sconce_tensor {
    quiet(ptr::null_mut(), || {
        // SAFETY: as the caller says.
        let tensor = unsafe { tensor.as_ref() };
        tensor.map_or(ptr::null_mut(), |tensor| {
            Box::into_raw(Box::new(sconce_tensor(tensor.0.clone())))
        })
    })
}

/// The type of the elements; `SCONCE_NO_DTYPE` of NULL.
///
/// # Safety
/// `tensor` is NULL or a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_dtype(tensor: *const sconce_tensor) -> sconce_dtype {
    // SAFETY: as the caller says.
    let tensor = unsafe { tensor.as_ref() };
    tensor.map_or(SCONCE_NO_DTYPE, |tensor| tensor.0.dtype().scalar_type_number().into())
}

/// The number of dimensions; 0 of NULL.
///
/// # Safety
/// `tensor` is NULL or a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_ndim(tensor: *const sconce_tensor) -> usize {
    // SAFETY: as the caller says.
    unsafe { tensor.as_ref() }.map_or(0, |tensor| tensor.0.ndim())
}

/// The sizes of the dimensions, as long as the tensor is there; NULL of NULL.
///
/// # Safety
/// `tensor` is NULL or a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_sizes(tensor: *const sconce_tensor) -> *const i64 {
    // SAFETY: as the caller says.
    unsafe { tensor.as_ref() }.map_or(ptr::null(), |tensor| tensor.0.sizes().as_ptr())
}

/// The steps of the dimensions in elements, as long as the tensor is there; NULL of NULL.
///
/// # Safety
/// `tensor` is NULL or a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_strides(tensor: *const sconce_tensor) -> *const i64 {
    // SAFETY: as the caller says.
    unsafe { tensor.as_ref() }.map_or(ptr::null(), |tensor| tensor.0.strides().as_ptr())
}

/// The first element, as long as the tensor is there; the others are where the strides say. They may not be written to.
///
/// # Safety
/// The pointers are NULL, or a tensor and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_data(
    tensor: *const sconce_tensor,
    out: *mut *const c_void,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, tensor) =
            unsafe { (Out::new(out, ptr::null(), "out")?, reference(tensor, "tensor")?) };
        out.set(sconce_dlpack::data_pointer(&tensor.0)?);
        Ok(())
    })
}

/// Copies the elements, row by row, as elements of `as`, into `bytes` bytes at `into`. Too few are `SCONCE_INVALID_ARGUMENT`.
///
/// # Safety
/// `tensor` is NULL or a tensor; `into` is NULL or memory of so many bytes that is not the tensor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_copy_to(
    tensor: *const sconce_tensor,
    into: *mut c_void,
    bytes: usize,
    r#as: sconce_dtype,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let tensor = unsafe { reference(tensor, "tensor") }?;
        let row_major = row_major(&tensor.0.to_dtype(dtype_of(r#as)?)?)?;
        let needed = usize::try_from(row_major.nbytes()).map_err(|_| {
            Failure::new(SCONCE_UNSUPPORTED, "a tensor that memory has no room for")
        })?;
        if needed > bytes {
            let what = format!("the tensor has {needed} bytes, and there is room for {bytes}");
            return Err(Failure::argument(what));
        }
        if needed == 0 {
            return Ok(());
        }
        if into.is_null() {
            return Err(Failure::null("into"));
        }
        let first = sconce_dlpack::data_pointer(&row_major)?;
        // SAFETY: the elements lie row by row, so that as many bytes follow the first; the caller vouches for its own.
        unsafe { ptr::copy_nonoverlapping(first.cast::<u8>(), into.cast(), needed) };
        Ok(())
    })
}

/// Deletes a tensor, which may be NULL. Tensors that belong to a value are not deleted.
///
/// # Safety
/// `tensor` is NULL or a tensor of the caller's that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_tensor_delete(tensor: *mut sconce_tensor) {
    // SAFETY: tensors come from `Out::give` and `sconce_tensor_clone`.
    unsafe { delete(tensor) };
}
