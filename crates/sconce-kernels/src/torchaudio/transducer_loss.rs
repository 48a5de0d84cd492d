//! `torchaudio.functional.rnnt_loss`: the loss of a recurrent transducer, and its gradient, which PyTorch computes with it.
//!
//! For each sequence the logits span a lattice of frames `t` and labels said so far `u`. A blank goes to the next frame, a
//! label to the next `u`. The loss is what all ways from `(0, 0)` through a last blank at the end have together.

use crate::{DType, Error, Result, Tensor};

/// How the loss is computed.
#[derive(Debug, Clone, Copy)]
pub struct TransducerOptions {
    /// The class that says nothing.
    pub blank: i64,
    /// Gradients are kept within plus and minus this, where it is greater than zero.
    pub clamp: f64,
    /// Whether the logits are still to be made log-probabilities.
    pub fused_log_softmax: bool,
}

/// The losses, `(B,)`, and their gradients by the logits, in the sizes of the logits.
///
/// `logits` is `(B, T, U, classes)`, `targets` `(B, U - 1)` of int32, both lengths `(B,)` of int32: of frames and of
/// labels.
///
/// # Errors
/// In torchaudio's words, and for lengths and targets that are out of range.
pub fn transducer_loss(
    logits: &Tensor,
    targets: &Tensor,
    logit_lengths: &Tensor,
    target_lengths: &Tensor,
    options: &TransducerOptions,
) -> Result<(Tensor, Tensor)> {
    if !matches!(logits.dtype(), DType::Float32 | DType::Float16) {
        return fail("logits must be float32 or float16 (half) type");
    }
    for (tensor, what) in [
        (targets, "targets must be int32 type"),
        (logit_lengths, "logit_lengths must be int32 type"),
        (target_lengths, "target_lengths must be int32 type"),
    ] {
        if tensor.dtype() != DType::Int32 {
            return fail(what);
        }
    }
    for (tensor, what) in [
        (logits, "logits must be contiguous"),
        (targets, "targets must be contiguous"),
        (logit_lengths, "logit_lengths must be contiguous"),
        (target_lengths, "target_lengths must be contiguous"),
    ] {
        if !tensor.is_contiguous() {
            return fail(what);
        }
    }
    let &[batch, frames, places, classes] = logits.sizes() else {
        return fail("logits must be 4-D (batch, time, target, class)");
    };
    let &[target_batch, length] = targets.sizes() else {
        return fail("targets must be 2-D (batch, max target length)");
    };
    for (tensor, what, dims) in [
        (
            logit_lengths,
            "batch dimension mismatch between logits and logit_lengths",
            "logit_lengths must be 1-D",
        ),
        (
            target_lengths,
            "batch dimension mismatch between logits and target_lengths",
            "target_lengths must be 1-D",
        ),
    ] {
        match *tensor.sizes() {
            [count] if count == batch => {}
            [_] => return fail(what),
            _ => return fail(dims),
        }
    }
    if target_batch != batch {
        return fail("batch dimension mismatch between logits and targets");
    }
    if !(0..classes).contains(&options.blank) {
        return fail("blank must be within [0, logits.shape[-1])");
    }
    let (frame_counts, label_counts) =
        (logit_lengths.to_vec::<i32>()?, target_lengths.to_vec::<i32>()?);
    let greatest = |counts: &[i32]| counts.iter().max().copied().map(i64::from);
    if greatest(&frame_counts) != Some(frames) {
        return fail("input length mismatch");
    }
    if greatest(&label_counts).map(|most| most + 1) != Some(places) {
        return fail("output length mismatch");
    }
    if greatest(&label_counts) != Some(length) {
        return fail("target length mismatch");
    }
    if frame_counts.iter().any(|&count| count < 1) || label_counts.iter().any(|&count| count < 0) {
        return fail("lengths of sequences must be positive");
    }
    let labels = targets.to_vec::<i32>()?;
    let values = logits.to_dtype(DType::Float32)?.to_vec::<f32>()?;
    let mut gradients = Tensor::zeros(logits.sizes(), DType::Float32)?.to_vec::<f32>()?;
    let mut losses = Vec::new();
    let [places, classes, length] = [places, classes, length].map(|size| size as usize);
    let each = frames as usize * places * classes;
    for (index, (&count, &said)) in frame_counts.iter().zip(&label_counts).enumerate() {
        let labels = &labels[index * length..][..said as usize];
        if labels.iter().any(|label| !(0..classes as i32).contains(label)) {
            return fail("targets must be within [0, logits.shape[-1])");
        }
        let lattice = Lattice {
            logits: &values[index * each..][..each],
            labels,
            frames: count as usize,
            row: places,
            classes,
            options,
        };
        losses.push(lattice.loss(&mut gradients[index * each..][..each]));
    }
    let losses = Tensor::from_slice(&losses, &[batch])?.to_dtype(logits.dtype())?;
    let gradients = Tensor::from_slice(&gradients, logits.sizes())?.to_dtype(logits.dtype())?;
    Ok((losses, gradients))
}

fn fail<T>(message: &str) -> Result<T> {
    Err(Error::runtime(message))
}

/// One sequence.
struct Lattice<'a> {
    logits: &'a [f32],
    labels: &'a [i32],
    frames: usize,
    /// Places of a frame in memory, of which the first `labels.len() + 1` count.
    row: usize,
    classes: usize,
    options: &'a TransducerOptions,
}

fn log_add(a: f32, b: f32) -> f32 {
    let (greater, less) = if a > b { (a, b) } else { (b, a) };
    if less == f32::NEG_INFINITY { greater } else { greater + (less - greater).exp().ln_1p() }
}

impl Lattice<'_> {
    fn places(&self) -> usize {
        self.labels.len() + 1
    }

    fn logits(&self, frame: usize, place: usize) -> &[f32] {
        &self.logits[(frame * self.row + place) * self.classes..][..self.classes]
    }

    fn blank(&self) -> usize {
        self.options.blank as usize
    }

    /// The loss; its gradients are written.
    fn loss(&self, gradients: &mut [f32]) -> f32 {
        let places = self.places();
        let at = |frame: usize, place: usize| frame * places + place;
        let every =
            || (0..self.frames).flat_map(move |frame| (0..places).map(move |place| (frame, place)));
        // What logits are to be lessened by to be log-probabilities.
        let norms: Vec<f32> = every()
            .map(|(frame, place)| {
                if self.options.fused_log_softmax {
                    log_sum(self.logits(frame, place))
                } else {
                    0.0
                }
            })
            .collect();
        let blank =
            |frame, place| self.logits(frame, place)[self.blank()] - norms[at(frame, place)];
        let label = |frame, place: usize| {
            self.logits(frame, place)[self.labels[place] as usize] - norms[at(frame, place)]
        };

        let mut alphas = vec![0.0_f32; self.frames * places];
        for (frame, place) in every() {
            let waited =
                (frame > 0).then(|| alphas[at(frame - 1, place)] + blank(frame - 1, place));
            let spoke = (place > 0).then(|| alphas[at(frame, place - 1)] + label(frame, place - 1));
            alphas[at(frame, place)] = match (waited, spoke) {
                (Some(a), Some(b)) => log_add(a, b),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => 0.0,
            };
        }
        let mut betas = vec![0.0_f32; self.frames * places];
        for (frame, place) in every().collect::<Vec<_>>().into_iter().rev() {
            let waits = (frame + 1 < self.frames)
                .then(|| betas[at(frame + 1, place)] + blank(frame, place));
            let speaks =
                (place + 1 < places).then(|| betas[at(frame, place + 1)] + label(frame, place));
            betas[at(frame, place)] = match (waits, speaks) {
                (Some(a), Some(b)) => log_add(a, b),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => blank(frame, place),
            };
        }
        let loss = -betas[0];

        for (frame, place) in every() {
            let here = at(frame, place);
            let common = alphas[here] + loss - norms[here];
            let to = &mut gradients[(frame * self.row + place) * self.classes..][..self.classes];
            for (class, (gradient, &logit)) in
                to.iter_mut().zip(self.logits(frame, place)).enumerate()
            {
                let shared = logit + common;
                // What this class leads to: the end, the next frame, or the next label.
                let ahead =
                    if class == self.blank() && (frame + 1, place + 1) == (self.frames, places) {
                        Some(0.0)
                    } else if class == self.blank() && frame + 1 < self.frames {
                        Some(betas[at(frame + 1, place)])
                    } else if place + 1 < places && class == self.labels[place] as usize {
                        Some(betas[at(frame, place + 1)])
                    } else {
                        None
                    };
                let through = ahead.map_or(0.0, |ahead| (shared + ahead).exp());
                let value = if self.options.fused_log_softmax {
                    (shared + betas[here]).exp() - through
                } else {
                    -through
                };
                let bound = self.options.clamp as f32;
                *gradient = if bound > 0.0 { value.clamp(-bound, bound) } else { value };
            }
        }
        loss
    }
}

fn log_sum(logits: &[f32]) -> f32 {
    let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|&logit| (logit - greatest).exp()).sum();
    greatest + sum.ln()
}
