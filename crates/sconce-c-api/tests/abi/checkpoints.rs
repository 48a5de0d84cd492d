//! Checkpoints by name.

use sconce_c_api::checkpoint::*;
use sconce_dlpack::DLManagedTensorVersioned;

use super::*;

#[test]
fn tensors_by_number_and_name() {
    let mut checkpoint = ptr::null_mut();
    let path = file("../../examples/digits.ckpt");
    ok(unsafe { sconce_checkpoint_open(path.as_ptr(), true, &mut checkpoint) });
    let count = unsafe { sconce_checkpoint_tensor_count(checkpoint) };
    assert!(count > 3);
    let take = |out: *mut DLManagedTensorVersioned| {
        let mut tensor = ptr::null_mut();
        ok(unsafe { sconce_tensor_from_dlpack(out, &mut tensor) });
        let found = (sizes(tensor), floats(tensor));
        unsafe { sconce_tensor_delete(tensor) };
        found
    };
    for index in 0..count {
        let (mut name, mut by_number, mut by_name) =
            (ptr::null(), ptr::null_mut(), ptr::null_mut());
        ok(unsafe { sconce_checkpoint_tensor(checkpoint, index, &mut name, &mut by_number) });
        ok(unsafe { sconce_checkpoint_find(checkpoint, name, &mut by_name) });
        assert_eq!(take(by_number), take(by_name));
    }
    let mut weight = ptr::null_mut();
    let name = c("state_dict.classifier.weight");
    ok(unsafe { sconce_checkpoint_find(checkpoint, name.as_ptr(), &mut weight) });
    // What was given stays.
    unsafe { sconce_checkpoint_delete(checkpoint) };
    assert_eq!(take(weight).0, [10, 64]);
}

#[test]
fn what_is_not_there_or_not_allowed() {
    let mut checkpoint = ptr::null_mut();
    let open = |path: &str, weights_only, out: *mut *mut sconce_checkpoint| {
        let error = unsafe { sconce_checkpoint_open(file(path).as_ptr(), weights_only, out) };
        if error.is_null() { None } else { Some(failed(error).0) }
    };
    assert_eq!(open("tests/nothing", true, &mut checkpoint), Some(SCONCE_IO));
    assert_eq!(open("../../examples/digits.ckpt", true, &mut checkpoint), None);
    let (mut name, mut out) = (ptr::null(), ptr::null_mut());
    let past = unsafe { sconce_checkpoint_tensor(checkpoint, 999, &mut name, &mut out) };
    assert!(failed(past).1.starts_with("there is no tensor 999: there are "));
    let missing = unsafe { sconce_checkpoint_find(checkpoint, c("x").as_ptr(), &mut out) };
    assert_eq!(failed(missing), (SCONCE_INVALID_ARGUMENT, "there is no tensor 'x'".to_owned()));
    unsafe { sconce_checkpoint_delete(checkpoint) };
}
