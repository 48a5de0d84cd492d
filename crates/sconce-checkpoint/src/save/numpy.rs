//! numpy's arrays, scalars and dtypes as their `__reduce__` gives them.

use std::borrow::Cow;

use sconce_pickle::Value;
use sconce_tensor::{ByteOrder, Tensor};

use super::lower::{Lower, unpicklable};
use crate::object::NumpyDType;
use crate::object::{Array, ArrayData, ArrayForm};
use crate::{Error, ErrorKind};

const MULTIARRAY: &str = "numpy._core.multiarray";
const NUMERIC: &str = "numpy._core.numeric";

/// `NPY_LIST_PICKLE` and its like: what dtypes of each kind have among their flags.
const OBJECT_FLAGS: i64 = 63;
const TEXT_FLAGS: i64 = 8;
const RECORD_FLAGS: i64 = 16;
/// The flags that a record takes over from its fields (`NPY_FROM_FIELDS`).
const FROM_FIELDS: i64 = 27;

impl<'c> Lower<'c> {
    /// An array: at protocol 5 by its elements as a buffer, otherwise an empty one that is given its
    /// state; by [`Lower::array_state`] where it holds objects, since these may hold it.
    pub(super) fn array(&mut self, array: &'c Array) -> Result<Value, Error> {
        if self.form.protocol >= 5 && is_buffer(array) {
            return self.array_of_buffer(array);
        }
        let class = match array.described.class {
            Some(class) => self.get(class)?,
            None => self.values.global("numpy", "ndarray"),
        };
        let zero = self.values.int(0);
        let shape = self.values.tuple(&[zero]);
        let code = self.bytes(b"b");
        let made = self.call(MULTIARRAY, "_reconstruct", &[class, shape, code])?;
        if !matches!(array.data, ArrayData::Objects { .. }) {
            self.array_state(made, array)?;
        }
        Ok(made)
    }

    /// Gives an array `(version, shape, dtype, whether in Fortran order, data)`.
    pub(super) fn array_state(&mut self, made: Value, array: &'c Array) -> Result<(), Error> {
        let version = self.values.int(1);
        let dims = self.dims(&array.shape);
        let dtype = self.array_dtype(array)?;
        let (fortran, data) = match &array.data {
            ArrayData::Objects { items, fortran } => (*fortran, self.get(*items)?),
            _ => {
                let (fortran, data) = array_bytes(array)?;
                (fortran, self.values.bytes(data))
            }
        };
        let fortran = self.values.bool(fortran);
        let state = self.values.tuple(&[version, dims, dtype, fortran, data]);
        self.values.build(made, state).map_err(unpicklable)
    }

    /// `_frombuffer(buffer, dtype, shape, order)`
    fn array_of_buffer(&mut self, array: &'c Array) -> Result<Value, Error> {
        let (fortran, data) = array_bytes(array)?;
        let data = match array.described.form {
            ArrayForm::Buffer { read_only: true } => self.values.bytes(data),
            _ => self.values.bytearray(data),
        };
        let dtype = self.array_dtype(array)?;
        let dims = self.dims(&array.shape);
        let order = self.text(if fortran { "F" } else { "C" });
        self.call(NUMERIC, "_frombuffer", &[data, dtype, dims, order])
    }

    /// `scalar(dtype, data)`
    pub(super) fn scalar(&mut self, array: &'c Array) -> Result<Value, Error> {
        let dtype = match array.described.dtype {
            // Records hold on to the dtype they were made with.
            Some(id) if array.dtype.kind == 'V' => self.get(id)?,
            _ => self.native_dtype(&array.dtype)?,
        };
        let data = match &array.data {
            ArrayData::Objects { items, .. } => self.get(*items)?,
            _ => self.values.bytes(array_bytes(array)?.1),
        };
        self.call(MULTIARRAY, "scalar", &[dtype, data])
    }

    /// The dtype of an array: the object that it was read with, unless that has another byte order
    /// than this machine.
    fn array_dtype(&mut self, array: &'c Array) -> Result<Value, Error> {
        match array.described.dtype {
            _ if is_swapped(array) => self.native_dtype(&array.dtype),
            Some(id) => self.get(id),
            None => self.numpy_dtype(&array.dtype, true),
        }
    }

    /// The dtype of a scalar that is not a record, and of an array whose elements were swapped: numpy's
    /// own for a number.
    fn native_dtype(&mut self, dtype: &'c NumpyDType) -> Result<Value, Error> {
        let single = !matches!(dtype.kind, 'U' | 'S' | 'V' | 'M' | 'm');
        let key = (dtype.kind, dtype.item_size);
        if let Some(&known) = self.numpy.get(&key).filter(|_| single) {
            return Ok(known);
        }
        let made = self.numpy_dtype(dtype, false)?;
        if single {
            self.numpy.insert(key, made);
        }
        Ok(made)
    }

    /// `numpy.dtype(code, False, True)` with the state `(version, byte order, subarray, names, fields,
    /// item size, alignment, flags[, metadata])`; in the machine's byte order or its own. Recurses into
    /// fields, which keep their order, and of which the reader allows few levels.
    fn numpy_dtype(&mut self, dtype: &'c NumpyDType, keep_order: bool) -> Result<Value, Error> {
        let order = if keep_order { dtype.byte_order } else { ByteOrder::native() };
        let count = if dtype.kind == 'U' { dtype.item_size / 4 } else { dtype.item_size };
        let code = self.fresh_text(format!("{}{count}", dtype.kind));
        let (no, yes) = (self.values.bool(false), self.values.bool(true));
        let made = self.call("numpy", "dtype", &[code, no, yes])?;
        let is_date = matches!(dtype.kind, 'M' | 'm');
        let mut state = vec![self.values.int(if is_date { 4 } else { 3 })];
        state.push(self.text(match (is_ordered(dtype), order) {
            (false, _) => "|",
            (true, ByteOrder::Big) => ">",
            (true, ByteOrder::Little) => "<",
        }));
        state.push(match &dtype.subarray {
            Some((base, shape)) => {
                let base = self.numpy_dtype(base, true)?;
                let dims = self.dims(shape);
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
    fn fields(&mut self, dtype: &'c NumpyDType) -> Result<[Value; 2], Error> {
        if dtype.fields.is_empty() {
            return Ok([self.values.none(), self.values.none()]);
        }
        let mut names = Vec::with_capacity(dtype.fields.len());
        let mut fields = Vec::with_capacity(dtype.fields.len());
        for (name, field, offset) in &dtype.fields {
            let name = self.text(name);
            let field = self.numpy_dtype(field, true)?;
            let offset = self.values.int(*offset as i64);
            names.push(name);
            fields.push((name, self.values.tuple(&[field, offset])));
        }
        Ok([self.values.tuple(&names), self.values.dict(fields).map_err(unpicklable)?])
    }

    /// `(None, (unit, count, 1, 1))` for dates and time spans.
    fn date_metadata(&mut self, dtype: &'c NumpyDType) -> Value {
        let unit = dtype.unit.as_deref().unwrap_or("generic");
        let digits = unit.len() - unit.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let count = unit[..digits].parse().unwrap_or(1);
        let name = self.bytes(&unit.as_bytes()[digits..]);
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

/// Whether elements were brought into this machine's byte order when the array was made, as a state
/// does (`array_setstate`) and a buffer does not.
fn is_swapped(array: &Array) -> bool {
    is_foreign(&array.dtype) && array.described.form == ArrayForm::State
}

/// Whether numpy pickles the array as a buffer where the protocol allows it.
fn is_buffer(array: &Array) -> bool {
    array.described.class.is_none() && array.dtype.item_size > 0 && has_buffers(&array.dtype)
}

/// Whether Python's buffers can say what elements are: not that they are objects or dates. Recurses
/// as the reader allows.
fn has_buffers(dtype: &NumpyDType) -> bool {
    match &dtype.subarray {
        Some((base, _)) => has_buffers(base),
        None => {
            !matches!(dtype.kind, 'O' | 'M' | 'm')
                && dtype.fields.iter().all(|(_, field, _)| has_buffers(field))
        }
    }
}

/// Whether the elements are in Fortran order, and their bytes.
fn array_bytes(array: &Array) -> Result<(bool, Cow<'_, [u8]>), Error> {
    let (fortran, bytes, is_native) = match &array.data {
        ArrayData::Tensor(tensor) => {
            let (fortran, bytes) = elements(tensor).map_err(|error| {
                Error::new(ErrorKind::Malformed, format!("a numpy array: {error}"))
            })?;
            (fortran, Cow::Owned(bytes), true)
        }
        ArrayData::Raw { bytes, fortran } => {
            (*fortran, Cow::Borrowed(&bytes[..]), !is_foreign(&array.dtype))
        }
        ArrayData::Objects { .. } => {
            let message = "objects in a numpy array have no bytes";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    };
    let wanted_native = is_swapped(array) || !is_foreign(&array.dtype);
    if is_native == wanted_native {
        return Ok((fortran, bytes));
    }
    let mut bytes = bytes.into_owned();
    bytes.chunks_exact_mut(word(&array.dtype)).for_each(<[u8]>::reverse);
    Ok((fortran, Cow::Owned(bytes)))
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
