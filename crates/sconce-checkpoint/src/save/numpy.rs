//! numpy's arrays, scalars and dtypes as their `__reduce__` gives them.

use std::collections::HashMap;

use sconce_pickle::Value;
use sconce_tensor::{ByteOrder, Tensor};

use super::lower::{Lower, unpicklable};
use crate::build::NumpyDType;
use crate::object::{Array, ArrayData};
use crate::{Error, ErrorKind};

const MULTIARRAY: &str = "numpy._core.multiarray";

/// `NPY_LIST_PICKLE` and its like: what dtypes of each kind have among their flags.
const OBJECT_FLAGS: i64 = 63;
const TEXT_FLAGS: i64 = 8;
const RECORD_FLAGS: i64 = 16;
/// The flags that a record takes over from its fields (`NPY_FROM_FIELDS`).
const FROM_FIELDS: i64 = 27;

/// What is one object in numpy wherever it is used.
#[derive(Default)]
pub(super) struct Known {
    /// The dtypes of numbers in the machine's byte order, by whose they are, kind and size.
    dtypes: HashMap<(Owner, char, u64), Value>,
    /// `b"b"`, the type code that arrays are first made with.
    code: Option<Value>,
}

/// Whose a dtype is. Arrays that are read have copies of numpy's own dtypes, which they share as
/// they did when they were written; scalars have numpy's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    /// An array, or a record's field.
    Array,
    /// A scalar.
    Scalar,
}

impl<'c> Lower<'c> {
    /// An empty array that is then given its state; by [`Lower::array_state`] where it holds
    /// objects, since these may hold it.
    pub(super) fn array(&mut self, array: &'c Array) -> Result<Value, Error> {
        let class = self.values.global("numpy", "ndarray");
        let zero = self.values.int(0);
        let shape = self.values.tuple(&[zero]);
        let code = match self.numpy.code {
            Some(code) => code,
            None => self.values.bytes(&b"b"[..]),
        };
        self.numpy.code = Some(code);
        let made = self.call(MULTIARRAY, "_reconstruct", &[class, shape, code])?;
        if !matches!(array.data, ArrayData::Objects { .. }) {
            self.array_state(made, array)?;
        }
        Ok(made)
    }

    /// Gives an array `(version, shape, dtype, whether in Fortran order, data)`.
    pub(super) fn array_state(&mut self, made: Value, array: &'c Array) -> Result<(), Error> {
        let version = self.values.int(1);
        let dims: Vec<Value> = array.shape.iter().map(|&dim| self.values.int(dim)).collect();
        let dims = self.values.tuple(&dims);
        let dtype = self.element_dtype(&array.dtype, Owner::Array)?;
        let (fortran, data) = self.array_data(array)?;
        let fortran = self.values.bool(fortran);
        let state = self.values.tuple(&[version, dims, dtype, fortran, data]);
        self.values.build(made, state).map_err(unpicklable)
    }

    /// `scalar(dtype, data)`
    pub(super) fn scalar(&mut self, array: &'c Array) -> Result<Value, Error> {
        let dtype = self.element_dtype(&array.dtype, Owner::Scalar)?;
        let (_, data) = self.array_data(array)?;
        self.call(MULTIARRAY, "scalar", &[dtype, data])
    }

    /// Whether the elements are in Fortran order, and they: bytes, or a list of objects.
    fn array_data(&mut self, array: &'c Array) -> Result<(bool, Value), Error> {
        match &array.data {
            ArrayData::Tensor(tensor) => {
                let (fortran, bytes) = elements(tensor).map_err(|error| {
                    Error::new(ErrorKind::Malformed, format!("a numpy array: {error}"))
                })?;
                Ok((fortran, self.values.bytes(bytes)))
            }
            ArrayData::Raw { bytes, fortran } if is_foreign(&array.dtype) => {
                let mut bytes = bytes.to_vec();
                for word in bytes.chunks_exact_mut(word(&array.dtype)) {
                    word.reverse();
                }
                Ok((*fortran, self.values.bytes(bytes)))
            }
            ArrayData::Raw { bytes, fortran } => Ok((*fortran, self.values.bytes(&bytes[..]))),
            ArrayData::Objects { items, fortran } => Ok((*fortran, self.get(*items)?)),
        }
    }

    /// The dtype of an array's elements. Arrays that are read are in the machine's byte order ever
    /// after, whatever order the file had (`array_setstate`); fields of records keep theirs.
    fn element_dtype(&mut self, dtype: &NumpyDType, owner: Owner) -> Result<Value, Error> {
        match is_foreign(dtype) {
            true => {
                let native = NumpyDType { byte_order: ByteOrder::native(), ..dtype.clone() };
                self.numpy_dtype(&native, owner)
            }
            false => self.numpy_dtype(dtype, owner),
        }
    }

    /// `numpy.dtype(code, False, True)` with the state `(version, byte order, subarray, names,
    /// fields, item size, alignment, flags[, metadata])`. Recurses into fields, of which the reader
    /// allows few levels.
    fn numpy_dtype(&mut self, dtype: &NumpyDType, owner: Owner) -> Result<Value, Error> {
        // Numbers and objects: those have one dtype object each.
        let plain = dtype.fields.is_empty() && dtype.subarray.is_none() && dtype.unit.is_none();
        let ordered = is_ordered(dtype);
        let native = !ordered || dtype.byte_order == ByteOrder::native();
        let single = plain && native && !matches!(dtype.kind, 'U' | 'S' | 'V' | 'M' | 'm');
        let key = (owner, dtype.kind, dtype.item_size);
        if let Some(&known) = self.numpy.dtypes.get(&key).filter(|_| single) {
            return Ok(known);
        }
        let count = if dtype.kind == 'U' { dtype.item_size / 4 } else { dtype.item_size };
        let code = self.fresh_text(format!("{}{count}", dtype.kind));
        let (no, yes) = (self.values.bool(false), self.values.bool(true));
        let made = self.call("numpy", "dtype", &[code, no, yes])?;
        if single {
            self.numpy.dtypes.insert(key, made);
        }
        let is_date = matches!(dtype.kind, 'M' | 'm');
        let mut state = vec![self.values.int(if is_date { 4 } else { 3 })];
        state.push(self.text(match (ordered, dtype.byte_order) {
            (false, _) => "|",
            (true, ByteOrder::Big) => ">",
            (true, ByteOrder::Little) => "<",
        }));
        state.push(match &dtype.subarray {
            Some((base, shape)) => {
                let base = self.numpy_dtype(base, Owner::Array)?;
                let dims: Vec<Value> = shape.iter().map(|&dim| self.values.int(dim)).collect();
                let dims = self.values.tuple(&dims);
                self.values.tuple(&[base, dims])
            }
            None => self.values.none(),
        });
        state.extend(self.fields(dtype)?);
        let (size, align) = match dtype.kind {
            'U' | 'S' | 'V' => (dtype.item_size as i64, alignment(dtype)),
            _ => (-1, -1),
        };
        state.extend([size, align, flags(dtype)].map(|number| self.values.int(number)));
        if is_date {
            state.push(self.date_metadata(dtype));
        }
        let state = self.values.tuple(&state);
        self.values.build(made, state).map_err(unpicklable)?;
        Ok(made)
    }

    /// The names of a record's fields, and their dtypes and offsets by name.
    fn fields(&mut self, dtype: &NumpyDType) -> Result<[Value; 2], Error> {
        if dtype.fields.is_empty() {
            return Ok([self.values.none(), self.values.none()]);
        }
        let mut names = Vec::with_capacity(dtype.fields.len());
        let mut fields = Vec::with_capacity(dtype.fields.len());
        for (name, field, offset) in &dtype.fields {
            let name = self.fresh_text(name.clone());
            let field = self.numpy_dtype(field, Owner::Array)?;
            let offset = self.values.int(*offset as i64);
            names.push(name);
            fields.push((name, self.values.tuple(&[field, offset])));
        }
        Ok([self.values.tuple(&names), self.values.dict(fields).map_err(unpicklable)?])
    }

    /// `(None, (unit, count, 1, 1))` for dates and time spans.
    fn date_metadata(&mut self, dtype: &NumpyDType) -> Value {
        let unit = dtype.unit.as_deref().unwrap_or("generic");
        let digits = unit.len() - unit.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let count = unit[..digits].parse().unwrap_or(1);
        let name = self.values.bytes(unit.as_bytes()[digits..].to_vec());
        let one = self.values.int(1);
        let count = self.values.int(count);
        let unit = self.values.tuple(&[name, count, one, one]);
        let none = self.values.none();
        self.values.tuple(&[none, unit])
    }
}

/// Whether elements have a byte order.
fn is_ordered(dtype: &NumpyDType) -> bool {
    dtype.item_size > 1 && dtype.subarray.is_none() && !matches!(dtype.kind, 'S' | 'V' | 'O')
}

/// Whether they have another than this machine.
fn is_foreign(dtype: &NumpyDType) -> bool {
    is_ordered(dtype) && dtype.byte_order != ByteOrder::native()
}

/// Bytes of what has a byte order in an element.
fn word(dtype: &NumpyDType) -> usize {
    match dtype.kind {
        'U' => 4,
        'c' => (dtype.item_size / 2).max(1) as usize,
        _ => dtype.item_size.max(1) as usize,
    }
}

/// The elements in this machine's byte order, in Fortran order where they lie so.
fn elements(tensor: &Tensor) -> Result<(bool, Vec<u8>), sconce_tensor::Error> {
    let whole = tensor.storage().filter(|storage| storage.nbytes() == tensor.nbytes());
    if let Some(storage) = whole
        && !tensor.is_contiguous()
        && is_fortran(tensor)
    {
        return Ok((true, storage.data()?.to_vec()));
    }
    Ok((false, tensor.contiguous_bytes()?.into_owned()))
}

/// Whether the first index varies fastest and nothing lies between elements.
fn is_fortran(tensor: &Tensor) -> bool {
    let mut step = 1i64;
    tensor.sizes().iter().zip(tensor.strides()).all(|(&size, &stride)| {
        let fits = size <= 1 || stride == step;
        step = step.saturating_mul(size.max(1));
        fits
    })
}

/// In bytes. What the reader does not keep is whether a record was made with `align=True`; numpy
/// takes both for the same type.
fn alignment(dtype: &NumpyDType) -> i64 {
    if let Some((base, _)) = &dtype.subarray {
        return alignment(base);
    }
    match dtype.kind {
        'S' | 'V' => 1,
        'U' => 4,
        'c' => (dtype.item_size / 2) as i64,
        _ => dtype.item_size as i64,
    }
}

/// What numpy notes about a dtype's elements: that they must be set before use, are objects, and so
/// on.
fn flags(dtype: &NumpyDType) -> i64 {
    if let Some((base, _)) = &dtype.subarray {
        return flags(base);
    }
    match dtype.kind {
        'O' => OBJECT_FLAGS,
        'U' => TEXT_FLAGS,
        'V' if !dtype.fields.is_empty() => {
            let taken = dtype.fields.iter().map(|(_, field, _)| flags(field) & FROM_FIELDS);
            taken.fold(RECORD_FLAGS, |all, one| all | one)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dtype(kind: char, item_size: u64) -> NumpyDType {
        NumpyDType {
            kind,
            item_size,
            byte_order: ByteOrder::Little,
            unit: None,
            fields: Vec::new(),
            subarray: None,
        }
    }

    fn record(fields: &[NumpyDType]) -> NumpyDType {
        let mut out = dtype('V', 0);
        for (at, field) in fields.iter().enumerate() {
            out.fields.push((format!("f{at}"), field.clone(), out.item_size));
            out.item_size += field.item_size;
        }
        out
    }

    fn pair(base: NumpyDType) -> NumpyDType {
        let subarray = Some((Box::new(base.clone()), vec![2]));
        NumpyDType { subarray, ..dtype('V', base.item_size * 2) }
    }

    /// The numbers that `numpy.dtype.__reduce__` of 2.4 gives.
    #[test]
    fn alignment_and_flags_are_numpys() {
        let table = [
            (dtype('V', 5), 1, 0),
            (dtype('S', 3), 1, 0),
            (dtype('U', 12), 4, 8),
            (pair(dtype('f', 4)), 4, 0),
            (record(&[dtype('f', 4), pair(dtype('i', 2))]), 1, 16),
            (record(&[dtype('S', 3)]), 1, 16),
            (record(&[dtype('O', 8), dtype('M', 8)]), 1, 27),
            (record(&[dtype('U', 12), record(&[dtype('O', 8)])]), 1, 27),
        ];
        for (dtype, align, flag) in table {
            assert_eq!((alignment(&dtype), flags(&dtype)), (align, flag), "{}", dtype.name());
        }
        assert_eq!(flags(&dtype('O', 8)), 63);
        assert_eq!(flags(&dtype('f', 8)), 0);
    }

    #[test]
    fn words_are_what_has_a_byte_order() {
        let table = [('f', 8, Some(8)), ('c', 32, Some(16)), ('U', 12, Some(4)), ('M', 8, Some(8))];
        let without = [('S', 3, None), ('V', 5, None), ('O', 8, None), ('b', 1, None)];
        for (kind, size, expected) in table.into_iter().chain(without) {
            let foreign = NumpyDType { byte_order: ByteOrder::Big, ..dtype(kind, size) };
            assert_eq!(is_foreign(&foreign).then(|| word(&foreign)), expected, "{kind}{size}");
            assert!(!is_foreign(&dtype(kind, size)), "{kind}{size}");
        }
    }

    #[test]
    fn fortran_order_is_seen() {
        use sconce_tensor::{DType, Device, Storage};

        let bytes: Vec<u8> = (0..6).collect();
        let table: [(&[i64], bool, &[u8]); 3] = [
            (&[3, 1], false, &[0, 1, 2, 3, 4, 5]),
            (&[1, 2], true, &[0, 1, 2, 3, 4, 5]),
            (&[0, 1], false, &[0, 1, 2, 0, 1, 2]),
        ];
        for (strides, fortran, expected) in table {
            let storage = Storage::from_bytes(bytes.clone().into(), Device::CPU);
            let tensor = Tensor::strided(storage, DType::UInt8, 0, &[2, 3], strides).unwrap();
            assert_eq!(elements(&tensor).unwrap(), (fortran, expected.to_vec()), "{strides:?}");
        }
    }
}
