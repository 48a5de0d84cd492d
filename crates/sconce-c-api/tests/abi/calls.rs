//! Calls, what they give and what they raise.

use std::ffi::c_void;

use sconce_dlpack::DLManagedTensorVersioned;

use super::*;

#[test]
fn forward_gives_what_torch_gives() {
    let host = Loaded::host();
    let session = host.session();
    let ones = Value::tensor(&[1f32; 4], SCONCE_FLOAT32, &[1, 4]);
    let y = session.call("forward", &[&ones]);
    // What make_host.py's module gives in PyTorch 2.15.
    let expected = [-1.164_097, -2.290_176_6];
    assert!(y.floats().iter().zip(expected).all(|(y, x): (_, f32)| (y - x).abs() < 1e-6));

    let scale = Value(sconce_value_float(4.0));
    let (name, method) = (c("scale"), c("forward"));
    let (args, names) = ([ones.0.cast_const(), scale.0.cast_const()], [ptr::null(), name.as_ptr()]);
    let mut out = ptr::null_mut();
    let call = |args: &[*const sconce_value],
                names: &[*const c_char],
                out: *mut *mut sconce_value| unsafe {
        sconce_session_call(session.0, method.as_ptr(), args.as_ptr(), 2, names.as_ptr(), out)
    };
    ok(call(&args, &names, &mut out));
    let by_name = Value(out);
    assert!((by_name.floats()[0] - (2.0 * (expected[0] - 1.0) + 1.0)).abs() < 1e-5);
    let wrong = call(&args, &[name.as_ptr(), ptr::null()], &mut out);
    assert!(failed(wrong).1.starts_with("positional argument follows keyword argument"));
    assert!(out.is_null());
    // The arguments are still the caller's.
    assert_eq!(ones.floats(), [1.0; 4]);
}

#[test]
fn values_of_every_kind() {
    let host = Loaded::host();
    let session = host.session();
    let x = Value::tensor(&[1f32, 2.0, 3.0, 4.0], SCONCE_FLOAT32, &[2, 2]);

    let pair = session.call("pair", &[&x]);
    let at = |index| unsafe { sconce_value_at(pair.0, index) };
    assert_eq!(
        unsafe { (sconce_value_kind(pair.0), sconce_value_size(pair.0)) },
        (SCONCE_KIND_TUPLE, 2)
    );
    let transposed = unsafe { sconce_value_as_tensor(at(1)) };
    assert_eq!(floats(transposed), [1.0, 3.0, 2.0, 4.0]);
    let strides = unsafe { std::slice::from_raw_parts(sconce_tensor_strides(transposed), 2) };
    assert_eq!(strides, [1, 2]);
    assert!(at(2).is_null());

    let mut list = ptr::null_mut();
    let items = [unsafe { sconce_value_clone(x.0) }];
    ok(unsafe { sconce_value_list(items.as_ptr(), 1, c("Tensor").as_ptr(), &mut list) });
    let listed = session.call("listed", &[&Value(list)]);
    assert_eq!(
        floats(unsafe { sconce_value_as_tensor(sconce_value_at(listed.0, 0)) }),
        [2.0, 4.0, 6.0, 8.0]
    );
    // The schema says what an empty list is one of.
    ok(unsafe { sconce_value_list(ptr::null(), 0, ptr::null(), &mut list) });
    let listed = session.call("listed", &[&Value(list)]);
    assert_eq!(
        unsafe { (sconce_value_kind(listed.0), sconce_value_size(listed.0)) },
        (SCONCE_KIND_LIST, 0)
    );

    let point = session.call("point", &[&x]);
    assert_eq!(text_of(unsafe { sconce_value_get(point.0, c("name").as_ptr()) }), "origin");
    let (mut data, mut size) = (ptr::null(), 0);
    assert!(unsafe { sconce_value_name(point.0, 0, &mut data, &mut size) } && size == 1);
    assert!(unsafe { sconce_value_class(point.0, &mut data, &mut size) } && size > 5);

    let (keys, items) =
        ([c("a"), c("b")], unsafe { [sconce_value_clone(x.0), sconce_value_clone(x.0)] });
    let keys: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr()).collect();
    let mut dict = ptr::null_mut();
    ok(unsafe { sconce_value_dict(keys.as_ptr(), items.as_ptr(), 2, &mut dict) });
    let sums = session.call("table", &[&Value(dict)]);
    assert_eq!(
        unsafe { (sconce_value_kind(sums.0), sconce_value_size(sums.0)) },
        (SCONCE_KIND_DICT, 2)
    );
    assert_eq!(text_of(unsafe { sconce_value_key(sums.0, 1) }), "b_sum");
    let sum = unsafe { sconce_value_get(sums.0, c("a_sum").as_ptr()) };
    assert_eq!(floats(unsafe { sconce_value_as_tensor(sum) }), [10.0]);
    assert!(unsafe { sconce_value_get(sums.0, c("c").as_ptr()) }.is_null());

    let items = [sconce_value_float(0.5), sconce_value_float(2.0)];
    ok(unsafe { sconce_value_dict_int([3, -1].as_ptr(), items.as_ptr(), 2, &mut dict) });
    let weighed = session.call("weighs", &[&Value(dict)]);
    let mut number = 0.0;
    assert!(unsafe { sconce_value_as_float(weighed.0, &mut number) } && number == -0.5);

    let squared = session.call("squares", &[&Value(sconce_value_complex(1.0, 2.0))]);
    let (mut re, mut im) = (0.0, 0.0);
    assert!(
        unsafe { sconce_value_as_complex(squared.0, &mut re, &mut im) } && (re, im) == (-3.0, 4.0)
    );
    assert_eq!(unsafe { sconce_value_kind(squared.0) }, SCONCE_KIND_COMPLEX);

    let mut device = ptr::null_mut();
    ok(unsafe { sconce_value_device(c("cpu").as_ptr(), &mut device) });
    assert_eq!(session.call("on", &[&Value(device)]).text(), "cpu");
}

#[test]
fn sessions_remember_and_arguments_are_not_written() {
    let host = Loaded::host();
    let (one, other) = (host.session(), host.session());
    let data = [5f32, 6.0];
    let x = Value::tensor(&data, SCONCE_FLOAT32, &[2]);
    one.call("keeps", &[&x]);
    assert_eq!(one.call("what_is_kept", &[]).floats(), [5.0, 6.0]);
    assert_eq!(other.call("what_is_kept", &[]).floats(), [0.0]);
    assert_eq!(one.call("writes", &[&x]).floats(), [6.0, 7.0]);
    assert_eq!(data, [5.0, 6.0]);
    // A session goes on when its module is deleted.
    drop(host);
    assert_eq!(one.call("what_is_kept", &[]).floats(), [5.0, 6.0]);
}

#[test]
fn errors_say_what_and_where() {
    let host = Loaded::host();
    let session = host.session();
    let error = session.try_call("fails", &[&Value::int(1)]).err().unwrap();
    let said = unsafe {
        (
            sconce_error_code(error),
            text(sconce_error_message(error)),
            text(sconce_error_exception(error)),
            text(sconce_error_traceback(error)),
        )
    };
    assert_eq!(
        (said.0, &*said.1, &*said.2),
        (SCONCE_RAISED, "n is too large", "builtins.ValueError")
    );
    assert!(
        said.3.contains("make_host.py\", line ") && said.3.contains("raise ValueError"),
        "{}",
        said.3
    );
    unsafe { sconce_error_delete(error) };

    let wrong = session.fails("forward", &[&Value::string("text")]);
    assert_eq!(wrong.0, SCONCE_INVALID_ARGUMENT);
    assert!(wrong.1.contains("Expected a value of type 'Tensor' for argument 'x'"), "{}", wrong.1);
    assert_eq!(session.fails("nothing", &[]).0, SCONCE_INVALID_ARGUMENT);
    // An operator's own exception.
    let short = Value::tensor(&[1f32; 3], SCONCE_FLOAT32, &[1, 3]);
    assert_eq!(session.fails("forward", &[&short]).0, SCONCE_RAISED);
    // The session goes on.
    assert_eq!(session.call("says", &[&Value::string("a")]).text(), "a!");
}

#[test]
fn output_goes_to_the_host() {
    unsafe extern "C" fn hear(user: *mut c_void, text: *const c_char, size: usize) {
        let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), size) };
        unsafe { &mut *user.cast::<Vec<u8>>() }.extend_from_slice(text);
    }
    let (mut printed, mut warned) = (Vec::<u8>::new(), Vec::<u8>::new());
    let host = Loaded::host();
    let options = sconce_options_new();
    unsafe {
        sconce_options_set_print(options, Some(hear), ptr::from_mut(&mut printed).cast());
        sconce_options_set_warn(options, Some(hear), ptr::from_mut(&mut warned).cast());
    }
    let session = host.session_with(options);
    unsafe { sconce_options_delete(options) };
    session.call("says", &[&Value::string("\u{e4}")]);
    drop(session);
    assert_eq!(String::from_utf8(printed).unwrap(), "said \u{e4}\n");
    assert!(String::from_utf8(warned).unwrap().contains("heard"));
}

#[test]
fn equal_seeds_give_torchs_numbers() {
    let host = Loaded::host();
    let options = sconce_options_new();
    unsafe { sconce_options_set_seed(options, 7) };
    let session = host.session_with(options);
    unsafe { sconce_options_delete(options) };
    // torch.manual_seed(7); torch.rand(3)
    assert_eq!(session.call("draws", &[]).floats(), [0.534_922_54, 0.198_803_19, 0.659_211_7]);
}

/// A tensor of DLPack over memory of the test's, which has no deleter.
fn lent(data: &mut [f32], sizes: &mut [i64]) -> DLManagedTensorVersioned {
    use sconce_dlpack::{DLDataType, DLDevice, DLPackVersion, DLTensor};
    DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 1 },
        manager_ctx: ptr::null_mut(),
        deleter: None,
        flags: 0,
        dl_tensor: DLTensor {
            data: data.as_mut_ptr().cast(),
            device: DLDevice { device_type: 1, device_id: 0 },
            ndim: sizes.len() as i32,
            dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
            shape: sizes.as_mut_ptr(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        },
    }
}

fn call_tensors(
    session: &Opened,
    method: &str,
    given: &mut [DLManagedTensorVersioned],
    room: usize,
) -> Result<Vec<*mut sconce_tensor>, (sconce_code, String)> {
    let given: Vec<*mut DLManagedTensorVersioned> = given.iter_mut().map(ptr::from_mut).collect();
    let mut out = vec![ptr::dangling_mut(); room];
    let (mut made, method) = (7, c(method));
    let error = unsafe {
        sconce_session_call_tensors(
            session.0,
            method.as_ptr(),
            given.as_ptr(),
            given.len(),
            out.as_mut_ptr(),
            room,
            &mut made,
        )
    };
    if !error.is_null() {
        assert!(made == 0 && out.iter().all(|tensor| tensor.is_null()));
        return Err(failed(error));
    }
    assert!(out[made..].iter().all(|tensor| tensor.is_null()));
    let taken = |&tensor: &*mut DLManagedTensorVersioned| {
        let mut taken = ptr::null_mut();
        ok(unsafe { sconce_tensor_from_dlpack(tensor, &mut taken) });
        taken
    };
    Ok(out[..made].iter().map(taken).collect())
}

#[test]
fn tensors_in_tensors_out() {
    let host = Loaded::host();
    let session = host.session();
    let (mut data, mut sizes) = ([1f32; 4], [1, 4]);
    let mut given = [lent(&mut data, &mut sizes)];
    let made = call_tensors(&session, "forward", &mut given, 1).unwrap();
    assert!((floats(made[0])[1] + 2.290_176_6).abs() < 1e-6);
    unsafe { sconce_tensor_delete(made[0]) };
    let made = call_tensors(&session, "pair", &mut given, 3).unwrap();
    assert_eq!((made.len(), super::sizes(made[1])), (2, vec![4, 1]));
    made.into_iter().for_each(|tensor| unsafe { sconce_tensor_delete(tensor) });
    let few = call_tensors(&session, "pair", &mut given, 1).unwrap_err();
    assert_eq!(
        few,
        (SCONCE_INVALID_ARGUMENT, "'pair' gave 2 tensors, and out has room for 1".to_owned())
    );
    let other = call_tensors(&session, "point", &mut given, 2).unwrap_err();
    assert!(other.1.contains("sconce_session_call"));
}

#[test]
fn what_a_program_keeps_of_lent_memory_is_its_own() {
    let host = Loaded::host();
    let session = host.session();
    // Longer than what lies beside a reference count, and aligned so that it is not copied at once.
    let mut memory = vec![1f32; 4096];
    let start = memory.as_ptr().align_offset(64);
    let kept = {
        let mut sizes = [1024];
        let mut given = [lent(&mut memory[start..start + 1024], &mut sizes)];
        let made = call_tensors(&session, "keeps", &mut given, 1).unwrap();
        made[0]
    };
    memory.fill(9.0);
    assert_eq!(floats(kept), [1.0; 1024]);
    assert_eq!(session.call("what_is_kept", &[]).floats(), [1.0; 1024]);
    unsafe { sconce_tensor_delete(kept) };
}

#[test]
fn exported_programs_are_called_alike() {
    let module = Loaded::new("../../examples/shapes.pt2");
    let session = module.session();
    let picture = Value::tensor(&[0f32; 3 * 32 * 32], SCONCE_FLOAT32, &[1, 3, 32, 32]);
    let scores = session.call("forward", &[&picture]);
    assert_eq!(sizes(unsafe { sconce_value_as_tensor(scores.0) }), [1, 8]);
    let path = c("never-written.pt");
    assert_eq!(
        failed(unsafe { sconce_module_save(module.0, path.as_ptr()) }).0,
        SCONCE_UNSUPPORTED
    );
    assert_eq!(failed(unsafe { sconce_module_train(module.0, true) }).0, SCONCE_INVALID_ARGUMENT);
    let fresh = Loaded::new("../../examples/shapes.pt2");
    let refused = failed(unsafe { sconce_module_train(fresh.0, true) });
    assert_eq!(refused, (SCONCE_UNSUPPORTED, "Calling train() is not supported yet.".to_owned()));
}

#[test]
fn memory_stays_flat_over_calls() {
    let resident = || -> i64 {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0)
    };
    let host = Loaded::host();
    let session = host.session();
    let data = vec![1f32; 4096];
    let mut before = 0;
    for call in 0..1_200 {
        let x = Value::tensor(&data, SCONCE_FLOAT32, &[1024, 4]);
        assert_eq!(session.call("pair", &[&x]).count(), 2);
        drop(session.fails("fails", &[&Value::int(1)]));
        if call == 200 {
            before = resident();
        }
    }
    // Other tests run beside it: a leak of a result a call would be 8,000 pages.
    assert!(resident() - before < 4_000, "{} pages", resident() - before);
}

impl Value {
    fn count(&self) -> usize {
        unsafe { sconce_value_size(self.0) }
    }
}
