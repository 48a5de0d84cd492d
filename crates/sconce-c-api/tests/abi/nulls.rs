//! Every function with NULL in the place of each pointer: an error that names it, or what stands for nothing.

use sconce_c_api::checkpoint::*;

use super::*;

#[track_caller]
fn null(name: &str, error: *mut sconce_error) {
    assert_eq!(failed(error), (SCONCE_INVALID_ARGUMENT, format!("{name} is NULL")));
}

#[test]
fn of_errors_strings_and_destructors() {
    let none = ptr::null_mut();
    unsafe {
        assert_eq!(sconce_error_code(none), SCONCE_OK);
        assert_eq!(text(sconce_error_message(none)), "");
        assert_eq!(text(sconce_error_traceback(none)), "");
        assert_eq!(text(sconce_error_exception(none)), "");
        sconce_error_delete(none);
        sconce_string_delete(ptr::null_mut());
        sconce_module_delete(ptr::null_mut());
        sconce_options_delete(ptr::null_mut());
        sconce_session_delete(ptr::null_mut());
        sconce_session_interrupt(ptr::null_mut());
        sconce_tensor_delete(ptr::null_mut());
        sconce_value_delete(ptr::null_mut());
        sconce_checkpoint_delete(ptr::null_mut());
    }
}

#[test]
fn of_options() {
    let none = ptr::null_mut();
    unsafe {
        sconce_options_set_seconds(none, 1.0);
        sconce_options_set_steps(none, 1);
        sconce_options_set_memory(none, 1);
        sconce_options_set_optimize(none, true);
        sconce_options_set_exact(none, true);
        sconce_options_set_precision(none, ptr::null());
        sconce_options_set_seed(none, 1);
        sconce_options_set_strict(none, true);
        sconce_options_set_print(none, None, ptr::null_mut());
        sconce_options_set_warn(none, None, ptr::null_mut());
    }
}

#[test]
fn of_modules() {
    let host = Loaded::host();
    let (module, no_module) = (host.0.cast_const(), ptr::null());
    let (forward, no_text) = (c("forward"), ptr::null());
    let forward = forward.as_ptr();
    let path = file("tests/host.pt");
    let (mut out, mut string, mut count) = (ptr::null_mut(), no_string(), 0);
    let (mut name, mut other, mut yes) = (ptr::null(), ptr::null(), false);
    let (mut tensor, mut value) = (ptr::null_mut(), ptr::null_mut());
    unsafe {
        null("path", sconce_module_load(no_text, &mut out));
        null("out", sconce_module_load(path.as_ptr(), ptr::null_mut()));
        null("data", sconce_module_load_memory(ptr::null(), 1, &mut out));
        null("out", sconce_module_load_memory(path.as_ptr().cast(), 1, ptr::null_mut()));
        null("module", sconce_module_extra_file(no_module, forward, &mut string));
        null("name", sconce_module_extra_file(module, no_text, &mut string));
        null("out", sconce_module_extra_file(module, forward, ptr::null_mut()));
        null("module", sconce_module_train(ptr::null_mut(), true));
        assert_eq!(sconce_module_method_count(no_module), 0);
        null("module", sconce_module_method(no_module, 0, &mut name, &mut other));
        null("name", sconce_module_method(module, 0, ptr::null_mut(), &mut other));
        null("schema", sconce_module_method(module, 0, &mut name, ptr::null_mut()));
        null("module", sconce_module_argument_count(no_module, forward, &mut count));
        null("method", sconce_module_argument_count(module, no_text, &mut count));
        null("out", sconce_module_argument_count(module, forward, ptr::null_mut()));
        let argument = sconce_module_argument;
        null("module", argument(no_module, forward, 0, &mut name, &mut other, &mut yes));
        null("method", argument(module, no_text, 0, &mut name, &mut other, &mut yes));
        null("name", argument(module, forward, 0, ptr::null_mut(), &mut other, &mut yes));
        null("type", argument(module, forward, 0, &mut name, ptr::null_mut(), &mut yes));
        null("has_default", argument(module, forward, 0, &mut name, &mut other, ptr::null_mut()));
        null("module", sconce_module_tensor_count(no_module, false, &mut count));
        null("out", sconce_module_tensor_count(module, false, ptr::null_mut()));
        null("module", sconce_module_tensor(no_module, false, 0, &mut name, &mut tensor));
        null("name", sconce_module_tensor(module, false, 0, ptr::null_mut(), &mut tensor));
        null("out", sconce_module_tensor(module, false, 0, &mut name, ptr::null_mut()));
        null("module", sconce_module_attribute(no_module, forward, &mut value));
        null("name", sconce_module_attribute(module, no_text, &mut value));
        null("out", sconce_module_attribute(module, forward, ptr::null_mut()));
        null("module", sconce_module_code(no_module, forward, &mut string));
        null("method", sconce_module_code(module, no_text, &mut string));
        null("out", sconce_module_code(module, forward, ptr::null_mut()));
        null("module", sconce_module_missing(no_module, forward, &mut string));
        null("method", sconce_module_missing(module, no_text, &mut string));
        null("out", sconce_module_missing(module, forward, ptr::null_mut()));
        null("module", sconce_module_save(no_module, forward));
        null("path", sconce_module_save(module, no_text));
    }
    assert!(out.is_null() && tensor.is_null() && value.is_null() && string.data.is_null());
    assert!(name.is_null() && other.is_null() && count == 0 && !yes);
    let latin = b"\xe4\0";
    let error = unsafe { sconce_module_load(latin.as_ptr().cast(), &mut out) };
    assert_eq!(failed(error).1, "path is not UTF-8");
}

#[test]
fn of_sessions() {
    let host = Loaded::host();
    let opened = host.session();
    let (session, none) = (opened.0, ptr::null_mut());
    let (forward, x) = (c("forward"), Value::tensor(&[1f32; 4], SCONCE_FLOAT32, &[1, 4]));
    let (forward, args, nulls) = (forward.as_ptr(), [x.0.cast_const()], [ptr::null()]);
    let (mut made, mut out, mut tensor, mut count) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), 5);
    let (args, nulls, names) = (args.as_ptr(), nulls.as_ptr(), ptr::null());
    unsafe {
        null("module", sconce_session_new(ptr::null(), ptr::null(), &mut made));
        null("out", sconce_session_new(host.0, ptr::null(), ptr::null_mut()));
        let call = sconce_session_call;
        null("session", call(none, forward, args, 1, names, &mut out));
        null("method", call(session, ptr::null(), args, 1, names, &mut out));
        null("args", call(session, forward, ptr::null(), 1, names, &mut out));
        null("args[0]", call(session, forward, nulls, 1, names, &mut out));
        null("out", call(session, forward, args, 1, names, ptr::null_mut()));
        let call = sconce_session_call_tensors;
        let no_tensor = [ptr::null_mut()];
        let given = no_tensor.as_ptr();
        null("session", call(none, forward, given, 1, &mut tensor, 1, &mut count));
        null("method", call(session, ptr::null(), given, 1, &mut tensor, 1, &mut count));
        null("in", call(session, forward, ptr::null(), 1, &mut tensor, 1, &mut count));
        null("in[0]", call(session, forward, given, 1, &mut tensor, 1, &mut count));
        null("out", call(session, forward, given, 1, ptr::null_mut(), 1, &mut count));
        null("n_made", call(session, forward, given, 1, &mut tensor, 1, ptr::null_mut()));
    }
    assert!(made.is_null() && out.is_null() && tensor.is_null() && count == 0);
    let message = opened.fails("forward", &[]).1;
    assert!(message.contains("is missing value for argument 'x'"), "{message}");
}

#[test]
fn of_tensors() {
    let data = [1f32; 2];
    let tensor = blob(&data, SCONCE_FLOAT32, &[2]);
    let (mut out, mut lent, mut at) = (ptr::null_mut(), ptr::null_mut(), ptr::null());
    let memory = data.as_ptr().cast_mut().cast();
    let (sizes, none, context) = ([2i64], ptr::null(), ptr::null_mut());
    let size = sizes.as_ptr();
    unsafe {
        let error = sconce_tensor_from_blob(
            context,
            SCONCE_FLOAT32,
            size,
            none,
            1,
            None,
            context,
            &mut out,
        );
        assert!(failed(error).1.ends_with("elements without memory"));
        let from_blob = sconce_tensor_from_blob;
        null("sizes", from_blob(memory, SCONCE_FLOAT32, none, none, 1, None, context, &mut out));
        null(
            "out",
            from_blob(memory, SCONCE_FLOAT32, size, none, 1, None, context, ptr::null_mut()),
        );
        null("taken", sconce_tensor_from_dlpack(ptr::null_mut(), &mut out));
        ok(sconce_tensor_to_dlpack(tensor, &mut lent));
        // It is given back all the same.
        null("out", sconce_tensor_from_dlpack(lent, ptr::null_mut()));
        null("tensor", sconce_tensor_to_dlpack(ptr::null(), &mut lent));
        null("out", sconce_tensor_to_dlpack(tensor, ptr::null_mut()));
        null("sizes", sconce_tensor_new(SCONCE_FLOAT32, none, 1, &mut out));
        null("out", sconce_tensor_new(SCONCE_FLOAT32, size, 1, ptr::null_mut()));
        null("tensor", sconce_tensor_to(ptr::null(), SCONCE_FLOAT32, &mut out));
        null("out", sconce_tensor_to(tensor, SCONCE_FLOAT32, ptr::null_mut()));
        null("tensor", sconce_tensor_contiguous(ptr::null(), &mut out));
        null("out", sconce_tensor_contiguous(tensor, ptr::null_mut()));
        assert!(sconce_tensor_clone(ptr::null()).is_null());
        assert_eq!(sconce_tensor_dtype(ptr::null()), SCONCE_NO_DTYPE);
        assert_eq!(sconce_tensor_ndim(ptr::null()), 0);
        assert!(sconce_tensor_sizes(ptr::null()).is_null());
        assert!(sconce_tensor_strides(ptr::null()).is_null());
        null("tensor", sconce_tensor_data(ptr::null(), &mut at));
        null("out", sconce_tensor_data(tensor, ptr::null_mut()));
        null("tensor", sconce_tensor_copy_to(ptr::null(), memory, 8, SCONCE_FLOAT32));
        null("into", sconce_tensor_copy_to(tensor, ptr::null_mut(), 8, SCONCE_FLOAT32));
        sconce_tensor_delete(tensor);
    }
    assert!(out.is_null() && lent.is_null() && at.is_null());
}

#[test]
fn of_values() {
    let value = Value::string("a");
    let mut out = ptr::null_mut();
    let items = || [sconce_value_int(1)];
    let (none, key) = (ptr::null(), c("a"));
    let keys = [key.as_ptr()];
    let (mut truth, mut number, mut float, mut data, mut size) = (true, 1, 1.0, ptr::null(), 1);
    unsafe {
        null("data", sconce_value_string(ptr::null(), 1, &mut out));
        null("out", sconce_value_string(key.as_ptr(), 1, ptr::null_mut()));
        null("name", sconce_value_device(ptr::null(), &mut out));
        null("out", sconce_value_device(key.as_ptr(), ptr::null_mut()));
        assert!(sconce_value_tensor(ptr::null_mut()).is_null());
        null("taken", sconce_value_list(ptr::null(), 1, ptr::null(), &mut out));
        null("out", sconce_value_list(items().as_ptr(), 1, ptr::null(), ptr::null_mut()));
        null("taken", sconce_value_tuple(ptr::null(), 1, &mut out));
        null("out", sconce_value_tuple(items().as_ptr(), 1, ptr::null_mut()));
        null("keys", sconce_value_dict(ptr::null(), items().as_ptr(), 1, &mut out));
        null("keys[0]", sconce_value_dict([ptr::null()].as_ptr(), items().as_ptr(), 1, &mut out));
        null("taken", sconce_value_dict(keys.as_ptr(), ptr::null(), 1, &mut out));
        null("out", sconce_value_dict(keys.as_ptr(), items().as_ptr(), 1, ptr::null_mut()));
        null("keys", sconce_value_dict_int(ptr::null(), items().as_ptr(), 1, &mut out));
        null("taken", sconce_value_dict_int([1].as_ptr(), ptr::null(), 1, &mut out));
        null("out", sconce_value_dict_int([1].as_ptr(), items().as_ptr(), 1, ptr::null_mut()));
        assert!(sconce_value_clone(none).is_null());
        assert_eq!(sconce_value_kind(none), SCONCE_KIND_NONE);
        assert!(!sconce_value_as_bool(none, &mut truth) && truth);
        assert!(!sconce_value_as_int(none, &mut number) && number == 1);
        assert!(!sconce_value_as_float(none, &mut float) && float == 1.0);
        assert!(!sconce_value_as_complex(none, &mut float, &mut float));
        assert!(!sconce_value_as_string(none, &mut data, &mut size));
        assert!(!sconce_value_name(none, 0, &mut data, &mut size));
        assert!(!sconce_value_class(none, &mut data, &mut size));
        assert!(!sconce_value_as_string(value.0, ptr::null_mut(), &mut size));
        assert!(!sconce_value_as_string(value.0, &mut data, ptr::null_mut()));
        let number = Value::int(1);
        assert!(!sconce_value_as_int(number.0, ptr::null_mut()));
        assert!(!sconce_value_as_float(number.0, ptr::null_mut()));
        let complex = Value(sconce_value_complex(1.0, 1.0));
        assert!(!sconce_value_as_complex(complex.0, ptr::null_mut(), &mut float));
        assert!(!sconce_value_as_complex(complex.0, &mut float, ptr::null_mut()));
        assert!(!sconce_value_as_bool(Value(sconce_value_bool(true)).0, ptr::null_mut()));
        assert!(sconce_value_as_tensor(none).is_null());
        assert_eq!(sconce_value_size(none), 0);
        assert!(sconce_value_at(none, 0).is_null() && sconce_value_key(none, 0).is_null());
        assert!(sconce_value_get(none, key.as_ptr()).is_null());
        assert!(sconce_value_get(value.0, ptr::null()).is_null());
    }
    assert!(out.is_null() && data.is_null() && size == 1);
}

#[test]
fn of_checkpoints() {
    let path = file("../../examples/digits.ckpt");
    let (mut checkpoint, mut name, mut out) = (ptr::null_mut(), ptr::null(), ptr::null_mut());
    unsafe {
        null("path", sconce_checkpoint_open(ptr::null(), true, &mut checkpoint));
        null("out", sconce_checkpoint_open(path.as_ptr(), true, ptr::null_mut()));
        ok(sconce_checkpoint_open(path.as_ptr(), true, &mut checkpoint));
        assert_eq!(sconce_checkpoint_tensor_count(ptr::null()), 0);
        null("checkpoint", sconce_checkpoint_tensor(ptr::null(), 0, &mut name, &mut out));
        null("name", sconce_checkpoint_tensor(checkpoint, 0, ptr::null_mut(), &mut out));
        null("out", sconce_checkpoint_tensor(checkpoint, 0, &mut name, ptr::null_mut()));
        null("checkpoint", sconce_checkpoint_find(ptr::null(), path.as_ptr(), &mut out));
        null("name", sconce_checkpoint_find(checkpoint, ptr::null(), &mut out));
        null("out", sconce_checkpoint_find(checkpoint, path.as_ptr(), ptr::null_mut()));
        sconce_checkpoint_delete(checkpoint);
    }
    assert!(name.is_null() && out.is_null());
}
