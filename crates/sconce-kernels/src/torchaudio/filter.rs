//! Filters that feed their output back: the loops of `torchaudio.functional.lfilter` and `overdrive`.

use num_traits::Float;

use crate::{DType, Error, PodElement, Result, Tensor};

/// `torchaudio::_lfilter_core_loop`: each output is an input less the `K` outputs so far, weighted by the coefficients
/// (latest last). `output` begins with `K - 1` numbers that are there already, and is filled from there.
///
/// `input` is `(batch, channels, time)`, `coefficients` `(channels, K)`, `output` `(batch, channels, time + K - 1)`.
///
/// # Errors
/// Where dtypes are not one of float32 and float64, or sizes do not fit.
pub fn lfilter_loop(input: &Tensor, coefficients: &Tensor, output: &Tensor) -> Result<()> {
    for other in [coefficients, output] {
        other.expect_dtype(input.dtype())?;
    }
    match input.dtype() {
        DType::Float32 => recursive::<f32>(input, coefficients, output),
        DType::Float64 => recursive::<f64>(input, coefficients, output),
        _ => Err(Error::runtime("_lfilter_core_loop expects tensors of float32 or float64")),
    }
}

fn recursive<T: PodElement + Float>(
    input: &Tensor,
    coefficients: &Tensor,
    output: &Tensor,
) -> Result<()> {
    let (&[batch, channels, time], &[rows, order], &[out_batch, out_channels, length]) =
        (input.sizes(), coefficients.sizes(), output.sizes())
    else {
        return Err(Error::runtime(
            "_lfilter_core_loop expects an input and an output of 3 dimensions and coefficients of 2",
        ));
    };
    let fits = [batch, channels, channels] == [out_batch, out_channels, rows]
        && order > 0
        && time.checked_add(order - 1) == Some(length);
    if !fits {
        return Err(Error::runtime(format!(
            "_lfilter_core_loop of an input of sizes {:?}, coefficients of {:?} and an output of {:?}: the output \
             is to have the input's sizes and one less than the coefficients' columns more",
            input.sizes(),
            coefficients.sizes(),
            output.sizes()
        )));
    }
    let (inputs, weights) = (input.to_vec::<T>()?, coefficients.to_vec::<T>()?);
    let mut outputs = output.to_vec::<T>()?;
    let (time, order, length) = (time as usize, order as usize, length as usize);
    if inputs.is_empty() {
        return Ok(());
    }
    let weights = weights.chunks_exact(order).cycle();
    let rows = inputs.chunks_exact(time).zip(outputs.chunks_exact_mut(length));
    for ((inputs, outputs), weights) in rows.zip(weights) {
        for (step, &value) in inputs.iter().enumerate() {
            let window = &mut outputs[step..step + order];
            let value = window.iter().zip(weights).fold(value, |sum, (&y, &a)| sum - y * a);
            window[order - 1] = value;
        }
    }
    output.copy_from(&Tensor::from_slice(&outputs, output.sizes())?)
}

/// `torchaudio::_overdrive_core_loop`: a high-pass filter over `distorted`, mixed with `waveform`, row by row. The state
/// of each row is in `last_in` and `last_out`, and is written there again.
///
/// # Errors
/// Where dtypes are not one of float32 and float64, or sizes do not fit.
pub fn overdrive_loop(
    waveform: &Tensor,
    distorted: &Tensor,
    last_in: &Tensor,
    last_out: &Tensor,
    output: &Tensor,
) -> Result<()> {
    for other in [distorted, last_in, last_out, output] {
        other.expect_dtype(waveform.dtype())?;
    }
    match waveform.dtype() {
        DType::Float32 => mixed::<f32>(waveform, distorted, [last_in, last_out], output),
        DType::Float64 => mixed::<f64>(waveform, distorted, [last_in, last_out], output),
        other => Err(Error::not_implemented(format!(
            "\"overdrive_cpu\" not implemented for '{}'",
            other.scalar_type_name()
        ))),
    }
}

fn double<T: Float>(value: T) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}

fn rounded<T: Float>(value: f64) -> T {
    T::from(value).unwrap_or_else(T::nan)
}

fn mixed<T: PodElement + Float>(
    waveform: &Tensor,
    distorted: &Tensor,
    states: [&Tensor; 2],
    output: &Tensor,
) -> Result<()> {
    let fits = matches!(waveform.sizes(), &[rows, _]
        if states.iter().all(|state| state.sizes() == [rows])
            && distorted.sizes() == waveform.sizes()
            && output.sizes() == waveform.sizes());
    if !fits {
        return Err(Error::runtime(format!(
            "_overdrive_core_loop of a waveform of sizes {:?}: three tensors are to have its sizes, two its first one",
            waveform.sizes()
        )));
    }
    let [wave, through] = [waveform.to_vec::<T>()?, distorted.to_vec::<T>()?];
    let [mut last_in, mut last_out] = [states[0].to_vec::<T>()?, states[1].to_vec::<T>()?];
    let mut outputs = output.to_vec::<T>()?;
    let time = waveform.sizes()[1] as usize;
    if time == 0 {
        return Ok(());
    }
    let rows = wave.chunks_exact(time).zip(through.chunks_exact(time));
    let state = last_in.iter_mut().zip(&mut last_out);
    for (((wave, through), outputs), (last_in, last_out)) in
        rows.zip(outputs.chunks_exact_mut(time)).zip(state)
    {
        for ((&clean, &value), output) in wave.iter().zip(through).zip(outputs) {
            // In double precision and rounded once, as C++ computes with these constants.
            *last_out = rounded(double(value - *last_in) + 0.995 * double(*last_out));
            *last_in = value;
            *output = rounded(double(clean) * 0.5 + double(*last_out) * 0.75);
        }
    }
    for (to, values) in [(states[0], &last_in), (states[1], &last_out), (output, &outputs)] {
        to.copy_from(&Tensor::from_slice(values, to.sizes())?)?;
    }
    Ok(())
}
