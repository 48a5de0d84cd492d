//! Connectionist temporal classification: the loss of a sequence whose alignment is unknown.

use crate::nn::loss::elementwise::Reduction;
use crate::{DType, Error, Result, Tensor};

/// How [`ctc_loss`] is computed.
#[derive(Debug, Clone, Copy)]
pub struct Ctc<'a> {
    /// Steps of each sequence.
    pub input_lengths: &'a [i64],
    /// Labels of each sequence.
    pub target_lengths: &'a [i64],
    /// The class between labels.
    pub blank: i64,
    /// What becomes of the losses.
    pub reduction: Reduction,
    /// Whether sequences that cannot be aligned count for nothing.
    pub zero_infinity: bool,
}

/// `torch.nn.functional.ctc_loss`: `log_probs` is time × batch × classes, or without the batch;
/// `targets` batch × labels, or all labels in a row.
///
/// # Errors
/// Where sizes, lengths or labels do not fit.
pub fn ctc_loss(log_probs: &Tensor, targets: &Tensor, options: &Ctc<'_>) -> Result<Tensor> {
    if !matches!(log_probs.dtype(), DType::Float32 | DType::Float64) {
        return Err(Error::no_kernel("ctc_loss_cpu", log_probs.dtype()));
    }
    let batched = log_probs.dim() == 3;
    let probs = if batched { log_probs.clone() } else { log_probs.unsqueeze(1)? };
    let targets =
        if batched || targets.dim() != 1 { targets.clone() } else { targets.unsqueeze(0)? };
    let &[steps, batch, classes] = probs.sizes() else {
        return Err(refused(&format!(
            "Expected 3-dimensional tensor, but got {}-dimensional tensor for argument #1 'log_probs'",
            probs.dim()
        )));
    };
    if log_probs.numel() == 0 {
        return Err(Error::runtime("log_probs tensor must not be empty"));
    }
    if !(0..classes).contains(&options.blank) {
        return Err(Error::runtime("blank must be in label range"));
    }
    if options.input_lengths.len() as i64 != batch {
        return Err(Error::runtime("input_lengths must be of size batch_size"));
    }
    if options.target_lengths.len() as i64 != batch {
        return Err(Error::runtime("target_lengths must be of size batch_size"));
    }
    check_lengths("input_lengths", options.input_lengths, Some(steps))?;
    check_lengths("target_lengths", options.target_lengths, None)?;
    check_targets(&targets, batch, options.target_lengths)?;
    if !matches!(targets.dtype(), DType::Int32 | DType::Int64) {
        return Err(Error::runtime("targets must be of an integer type"));
    }
    let labels = targets.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    let probs = probs.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    let mut start = 0;
    let mut losses = Vec::new();
    for item in 0..batch as usize {
        let (length, wanted) = (options.input_lengths[item], options.target_lengths[item]);
        let at = if targets.dim() == 2 { item * targets.sizes()[1] as usize } else { start };
        let labels = labels
            .get(at..at.saturating_add(wanted as usize))
            .ok_or_else(|| Error::runtime("target_lengths go beyond the targets"))?;
        if labels.iter().any(|label| !(0..classes).contains(label)) {
            return Err(Error::runtime("a target of ctc_loss is not a class"));
        }
        start += wanted as usize;
        let classes = classes as usize;
        let chance = |step: usize, class: i64| {
            probs[(step * batch as usize + item) * classes + class as usize]
        };
        let loss = -alignment(labels, options.blank, length as usize, chance);
        losses.push(if options.zero_infinity && loss.is_infinite() { 0.0 } else { loss });
    }
    if options.reduction == Reduction::Mean {
        for (loss, &wanted) in losses.iter_mut().zip(options.target_lengths) {
            *loss /= wanted.max(1) as f64;
        }
    }
    let sizes = if batched { vec![batch] } else { vec![] };
    options.reduction.of(&Tensor::from_slice(&losses, &sizes)?)?.to_dtype(log_probs.dtype())
}

/// An error about what an argument is.
fn refused(what: &str) -> Error {
    Error::runtime(format!("{what} (while checking arguments for ctc_loss_allocate_outputs)"))
}

fn check_lengths(name: &str, lengths: &[i64], most: Option<i64>) -> Result<()> {
    for &length in lengths {
        let (bound, limit) = match most {
            _ if length < 0 => ("least", 0),
            Some(most) if length > most => ("most", most),
            _ => continue,
        };
        return Err(refused(&format!(
            "Expected {name} to have value at {bound} {limit}, but got value {length}"
        )));
    }
    Ok(())
}

/// Labels are in a row, or one row for each sequence of the batch.
fn check_targets(targets: &Tensor, batch: i64, lengths: &[i64]) -> Result<()> {
    let (rows, wanted, bound) = match *targets.sizes() {
        [len] => (len, lengths.iter().fold(0i64, |sum, &len| sum.saturating_add(len)), None),
        [rows, len] => (rows, batch, Some(len)),
        _ => {
            return Err(refused(&format!(
                "Expected 1 to 2 dimensions, but got {}-dimensional tensor for argument #2 'targets'",
                targets.dim()
            )));
        }
    };
    if rows != wanted {
        return Err(refused(&format!(
            "Expected tensor to have size {wanted} at dimension 0, but got size {rows} for argument \
             #2 'targets'"
        )));
    }
    let longest = lengths.iter().copied().max().unwrap_or(0);
    match bound {
        Some(len) if len < longest => Err(refused(&format!(
            "Expected tensor to have size at least {longest} at dimension 1, but got size {len} for \
             argument #2 'targets'"
        ))),
        _ => Ok(()),
    }
}

/// The log of the chance of all alignments of labels, with blanks between them, over the steps.
fn alignment(labels: &[i64], blank: i64, steps: usize, chance: impl Fn(usize, i64) -> f64) -> f64 {
    let label = |state: usize| if state.is_multiple_of(2) { blank } else { labels[state / 2] };
    let states = 2 * labels.len() + 1;
    if steps == 0 {
        return if labels.is_empty() { 0.0 } else { f64::NEG_INFINITY };
    }
    let mut alpha = vec![f64::NEG_INFINITY; states];
    for (state, alpha) in alpha.iter_mut().enumerate().take(2) {
        *alpha = chance(0, label(state));
    }
    for step in 1..steps {
        let before = alpha.clone();
        for (state, alpha) in alpha.iter_mut().enumerate() {
            let skips = state > 1 && label(state) != label(state - 2);
            let from = [
                Some(before[state]),
                state.checked_sub(1).map(|state| before[state]),
                if skips { Some(before[state - 2]) } else { None },
            ];
            *alpha = log_sum(from.into_iter().flatten()) + chance(step, label(state));
        }
    }
    log_sum(alpha.iter().rev().take(2).copied())
}

fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY && !terms.clone().any(f64::is_nan) {
        return most;
    }
    most + terms.map(|term| (term - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_targets_have_to_fit() {
        let logs = Tensor::zeros(&[4, 2, 3], DType::Float32).unwrap();
        for (sizes, input_lengths, target_lengths, fits) in [
            (&[2i64, 2][..], [4i64, 4], [2i64, 2], true),
            (&[4], [4, 4], [2, 2], true),
            (&[3, 2], [4, 4], [2, 2], false),
            (&[2, 1], [4, 4], [2, 2], false),
            (&[5], [4, 4], [2, 2], false),
            (&[2, 2, 1], [4, 4], [2, 2], false),
            (&[2, 2], [4, 5], [2, 2], false),
            (&[2, 2], [4, -1], [2, 2], false),
            (&[2, 2], [4, 4], [2, -2], false),
        ] {
            let targets = Tensor::zeros(sizes, DType::Int64).unwrap();
            let options = Ctc {
                input_lengths: &input_lengths,
                target_lengths: &target_lengths,
                blank: 0,
                reduction: Reduction::None,
                zero_infinity: false,
            };
            let found = ctc_loss(&logs, &targets, &options);
            assert_eq!(found.is_ok(), fits, "{sizes:?} {input_lengths:?} {target_lengths:?}");
        }
    }

    fn loss(labels: &[i64], steps: i64, zero_infinity: bool) -> f32 {
        let numbers: Vec<f32> = (0..12).map(|i| (i % 5) as f32).collect();
        let scores = Tensor::from_slice(&numbers, &[4, 1, 3]).unwrap();
        let logs = crate::log_softmax(&scores, -1).unwrap();
        let targets = Tensor::from_slice(labels, &[1, labels.len() as i64]).unwrap();
        let options = Ctc {
            input_lengths: &[steps],
            target_lengths: &[labels.len() as i64],
            blank: 0,
            reduction: Reduction::None,
            zero_infinity,
        };
        ctc_loss(&logs, &targets, &options).unwrap().to_vec::<f32>().unwrap()[0]
    }

    #[test]
    fn all_alignments_count_and_none_is_infinite() {
        assert!((loss(&[1, 2], 4, false) - 1.574_733).abs() < 1e-5);
        // A label twice needs a blank between: three steps at least.
        assert_eq!(loss(&[1, 1], 2, false), f32::INFINITY);
        assert_eq!(loss(&[1, 1], 2, true), 0.0);
    }
}
