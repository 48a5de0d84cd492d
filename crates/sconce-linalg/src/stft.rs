//! Short-time Fourier transforms, there and back.

use sconce_kernels::{
    BinaryOp, DType, Error, PadMode, Result, Scalar, Tensor, binary, conj, pad, view_as_complex,
    view_as_real,
};

use crate::fft::{Scale, fft_c2c, fft_c2r, fft_r2c, frames};

/// What `torch.stft` and `torch.istft` share.
#[derive(Debug, Clone)]
pub struct StftOptions {
    /// Points of one transform.
    pub n_fft: i64,
    /// Samples between frames; a quarter of `n_fft` by default.
    pub hop_length: Option<i64>,
    /// Samples under the window; `n_fft` by default.
    pub win_length: Option<i64>,
    /// The window; ones by default.
    pub window: Option<Tensor>,
    /// Whether frames are centred at their times, for which the signal is padded.
    pub center: bool,
    /// Whether to scale by the root of `n_fft`.
    pub normalized: bool,
    /// Whether only the half that is not redundant is kept; for real signals by default.
    pub onesided: Option<bool>,
    /// Whether the result is complex rather than pairs of real numbers.
    pub return_complex: Option<bool>,
}

impl StftOptions {
    fn hop(&self) -> i64 {
        self.hop_length.unwrap_or(self.n_fft / 4)
    }

    fn width(&self) -> i64 {
        self.win_length.unwrap_or(self.n_fft)
    }

    /// The window, padded on both sides to the length of a transform.
    fn padded_window(&self, dtype: DType) -> Result<Tensor> {
        let (n, width) = (self.n_fft, self.width());
        let window = match &self.window {
            Some(window) => window.clone(),
            None => Tensor::full(&[width], Scalar::Int(1), dtype)?,
        };
        if width == n {
            return Ok(window);
        }
        let left = (n - width) / 2;
        pad(&window, &[left, n - width - left], PadMode::Constant(Scalar::Int(0)))
    }
}

fn shape_text(tensor: &Tensor) -> String {
    format!("{:?}", tensor.sizes())
}

fn refused(function: &str, input: &Tensor, options: &StftOptions, why: &str) -> Error {
    let shape = |tensor: &Tensor| {
        let sizes: Vec<String> = tensor.sizes().iter().map(ToString::to_string).collect();
        format!("torch.{}Tensor{{[{}]}}", cpu_type(tensor.dtype()), sizes.join(", "))
    };
    let window = options.window.as_ref().map_or("None".to_owned(), shape);
    Error::runtime(format!(
        "{function}({}, n_fft={}, hop_length={}, win_length={}, window={window}, normalized={}, \
         onesided={}, return_complex={}) : {why}",
        shape(input),
        options.n_fft,
        options.hop(),
        options.width(),
        i32::from(options.normalized),
        options.onesided.map_or("None".to_owned(), |b| i32::from(b).to_string()),
        options.return_complex.map_or("None".to_owned(), |b| i32::from(b).to_string()),
    ))
}

fn cpu_type(dtype: DType) -> &'static str {
    dtype.scalar_type_name()
}

/// `torch.stft` of a signal or a batch of them; `pad_mode` is how a centred one is padded.
///
/// # Errors
/// For sizes that do not fit, and dtypes without kernels.
pub fn stft(input: &Tensor, options: &StftOptions, pad_mode: &str) -> Result<Tensor> {
    let complex = input.dtype().is_complex();
    let fail = |why: &str| refused("stft", input, options, why);
    let window_complex = options.window.as_ref().is_some_and(|w| w.dtype().is_complex());
    let return_complex = match options.return_complex {
        Some(flag) => flag,
        None if complex || window_complex => true,
        None => {
            return Err(Error::runtime(
                "stft requires the return_complex parameter be given for real inputs, and will \
                 further require that return_complex=True in a future PyTorch release.",
            ));
        }
    };
    if !input.dtype().is_floating_point() && !complex {
        return Err(fail("expected a tensor of floating point or complex values"));
    }
    if !(1..=2).contains(&input.dim()) {
        return Err(fail("expected a 1D or 2D tensor"));
    }
    let (n, hop, width) = (options.n_fft, options.hop(), options.width());
    let batch = if input.dim() == 1 { input.unsqueeze(0)? } else { input.clone() };
    let mode = match pad_mode {
        "constant" => PadMode::Constant(Scalar::Int(0)),
        "reflect" => PadMode::Reflect,
        "replicate" => PadMode::Replicate,
        other => return Err(Error::not_implemented(format!("stft with the pad mode {other}"))),
    };
    let batch = match options.center {
        true => pad(&batch.unsqueeze(0)?, &[n / 2, n / 2], mode)?.squeeze(Some(&[0]))?,
        false => batch,
    };
    let batch = if batch.dim() == 1 { batch.unsqueeze(0)? } else { batch };
    let len = batch.size(1)?;
    if n <= 0 || n > len {
        return Err(fail(&format!("expected 0 < n_fft < {len}, but got n_fft={n}")));
    }
    if hop <= 0 {
        return Err(fail(&format!("expected hop_length > 0, but got hop_length={hop}")));
    }
    if width <= 0 || width > n {
        return Err(fail(&format!(
            "expected 0 < win_length <= n_fft, but got win_length={width}"
        )));
    }
    if let Some(window) = &options.window
        && (window.dim() != 1 || window.size(0)? != width)
    {
        return Err(fail(&format!(
            "expected a 1D window tensor of size equal to win_length={width}, but got window with \
             size {}",
            shape_text(window)
        )));
    }
    let mut cut = frames(&batch, n, hop)?;
    if options.window.is_some() || width < n {
        let window = options.padded_window(sconce_kernels::real_dtype(input.dtype()))?;
        cut = binary(BinaryOp::Mul, (&cut).into(), (&window).into())?;
    }
    let any_complex = cut.dtype().is_complex();
    let onesided = options.onesided.unwrap_or(!any_complex);
    if onesided && any_complex {
        return Err(fail("Cannot have onesided output if window or input is complex"));
    }
    let scale = if options.normalized { Scale::ByRootN } else { Scale::None };
    let result = match any_complex {
        true => fft_c2c(&cut, &[2], scale, true)?,
        false => fft_r2c(&cut, &[2], scale, onesided)?,
    };
    let result = result.transpose(1, 2)?.contiguous()?;
    let result = if input.dim() == 1 { result.select(0, 0)? } else { result };
    if return_complex { Ok(result) } else { view_as_real(&result) }
}

/// `torch.istft`: the signal of which `input` is the transform, `length` samples of it if given.
///
/// # Errors
/// For sizes that do not fit, and windows that leave samples uncovered.
pub fn istft(input: &Tensor, options: &StftOptions, length: Option<i64>) -> Result<Tensor> {
    let fail = |why: &str| {
        let message = refused("istft", input, options, why).message().to_owned();
        // The signal's transform names more of its options.
        let (call, why) = message.split_once(") : ").unwrap_or((&message, ""));
        let (head, tail) = call.split_once(", normalized=").unwrap_or((call, ""));
        let (normalized, rest) = tail.split_once(", onesided=").unwrap_or((tail, ""));
        let onesided = rest.split(',').next().unwrap_or_default();
        let length = length.map_or("None".to_owned(), |length| length.to_string());
        Error::runtime(format!(
            "{head}, center={}, normalized={normalized}, onesided={onesided}, length={length}, \
             return_complex={}) : {why}",
            i32::from(options.center),
            i32::from(options.return_complex == Some(true)),
        ))
    };
    if !input.dtype().is_complex() {
        return Err(Error::runtime(
            "istft requires a complex-valued input tensor matching the output from stft with \
             return_complex=True.",
        ));
    }
    let (n, hop, width) = (options.n_fft, options.hop(), options.width());
    let pairs = view_as_real(input)?;
    if pairs.numel() == 0 {
        return Err(fail("input tensor cannot be empty"));
    }
    if !(3..=4).contains(&pairs.dim()) {
        return Err(fail(&format!(
            "expected a tensor with 3 or 4 dimensions, but got {}",
            pairs.dim()
        )));
    }
    let batch = if input.dim() == 2 { input.unsqueeze(0)? } else { input.clone() };
    let (bins, count) = (batch.size(1)?, batch.size(2)?);
    let onesided = options.onesided.unwrap_or(bins != n);
    if onesided && n / 2 + 1 != bins {
        return Err(fail(&format!(
            "expected the frequency dimension (3rd to the last) of the input tensor to match \
             n_fft / 2 + 1 when onesided=True, but got {bins}"
        )));
    }
    if !onesided && n != bins {
        return Err(fail(&format!(
            "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft \
             when onesided=False, but got {bins}"
        )));
    }
    if hop <= 0 || hop > width {
        return Err(fail("expected 0 < hop_length <= win_length"));
    }
    if width <= 0 || width > n {
        return Err(fail("expected 0 < win_length <= n_fft"));
    }
    if let Some(window) = &options.window
        && (window.dim() != 1 || window.size(0)? != width)
    {
        return Err(fail(&format!("Invalid window shape. window has to be 1D and length of `win_length`")));
    }
    let window = options.padded_window(sconce_kernels::real_dtype(input.dtype()))?;
    let scale = if options.normalized { Scale::ByRootN } else { Scale::ByN };
    let spectra = batch.transpose(1, 2)?.contiguous()?;
    let complex_result = options.return_complex == Some(true);
    let frames = match complex_result {
        true if onesided => {
            return Err(fail("cannot have onesided output if window or input is complex"));
        }
        true => fft_c2c(&spectra, &[2], scale, false)?,
        false => {
            let half = if onesided { spectra } else { spectra.slice(-1, None, Some(n / 2 + 1), 1)? };
            fft_c2r(&half, &[2], scale, n)?
        }
    };
    let frames = binary(BinaryOp::Mul, (&frames).into(), (&window).into())?;
    let whole = n + hop.saturating_mul(count - 1);
    let signal = overlap_add(&frames, hop, whole)?;
    let squares = binary(BinaryOp::Mul, (&window).into(), (&conj(&window)?).into())?;
    let squares = squares.expand(&[1, count, n])?;
    let envelope = overlap_add(&squares, hop, whole)?;
    let start = if options.center { n / 2 } else { 0 };
    let end = match length {
        Some(length) => start.saturating_add(length),
        None if options.center => whole - n / 2,
        None => whole,
    };
    let signal = signal.slice(1, Some(start), Some(end), 1)?;
    let envelope = envelope.slice(1, Some(start), Some(end), 1)?;
    let lengths = envelope.to_dtype(DType::Complex128)?.to_vec::<num_complex::Complex64>()?;
    let least = lengths.iter().map(|x| x.norm()).fold(f64::INFINITY, f64::min);
    if least <= 1e-11 {
        return Err(fail("window overlap add min: 1"));
    }
    let result = binary(BinaryOp::Div, (&signal).into(), (&envelope).into())?;
    let result = match end.saturating_sub(whole) {
        missing if missing > 0 => pad(&result, &[0, missing], PadMode::Constant(Scalar::Int(0)))?,
        _ => result,
    };
    if input.dim() == 2 { result.select(0, 0) } else { Ok(result) }
}

/// Sums frames (batch × frames × n) where they overlap: batch × `whole`.
fn overlap_add(frames: &Tensor, hop: i64, whole: i64) -> Result<Tensor> {
    let complex = frames.dtype().is_complex();
    let dtype = if complex { DType::Complex128 } else { DType::Float64 };
    let wide = frames.to_dtype(dtype)?.contiguous()?;
    let flat = if complex { view_as_real(&wide)? } else { wide.clone() };
    let each = if complex { 2 } else { 1 };
    let (batch, count, n) = (wide.size(0)?, wide.size(1)?, wide.size(2)?);
    let mut sizes = vec![batch, whole];
    sizes.extend(complex.then_some(2));
    let result = Tensor::zeros(&sizes, DType::Float64)?;
    let mut out = result.write::<f64>()?;
    let all = flat.read::<f64>()?;
    let (row, width, step) = ((whole * each) as usize, (n * each) as usize, (hop * each) as usize);
    for (at, frame) in all.chunks_exact(width).enumerate() {
        let (batch, frame_at) = (at / count as usize, at % count as usize);
        let start = batch * row + frame_at * step;
        for (out, x) in out[start..start + width].iter_mut().zip(frame) {
            *out += x;
        }
    }
    drop(out);
    let result = if complex { view_as_complex(&result)? } else { result };
    result.to_dtype(frames.dtype())
}
