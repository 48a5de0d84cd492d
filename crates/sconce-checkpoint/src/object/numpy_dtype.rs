//! What numpy says of the elements of an array.

use sconce_tensor::{ByteOrder, DType};

/// A numpy dtype, as its pickle describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct NumpyDType {
    /// numpy's kind letter: `f`, `i`, `u`, `b`, `c`, `S`, `U`, `M`, `m`, `O` or `V`.
    pub kind: char,
    /// Bytes of one element.
    pub item_size: u64,
    /// Byte order of multi-byte numbers and text.
    pub byte_order: ByteOrder,
    /// Unit of dates and time spans, such as `ns`.
    pub unit: Option<String>,
    /// Fields of a record: name, type, offset in bytes.
    pub fields: Vec<(String, NumpyDType, u64)>,
    /// Element type and shape of a dtype that is itself an array.
    pub subarray: Option<(Box<NumpyDType>, Vec<i64>)>,
}

impl NumpyDType {
    /// The PyTorch dtype of the same elements, if there is one.
    pub fn to_torch(&self) -> Option<DType> {
        if self.subarray.is_some() {
            return None;
        }
        Some(match (self.kind, self.item_size) {
            ('f', 2) => DType::Float16,
            ('f', 4) => DType::Float32,
            ('f', 8) => DType::Float64,
            ('c', 8) => DType::Complex64,
            ('c', 16) => DType::Complex128,
            ('b', 1) => DType::Bool,
            ('i', 1) => DType::Int8,
            ('i', 2) => DType::Int16,
            ('i', 4) => DType::Int32,
            ('i', 8) => DType::Int64,
            ('u', 1) => DType::UInt8,
            ('u', 2) => DType::UInt16,
            ('u', 4) => DType::UInt32,
            ('u', 8) => DType::UInt64,
            _ => return None,
        })
    }

    /// Whether elements are Python objects, or records that hold some.
    pub fn holds_objects(&self) -> bool {
        // As deep as the reader lets dtypes be nested.
        match &self.subarray {
            Some((base, _)) => base.holds_objects(),
            None => {
                self.kind == 'O' || self.fields.iter().any(|(_, field, _)| field.holds_objects())
            }
        }
    }

    /// The name numpy gives it, such as `float64`, `<U5` or `datetime64[ns]`.
    pub fn name(&self) -> String {
        if let Some((base, shape)) = &self.subarray {
            return format!("({}, {shape:?})", base.name());
        }
        if let Some(dtype) = self.to_torch() {
            return dtype.name().to_owned();
        }
        let order = if self.byte_order == ByteOrder::Little { '<' } else { '>' };
        match self.kind {
            'U' => format!("{order}U{}", self.item_size / 4),
            'S' => format!("|S{}", self.item_size),
            'M' | 'm' => {
                let name = if self.kind == 'M' { "datetime64" } else { "timedelta64" };
                self.unit.as_ref().map_or(name.to_owned(), |unit| format!("{name}[{unit}]"))
            }
            'O' => "object".to_owned(),
            'V' if !self.fields.is_empty() => {
                let fields: Vec<String> = self
                    .fields
                    .iter()
                    .map(|(name, dtype, _)| format!("('{name}', '{}')", dtype.name()))
                    .collect();
                format!("[{}]", fields.join(", "))
            }
            kind => format!("{order}{kind}{}", self.item_size),
        }
    }
}
