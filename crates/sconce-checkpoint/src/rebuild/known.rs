//! What the globals of PyTorch's, Python's and numpy's own pickles mean.

use sconce_tensor::DType;

/// The meaning of a global.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A function that gives a tensor.
    Rebuild(Rebuild),
    /// An old tensor class, such as `torch.FloatTensor`; its state is set by BUILD.
    TensorClass(Option<DType>),
    /// `torch.nn.parameter.Parameter`.
    Parameter,
    /// A storage class. `None` for untyped storages.
    StorageClass(Option<DType>),
    /// `torch.storage._load_from_bytes`.
    LoadFromBytes,
    DType(DType),
    QScheme(&'static str),
    Size,
    Device,
    GetLayout,
    OrderedDict,
    Counter,
    DefaultDict,
    Set,
    FrozenSet,
    Complex,
    Bytes,
    ByteArray,
    /// `_codecs.encode`: bytes in pickles of protocol 2.
    Encode,
    NumpyReconstruct,
    NumpyFromBuffer,
    NumpyScalar,
    NumpyDType,
    /// TorchScript's typed lists: the argument is the value.
    JitList,
    /// TorchScript's type tags: the first argument is the value.
    JitTag,
}

/// A function that rebuilds a tensor, by its name in `torch._utils` unless noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rebuild {
    /// `_rebuild_tensor`
    V1,
    /// `_rebuild_tensor_v2`
    V2,
    /// `_rebuild_tensor_v3`
    V3,
    /// `_rebuild_parameter`
    Parameter,
    /// `_rebuild_parameter_with_state`
    ParameterWithState,
    /// `_rebuild_sparse_tensor`
    Sparse,
    /// `_rebuild_sparse_csr_tensor` (1.8 to 1.13)
    SparseCsr,
    /// `_rebuild_nested_tensor`
    Nested,
    /// `_rebuild_qtensor`
    Quantized,
    /// `_rebuild_meta_tensor_no_storage`
    Meta,
    /// `_rebuild_device_tensor_from_numpy` and its older names for single backends
    FromNumpy,
    /// `_rebuild_device_tensor_from_cpu_tensor`
    FromCpuTensor,
    /// `_rebuild_wrapper_subclass`
    WrapperSubclass,
    /// `torch._tensor._rebuild_from_type_v2`
    FromTypeV2,
    /// `torch._tensor._rebuild_from_type` (to 1.10)
    FromType,
}

const UTILS: &str = "torch._utils";
const TENSOR: &str = "torch._tensor";

const TABLE: &[(&str, &str, Known)] = &[
    (UTILS, "_rebuild_tensor", Known::Rebuild(Rebuild::V1)),
    (UTILS, "_rebuild_tensor_v2", Known::Rebuild(Rebuild::V2)),
    (UTILS, "_rebuild_tensor_v3", Known::Rebuild(Rebuild::V3)),
    (UTILS, "_rebuild_parameter", Known::Rebuild(Rebuild::Parameter)),
    (UTILS, "_rebuild_parameter_with_state", Known::Rebuild(Rebuild::ParameterWithState)),
    (UTILS, "_rebuild_sparse_tensor", Known::Rebuild(Rebuild::Sparse)),
    (UTILS, "_rebuild_sparse_csr_tensor", Known::Rebuild(Rebuild::SparseCsr)),
    (UTILS, "_rebuild_nested_tensor", Known::Rebuild(Rebuild::Nested)),
    (UTILS, "_rebuild_qtensor", Known::Rebuild(Rebuild::Quantized)),
    (UTILS, "_rebuild_meta_tensor_no_storage", Known::Rebuild(Rebuild::Meta)),
    (UTILS, "_rebuild_device_tensor_from_numpy", Known::Rebuild(Rebuild::FromNumpy)),
    (UTILS, "_rebuild_xla_tensor", Known::Rebuild(Rebuild::FromNumpy)),
    (UTILS, "_rebuild_mlc_tensor", Known::Rebuild(Rebuild::FromNumpy)),
    (UTILS, "_rebuild_ort_tensor", Known::Rebuild(Rebuild::FromNumpy)),
    (UTILS, "_rebuild_mtia_tensor", Known::Rebuild(Rebuild::FromNumpy)),
    (UTILS, "_rebuild_maia_tensor", Known::Rebuild(Rebuild::FromNumpy)),
    (UTILS, "_rebuild_hpu_tensor", Known::Rebuild(Rebuild::FromNumpy)),
    (UTILS, "_rebuild_device_tensor_from_cpu_tensor", Known::Rebuild(Rebuild::FromCpuTensor)),
    (UTILS, "_rebuild_wrapper_subclass", Known::Rebuild(Rebuild::WrapperSubclass)),
    (TENSOR, "_rebuild_from_type_v2", Known::Rebuild(Rebuild::FromTypeV2)),
    (TENSOR, "_rebuild_from_type", Known::Rebuild(Rebuild::FromType)),
    // PyTorch kept its Tensor class in `torch.tensor` before 1.9.
    ("torch.tensor", "_rebuild_from_type_v2", Known::Rebuild(Rebuild::FromTypeV2)),
    ("torch.tensor", "_rebuild_from_type", Known::Rebuild(Rebuild::FromType)),
    ("torch._tensor", "Tensor", Known::TensorClass(None)),
    ("torch.tensor", "Tensor", Known::TensorClass(None)),
    ("torch", "Tensor", Known::TensorClass(None)),
    ("torch.nn.parameter", "Parameter", Known::Parameter),
    ("torch.nn", "Parameter", Known::Parameter),
    ("torch.storage", "_load_from_bytes", Known::LoadFromBytes),
    ("torch", "Size", Known::Size),
    ("torch", "device", Known::Device),
    ("torch.serialization", "_get_layout", Known::GetLayout),
    ("collections", "OrderedDict", Known::OrderedDict),
    ("collections", "Counter", Known::Counter),
    ("collections", "defaultdict", Known::DefaultDict),
    ("builtins", "set", Known::Set),
    ("builtins", "frozenset", Known::FrozenSet),
    ("builtins", "complex", Known::Complex),
    ("builtins", "bytes", Known::Bytes),
    ("builtins", "bytearray", Known::ByteArray),
    ("_codecs", "encode", Known::Encode),
    ("numpy.core.multiarray", "_reconstruct", Known::NumpyReconstruct),
    ("numpy._core.multiarray", "_reconstruct", Known::NumpyReconstruct),
    ("numpy.core.numeric", "_frombuffer", Known::NumpyFromBuffer),
    ("numpy._core.numeric", "_frombuffer", Known::NumpyFromBuffer),
    ("numpy.core.multiarray", "scalar", Known::NumpyScalar),
    ("numpy._core.multiarray", "scalar", Known::NumpyScalar),
    ("numpy", "dtype", Known::NumpyDType),
    ("torch.jit._pickle", "build_intlist", Known::JitList),
    ("torch.jit._pickle", "build_doublelist", Known::JitList),
    ("torch.jit._pickle", "build_boollist", Known::JitList),
    ("torch.jit._pickle", "build_tensorlist", Known::JitList),
    ("torch.jit._pickle", "restore_type_tag", Known::JitTag),
    ("torch", "per_tensor_affine", Known::QScheme("per_tensor_affine")),
    ("torch", "per_tensor_symmetric", Known::QScheme("per_tensor_symmetric")),
    ("torch", "per_channel_affine", Known::QScheme("per_channel_affine")),
    ("torch", "per_channel_symmetric", Known::QScheme("per_channel_symmetric")),
    (
        "torch",
        "per_channel_affine_float_qparams",
        Known::QScheme("per_channel_affine_float_qparams"),
    ),
];

impl Known {
    /// The meaning of `module.name` (Python 3 names), if it has one here.
    pub(super) fn find(module: &str, name: &str) -> Option<Known> {
        // torch.load resolves any name that holds "Storage" by the name alone.
        if name.contains("Storage")
            && let Some(dtype) = storage_dtype(name)
        {
            return Some(Known::StorageClass(dtype));
        }
        if let Some((.., known)) = TABLE.iter().find(|row| row.0 == module && row.1 == name) {
            return Some(*known);
        }
        let tensor_modules = ["torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse"];
        if let Some(scalar) = name.strip_suffix("Tensor")
            && tensor_modules.contains(&module)
            && let Some(dtype) = DType::from_scalar_type_name(scalar)
        {
            return Some(Known::TensorClass(Some(dtype)));
        }
        if module == "torch" {
            return DType::from_name(name).map(Known::DType);
        }
        None
    }
}

/// The element type of a storage class by its bare name, `Some(None)` when it is untyped and `None`
/// when there is no such class.
pub(crate) fn storage_dtype(name: &str) -> Option<Option<DType>> {
    match name {
        "UntypedStorage" | "_UntypedStorage" | "TypedStorage" | "_TypedStorage" => Some(None),
        _ => DType::from_storage_class(name).map(Some),
    }
}
