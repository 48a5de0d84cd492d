//! The structures of DLPack 1.1 (`dlpack.h`), field by field.

use std::ffi::c_void;

/// The version of these structures.
pub(crate) const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// A bit of [`DLManagedTensorVersioned::flags`]: nobody may write to the elements.
pub const FLAG_READ_ONLY: u64 = 1;

/// The memory of the CPU, as [`DLDevice::device_type`].
pub(crate) const CPU: i32 = 1;

/// Which version of the structures a producer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DLPackVersion {
    /// Another number means other structures.
    pub major: u32,
    /// Additions.
    pub minor: u32,
}

/// Where elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DLDevice {
    /// `DLDeviceType`: 1 is the CPU.
    pub device_type: i32,
    /// Which of these devices.
    pub device_id: i32,
}

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DLDataType {
    /// `DLDataTypeCode`.
    pub code: u8,
    /// Bits of a number.
    pub bits: u8,
    /// Numbers in an element.
    pub lanes: u16,
}

/// A strided view of memory.
#[derive(Debug)]
#[repr(C)]
pub struct DLTensor {
    /// Where the memory begins.
    pub data: *mut c_void,
    /// Where that is.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// Sizes of the dimensions.
    pub shape: *mut i64,
    /// Steps of the dimensions in elements; null for a row-major tensor.
    pub strides: *mut i64,
    /// Where the first element is, in bytes from `data`.
    pub byte_offset: u64,
}

/// A tensor and how to give it back, before DLPack 1.0.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor and how to give it back.
#[derive(Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// The version of this structure.
    pub version: DLPackVersion,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// What is so of it: [`FLAG_READ_ONLY`].
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}
