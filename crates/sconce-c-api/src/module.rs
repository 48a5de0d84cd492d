//! Modules: programs of `torch.jit.save` and `torch.export.save`, loaded, looked at and saved. Nothing runs here.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use sconce::jit::{Module, SaveOptions};
use sconce::run::{Model, Plain, needs_of, open_model};
use sconce::source::MapMode;
use sconce::{Source, Tensor};
use sconce_dlpack::DLManagedTensorVersioned;

use crate::errors::{Failure, SCONCE_FORMAT, SCONCE_UNSUPPORTED, c_text, sconce_error};
use crate::guard::{Out, Result, array, guarded, reference, text};
use crate::panics::{delete, quiet};
use crate::strings::sconce_string;
use crate::tensor::lend;
use crate::value::sconce_value;

/// A program and its weights, which all threads may use at once.
pub struct sconce_module {
    state: Mutex<State>,
    methods: OnceLock<Vec<ListedMethod>>,
    /// Parameters, and buffers.
    tensors: [OnceLock<Vec<(CString, Tensor)>>; 2],
}

struct State {
    model: Model,
    /// Whether a session has been made.
    used: bool,
}

/// A method, with texts that are lent to the caller.
struct ListedMethod {
    name: CString,
    schema: CString,
    arguments: Vec<ListedArgument>,
}

struct ListedArgument {
    name: CString,
    ty: CString,
    has_default: bool,
}

impl sconce_module {
    fn new(model: Model) -> Self {
        let state = Mutex::new(State { model, used: false });
        sconce_module { state, methods: OnceLock::new(), tensors: Default::default() }
    }

    /// No change in here is left half done: a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn module(&self) -> Module {
        self.state().model.module().clone()
    }

    /// The program for a session that is about to be made.
    pub(crate) fn model_for_session(&self) -> Model {
        let mut state = self.state();
        state.used = true;
        state.model.clone()
    }

    fn methods(&self) -> &[ListedMethod] {
        self.methods.get_or_init(|| {
            let listed = |method: sconce::jit::Method| {
                let mut schema = (*method.schema).clone();
                schema.name = method.name.as_str().into();
                // The first is the module itself.
                let arguments = schema.arguments.iter().skip(1).map(|argument| ListedArgument {
                    name: c_text(&*argument.name),
                    ty: c_text(argument.ty.annotation()),
                    has_default: argument.default.is_some(),
                });
                let arguments = arguments.collect();
                ListedMethod {
                    name: c_text(method.name),
                    schema: c_text(schema.to_string()),
                    arguments,
                }
            };
            self.module().methods().into_iter().map(listed).collect()
        })
    }

    fn method(&self, name: &str) -> Result<&ListedMethod> {
        let found = self.methods().iter().find(|method| method.name.as_bytes() == name.as_bytes());
        match found {
            Some(method) => Ok(method),
            // In the library's words.
            None => Err(match self.module().method(name) {
                Err(error) => error.into(),
                Ok(_) => Failure::argument(format!("there is no method '{name}'")),
            }),
        }
    }

    fn tensors(&self, buffers: bool) -> Result<&[(CString, Tensor)]> {
        let cell = &self.tensors[usize::from(buffers)];
        if cell.get().is_none() {
            let module = self.module();
            let found = if buffers { module.named_buffers() } else { module.named_parameters() };
            let named = found?.into_iter().map(|(name, tensor)| (c_text(name), tensor)).collect();
            // Another thread may have been quicker, with the same.
            let _ = cell.set(named);
        }
        Ok(cell.get().map_or(&[], Vec::as_slice))
    }
}

/// What is at a place, or an error that says how many there are.
pub(crate) fn nth<'a, T>(items: &'a [T], at: usize, what: &str) -> Result<&'a T> {
    items.get(at).ok_or_else(|| {
        Failure::argument(format!("there is no {what} {at}: there are {}", items.len()))
    })
}

/// Loads a program of a file, mapped into memory: what `torch.jit.save` or `torch.export.save` wrote. Nothing runs. The file
/// must not be cut while the module or anything of it is used.
///
/// # Safety
/// `path` is NULL or a string; `out` is NULL or points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_load(
    path: *const c_char,
    out: *mut *mut sconce_module,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, path) = unsafe { (Out::pointer(out, "out")?, text(path, "path")?) };
        let source = Source::open_with(path, MapMode::CopyOnWrite).map_err(sconce::Error::from)?;
        out.give(sconce_module::new(open_model(source)?));
        Ok(())
    })
}

/// Loads a program of a file's bytes, which are copied.
///
/// # Safety
/// `data` is NULL or points to `size` bytes; `out` is NULL or points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_load_memory(
    data: *const c_void,
    size: usize,
    out: *mut *mut sconce_module,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, bytes) =
            unsafe { (Out::pointer(out, "out")?, array(data.cast::<u8>(), size, "data")?) };
        let source = Source::from_vec("<memory>", bytes.to_vec());
        out.give(sconce_module::new(open_model(source)?));
        Ok(())
    })
}

/// An extra file of the archive: `_extra_files` of `torch.jit.save`. Where there is none of that name the code is
/// `SCONCE_FORMAT`.
///
/// # Safety
/// The pointers are NULL, or a module, a string, and a structure to fill in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_extra_file(
    module: *const sconce_module,
    name: *const c_char,
    out: *mut sconce_string,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, module, name) = unsafe {
            (sconce_string::out(out)?, reference(module, "module")?, text(name, "name")?)
        };
        let found = module.module().extra_file(name)?;
        let missing = || format!("the archive has no extra file '{name}'");
        out.set(found.ok_or_else(|| Failure::new(SCONCE_FORMAT, missing()))?.into());
        Ok(())
    })
}

/// Switches the module and all below it to training, or to evaluation, before its first session is made: `module.train(on)`.
///
/// # Safety
/// `module` is NULL or a module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_train(
    module: *mut sconce_module,
    on: bool,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let module = unsafe { reference(module.cast_const(), "module") }?;
        let mut state = module.state();
        if state.used {
            let what = "the module has sessions: call sconce_module_train before the first is made";
            return Err(Failure::argument(what));
        }
        if state.model.calling().is_some() {
            let what = if on { "train" } else { "eval" };
            let message = format!("Calling {what}() is not supported yet.");
            return Err(Failure::new(SCONCE_UNSUPPORTED, message));
        }
        let scripted = state.model.module().clone();
        scripted.train(on)?;
        // What was found out about the other mode is not true of this one.
        state.model = Model::new(scripted);
        Ok(())
    })
}

/// How many methods the module has; 0 of NULL.
///
/// # Safety
/// `module` is NULL or a module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_method_count(module: *const sconce_module) -> usize {
    // SAFETY: as the caller says.
    quiet(0, || unsafe { module.as_ref() }.map_or(0, |module| module.methods().len()))
}

/// The name of a method, and what it takes and gives. The texts are there until the module is deleted.
///
/// # Safety
/// The pointers are NULL, or a module and places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_method(
    module: *const sconce_module,
    index: usize,
    name: *mut *const c_char,
    schema: *mut *const c_char,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (name, schema) = unsafe {
            (Out::new(name, ptr::null(), "name"), Out::new(schema, ptr::null(), "schema"))
        };
        let (name, schema) = (name?, schema?);
        // SAFETY: as the caller says.
        let module = unsafe { reference(module, "module") }?;
        let method = nth(module.methods(), index, "method")?;
        name.set(method.name.as_ptr());
        schema.set(method.schema.as_ptr());
        Ok(())
    })
}

/// How many arguments a method takes, the module itself not counted.
///
/// # Safety
/// The pointers are NULL, or a module, a string, and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_argument_count(
    module: *const sconce_module,
    method: *const c_char,
    out: *mut usize,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, module, method) = unsafe {
            (Out::new(out, 0, "out")?, reference(module, "module")?, text(method, "method")?)
        };
        out.set(module.method(method)?.arguments.len());
        Ok(())
    })
}

/// The name of an argument, its type as an annotation ("Dict[str, Tensor]"), and whether it has a default. The texts are there
/// until the module is deleted.
///
/// # Safety
/// The pointers are NULL, or a module, a string, and places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_argument(
    module: *const sconce_module,
    method: *const c_char,
    index: usize,
    name: *mut *const c_char,
    r#type: *mut *const c_char,
    has_default: *mut bool,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (name, ty, has_default) = unsafe {
            (
                Out::new(name, ptr::null(), "name"),
                Out::new(r#type, ptr::null(), "type"),
                Out::new(has_default, false, "has_default"),
            )
        };
        let (name, ty, has_default) = (name?, ty?, has_default?);
        // SAFETY: as the caller says.
        let (module, method) = unsafe { (reference(module, "module")?, text(method, "method")?) };
        let argument = nth(&module.method(method)?.arguments, index, "argument")?;
        name.set(argument.name.as_ptr());
        ty.set(argument.ty.as_ptr());
        has_default.set(argument.has_default);
        Ok(())
    })
}

/// How many parameters the module has, or how many buffers.
///
/// # Safety
/// The pointers are NULL, or a module and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_tensor_count(
    module: *const sconce_module,
    buffers: bool,
    out: *mut usize,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, module) = unsafe { (Out::new(out, 0, "out")?, reference(module, "module")?) };
        out.set(module.tensors(buffers)?.len());
        Ok(())
    })
}

/// A parameter or buffer: its dotted name, which is there until the module is deleted, and its elements, read only, which
/// the caller gives back by the deleter in the structure.
///
/// # Safety
/// The pointers are NULL, or a module and places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_tensor(
    module: *const sconce_module,
    buffers: bool,
    index: usize,
    name: *mut *const c_char,
    out: *mut *mut DLManagedTensorVersioned,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (name, out) =
            unsafe { (Out::new(name, ptr::null(), "name"), Out::pointer(out, "out")) };
        let (name, out) = (name?, out?);
        // SAFETY: as the caller says.
        let module = unsafe { reference(module, "module") }?;
        let what = if buffers { "buffer" } else { "parameter" };
        let (known, tensor) = nth(module.tensors(buffers)?, index, what)?;
        out.set(lend(tensor)?);
        name.set(known.as_ptr());
        Ok(())
    })
}

/// The value of an attribute by its dotted name, such as "cutoff" or "model.r_max".
///
/// # Safety
/// The pointers are NULL, or a module, a string, and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_attribute(
    module: *const sconce_module,
    name: *const c_char,
    out: *mut *mut sconce_value,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, module, name) = unsafe {
            (Out::pointer(out, "out")?, reference(module, "module")?, text(name, "name")?)
        };
        let mut owner = module.module();
        let mut attribute = name;
        if let Some((path, last)) = name.rsplit_once('.') {
            let below = owner.submodule(path)?;
            owner =
                below.ok_or_else(|| Failure::argument(format!("there is no module '{path}'")))?;
            attribute = last;
        }
        let value = owner.attr(attribute)?;
        out.give(sconce_value(Plain::of_attribute(&value, &owner)?));
        Ok(())
    })
}

/// A method as TorchScript.
///
/// # Safety
/// The pointers are NULL, or a module, a string, and a structure to fill in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_code(
    module: *const sconce_module,
    method: *const c_char,
    out: *mut sconce_string,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, module, method) = unsafe {
            (sconce_string::out(out)?, reference(module, "module")?, text(method, "method")?)
        };
        out.set(module.module().code(method)?.into());
        Ok(())
    })
}

/// The operators that a method and all that it calls need and that are not here, a line each; nothing where all are.
///
/// # Safety
/// The pointers are NULL, or a module, a string, and a structure to fill in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_missing(
    module: *const sconce_module,
    method: *const c_char,
    out: *mut sconce_string,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, module, method) = unsafe {
            (sconce_string::out(out)?, reference(module, "module")?, text(method, "method")?)
        };
        let needed = needs_of(&module.module(), method)?;
        let mut names: Vec<String> = needed.into_iter().map(|need| need.what + "\n").collect();
        names.sort();
        names.dedup();
        out.set(names.concat().into());
        Ok(())
    })
}

/// Saves the module as `torch.jit.save` does, in the place of a file that is there.
///
/// # Safety
/// The pointers are NULL, or a module and a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_save(
    module: *const sconce_module,
    path: *const c_char,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (module, path) = unsafe { (reference(module, "module")?, text(path, "path")?) };
        let exported = module.state().model.calling().is_some();
        if exported {
            let what = "a program of torch.export is not saved as TorchScript: copy its file";
            return Err(Failure::new(SCONCE_UNSUPPORTED, what));
        }
        Ok(SaveOptions::new().replace(true).save(&module.module(), path)?)
    })
}

/// Deletes a module, which may be NULL. Sessions of it go on.
///
/// # Safety
/// `module` is NULL or a module that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_module_delete(module: *mut sconce_module) {
    // SAFETY: modules come from `Out::give`.
    unsafe { delete(module) };
}

// Which all threads may use at once.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<sconce_module>();
};
