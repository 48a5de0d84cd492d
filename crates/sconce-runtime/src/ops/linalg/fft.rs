//! Fourier transforms.

use sconce_linalg as linalg;
use sconce_linalg::{Kind, Scale, StftOptions, Transform};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::ops::tensor::windows::factory_dtype;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

const FFT: Transform = Transform { kind: Kind::Complex, forward: true, name: "fft" };
const IFFT: Transform = Transform { kind: Kind::Complex, forward: false, name: "ifft" };
const RFFT: Transform = Transform { kind: Kind::FromReal, forward: true, name: "rfft" };
const IRFFT: Transform = Transform { kind: Kind::ToReal, forward: false, name: "irfft" };
const HFFT: Transform = Transform { kind: Kind::ToReal, forward: true, name: "hfft" };
const IHFFT: Transform = Transform { kind: Kind::FromReal, forward: false, name: "ihfft" };

const fn over_dims(transform: Transform, name: &'static str) -> Transform {
    Transform { name, ..transform }
}

pub(crate) const TABLE: Table = &[
    op("aten::fft_fft", "-", |_, args| along(&args, FFT)),
    op("aten::fft_ifft", "-", |_, args| along(&args, IFFT)),
    op("aten::fft_rfft", "-", |_, args| along(&args, RFFT)),
    op("aten::fft_irfft", "-", |_, args| along(&args, IRFFT)),
    op("aten::fft_hfft", "-", |_, args| along(&args, HFFT)),
    op("aten::fft_ihfft", "-", |_, args| along(&args, IHFFT)),
    op("aten::fft_fft2", "-", |_, args| over(&args, FFT)),
    op("aten::fft_ifft2", "-", |_, args| over(&args, IFFT)),
    op("aten::fft_rfft2", "-", |_, args| over(&args, over_dims(RFFT, "rfftn"))),
    op("aten::fft_irfft2", "-", |_, args| over(&args, over_dims(IRFFT, "irfftn"))),
    op("aten::fft_hfft2", "-", |_, args| over(&args, over_dims(HFFT, "hfftn"))),
    op("aten::fft_ihfft2", "-", |_, args| over(&args, over_dims(IHFFT, "ihfftn"))),
    op("aten::fft_fftn", "-", |_, args| over(&args, FFT)),
    op("aten::fft_ifftn", "-", |_, args| over(&args, IFFT)),
    op("aten::fft_rfftn", "-", |_, args| over(&args, over_dims(RFFT, "rfftn"))),
    op("aten::fft_irfftn", "-", |_, args| over(&args, over_dims(IRFFT, "irfftn"))),
    op("aten::fft_hfftn", "-", |_, args| over(&args, over_dims(HFFT, "hfftn"))),
    op("aten::fft_ihfftn", "-", |_, args| over(&args, over_dims(IHFFT, "ihfftn"))),
    op("aten::_fft_c2c", "-", |_, args| {
        let scale = Scale::numbered(args.int(2)?).map_err(kernel)?;
        made(linalg::fft_c2c(args.tensor(0)?, &args.ints(1)?, scale, args.bool(3)?))
    }),
    op("aten::_fft_r2c", "-", |_, args| {
        let scale = Scale::numbered(args.int(2)?).map_err(kernel)?;
        made(linalg::fft_r2c(args.tensor(0)?, &args.ints(1)?, scale, args.bool(3)?))
    }),
    op("aten::_fft_c2r", "-", |_, args| {
        let scale = Scale::numbered(args.int(2)?).map_err(kernel)?;
        made(linalg::fft_c2r(args.tensor(0)?, &args.ints(1)?, scale, args.int(3)?))
    }),
    op("aten::fft_fftfreq", "-", |_, args| {
        let dtype = factory_dtype(&args, 2)?;
        made(linalg::fftfreq(args.int(0)?, args.real(1)?, dtype))
    }),
    op("aten::fft_rfftfreq", "-", |_, args| {
        let dtype = factory_dtype(&args, 2)?;
        made(linalg::rfftfreq(args.int(0)?, args.real(1)?, dtype))
    }),
    op("aten::fft_fftshift", "-", |_, args| {
        made(linalg::fftshift(args.tensor(0)?, args.optional_ints(1)?.as_deref(), false))
    }),
    op("aten::fft_ifftshift", "-", |_, args| {
        made(linalg::fftshift(args.tensor(0)?, args.optional_ints(1)?.as_deref(), true))
    }),
    op("aten::stft", "-", |_, args| {
        aligned(&args, 8)?;
        let options = stft_options(&args, [None, Some(5), Some(6), Some(7)])?;
        made(linalg::stft(args.tensor(0)?, &options, "constant"))
    }),
    op("aten::stft", "center", |_, args| {
        aligned(&args, 10)?;
        let options = stft_options(&args, [Some(5), Some(7), Some(8), Some(9)])?;
        made(linalg::stft(args.tensor(0)?, &options, &args.str(6)?))
    }),
    op("aten::istft", "-", |_, args| {
        let options = stft_options(&args, [Some(5), Some(6), Some(7), Some(9)])?;
        made(linalg::istft(args.tensor(0)?, &options, args.optional_int(8)?))
    }),
];

fn along(args: &Args<'_>, transform: Transform) -> Result {
    let norm = args.optional_str(3)?;
    let (n, dim) = (args.optional_int(1)?, args.int(2)?);
    made(linalg::fft(transform, args.tensor(0)?, n, dim, norm.as_deref()))
}

fn over(args: &Args<'_>, transform: Transform) -> Result {
    let (s, dims) = (args.optional_ints(1)?, args.optional_ints(2)?);
    let norm = args.optional_str(3)?;
    made(linalg::fftn(transform, args.tensor(0)?, s.as_deref(), dims.as_deref(), norm.as_deref()))
}

fn aligned(args: &Args<'_>, index: usize) -> Result<()> {
    match args.get(index) {
        IValue::None | IValue::Bool(false) => Ok(()),
        _ => Err(Raise::unsupported("aten::stft with align_to_window")),
    }
}

/// Options from the operands after the signal; the last four by where they are: `center`,
/// `normalized`, `onesided`, `return_complex`.
fn stft_options(args: &Args<'_>, at: [Option<usize>; 4]) -> Result<StftOptions> {
    let flag = |index: Option<usize>| match index.map(|index| args.get(index)) {
        Some(IValue::Bool(flag)) => Some(*flag),
        _ => None,
    };
    Ok(StftOptions {
        n_fft: args.int(1)?,
        hop_length: args.optional_int(2)?,
        win_length: args.optional_int(3)?,
        window: args.optional_tensor(4)?.cloned(),
        center: flag(at[0]).unwrap_or(false),
        normalized: flag(at[1]).unwrap_or(false),
        onesided: flag(at[2]),
        return_complex: flag(at[3]),
    })
}
