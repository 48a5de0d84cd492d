//! Tensors over the host's memory, and their elements.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[test]
fn fortrans_columns_are_strides() {
    // Two rows and three columns, column by column, at an address of 8 bytes.
    let memory = [0.0, 1.0, 4.0, 2.0, 5.0, 3.0, 6.0f64];
    let mut out = ptr::null_mut();
    ok(unsafe {
        sconce_tensor_from_blob(
            memory[1..].as_ptr().cast_mut().cast(),
            SCONCE_FLOAT64,
            [2, 3].as_ptr(),
            [1, 2].as_ptr(),
            2,
            None,
            ptr::null_mut(),
            &mut out,
        )
    });
    assert_eq!(floats(out), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let mut rows = ptr::null_mut();
    ok(unsafe { sconce_tensor_contiguous(out, &mut rows) });
    let mut data = ptr::null();
    ok(unsafe { sconce_tensor_data(rows, &mut data) });
    assert_eq!(unsafe { *data.cast::<f64>().add(1) }, 2.0);
    let host = Loaded::host();
    let pair = host.session().call("pair", &[&Value(unsafe { sconce_value_tensor(out) })]);
    assert_eq!(
        floats(unsafe { sconce_value_as_tensor(sconce_value_at(pair.0, 0)) })[3..],
        [5.0, 6.0, 7.0]
    );
    unsafe { sconce_tensor_delete(rows) };
}

#[test]
fn elements_are_cast_and_counted() {
    let tensor = blob(&[1.5f32, -2.5, 3.0], SCONCE_FLOAT32, &[3]);
    let mut numbers = [0i64; 3];
    ok(unsafe { sconce_tensor_copy_to(tensor, numbers.as_mut_ptr().cast(), 24, SCONCE_INT64) });
    assert_eq!(numbers, [1, -2, 3]);
    let few =
        unsafe { sconce_tensor_copy_to(tensor, numbers.as_mut_ptr().cast(), 23, SCONCE_INT64) };
    assert_eq!(failed(few).1, "the tensor has 24 bytes, and there is room for 23");
    let mut half = ptr::null_mut();
    ok(unsafe { sconce_tensor_to(tensor, SCONCE_BFLOAT16, &mut half) });
    assert_eq!(unsafe { sconce_tensor_dtype(half) }, SCONCE_BFLOAT16);
    assert_eq!(floats(half), [1.5, -2.5, 3.0]);
    unsafe { sconce_tensor_delete(half) };
    let unknown = unsafe { sconce_tensor_to(tensor, 9999, &mut half) };
    assert_eq!(failed(unknown), (SCONCE_INVALID_ARGUMENT, "there is no dtype 9999".to_owned()));
    unsafe { sconce_tensor_delete(tensor) };
}

#[test]
fn zeros_and_their_bounds() {
    let new = |sizes: &[i64]| {
        let mut out = ptr::null_mut();
        let error =
            unsafe { sconce_tensor_new(SCONCE_FLOAT32, sizes.as_ptr(), sizes.len(), &mut out) };
        if error.is_null() { Ok(out) } else { Err(failed(error).0) }
    };
    let zeros = new(&[2, 3]).unwrap();
    assert_eq!((floats(zeros), sizes(zeros)), (vec![0.0; 6], vec![2, 3]));
    let again = unsafe { sconce_tensor_clone(zeros) };
    unsafe { sconce_tensor_delete(zeros) };
    assert_eq!(floats(again), [0.0; 6]);
    unsafe { sconce_tensor_delete(again) };
    let empty = new(&[0, 5]).unwrap();
    assert_eq!(floats(empty), [0f32; 0]);
    unsafe { sconce_tensor_delete(empty) };
    assert_eq!(new(&[-1]), Err(SCONCE_INVALID_ARGUMENT));
    assert_eq!(new(&[i64::MAX, i64::MAX]), Err(SCONCE_LIMIT));
    assert_eq!(new(&[1 << 60]), Err(SCONCE_LIMIT));
}

static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn give_back(context: *mut c_void) {
    GIVEN_BACK.fetch_add(context as usize, Ordering::SeqCst);
}

#[test]
fn memory_is_given_back_once() {
    let data = [1f32; 4];
    let make = |dtype, strides: *const i64, out: *mut *mut sconce_tensor| unsafe {
        let (data, one) = (data.as_ptr().cast_mut().cast(), ptr::without_provenance_mut(1));
        sconce_tensor_from_blob(data, dtype, [4].as_ptr(), strides, 1, Some(give_back), one, out)
    };
    let count = || GIVEN_BACK.load(Ordering::SeqCst);
    let mut tensor = ptr::null_mut();
    ok(make(SCONCE_FLOAT32, ptr::null(), &mut tensor));
    let mut lent = ptr::null_mut();
    ok(unsafe { sconce_tensor_to_dlpack(tensor, &mut lent) });
    unsafe { sconce_tensor_delete(tensor) };
    assert_eq!(count(), 0);
    // By the structure's own deleter, as a host calls it.
    unsafe { ((*lent).deleter.unwrap())(lent) };
    assert_eq!(count(), 1);
    // Also where there is no tensor.
    failed(make(12345, ptr::null(), &mut tensor));
    assert_eq!(count(), 2);
    failed(make(SCONCE_FLOAT32, ptr::null(), ptr::null_mut()));
    assert_eq!(count(), 3);
    // One element, four times.
    ok(make(SCONCE_FLOAT32, [0].as_ptr(), &mut tensor));
    unsafe { sconce_tensor_delete(tensor) };
    assert_eq!(count(), 4);
}
