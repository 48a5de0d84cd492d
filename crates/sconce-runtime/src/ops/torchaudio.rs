//! torchaudio's operators, registered as any library's are ([`Registry::custom`](crate::Registry::custom)): their
//! schemas are in `sconce-ir`'s `operators/libraries.txt`.

use sconce_kernels as kernels;
use sconce_kernels::{Tensor, TransducerOptions};

use crate::ops::custom::{OperatorArgs, OperatorError};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, OperatorError>;

/// What computes an operator.
type Function = fn(&OperatorArgs<'_>) -> Result;

/// The functions, by full name.
pub(crate) const FUNCTIONS: &[(&str, Function)] = &[
    ("torchaudio::_lfilter_core_loop", |args| {
        let output = args.tensor(2)?;
        kernels::lfilter_loop(args.tensor(0)?, args.tensor(1)?, output)?;
        Ok(IValue::Tensor(output.clone()))
    }),
    ("torchaudio::_overdrive_core_loop", |args| {
        let [last_in, last_out, output] = [args.tensor(2)?, args.tensor(3)?, args.tensor(4)?];
        kernels::overdrive_loop(args.tensor(0)?, args.tensor(1)?, last_in, last_out, output)?;
        Ok(tuple([last_in, last_out, output].map(Clone::clone)))
    }),
    ("torchaudio::forced_align", |args| {
        let (paths, scores) = kernels::forced_align(
            args.tensor(0)?,
            args.tensor(1)?,
            args.tensor(2)?,
            args.tensor(3)?,
            args.int(4)?,
        )?;
        Ok(tuple([paths, scores]))
    }),
    ("torchaudio::rnnt_loss_forward", transducer_loss),
    // The name up to torchaudio 2.8.
    ("torchaudio::rnnt_loss", transducer_loss),
];

fn tuple<const N: usize>(tensors: [Tensor; N]) -> IValue {
    IValue::tuple(tensors.map(IValue::Tensor).into())
}

fn transducer_loss(args: &OperatorArgs<'_>) -> Result {
    let options = TransducerOptions {
        blank: args.int(4)?,
        clamp: args.float(5)?,
        fused_log_softmax: args.bool(6)?,
    };
    let (losses, gradients) = kernels::transducer_loss(
        args.tensor(0)?,
        args.tensor(1)?,
        args.tensor(2)?,
        args.tensor(3)?,
        &options,
    )?;
    Ok(tuple([losses, gradients]))
}
