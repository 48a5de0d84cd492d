//! Values: what programs take and give. Containers own what is put into them; what is read out of them is lent.

use std::ffi::c_char;
use std::ptr;

use sconce::jit::ir::{Schema, Type};
use sconce::run::Plain;

use crate::errors::{Failure, sconce_error};
use crate::guard::{Out, Result, array, guarded, text};
use crate::panics::{delete, quiet};
use crate::tensor::sconce_tensor;

/// What a value is: `SCONCE_KIND_NONE` and its siblings.
pub type sconce_kind = u32;

/// `None`; also what `sconce_value_kind` gives of NULL.
pub const SCONCE_KIND_NONE: sconce_kind = 0;
/// A bool.
pub const SCONCE_KIND_BOOL: sconce_kind = 1;
/// An int; also a dtype, layout or memory format.
pub const SCONCE_KIND_INT: sconce_kind = 2;
/// A float.
pub const SCONCE_KIND_FLOAT: sconce_kind = 3;
/// A complex number.
pub const SCONCE_KIND_COMPLEX: sconce_kind = 4;
/// A string; also a device.
pub const SCONCE_KIND_STRING: sconce_kind = 5;
/// A tensor.
pub const SCONCE_KIND_TENSOR: sconce_kind = 6;
/// A list.
pub const SCONCE_KIND_LIST: sconce_kind = 7;
/// A tuple; also a named tuple.
pub const SCONCE_KIND_TUPLE: sconce_kind = 8;
/// A dict.
pub const SCONCE_KIND_DICT: sconce_kind = 9;
/// An object of a class of the program, or a member of an enum.
pub const SCONCE_KIND_OBJECT: sconce_kind = 10;

/// A value of a program. It may go from thread to thread.
#[repr(transparent)]
pub struct sconce_value(pub(crate) Plain);

impl sconce_value {
    /// A value that is part of another, as a pointer for as long as that is there.
    fn lent(value: Option<&Plain>) -> *const sconce_value {
        // The structure is the value, `repr(transparent)`.
        value.map_or(ptr::null(), |value| ptr::from_ref(value).cast())
    }
}

/// A new value for the caller; NULL where memory is short or there is a bug.
fn made(make: impl FnOnce() -> Option<Plain>) -> *mut sconce_value {
    quiet(ptr::null_mut(), || {
        make().map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(sconce_value(value))))
    })
}

/// Takes the values of an array, all of them, whatever becomes of them then.
///
/// # Safety
/// `taken` is NULL or `n` values of the caller's, each once, or NULL.
unsafe fn take(taken: *const *mut sconce_value, n: usize) -> Result<Vec<Plain>> {
    // SAFETY: as the caller says.
    let pointers = unsafe { array(taken, n, "taken") }?;
    let value = |&pointer: &*mut sconce_value| {
        // SAFETY: values come from `Box::into_raw`, and this one is taken.
        (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) }.0)
    };
    let values: Vec<Option<Plain>> = pointers.iter().map(value).collect();
    if let Some(at) = values.iter().position(Option::is_none) {
        return Err(Failure::null(&format!("taken[{at}]")));
    }
    let values: Vec<Plain> = values.into_iter().flatten().collect();
    match Plain::is_too_deep(&values) {
        true => Err(Failure::argument("values that are nested too deeply")),
        false => Ok(values),
    }
}

/// `None`.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_value_none() -> *mut sconce_value {
    made(|| Some(Plain::None))
}

/// A bool.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_value_bool(value: bool) -> *mut sconce_value {
    made(|| Some(Plain::Bool(value)))
}

/// An int; for a dtype, its number as `sconce_dtype`.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_value_int(value: i64) -> *mut sconce_value {
    made(|| Some(Plain::Int(value)))
}

/// A float.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_value_float(value: f64) -> *mut sconce_value {
    made(|| Some(Plain::Float(value)))
}

/// A complex number.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_value_complex(real: f64, imaginary: f64) -> *mut sconce_value {
    made(|| Some(Plain::Complex(real, imaginary)))
}

/// A string of `size` bytes of UTF-8, which are copied.
///
/// # Safety
/// `data` is NULL or `size` bytes; `out` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_string(
    data: *const c_char,
    size: usize,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, bytes) =
            unsafe { (Out::pointer(out, "out")?, array(data.cast::<u8>(), size, "data")?) };
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| Failure::argument("data is not UTF-8"))?;
        out.give(sconce_value(Plain::Str(text.to_owned())));
        Ok(())
    })
}

/// A device, such as "cpu", for arguments of the type `Device`.
///
/// # Safety
/// `name` is NULL or a string; `out` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_device(
    name: *const c_char,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, name) = unsafe { (Out::pointer(out, "out")?, text(name, "name")?) };
        out.give(sconce_value(Plain::Device(name.to_owned())));
        Ok(())
    })
}

/// A tensor, which is taken; NULL of NULL.
///
/// # Safety
/// `taken` is NULL or a tensor of the caller's that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_tensor(taken: *mut sconce_tensor) -> *mut sconce_value {
    made(|| {
        // SAFETY: tensors come from `Box::into_raw`, and this one is taken.
        (!taken.is_null()).then(|| Plain::Tensor(unsafe { Box::from_raw(taken) }.0))
    })
}

/// The type of a list's elements, as schemas write it.
fn element_type(text: &str) -> Result<Type> {
    let wrong = || Failure::argument(format!("element_type '{text}' is no type"));
    let schema = Schema::parse(&format!("f({text} x) -> ()")).map_err(|_| wrong())?;
    match &*schema.arguments {
        [argument] if argument.default.is_none() => Ok(argument.ty.clone()),
        _ => Err(wrong()),
    }
}

/// A list of `n` values, which are taken, also where this fails. `element_type` is the type of the elements as schemas write
/// it ("Tensor", "int", "Dict(str, Tensor)"); NULL leaves it to them, and to the method that is called.
///
/// # Safety
/// `taken` is NULL or `n` values of the caller's, each once; `element_type` is NULL or a string; `out` is NULL or a place for
/// the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_list(
    taken: *const *mut sconce_value,
    n: usize,
    element_type: *const c_char,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, items) = unsafe { (Out::pointer(out, "out"), take(taken, n)) };
        let (out, items) = (out?, items?);
        let element = match element_type.is_null() {
            true => None,
            // SAFETY: as the caller says.
            false => Some(self::element_type(unsafe { text(element_type, "element_type") }?)?),
        };
        out.give(sconce_value(Plain::List { element, items }));
        Ok(())
    })
}

/// A tuple of `n` values, which are taken, also where this fails.
///
/// # Safety
/// `taken` is NULL or `n` values of the caller's, each once; `out` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_tuple(
    taken: *const *mut sconce_value,
    n: usize,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, items) = unsafe { (Out::pointer(out, "out"), take(taken, n)) };
        let (out, items) = (out?, items?);
        out.give(sconce_value(Plain::Tuple(items)));
        Ok(())
    })
}

/// A dict from strings to `n` values, which are taken, also where this fails.
///
/// # Safety
/// `keys` is NULL or `n` strings; `taken` is NULL or `n` values of the caller's, each once; `out` is NULL or a place for the
/// result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_dict(
    keys: *const *const c_char,
    taken: *const *mut sconce_value,
    n: usize,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, items) = unsafe { (Out::pointer(out, "out"), take(taken, n)) };
        let (out, items) = (out?, items?);
        // SAFETY: as the caller says.
        let keys = unsafe { array(keys, n, "keys") }?;
        let mut pairs = Vec::with_capacity(n);
        for (at, (&key, value)) in keys.iter().zip(items).enumerate() {
            // SAFETY: as the caller says.
            let key = unsafe { text(key, &format!("keys[{at}]")) }?;
            pairs.push((Plain::Str(key.to_owned()), value));
        }
        out.give(sconce_value(Plain::Dict(pairs)));
        Ok(())
    })
}

/// A dict from ints to `n` values, which are taken, also where this fails.
///
/// # Safety
/// `keys` is NULL or `n` numbers; the others are as of `sconce_value_dict`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_dict_int(
    keys: *const i64,
    taken: *const *mut sconce_value,
    n: usize,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, items) = unsafe { (Out::pointer(out, "out"), take(taken, n)) };
        let (out, items) = (out?, items?);
        // SAFETY: as the caller says.
        let keys = unsafe { array(keys, n, "keys") }?;
        let pairs = keys.iter().map(|&key| Plain::Int(key)).zip(items).collect();
        out.give(sconce_value(Plain::Dict(pairs)));
        Ok(())
    })
}

/// The value once more; tensors are over the same memory. NULL of NULL.
///
/// # Safety
/// `value` is NULL or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_clone(value: *const sconce_value) -> *mut sconce_value {
    // SAFETY: as the caller says.
    made(|| Some(unsafe { value.as_ref() }?.0.clone()))
}

/// What a value is; `SCONCE_KIND_NONE` of NULL.
///
/// # Safety
/// `value` is NULL or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_kind(value: *const sconce_value) -> sconce_kind {
    // SAFETY: as the caller says.
    match unsafe { value.as_ref() }.map(|value| &value.0) {
        Some(Plain::Bool(_)) => SCONCE_KIND_BOOL,
        Some(Plain::Int(_)) => SCONCE_KIND_INT,
        Some(Plain::Float(_)) => SCONCE_KIND_FLOAT,
        Some(Plain::Complex(..)) => SCONCE_KIND_COMPLEX,
        Some(Plain::Str(_) | Plain::Device(_)) => SCONCE_KIND_STRING,
        Some(Plain::Tensor(_)) => SCONCE_KIND_TENSOR,
        Some(Plain::List { .. }) => SCONCE_KIND_LIST,
        Some(Plain::Tuple(_) | Plain::NamedTuple(..)) => SCONCE_KIND_TUPLE,
        Some(Plain::Dict(_)) => SCONCE_KIND_DICT,
        Some(Plain::Object(..) | Plain::Enum(..)) => SCONCE_KIND_OBJECT,
        _ => SCONCE_KIND_NONE,
    }
}

/// Writes what `read` finds in a value; says whether it found something and there is a place for it.
///
/// # Safety
/// `value` is NULL or a value; `out` is NULL or a place for the result.
unsafe fn read<T>(
    value: *const sconce_value,
    out: *mut T,
    read: impl FnOnce(&Plain) -> Option<T>,
) -> bool {
    // SAFETY: as the caller says.
    let found = unsafe { value.as_ref() }.and_then(|value| read(&value.0));
    match found {
        Some(found) if !out.is_null() => {
            // SAFETY: as the caller says.
            unsafe { out.write(found) };
            true
        }
        _ => false,
    }
}

/// The bool that it is. False, and nothing written, where it is none.
///
/// # Safety
/// `value` is NULL or a value; `out` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_as_bool(value: *const sconce_value, out: *mut bool) -> bool {
    let found = |value: &Plain| if let Plain::Bool(value) = value { Some(*value) } else { None };
    // SAFETY: as the caller says.
    unsafe { read(value, out, found) }
}

/// The int that it is. False, and nothing written, where it is none.
///
/// # Safety
/// As `sconce_value_as_bool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_as_int(value: *const sconce_value, out: *mut i64) -> bool {
    let found = |value: &Plain| if let Plain::Int(value) = value { Some(*value) } else { None };
    // SAFETY: as the caller says.
    unsafe { read(value, out, found) }
}

/// The float that it is, or the int as one. False, and nothing written, where it is neither.
///
/// # Safety
/// As `sconce_value_as_bool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_as_float(value: *const sconce_value, out: *mut f64) -> bool {
    let found = |value: &Plain| match value {
        Plain::Float(value) => Some(*value),
        Plain::Int(value) => Some(*value as f64),
        _ => None,
    };
    // SAFETY: as the caller says.
    unsafe { read(value, out, found) }
}

/// The parts of the complex number that it is. False, and nothing written, where it is none.
///
/// # Safety
/// As `sconce_value_as_bool`, of both places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_as_complex(
    value: *const sconce_value,
    real: *mut f64,
    imaginary: *mut f64,
) -> bool {
    // SAFETY: as the caller says.
    let found = unsafe { value.as_ref() }.map(|value| &value.0);
    let (Some(&Plain::Complex(re, im)), false) = (found, real.is_null() || imaginary.is_null())
    else {
        return false;
    };
    // SAFETY: as the caller says.
    unsafe {
        real.write(re);
        imaginary.write(im);
    }
    true
}

/// # Safety
/// `data` and `size` are NULL or places for results.
unsafe fn give_text(text: Option<&str>, data: *mut *const c_char, size: *mut usize) -> bool {
    let (Some(text), false) = (text, data.is_null() || size.is_null()) else { return false };
    // SAFETY: as the caller says.
    unsafe {
        data.write(text.as_ptr().cast());
        size.write(text.len());
    }
    true
}

/// The text of a string, the name of a device, or that of an enum's member: `size` bytes of UTF-8 without a NUL behind them,
/// as long as the value is there. False, and nothing written, where it is none of these.
///
/// # Safety
/// `value` is NULL or a value; `data` and `size` are NULL or places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_as_string(
    value: *const sconce_value,
    data: *mut *const c_char,
    size: *mut usize,
) -> bool {
    // SAFETY: as the caller says.
    let text = unsafe { value.as_ref() }.and_then(|value| match &value.0 {
        Plain::Str(text) | Plain::Device(text) | Plain::Enum(_, text) => Some(text.as_str()),
        _ => None,
    });
    // SAFETY: as the caller says.
    unsafe { give_text(text, data, size) }
}

/// The tensor that it is, as long as the value is there; NULL where it is none.
///
/// # Safety
/// `value` is NULL or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_as_tensor(
    value: *const sconce_value,
) -> *const sconce_tensor {
    // SAFETY: as the caller says.
    match unsafe { value.as_ref() } {
        Some(sconce_value(Plain::Tensor(tensor))) => sconce_tensor::lent(tensor),
        _ => ptr::null(),
    }
}

/// How many items a list, tuple, dict or object has; 0 of anything else.
///
/// # Safety
/// `value` is NULL or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_size(value: *const sconce_value) -> usize {
    // SAFETY: as the caller says.
    match unsafe { value.as_ref() }.map(|value| &value.0) {
        Some(Plain::List { items, .. } | Plain::Tuple(items) | Plain::NamedTuple(_, _, items)) => {
            items.len()
        }
        Some(Plain::Dict(pairs)) => pairs.len(),
        Some(Plain::Object(_, attributes)) => attributes.len(),
        _ => 0,
    }
}

/// An item of a list or tuple, a value of a dict, an attribute of an object, in order and as long as the whole is there; NULL
/// past the end.
///
/// # Safety
/// `value` is NULL or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_at(
    value: *const sconce_value,
    index: usize,
) -> *const sconce_value {
    // SAFETY: as the caller says.
    sconce_value::lent(unsafe { value.as_ref() }.and_then(|value| match &value.0 {
        Plain::List { items, .. } | Plain::Tuple(items) | Plain::NamedTuple(_, _, items) => {
            items.get(index)
        }
        Plain::Dict(pairs) => pairs.get(index).map(|(_, value)| value),
        Plain::Object(_, attributes) => attributes.get(index).map(|(_, value)| value),
        _ => None,
    }))
}

/// A key of a dict, in order and as long as the dict is there; NULL past the end and of anything else.
///
/// # Safety
/// `value` is NULL or a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_key(
    value: *const sconce_value,
    index: usize,
) -> *const sconce_value {
    // SAFETY: as the caller says.
    sconce_value::lent(unsafe { value.as_ref() }.and_then(|value| match &value.0 {
        Plain::Dict(pairs) => pairs.get(index).map(|(key, _)| key),
        _ => None,
    }))
}

/// The value of a dict's key that is a string, an object's attribute, or a named tuple's field, as long as the whole is
/// there; NULL where there is none.
///
/// # Safety
/// `value` is NULL or a value; `key` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_get(
    value: *const sconce_value,
    key: *const c_char,
) -> *const sconce_value {
    // SAFETY: as the caller says.
    let (value, Ok(key)) = (unsafe { value.as_ref() }, unsafe { text(key, "key") }) else {
        return ptr::null();
    };
    sconce_value::lent(value.and_then(|value| match &value.0 {
        Plain::Dict(pairs) => {
            let is_key = |known: &Plain| matches!(known, Plain::Str(text) if text == key);
            pairs.iter().find(|(known, _)| is_key(known)).map(|(_, value)| value)
        }
        Plain::Object(_, attributes) => {
            attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value)
        }
        Plain::NamedTuple(_, fields, items) => {
            items.get(fields.iter().position(|field| field == key)?)
        }
        _ => None,
    }))
}

/// The name of a named tuple's field or an object's attribute, as `sconce_value_as_string` gives text.
///
/// # Safety
/// As `sconce_value_as_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_name(
    value: *const sconce_value,
    index: usize,
    data: *mut *const c_char,
    size: *mut usize,
) -> bool {
    // SAFETY: as the caller says.
    let name = unsafe { value.as_ref() }.and_then(|value| match &value.0 {
        Plain::Object(_, attributes) => attributes.get(index).map(|(name, _)| name.as_str()),
        Plain::NamedTuple(_, fields, _) => fields.get(index).map(String::as_str),
        _ => None,
    });
    // SAFETY: as the caller says.
    unsafe { give_text(name, data, size) }
}

/// The class of an object, an enum's member or a named tuple, as `sconce_value_as_string` gives text.
///
/// # Safety
/// As `sconce_value_as_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_class(
    value: *const sconce_value,
    data: *mut *const c_char,
    size: *mut usize,
) -> bool {
    // SAFETY: as the caller says.
    let class = unsafe { value.as_ref() }.and_then(|value| match &value.0 {
        Plain::Object(class, _) | Plain::Enum(class, _) | Plain::NamedTuple(class, ..) => {
            Some(class.as_str())
        }
        _ => None,
    });
    // SAFETY: as the caller says.
    unsafe { give_text(class, data, size) }
}

/// Deletes a value, which may be NULL, with all that it holds. Values that belong to another are not deleted.
///
/// # Safety
/// `value` is NULL or a value of the caller's that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_value_delete(value: *mut sconce_value) {
    // SAFETY: values come from `Out::give` and `made`.
    unsafe { delete(value) };
}
