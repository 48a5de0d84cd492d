//! Limits, interruption, and panics.

use std::thread;
use std::time::{Duration, Instant};

use super::*;

fn limited(set: impl FnOnce(*mut sconce_options)) -> Opened {
    let host = Loaded::host();
    let options = sconce_options_new();
    set(options);
    let session = host.session_with(options);
    unsafe { sconce_options_delete(options) };
    session
}

#[test]
fn limits_end_a_call() {
    let endless = Value::int(1_000_000_000_000);
    let seconds = limited(|options| unsafe { sconce_options_set_seconds(options, 0.05) });
    let start = Instant::now();
    let said = seconds.fails("spins", &[&endless]);
    assert_eq!(said.0, SCONCE_LIMIT);
    assert!(said.1.contains("time limit of 0.05 s") && start.elapsed() < Duration::from_secs(5));
    let steps = limited(|options| unsafe { sconce_options_set_steps(options, 1000) });
    assert!(steps.fails("spins", &[&endless]).1.contains("step limit of 1000"));
    let memory = limited(|options| unsafe { sconce_options_set_memory(options, 1 << 20) });
    assert_eq!(memory.fails("grows", &[&Value::int(1 << 20)]).0, SCONCE_LIMIT);
    // The sessions go on.
    assert_eq!(memory.call("grows", &[&Value::int(10)]).floats().len(), 10);
    steps.call("spins", &[&Value::int(3)]);
}

#[test]
fn options_that_make_no_sense_or_a_difference() {
    let host = Loaded::host();
    let options = sconce_options_new();
    for seconds in [-1.0, f64::NAN, f64::INFINITY] {
        unsafe { sconce_options_set_seconds(options, seconds) };
        let mut session = ptr::null_mut();
        let error = unsafe { sconce_session_new(host.0, options, &mut session) };
        assert_eq!(failed(error).0, SCONCE_INVALID_ARGUMENT);
        assert!(session.is_null());
    }
    unsafe { sconce_options_delete(options) };
    let ones = Value::tensor(&[1f32; 4], SCONCE_FLOAT32, &[1, 4]);
    let plain = limited(|options| unsafe { sconce_options_set_optimize(options, false) });
    assert!((plain.call("forward", &[&ones]).floats()[1] + 2.290_176_6).abs() < 1e-6);

    // Products of less precision, and what they do not go with.
    let less = limited(|options| unsafe {
        sconce_options_set_precision(options, c("bf16").as_ptr());
    });
    let rounded = less.call("forward", &[&ones]).floats()[1];
    assert!((rounded + 2.290_176_6).abs() < 2e-2 && rounded != -2.290_176_6, "{rounded}");
    for (name, exact) in [("half", false), ("bf16", true)] {
        let options = sconce_options_new();
        let mut session = ptr::null_mut();
        let error = unsafe {
            sconce_options_set_precision(options, c(name).as_ptr());
            sconce_options_set_exact(options, exact);
            sconce_session_new(host.0, options, &mut session)
        };
        assert_eq!(failed(error).0, SCONCE_INVALID_ARGUMENT);
        unsafe { sconce_options_delete(options) };
    }

    // A program that might come to an operator that is not here.
    let program = Loaded::new("../sconce-runtime/tests/programs/unreached/model.pt");
    let mut string = no_string();
    ok(unsafe { sconce_module_missing(program.0, c("forward").as_ptr(), &mut string) });
    let missing = owned(string);
    assert!(missing.ends_with('\n') && missing.starts_with("aten::"), "{missing}");
    let options = sconce_options_new();
    unsafe { sconce_options_set_strict(options, true) };
    let strict = program.session_with(options);
    unsafe { sconce_options_delete(options) };
    let no = Value(sconce_value_bool(false));
    assert_eq!(strict.fails("forward", &[&ones, &no]).0, SCONCE_UNSUPPORTED);
    program.session().call("forward", &[&ones, &no]);
}

#[test]
fn an_interruption_ends_the_call_at_once() {
    let host = Loaded::host();
    let session = host.session();
    let address = session.0 as usize;
    let (sender, receiver) = std::sync::mpsc::channel();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        sender.send(Instant::now()).unwrap();
        unsafe { sconce_session_interrupt(address as *mut sconce_session) };
    });
    let said = session.fails("spins", &[&Value::int(1_000_000_000_000)]);
    let took = receiver.recv().unwrap().elapsed();
    other.join().unwrap();
    assert_eq!(said, (SCONCE_INTERRUPTED, "the program was interrupted".to_owned()));
    assert!(took < Duration::from_millis(100), "{took:?}");
    // It has been heard.
    session.call("spins", &[&Value::int(10)]);
    // Before a call it is one of the next.
    unsafe { sconce_session_interrupt(session.0) };
    assert_eq!(session.fails("spins", &[&Value::int(10)]).0, SCONCE_INTERRUPTED);
    session.call("spins", &[&Value::int(10)]);
}

#[cfg(feature = "test-panics")]
#[test]
fn a_panic_is_an_error() {
    let host = Loaded::host();
    let session = host.session();
    let one = Value::int(1);
    sconce_c_api::panic_next();
    let said = session.fails("spins", &[&one]);
    assert_eq!(said.0, SCONCE_INTERNAL);
    assert!(
        said.1.starts_with("internal error, please report: a panic on purpose ("),
        "{}",
        said.1
    );
    assert!(said.1.contains("panics.rs:"));
    session.call("spins", &[&one]);
    // What cannot fail gives what stands for nothing.
    sconce_c_api::panic_next();
    assert!(sconce_value_none().is_null());
    sconce_c_api::panic_next();
    assert_eq!(unsafe { sconce_module_method_count(host.0) }, 0);
}
