//! The verbs of the command line as functions, and the command itself.

use std::ffi::OsString;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use sconce::source::MapMode;
use sconce_cli::Called;

use crate::boundary::{detached, guarded, in_background};
use crate::error;
use crate::input::{Input, check_folder_of, path_of};
use crate::python_classes::python_class;

/// Says what a file is, by its content.
#[pyfunction]
#[pyo3(signature = (f))]
fn identify<'py>(py: Python<'py>, f: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    guarded(py, || {
        let input = Input::new(f)?;
        let found = detached(py, || -> Result<_, sconce::Error> {
            let source = input.source(MapMode::Private)?;
            let identity = sconce::try_identify(&source)?;
            // Only an open file says of its pickle.
            let opened =
                identity.kind.opens().then(|| sconce::LoadOptions::new().open_source(source));
            let protocol = opened.and_then(Result::ok).and_then(|file| file.info().pickle_protocol);
            Ok((identity, protocol))
        })?;
        let (identity, protocol) =
            found.map_err(|error| error::of_library(py, error, &input.name()))?;
        let kind = identity.kind;
        let fields = (
            kind.name(),
            kind.description(),
            identity.detail,
            kind.opens(),
            kind.advice(),
            protocol,
        );
        python_class(py, "Identity")?.call1(fields)
    })
}

/// Runs a verb on a file.
fn verb(
    py: Python<'_>,
    name: &str,
    flags: &[&str],
    f: &Bound<'_, PyAny>,
) -> PyResult<(Input, Called)> {
    let input = Input::new(f)?;
    let (word, source) = input.as_word();
    // What the command would remark on standard error is in the document.
    let mut words: Vec<OsString> = vec![name.into(), "--quiet".into()];
    words.extend(flags.iter().map(OsString::from));
    words.extend(["--".into(), word]);
    let called = in_background(py, move || sconce_cli::call(words, source))?;
    Ok((input, called))
}

/// The JSON document that a verb gave, unless it failed.
fn document<'py>(py: Python<'py>, input: &Input, called: Called) -> PyResult<Bound<'py, PyAny>> {
    match called.failure {
        Some(failure) => {
            let failure = failure.in_file(input.name());
            Err(error::of_failure(py, &failure))
        }
        None => py.import("json")?.call_method1("loads", (called.output,)),
    }
}

/// Looks at a file as the command ``sconce FILE --json`` does: what is in it, what it names, and whether it is safe.
#[pyfunction]
#[pyo3(signature = (f))]
fn _scan<'py>(py: Python<'py>, f: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    guarded(py, || {
        let (input, called) = verb(py, "info", &["--json"], f)?;
        document(py, &input, called)
    })
}

/// Checks every byte of a file, as the command ``sconce verify --json``.
#[pyfunction]
#[pyo3(signature = (f))]
fn verify<'py>(py: Python<'py>, f: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    guarded(py, || {
        let (input, called) = verb(py, "verify", &["--json"], f)?;
        document(py, &input, called)
    })
}

/// The classes and functions that a file names, as ``module.name``.
#[pyfunction]
#[pyo3(signature = (f))]
fn globals<'py>(py: Python<'py>, f: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    guarded(py, || {
        let (input, called) = verb(py, "globals", &["--json"], f)?;
        let document = document(py, &input, called)?;
        let names = PyList::empty(py);
        for row in document.get_item("globals")?.try_iter()? {
            let name = row?.get_item("name")?;
            if !names.contains(&name)? {
                names.append(name)?;
            }
        }
        Ok(names)
    })
}

/// Converts a file to the format that the ending of ``dst`` names. ``overwrite`` replaces a file that is there; other
/// keywords are the flags of the command ``sconce convert``, with ``_`` for ``-``.
#[pyfunction]
#[pyo3(signature = (src, dst, *, overwrite=false, **flags))]
fn convert(
    py: Python<'_>,
    src: &Bound<'_, PyAny>,
    dst: &Bound<'_, PyAny>,
    overwrite: bool,
    flags: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    guarded(py, || {
        let input = Input::new(src)?;
        let (word, source) = input.as_word();
        let out = path_of(dst)?.ok_or_else(|| PyTypeError::new_err("dst is a path"))?;
        check_folder_of(py, &out)?;
        let mut words: Vec<OsString> = vec!["convert".into()];
        if overwrite {
            words.push("--force".into());
        }
        for (name, value) in flags.into_iter().flat_map(|flags| flags.iter()) {
            let flag = format!("--{}", name.extract::<String>()?.replace('_', "-"));
            words.extend(flag_words(&flag, &value)?);
        }
        words.extend([OsString::from("--"), word, out.into()]);
        let called = in_background(py, move || sconce_cli::call(words, source))?;
        match called.failure {
            Some(failure) => Err(error::of_failure(py, &failure)),
            None => Ok(()),
        }
    })
}

/// A flag as words: of `True` alone, of `False` and `None` nothing, of a list one for each.
fn flag_words(flag: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<OsString>> {
    if let Ok(on) = value.cast::<PyBool>() {
        return Ok(if on.is_true() { vec![flag.into()] } else { Vec::new() });
    }
    if value.is_none() {
        return Ok(Vec::new());
    }
    let values: Vec<Bound<'_, PyAny>> =
        match value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            true => value.try_iter()?.collect::<PyResult<_>>()?,
            false => vec![value.clone()],
        };
    let mut words = Vec::new();
    for value in values {
        words.push(format!("{flag}={}", value.str()?).into());
    }
    Ok(words)
}

/// How many threads one operator may use.
#[pyfunction]
fn get_num_threads() -> usize {
    sconce::run::num_threads()
}

/// Sets how many threads one operator may use, for the whole process.
#[pyfunction]
#[pyo3(signature = (n))]
fn set_num_threads(py: Python<'_>, n: isize) -> PyResult<()> {
    match usize::try_from(n) {
        Ok(count) if count > 0 => {
            sconce::run::set_num_threads(count);
            Ok(())
        }
        _ => {
            let what = "set_num_threads expects a positive integer";
            Err(error::plain(py, "TensorError", what))
        }
    }
}

/// The command ``sconce``: its words, the first of which is its name. Gives the exit code.
#[pyfunction]
fn _main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| sconce_cli::main_from(args))
}

/// A number of bytes, of a number or a text such as `2GiB`.
#[pyfunction]
fn _size(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    crate::jit::bytes(given)
}

/// Panics, so that tests see what becomes of a panic.
#[pyfunction]
fn _panic(py: Python<'_>) -> PyResult<()> {
    guarded(py, || detached(py, || panic!("a panic on purpose")))
}

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(identify, module)?)?;
    module.add_function(wrap_pyfunction!(_scan, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(globals, module)?)?;
    module.add_function(wrap_pyfunction!(convert, module)?)?;
    module.add_function(wrap_pyfunction!(get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(_main, module)?)?;
    module.add_function(wrap_pyfunction!(_size, module)?)?;
    module.add_function(wrap_pyfunction!(_panic, module)?)
}
