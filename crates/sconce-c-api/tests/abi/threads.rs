//! Threads: a session each, sessions of others, values that go about.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

#[test]
fn eight_threads_with_a_session_each() {
    let host = Loaded::host();
    thread::scope(|scope| {
        for round in 0..8 {
            let host = &host;
            scope.spawn(move || {
                let session = host.session();
                let data = [round as f32; 4];
                let x = Value::tensor(&data, SCONCE_FLOAT32, &[1, 4]);
                for _ in 0..100 {
                    session.call("keeps", &[&x]);
                    // What other methods may have changed is not optimised: each call computes alike.
                    let first = session.call("forward", &[&x]).floats();
                    assert_eq!(session.call("forward", &[&x]).floats(), first);
                    assert_eq!(session.call("what_is_kept", &[]).floats(), data);
                    let mut count = 0;
                    ok(unsafe { sconce_module_tensor_count(host.0, false, &mut count) });
                    assert_eq!(count, 2);
                }
            });
        }
    });
}

#[test]
fn a_session_stays_on_its_thread() {
    let host = Loaded::host();
    let session = host.session();
    thread::scope(|scope| {
        let session = &session;
        let elsewhere = scope.spawn(move || {
            let said = session.fails("spins", &[&Value::int(1)]);
            let (mut made, method) = (3, c("forward"));
            let tensors = failed(unsafe {
                let (none, out) = (ptr::null(), ptr::null_mut());
                sconce_session_call_tensors(session.0, method.as_ptr(), none, 0, out, 0, &mut made)
            });
            (said, tensors, made)
        });
        let (said, tensors, made) = elsewhere.join().unwrap();
        assert_eq!((said.0, tensors.0, made), (SCONCE_WRONG_THREAD, SCONCE_WRONG_THREAD, 0));
        assert!(said.1.contains("belongs to the thread that made it"));
    });
    session.call("spins", &[&Value::int(1)]);
}

#[test]
fn values_go_from_thread_to_thread() {
    let host = Loaded::host();
    let address = thread::spawn(move || {
        let session = host.session();
        let x = Value::tensor(&[1f32, 2.0], SCONCE_FLOAT32, &[1, 2]);
        let pair = session.call("pair", &[&x]);
        // The result is of no session.
        unsafe { sconce_value_clone(pair.0) as usize }
    });
    let pair = Value(address.join().unwrap() as *mut sconce_value);
    assert_eq!(floats(unsafe { sconce_value_as_tensor(sconce_value_at(pair.0, 0)) }), [2.0, 3.0]);
}

static DELETED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count(_context: *mut c_void) {
    DELETED.fetch_add(1, Ordering::SeqCst);
}

/// A session that keeps a blob with a deleter, in memory that is never freed.
fn keeping(host: &Loaded) -> *mut sconce_session {
    let session = host.session();
    let data: &'static mut [f32] = Box::leak(vec![1f32; 4096].into_boxed_slice());
    let at = data.as_ptr().align_offset(64);
    let mut tensor = ptr::null_mut();
    ok(unsafe {
        sconce_tensor_from_blob(
            data[at..].as_mut_ptr().cast(),
            SCONCE_FLOAT32,
            [1024].as_ptr(),
            ptr::null(),
            1,
            Some(count),
            ptr::null_mut(),
            &mut tensor,
        )
    });
    drop(session.call("keeps", &[&Value(unsafe { sconce_value_tensor(tensor) })]));
    std::mem::replace(&mut std::mem::ManuallyDrop::new(session).0, ptr::null_mut())
}

#[test]
fn sessions_deleted_elsewhere_are_freed_by_their_thread() {
    let host = Loaded::host();
    let before = DELETED.load(Ordering::SeqCst);
    let session = keeping(&host) as usize;
    let delete = |session| move || unsafe { sconce_session_delete(session as *mut sconce_session) };
    thread::spawn(delete(session)).join().unwrap();
    assert_eq!(DELETED.load(Ordering::SeqCst), before);
    // Its thread comes by.
    drop(host.session());
    assert_eq!(DELETED.load(Ordering::SeqCst), before + 1);
    // A thread that ends frees what is left, and deleting it then does no harm.
    let left = thread::spawn(|| keeping(&Loaded::host()) as usize).join().unwrap();
    assert_eq!(DELETED.load(Ordering::SeqCst), before + 2);
    delete(left)();
    // On its own thread it is freed at once.
    unsafe { sconce_session_delete(keeping(&host)) };
    assert_eq!(DELETED.load(Ordering::SeqCst), before + 3);
}

#[test]
fn what_a_call_calls_back_may_not_use_its_session() {
    struct Seen {
        session: *mut sconce_session,
        code: sconce_code,
    }
    unsafe extern "C" fn back(user: *mut c_void, _text: *const c_char, _size: usize) {
        let seen = unsafe { &mut *user.cast::<Seen>() };
        let (method, mut out) = (c("spins"), ptr::null_mut());
        let n = Value::int(1);
        let args = [n.0.cast_const()];
        let error = unsafe {
            sconce_session_call(
                seen.session,
                method.as_ptr(),
                args.as_ptr(),
                1,
                ptr::null(),
                &mut out,
            )
        };
        seen.code = failed(error).0;
        // It may be deleted, and is gone when the call is over.
        unsafe { sconce_session_delete(seen.session) };
    }
    let host = Loaded::host();
    let mut seen = Seen { session: ptr::null_mut(), code: SCONCE_OK };
    let options = sconce_options_new();
    let user: *mut Seen = &raw mut seen;
    unsafe { sconce_options_set_print(options, Some(back), user.cast()) };
    let session = std::mem::ManuallyDrop::new(host.session_with(options));
    unsafe {
        sconce_options_delete(options);
        (*user).session = session.0;
    }
    assert_eq!(session.call("says", &[&Value::string("a")]).text(), "a!");
    assert_eq!(unsafe { (*user).code }, SCONCE_INVALID_ARGUMENT);
}

#[test]
fn the_number_of_threads_is_the_processes() {
    use sconce_c_api::threads::{sconce_num_threads, sconce_set_num_threads};
    let before = sconce_num_threads();
    assert!(before > 0);
    sconce_set_num_threads(3);
    assert_eq!(sconce_num_threads(), 3);
    sconce_set_num_threads(0);
    assert!(sconce_num_threads() > 0);
}
