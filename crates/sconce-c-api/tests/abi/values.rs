//! Values without a program.

use super::*;

#[test]
fn what_is_put_in_is_taken_also_where_it_fails() {
    let mut out = ptr::null_mut();
    let items = [sconce_value_int(1), ptr::null_mut(), sconce_value_int(2)];
    let error = unsafe { sconce_value_list(items.as_ptr(), 3, ptr::null(), &mut out) };
    assert_eq!(failed(error), (SCONCE_INVALID_ARGUMENT, "taken[1] is NULL".to_owned()));
    let items = [sconce_value_int(1)];
    let wrong = c("no type!");
    let error = unsafe { sconce_value_list(items.as_ptr(), 1, wrong.as_ptr(), &mut out) };
    assert_eq!(failed(error).1, "element_type 'no type!' is no type");
    let items = [sconce_value_int(1)];
    let error = unsafe { sconce_value_dict(ptr::null(), items.as_ptr(), 1, &mut out) };
    assert_eq!(failed(error).1, "keys is NULL");
}

#[test]
fn depth_is_bounded() {
    let mut value = sconce_value_int(1);
    let mut depth = 1;
    let said = loop {
        let mut out = ptr::null_mut();
        let error = unsafe { sconce_value_tuple([value].as_ptr(), 1, &mut out) };
        if !error.is_null() {
            break failed(error);
        }
        (value, depth) = (out, depth + 1);
    };
    assert_eq!((said.1.as_str(), depth), ("values that are nested too deeply", 200));
}

#[test]
fn a_value_is_only_what_it_is() {
    let value = Value::int(3);
    let (mut truth, mut number, mut float) = (true, 0, 0.0);
    unsafe {
        assert!(!sconce_value_as_bool(value.0, &mut truth) && truth);
        assert!(sconce_value_as_int(value.0, &mut number) && number == 3);
        assert!(sconce_value_as_float(value.0, &mut float) && float == 3.0);
        assert!(sconce_value_as_tensor(value.0).is_null());
        assert_eq!(sconce_value_size(value.0), 0);
        assert!(sconce_value_at(value.0, 0).is_null() && sconce_value_key(value.0, 0).is_null());
        assert!(sconce_value_get(value.0, c("a").as_ptr()).is_null());
        let (mut data, mut size) = (ptr::null(), 0);
        assert!(!sconce_value_as_string(value.0, &mut data, &mut size));
        assert!(!sconce_value_name(value.0, 0, &mut data, &mut size));
        assert!(!sconce_value_class(value.0, &mut data, &mut size));
    }
    let none = Value(sconce_value_none());
    assert_eq!(unsafe { sconce_value_kind(none.0) }, SCONCE_KIND_NONE);
    let yes = Value(sconce_value_bool(true));
    truth = false;
    assert!(unsafe { sconce_value_as_bool(yes.0, &mut truth) } && truth);
    let bytes = b"\xff";
    let mut out = ptr::dangling_mut();
    let error = unsafe { sconce_value_string(bytes.as_ptr().cast(), 1, &mut out) };
    assert_eq!(failed(error).1, "data is not UTF-8");
    assert!(out.is_null());
}
