//! Tensors lent to others.
#![allow(unsafe_code, reason = "memory that is handed on as a pointer is given back as one")]

use std::ffi::c_void;
use std::ptr::NonNull;

use sconce_tensor::{Layout, Storage, Tensor};

use crate::Error;
use crate::abi::{
    CPU, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_READ_ONLY, VERSION,
};
use crate::dtypes::to_dl;

/// What a lent tensor points into.
struct Lent {
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    _storage: Storage,
}

/// Lends a tensor: the pointer is the caller's, and is given back by its deleter. The elements may not be written to.
///
/// # Errors
/// For sparse, quantized and nested tensors, those without data, lazily conjugated ones, and dtypes that DLPack does
/// not have.
pub fn export(tensor: &Tensor) -> Result<NonNull<DLManagedTensorVersioned>, Error> {
    let (lent, dl_tensor) = lend(tensor)?;
    let managed = Box::new(DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: Box::into_raw(lent).cast(),
        deleter: Some(delete),
        flags: FLAG_READ_ONLY,
        dl_tensor,
    });
    Ok(NonNull::from(Box::leak(managed)))
}

/// [`export`] for consumers from before DLPack 1.0, which know of no flags: they, too, may not write.
///
/// # Errors
/// As [`export`].
pub fn export_unversioned(tensor: &Tensor) -> Result<NonNull<DLManagedTensor>, Error> {
    let (lent, dl_tensor) = lend(tensor)?;
    let manager_ctx = Box::into_raw(lent).cast();
    let managed =
        Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete_unversioned) });
    Ok(NonNull::from(Box::leak(managed)))
}

/// Where the first element of a tensor is; the others are where its strides say.
///
/// # Errors
/// As [`export`].
pub fn data_pointer(tensor: &Tensor) -> Result<*const c_void, Error> {
    first_element(tensor).map(|(first, _)| first.cast())
}

/// The first element, and the storage that keeps it.
fn first_element(tensor: &Tensor) -> Result<(*const u8, &Storage), Error> {
    let unsupported = |what: &str| Error::Unsupported(format!("DLPack has no {what}"));
    let (Layout::Strided, Some(storage), None) =
        (tensor.layout(), tensor.storage(), tensor.quantizer())
    else {
        let what = match tensor.quantizer() {
            Some(_) => "quantized".to_owned(),
            None if tensor.layout() == Layout::Strided => "meta".to_owned(),
            None => tensor.layout().name().to_owned(),
        };
        return Err(unsupported(&format!("{what} tensors")));
    };
    if tensor.is_conj() || tensor.is_neg() {
        return Err(unsupported("lazily conjugated or negated tensors"));
    }
    let bytes = storage.data()?;
    let start = match tensor.numel() {
        0 => 0,
        // The constructor of the tensor held this against the storage's size.
        _ => usize::try_from(tensor.storage_offset()).unwrap_or(0) * tensor.dtype().item_size(),
    };
    Ok((bytes.get(start..).unwrap_or_default().as_ptr(), storage))
}

fn lend(tensor: &Tensor) -> Result<(Box<Lent>, DLTensor), Error> {
    let (first, storage) = first_element(tensor)?;
    let dtype = to_dl(tensor.dtype())
        .ok_or_else(|| Error::Unsupported(format!("DLPack has no dtype for {}", tensor.dtype())))?;
    let mut lent = Box::new(Lent {
        shape: tensor.sizes().into(),
        strides: tensor.strides().into(),
        _storage: storage.clone(),
    });
    let dl_tensor = DLTensor {
        data: first.cast_mut().cast(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: tensor.ndim() as i32,
        dtype,
        shape: lent.shape.as_mut_ptr(),
        strides: lent.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    Ok((lent, dl_tensor))
}

fn give_back(manager_ctx: *mut c_void) {
    // SAFETY: the pointer comes from `Box::into_raw` in this file, in a structure that only its deleter, once, gives
    // back.
    drop(unsafe { Box::from_raw(manager_ctx.cast::<Lent>()) });
}

unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    if managed.is_null() {
        return;
    }
    // SAFETY: whoever calls the deleter of a structure passes that structure, which `export` made, and does so once.
    let managed = unsafe { Box::from_raw(managed) };
    give_back(managed.manager_ctx);
}

unsafe extern "C" fn delete_unversioned(managed: *mut DLManagedTensor) {
    if managed.is_null() {
        return;
    }
    // SAFETY: as in `delete`, of `export_unversioned`.
    let managed = unsafe { Box::from_raw(managed) };
    give_back(managed.manager_ctx);
}
