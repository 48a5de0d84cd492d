//! What a call by the C ABI costs over a call in Rust: medians of both, in turns.
//!
//!     cargo run --profile optimized -p sconce-c-api --example overhead
#![allow(unsafe_code, reason = "what is measured are functions that take pointers")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "pointers are this program's own")]
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::ffi::CString;
use std::ptr;
use std::time::Instant;

use sconce::run::{Model, Options, RunTensor, open_model};
use sconce_c_api::module::*;
use sconce_c_api::session::*;
use sconce_c_api::tensor::*;
use sconce_c_api::value::*;
use sconce_dlpack::DLManagedTensorVersioned;

const ROUNDS: usize = 200;
const CALLS: usize = 200;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn timed(work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    (0..CALLS).for_each(|_| work());
    start.elapsed().as_secs_f64() / CALLS as f64 * 1e6
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/host.pt");
    let data = [1f32; 4];
    let model: Model = open_model(sconce::Source::open(path)?)?;
    let mut session = model.session(Options::default())?;
    let mut in_rust = || {
        let x = RunTensor::from_slice(&data, &[1, 4]).expect("4 numbers");
        let y = session.call("forward", &[x.into()]).expect("a result");
        std::hint::black_box(y.as_tensor().expect("a tensor").to_vec::<f32>().expect("numbers"));
    };

    let (mut module, mut opened) = (ptr::null_mut(), ptr::null_mut());
    let (file, forward) = (CString::new(path)?, CString::new("forward")?);
    unsafe {
        assert!(sconce_module_load(file.as_ptr(), &mut module).is_null());
        assert!(sconce_session_new(module, ptr::null(), &mut opened).is_null());
    }
    let mut by_values = || unsafe {
        let (mut tensor, mut out, sizes) = (ptr::null_mut(), ptr::null_mut(), [1i64, 4]);
        let memory = data.as_ptr().cast_mut().cast();
        let (none, context) = (ptr::null(), ptr::null_mut());
        sconce_tensor_from_blob(
            memory,
            SCONCE_FLOAT32,
            sizes.as_ptr(),
            none,
            2,
            None,
            context,
            &mut tensor,
        );
        let x = sconce_value_tensor(tensor);
        let args = [x.cast_const()];
        let error =
            sconce_session_call(opened, forward.as_ptr(), args.as_ptr(), 1, ptr::null(), &mut out);
        assert!(error.is_null());
        let mut y = [0f32; 2];
        sconce_tensor_copy_to(
            sconce_value_as_tensor(out),
            y.as_mut_ptr().cast(),
            8,
            SCONCE_FLOAT32,
        );
        std::hint::black_box(y);
        sconce_value_delete(out);
        sconce_value_delete(x);
    };
    // The library's own structure serves as the host's.
    let tensor = sconce::Tensor::from_slice(&data, &[1, 4])?;
    let lent = sconce_dlpack::export(&tensor)?;
    let mut by_tensors = || unsafe {
        let (mut out, mut made): (*mut DLManagedTensorVersioned, usize) = (ptr::null_mut(), 0);
        let given = [lent.as_ptr()];
        let (forward, given) = (forward.as_ptr(), given.as_ptr());
        let error = sconce_session_call_tensors(opened, forward, given, 1, &mut out, 1, &mut made);
        assert!(error.is_null() && made == 1);
        std::hint::black_box(*(*out).dl_tensor.data.cast::<f32>());
        if let Some(deleter) = (*out).deleter {
            deleter(out);
        }
    };
    let (mut rust, mut values, mut tensors) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        rust.push(timed(&mut in_rust));
        values.push(timed(&mut by_values));
        tensors.push(timed(&mut by_tensors));
    }
    let (rust, values, tensors) = (median(rust), median(values), median(tensors));
    println!(
        "Rust {rust:.2} µs, sconce_session_call {values:.2} µs, sconce_session_call_tensors {tensors:.2} µs"
    );
    unsafe {
        sconce_session_delete(opened);
        sconce_module_delete(module);
        drop(sconce_dlpack::import(lent.as_ptr())?);
    }
    Ok(())
}
