//! Short-time Fourier transforms, there and back.

use sconce_kernels::{
    BinaryOp, DType, Error, PadMode, Result, Scalar, Tensor, binary, pad, view_as_complex,
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

fn sizes_text(tensor: &Tensor) -> String {
    let sizes: Vec<String> = tensor.sizes().iter().map(ToString::to_string).collect();
    format!("[{}]", sizes.join(", "))
}

fn flag_text(flag: Option<bool>) -> String {
    flag.map_or("None".to_owned(), |flag| i32::from(flag).to_string())
}

impl StftOptions {
    /// The call up to its window, as errors show it.
    fn call(&self, input: &str) -> String {
        let window = self.window.as_ref().map_or("None".to_owned(), |window| {
            format!("torch.{}Tensor{{{}}}", window.dtype().scalar_type_name(), sizes_text(window))
        });
        format!(
            "({input}, n_fft={}, hop_length={}, win_length={}, window={window}",
            self.n_fft,
            self.hop(),
            self.width()
        )
    }
}

fn stft_refused(input: &Tensor, options: &StftOptions, why: &str) -> Error {
    let shown = format!("torch.{}Tensor{}", input.dtype().scalar_type_name(), sizes_text(input));
    Error::runtime(format!(
        "stft{}, normalized={}, onesided={}, return_complex={}, align_to_window=None) : {why}",
        options.call(&shown),
        i32::from(options.normalized),
        flag_text(options.onesided),
        flag_text(options.return_complex),
    ))
}

fn istft_refused(input: &Tensor, options: &StftOptions, length: Option<i64>, why: &str) -> Error {
    let shown = format!("CPU{}Type{}", input.dtype().scalar_type_name(), sizes_text(input));
    Error::runtime(format!(
        "istft{}, center={}, normalized={}, onesided={}, length={}, return_complex={}) : {why}",
        options.call(&shown),
        i32::from(options.center),
        i32::from(options.normalized),
        flag_text(options.onesided),
        length.map_or("None".to_owned(), |length| length.to_string()),
        i32::from(options.return_complex == Some(true)),
    ))
}

/// `torch.stft` of a signal or a batch of them; `pad_mode` is how a centred one is padded.
///
/// # Errors
/// For sizes that do not fit, and dtypes without kernels.
pub fn stft(input: &Tensor, options: &StftOptions, pad_mode: &str) -> Result<Tensor> {
    let complex = input.dtype().is_complex();
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
    let padded_input = |tensor: &Tensor| match input.dim() {
        1 => tensor.select(0, 0),
        _ => Ok(tensor.clone()),
    };
    let fail = |why: &str| stft_refused(input, options, why);
    if !input.dtype().is_floating_point() && !complex {
        return Err(fail("expected a tensor of floating point or complex values"));
    }
    if !(1..=2).contains(&input.dim()) {
        return Err(fail("expected a 1D or 2D tensor"));
    }
    let (n, hop, width) = (options.n_fft, options.hop(), options.width());
    let batch = if input.dim() == 1 { input.unsqueeze(0)? } else { input.clone() };
    let batch = match options.center {
        true => {
            let mode = match pad_mode {
                "constant" => PadMode::Constant(Scalar::Int(0)),
                "reflect" => PadMode::Reflect,
                "replicate" => PadMode::Replicate,
                "circular" => PadMode::Circular,
                other => {
                    return Err(Error::runtime(format!("Unrecognised padding mode {other}")));
                }
            };
            pad(&batch.unsqueeze(0)?, &[n / 2, n / 2], mode)?.squeeze(Some(&[0]))?
        }
        false => batch,
    };
    let batch = if batch.dim() == 1 { batch.unsqueeze(0)? } else { batch };
    let len = batch.size(1)?;
    let shown = padded_input(&batch)?;
    let fail = |why: &str| stft_refused(&shown, options, why);
    if n <= 0 || n > len {
        return Err(fail(&format!("expected 0 < n_fft < {len}, but got n_fft={n}")));
    }
    if hop <= 0 {
        return Err(fail(&format!("expected hop_length > 0, but got hop_length={hop}")));
    }
    if width <= 0 || width > n {
        return Err(fail(&format!("expected 0 < win_length <= n_fft, but got win_length={width}")));
    }
    if let Some(window) = &options.window
        && (window.dim() != 1 || window.size(0)? != width)
    {
        return Err(fail(&format!(
            "expected a 1D window tensor of size equal to win_length={width}, but got window with \
             size {}",
            sizes_text(window)
        )));
    }
    let mut cut = frames(&batch, n, hop)?;
    if options.window.is_some() || width < n {
        let window = options.padded_window(sconce_kernels::real_dtype(input.dtype()))?;
        cut = binary(BinaryOp::Mul, (&cut).into(), (&window).into())?;
    }
    let dtype = cut.dtype();
    if !matches!(dtype, DType::Float32 | DType::Float64 | DType::Complex64 | DType::Complex128) {
        return Err(Error::runtime(format!(
            "MKL FFT doesn't support tensors of type: {}",
            dtype.scalar_type_name()
        )));
    }
    let any_complex = dtype.is_complex();
    let onesided = options.onesided.unwrap_or(!any_complex);
    if onesided && any_complex {
        return Err(fail("Cannot have onesided output if window or input is complex"));
    }
    let scale = if options.normalized { Scale::ByRootN } else { Scale::None };
    let result = match any_complex {
        true => fft_c2c(&cut, &[2], scale, true)?,
        false => fft_r2c(&cut, &[2], scale, onesided)?,
    };
    let result = result.transpose(1, 2)?;
    let result = if input.dim() == 1 { result.select(0, 0)? } else { result };
    if return_complex { Ok(result) } else { view_as_real(&result) }
}

/// `torch.istft`: the signal of which `input` is the transform, `length` samples of it if given.
///
/// # Errors
/// For sizes that do not fit, and windows that leave samples uncovered.
pub fn istft(input: &Tensor, options: &StftOptions, length: Option<i64>) -> Result<Tensor> {
    let fail = |why: &str| istft_refused(input, options, length, why);
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
        return Err(fail("Invalid window shape. window has to be 1D and length of `win_length`"));
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
        false if window.dtype().is_complex() => {
            return Err(Error::runtime(
                "Complex windows are incompatible with return_complex=False",
            ));
        }
        false => {
            let half =
                if onesided { spectra } else { spectra.slice(-1, None, Some(n / 2 + 1), 1)? };
            fft_c2r(&half, &[2], scale, n)?
        }
    };
    let frames = binary(BinaryOp::Mul, (&frames).into(), (&window).into())?;
    let whole = n + hop.saturating_mul(count - 1);
    let signal = overlap_add(&frames, hop, whole)?;
    let squares = binary(BinaryOp::Mul, (&window).into(), (&window).into())?;
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
    if envelope.numel() == 0 {
        return Err(Error::runtime(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the \
             reduction dim with the 'dim' argument.",
        ));
    }
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
