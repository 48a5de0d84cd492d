//! numpy's dtypes, arrays and scalars, for the random objects.

use sconce_pickle::Value;

use crate::make::Maker;
use crate::steps::{Array, ArrayForm};

const MULTIARRAY: &str = "numpy._core.multiarray";

/// Code, bytes of an element, and whether it has a byte order.
const DTYPES: [(&str, usize, bool); 11] = [
    ("f8", 8, true),
    ("f2", 2, true),
    ("i4", 4, true),
    ("u2", 2, true),
    ("c16", 16, true),
    ("i1", 1, false),
    ("b1", 1, false),
    ("U3", 12, true),
    ("S5", 5, false),
    ("V6", 6, false),
    ("M8", 8, true),
];

impl Maker {
    /// A dtype that stands for itself, and for arrays that share it.
    pub(super) fn numpy_dtype(&mut self, at: usize) -> Value {
        let at = at % DTYPES.len();
        let made = self.new_dtype(DTYPES[at].0, "<");
        self.numpy_dtypes.insert(at, made);
        made
    }

    /// `numpy.dtype(code, False, True)`, and its state.
    fn new_dtype(&mut self, code: &str, order: &str) -> Value {
        let args =
            [self.values.str(code.to_owned()), self.values.bool(false), self.values.bool(true)];
        let dtype = self.call("numpy", "dtype", &args);
        let is_ordered = DTYPES.iter().any(|&(name, _, is_ordered)| name == code && is_ordered);
        let size: i64 = code[1..].parse().unwrap_or(8);
        let (size, align) = match &code[..1] {
            "U" => (4 * size, 4),
            "S" | "V" => (size, 1),
            _ => (-1, -1),
        };
        let is_date = code.starts_with('M');
        let mut state = vec![
            self.values.int(if is_date { 4 } else { 3 }),
            self.values.str(if is_ordered { order } else { "|" }.to_owned()),
        ];
        // No subarray, no names, no fields.
        state.extend([(); 3].map(|()| self.values.none()));
        let flags = match &code[..1] {
            "U" => 8,
            "O" => 63,
            _ => 0,
        };
        state.extend([size, align, flags].map(|number| self.values.int(number)));
        if is_date {
            let unit = [self.values.bytes(&b"ns"[..]), self.values.int(1)];
            let one = self.values.int(1);
            let unit = self.values.tuple(&[unit[0], unit[1], one, one]);
            let nothing = self.values.none();
            state.push(self.values.tuple(&[nothing, unit]));
        }
        let state = self.values.tuple(&state);
        self.values.build(dtype, state).expect("a call");
        dtype
    }

    /// What buffers before protocol 5 are is nothing that numpy writes; those are bytes then.
    pub(super) fn array(&mut self, array: &Array, protocol: u8) -> Value {
        let at = array.dtype % DTYPES.len();
        let (code, item_size, is_ordered) = DTYPES[at];
        // Text in another byte order would be other text's bytes when it is read again.
        let is_swapped = matches!(array.form, ArrayForm::BigEndian) && is_ordered && at < 5;
        let dtype = match self.numpy_dtypes.get(&at) {
            Some(&dtype) if array.shares_dtype && !is_swapped => dtype,
            _ => self.new_dtype(code, if is_swapped { ">" } else { "<" }),
        };
        let sizes: Vec<i64> = array.sizes.iter().map(|&size| i64::from(size)).collect();
        let len = sizes.iter().product::<i64>() as usize * item_size;
        let data: Vec<u8> = (0..len).map(|at| at as u8 & 1).collect();
        let shape = self.dims(&sizes);
        let class = match array.form {
            ArrayForm::Bytes | ArrayForm::ByteArray => {
                let data = match array.form {
                    ArrayForm::ByteArray if protocol >= 5 => self.values.bytearray(data),
                    _ => self.values.bytes(data),
                };
                let order = self.values.str(if array.fortran { "F" } else { "C" });
                let args = [data, dtype, shape, order];
                return self.call("numpy._core.numeric", "_frombuffer", &args);
            }
            ArrayForm::Matrix => "matrix",
            ArrayForm::State | ArrayForm::BigEndian => "ndarray",
        };
        let data = self.values.bytes(data);
        self.array_of_state(class, shape, dtype, array.fortran, data)
    }

    /// `_reconstruct(class, (0,), b"b")`, and its state.
    fn array_of_state(
        &mut self,
        class: &'static str,
        shape: Value,
        dtype: Value,
        fortran: bool,
        data: Value,
    ) -> Value {
        let args =
            [self.values.global("numpy", class), self.dims(&[0]), self.values.bytes(&b"b"[..])];
        let array = self.call(MULTIARRAY, "_reconstruct", &args);
        let state = [self.values.int(1), shape, dtype, self.values.bool(fortran), data];
        let state = self.values.tuple(&state);
        self.values.build(array, state).expect("a call");
        array
    }

    pub(super) fn object_array(&mut self, items: &[usize], column: bool) -> Value {
        let items = self.picked(items);
        let count = items.len() as i64;
        let shape = self.dims(if column { vec![count, 1] } else { vec![count] }.as_slice());
        let dtype = self.new_dtype("O8", "|");
        let items = self.values.list(items);
        self.array_of_state("ndarray", shape, dtype, false, items)
    }

    /// `scalar(dtype, data)`
    pub(super) fn scalar(&mut self, dtype: usize, data: &[u8]) -> Value {
        let (code, size, _) = DTYPES[dtype % DTYPES.len()];
        let dtype = self.new_dtype(code, "<");
        let data: Vec<u8> = data[..size].iter().map(|byte| byte & 1).collect();
        let args = [dtype, self.values.bytes(data)];
        self.call(MULTIARRAY, "scalar", &args)
    }
}
