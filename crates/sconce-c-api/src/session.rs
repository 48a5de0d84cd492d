//! Sessions: a module that is called, on the thread that made the session.

use std::ffi::c_char;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sconce::Tensor;
use sconce::jit::Module;
use sconce::run::{Away, Error, IValue, Plain, Session, SessionHandle, input};
use sconce_dlpack::DLManagedTensorVersioned;

use crate::errors::{Failure, sconce_error};
use crate::guard::{Out, Result, array, guarded, reference, text};
use crate::module::sconce_module;
use crate::options::sconce_options;
use crate::panics::delete;
use crate::tensor::lend;
use crate::value::sconce_value;

/// A module with a memory: calls see what earlier calls changed.
pub struct sconce_session(Arc<Inner>);

/// What a call holds on to, though a function that it calls back deletes the session.
struct Inner {
    handle: SessionHandle,
    module: Module,
    interrupt: Arc<AtomicBool>,
}

impl Inner {
    /// Does something with the session, and forgets an interruption once it has been heard.
    fn run<R>(
        &self,
        work: impl FnOnce(&mut Session) -> std::result::Result<R, Error>,
    ) -> Result<R> {
        let done = self.handle.with(work)?;
        if matches!(done, Err(Error::Interrupted)) {
            self.interrupt.store(false, Ordering::Relaxed);
        }
        Ok(done?)
    }

    /// Calls a method of tensors whose memory is the caller's until this returns: what still holds it then, a result or an
    /// attribute, has a copy of its own.
    fn call_borrowed(&self, method: &str, lent: Vec<Tensor>) -> Result<Plain> {
        self.run(|session| {
            let given = lent.iter().map(input).collect::<std::result::Result<Vec<_>, _>>()?;
            let storages: Vec<_> = given
                .iter()
                .filter_map(IValue::as_tensor)
                .map(|tensor| tensor.storage().clone())
                .collect();
            let result = session.call(method, &given);
            drop((given, lent));
            for storage in storages.iter().filter(|storage| !storage.is_unique()) {
                // Whoever writes to a storage gets a copy of what is not its own.
                if let Err(error) = storage.write::<u8>() {
                    drop(result);
                    // Its attributes may be of memory that will be gone. It is this thread's.
                    let _ = self.handle.close();
                    return Err(Error::Limit(error.message().to_owned()));
                }
            }
            drop(storages);
            Plain::of_program(result?, &self.module)
        })
    }

    /// Refuses other threads before anything is done.
    fn check_thread(&self) -> Result {
        match self.handle.is_here() {
            true => Ok(()),
            false => Err(Away::OtherThread.into()),
        }
    }
}

/// Makes a session of this thread. `options` may be NULL. The session keeps what it needs of the module.
///
/// # Safety
/// The pointers are NULL, or a module, options, and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_session_new(
    module: *const sconce_module,
    options: *const sconce_options,
    out: *mut *mut sconce_session,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, module) = unsafe { (Out::pointer(out, "out")?, reference(module, "module")?) };
        // SAFETY: as the caller says.
        let options = unsafe { options.as_ref() }.cloned().unwrap_or_default();
        let interrupt = Arc::new(AtomicBool::new(false));
        let made_with = options.of_session(&interrupt)?;
        let model = module.model_for_session();
        let handle = SessionHandle::new(&model, made_with)?;
        if let Some(seed) = options.seed() {
            handle.with(|session| session.manual_seed(seed))?;
        }
        let module = model.module().clone();
        out.give(sconce_session(Arc::new(Inner { handle, module, interrupt })));
        Ok(())
    })
}

/// The session, held for the length of a call.
///
/// # Safety
/// `session` is NULL or a session that has not been deleted.
unsafe fn held(session: *const sconce_session) -> Result<Arc<Inner>> {
    // SAFETY: as the caller says.
    let inner = Arc::clone(&unsafe { reference(session, "session") }?.0);
    inner.check_thread()?;
    Ok(inner)
}

/// Calls a method. `args` are `n` values, which stay the caller's; `names` is NULL, or says for each the name of its
/// argument or NULL where it is given by its position. The result is the caller's.
///
/// # Safety
/// The pointers are NULL, or a session, a string, `n` values, `n` strings or NULL, and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_session_call(
    session: *mut sconce_session,
    method: *const c_char,
    args: *const *const sconce_value,
    n: usize,
    names: *const *const c_char,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let out = unsafe { Out::pointer(out, "out") }?;
        // SAFETY: as the caller says.
        let (session, method) = unsafe { (held(session)?, text(method, "method")?) };
        // SAFETY: as the caller says.
        let args = unsafe { array(args, n, "args") }?;
        let names = match names.is_null() {
            true => &[],
            // SAFETY: as the caller says.
            false => unsafe { array(names, n, "names") }?,
        };
        let mut positional = Vec::with_capacity(n);
        let mut named = Vec::new();
        for (at, &value) in args.iter().enumerate() {
            // SAFETY: as the caller says.
            let value = unsafe { reference(value, &format!("args[{at}]")) }?.0.to_program()?;
            match names.get(at).filter(|name| !name.is_null()) {
                // SAFETY: as the caller says.
                Some(&name) => named.push((unsafe { text(name, &format!("names[{at}]")) }?, value)),
                None if named.is_empty() => positional.push(value),
                None => {
                    let what = "positional argument follows keyword argument";
                    return Err(Failure::argument(format!("{what}: args[{at}]")));
                }
            }
        }
        let module = &session.module;
        let result = session.run(|session| {
            let result = session.call_with(method, &positional, &named)?;
            // A tensor that nobody else holds is given away without a copy.
            drop((positional, named));
            Plain::of_program(result, module)
        })?;
        out.give(sconce_value(result));
        Ok(())
    })
}

/// Calls a method of tensors: `in` are `n_in` tensors by position, lent for the length of the call; a result that is a
/// tensor, or a tuple or list of tensors, goes to `out`, which has room for `n_out`, and their number to `n_made`. The
/// caller gives them back by the deleter in each.
///
/// # Safety
/// The pointers are NULL, or a session, a string, `n_in` tensors of DLPack whose memory is there and not written to during
/// the call, room for `n_out` pointers, and a place for their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_session_call_tensors(
    session: *mut sconce_session,
    method: *const c_char,
    r#in: *const *mut DLManagedTensorVersioned,
    n_in: usize,
    out: *mut *mut DLManagedTensorVersioned,
    n_out: usize,
    n_made: *mut usize,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let made = unsafe { Out::new(n_made, 0, "n_made") }?;
        if out.is_null() && n_out > 0 {
            return Err(Failure::null("out"));
        }
        for at in 0..n_out {
            // SAFETY: there is room for so many.
            unsafe { out.add(at).write(ptr::null_mut()) };
        }
        // SAFETY: as the caller says.
        let (session, method) = unsafe { (held(session)?, text(method, "method")?) };
        // SAFETY: as the caller says.
        let given = unsafe { array(r#in, n_in, "in") }?;
        let mut lent = Vec::with_capacity(n_in);
        for (at, &tensor) in given.iter().enumerate() {
            if tensor.is_null() {
                return Err(Failure::null(&format!("in[{at}]")));
            }
            // SAFETY: the caller lends it for the call, at whose end nothing has its memory any more
            // (`Inner::call_borrowed`).
            lent.push(unsafe { sconce_dlpack::borrow(tensor) }?);
        }
        let result = session.call_borrowed(method, lent)?;
        let tensors = tensors_of(result)?;
        if tensors.len() > n_out {
            let count = tensors.len();
            let what = format!("'{method}' gave {count} tensors, and out has room for {n_out}");
            return Err(Failure::argument(what));
        }
        // All of them, before any is given.
        let mut given = Vec::with_capacity(tensors.len());
        for tensor in &tensors {
            given.push(Given(NonNull::new(lend(tensor)?)));
        }
        let count = given.len();
        for (at, tensor) in given.into_iter().enumerate() {
            // SAFETY: there is room for `n_out`, and these are no more.
            unsafe { out.add(at).write(tensor.take()) };
        }
        made.set(count);
        Ok(())
    })
}

/// A tensor that was lent and that nobody has yet.
struct Given(Option<NonNull<DLManagedTensorVersioned>>);

impl Given {
    fn take(mut self) -> *mut DLManagedTensorVersioned {
        self.0.take().map_or(ptr::null_mut(), NonNull::as_ptr)
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if let Some(tensor) = self.0 {
            // SAFETY: the structure is from `lend`, and nobody else has it.
            drop(unsafe { sconce_dlpack::import(tensor.as_ptr()) });
        }
    }
}

/// The tensors of a result that is nothing else.
fn tensors_of(result: Plain) -> Result<Vec<Tensor>> {
    let items = match result {
        Plain::Tensor(tensor) => return Ok(vec![tensor]),
        Plain::List { items, .. } | Plain::Tuple(items) | Plain::NamedTuple(_, _, items) => items,
        other => vec![other],
    };
    let tensor = |value| match value {
        Plain::Tensor(tensor) => Ok(tensor),
        _ => Err(Failure::argument(
            "the result is not a tensor, nor a tuple or list of tensors: call sconce_session_call",
        )),
    };
    items.into_iter().map(tensor).collect()
}

/// Ends the call that is running, from any thread, with the code `SCONCE_INTERRUPTED`, between two instructions. Where none is
/// running the next one ends so.
///
/// # Safety
/// `session` is NULL, which does nothing, or a session that is not deleted meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_session_interrupt(session: *mut sconce_session) {
    // SAFETY: as the caller says.
    if let Some(session) = unsafe { session.as_ref() } {
        session.0.interrupt.store(true, Ordering::Relaxed);
    }
}

/// Deletes a session, which may be NULL, from any thread. On another thread than its own, what it holds is freed when its
/// thread next makes or calls a session, or ends.
///
/// # Safety
/// `session` is NULL or a session that has not been deleted, and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_session_delete(session: *mut sconce_session) {
    // SAFETY: sessions come from `Out::give`.
    unsafe { delete(session) };
}
