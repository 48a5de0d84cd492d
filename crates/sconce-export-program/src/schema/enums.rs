//! Enums with numbers of their own: not those of TorchScript, nor of C++.

use sconce_tensor::DType;

use super::macros::numbered;

numbered! {
    /// A dtype.
    ScalarType {
        /// No dtype.
        Unknown 0;
        /// `torch.uint8`
        Byte 1;
        /// `torch.int8`
        Char 2;
        /// `torch.int16`
        Short 3;
        /// `torch.int32`
        Int 4;
        /// `torch.int64`
        Long 5;
        /// `torch.float16`
        Half 6;
        /// `torch.float32`
        Float 7;
        /// `torch.float64`
        Double 8;
        /// `torch.complex32`
        ComplexHalf 9;
        /// `torch.complex64`
        ComplexFloat 10;
        /// `torch.complex128`
        ComplexDouble 11;
        /// `torch.bool`
        Bool 12;
        /// `torch.bfloat16`
        BFloat16 13;
        /// `torch.uint16`
        UInt16 28;
        /// `torch.float8_e4m3fn`; 14 in schema 8.1.
        Float8E4M3FN 29 or 14;
        /// `torch.float8_e5m2`; 15 in schema 8.1.
        Float8E5M2 30 or 15;
        /// `torch.float8_e4m3fnuz`
        Float8E4M3FNUZ 31;
        /// `torch.float8_e5m2fnuz`
        Float8E5M2FNUZ 32;
        /// `torch.float8_e8m0fnu`
        Float8E8M0FNU 33;
        /// `torch.uint32`
        UInt32 34;
        /// `torch.uint64`
        UInt64 35;
    }
}

impl ScalarType {
    /// The dtype; `None` for [`ScalarType::Unknown`].
    pub fn dtype(self) -> Option<DType> {
        sconce_checkpoint::pt2::dtype_of_number(self.number())
    }

    /// PyTorch's name without `torch.`, such as `float32`; `None` for [`ScalarType::Unknown`].
    pub fn name(self) -> Option<&'static str> {
        self.dtype().map(DType::name)
    }

    /// How programs are printed: `f32`, `i64`, `b8`.
    pub fn short_name(self) -> &'static str {
        match self {
            ScalarType::Unknown => "unknown",
            ScalarType::Byte => "u8",
            ScalarType::Char => "i8",
            ScalarType::Short => "i16",
            ScalarType::Int => "i32",
            ScalarType::Long => "i64",
            ScalarType::Half => "f16",
            ScalarType::Float => "f32",
            ScalarType::Double => "f64",
            ScalarType::ComplexHalf => "c32",
            ScalarType::ComplexFloat => "c64",
            ScalarType::ComplexDouble => "c128",
            ScalarType::Bool => "b8",
            ScalarType::BFloat16 => "bf16",
            ScalarType::UInt16 => "u16",
            ScalarType::Float8E4M3FN => "f8e4m3fn",
            ScalarType::Float8E5M2 => "f8e5m2",
            ScalarType::Float8E4M3FNUZ => "f8e4m3fnuz",
            ScalarType::Float8E5M2FNUZ => "f8e5m2fnuz",
            ScalarType::Float8E8M0FNU => "f8e8m0fnu",
            ScalarType::UInt32 => "u32",
            ScalarType::UInt64 => "u64",
        }
    }
}

numbered! {
    /// How a tensor's elements are laid out.
    Layout {
        /// No layout.
        Unknown 0;
        /// `torch.sparse_coo`
        SparseCoo 1;
        /// `torch.sparse_csr`
        SparseCsr 2;
        /// `torch.sparse_csc`
        SparseCsc 3;
        /// `torch.sparse_bsr`
        SparseBsr 4;
        /// `torch.sparse_bsc`
        SparseBsc 5;
        /// `torch._mkldnn`
        Mkldnn 6;
        /// `torch.strided`
        Strided 7;
    }
}

impl Layout {
    /// PyTorch's name without `torch.`; `None` for [`Layout::Unknown`].
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Layout::Unknown => return None,
            Layout::SparseCoo => "sparse_coo",
            Layout::SparseCsr => "sparse_csr",
            Layout::SparseCsc => "sparse_csc",
            Layout::SparseBsr => "sparse_bsr",
            Layout::SparseBsc => "sparse_bsc",
            Layout::Mkldnn => "_mkldnn",
            Layout::Strided => "strided",
        })
    }
}

numbered! {
    /// In which order a tensor's dimensions lie in memory.
    MemoryFormat {
        /// No format.
        Unknown 0;
        /// `torch.contiguous_format`
        ContiguousFormat 1;
        /// `torch.channels_last`
        ChannelsLast 2;
        /// `torch.channels_last_3d`
        ChannelsLast3d 3;
        /// `torch.preserve_format`
        PreserveFormat 4;
    }
}

impl MemoryFormat {
    /// PyTorch's name without `torch.`; `None` for [`MemoryFormat::Unknown`].
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            MemoryFormat::Unknown => return None,
            MemoryFormat::ContiguousFormat => "contiguous_format",
            MemoryFormat::ChannelsLast => "channels_last",
            MemoryFormat::ChannelsLast3d => "channels_last_3d",
            MemoryFormat::PreserveFormat => "preserve_format",
        })
    }
}

numbered! {
    /// How an argument is passed.
    ArgumentKind {
        /// Not said.
        Unknown 0;
        /// By position.
        Positional 1;
        /// By name.
        Keyword 2;
    }
}
