//! `torchaudio.functional.forced_align`: the likeliest way to say given labels, frame by frame, of all that connectionist
//! temporal classification (CTC) allows.
//!
//! States are the labels with a blank before, between and after them: `2 L + 1` of them. A frame stays in a state, goes
//! to the next, or skips a blank between two labels that differ.

use half::f16;

use crate::{DType, Error, Result, Tensor};

/// The label of each frame, `(1, T)` in the dtype of `targets`, and the log-probabilities as they were given.
///
/// `log_probs` is `(1, T, classes)`, `targets` `(1, L)`, both lengths `(1,)`.
///
/// # Errors
/// In torchaudio's words, and for targets that are no class.
pub fn forced_align(
    log_probs: &Tensor,
    targets: &Tensor,
    input_lengths: &Tensor,
    target_lengths: &Tensor,
    blank: i64,
) -> Result<(Tensor, Tensor)> {
    if !matches!(log_probs.dtype(), DType::Float64 | DType::Float32 | DType::Float16) {
        return fail("log_probs must be float64, float32 or float16 (half) type");
    }
    if !matches!(targets.dtype(), DType::Int32 | DType::Int64) {
        return fail("targets must be int32 or int64 type");
    }
    let &[batch, frames, classes] = log_probs.sizes() else {
        return fail("log_probs must be 3-D (batch_size, input length, num classes)");
    };
    let &[target_batch, length] = targets.sizes() else {
        return fail("targets must be 2-D (batch_size, target length)");
    };
    if input_lengths.dim() != 1 {
        return fail("input_lengths must be 1-D (batch_size,)");
    }
    if target_lengths.dim() != 1 {
        return fail("target_lengths must be 1-D (batch_size,)");
    }
    if batch != 1 {
        return fail("The batch dimension for log_probs must be 1 at the current version.");
    }
    if target_batch != 1 {
        return fail("The batch dimension for targets must be 1 at the current version.");
    }
    if !(0..classes).contains(&blank) {
        return fail("blank must be within [0, num classes)");
    }
    if greatest(input_lengths)? != Some(frames) {
        return fail("input length mismatch");
    }
    if greatest(target_lengths)? != Some(length) {
        return fail("target length mismatch");
    }
    let labels = targets.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    if labels.iter().any(|label| !(0..classes).contains(label)) {
        return fail("targets values must be less than the CTC dimension");
    }
    let states = States { labels: &labels, blank: blank as usize };
    let (frames, classes) = (frames as usize, classes as usize);
    let path = match log_probs.dtype() {
        DType::Float64 => states.path(&log_probs.to_vec::<f64>()?, frames, classes, |sum| sum)?,
        // Sums of halves are rounded to halves.
        DType::Float16 => {
            states.path(&doubles(log_probs)?, frames, classes, |sum| f16::from_f64(sum).to_f64())?
        }
        _ => states.path(&doubles(log_probs)?, frames, classes, |sum| f64::from(sum as f32))?,
    };
    let path = Tensor::from_slice(&path, &[1, frames as i64])?.to_dtype(targets.dtype())?;
    Ok((path, log_probs.clone()))
}

fn fail<T>(message: &str) -> Result<T> {
    Err(Error::runtime(message))
}

fn doubles(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to_dtype(DType::Float64)?.to_vec()
}

fn greatest(lengths: &Tensor) -> Result<Option<i64>> {
    Ok(lengths.to_dtype(DType::Int64)?.to_vec::<i64>()?.into_iter().max())
}

/// The states between which the way goes.
struct States<'a> {
    labels: &'a [i64],
    blank: usize,
}

impl States<'_> {
    /// The class that a state says.
    fn class(&self, state: usize) -> usize {
        if state.is_multiple_of(2) { self.blank } else { self.labels[state / 2] as usize }
    }

    /// Whether a state may be come to from two before: between two labels that differ.
    fn skips(&self, state: usize) -> bool {
        !state.is_multiple_of(2)
            && state > 1
            && self.labels[state / 2] != self.labels[state / 2 - 1]
    }

    fn path(
        &self,
        log_probs: &[f64],
        frames: usize,
        classes: usize,
        round: impl Fn(f64) -> f64,
    ) -> Result<Vec<i64>> {
        let length = self.labels.len();
        let count = 2 * length + 1;
        let repeats = self.labels.windows(2).filter(|pair| pair[0] == pair[1]).count();
        if frames < length + repeats {
            return Err(Error::runtime(format!(
                "targets length is too long for CTC. Found log_probs length: {frames}, targets length: {length}, \
                 and number of repeats: {repeats}"
            )));
        }
        if frames == 0 {
            return Ok(Vec::new());
        }
        // How many states back each state was come from, frame by frame.
        let cells = frames.checked_mul(count);
        let mut back = Vec::new();
        let room = cells.is_some_and(|cells| back.try_reserve_exact(cells).is_ok());
        if !room {
            return fail("not enough memory for the states of all frames");
        }
        back.resize(frames * count, 0_u8);
        let mut scores = vec![f64::NEG_INFINITY; count];
        let mut before = scores.clone();
        for state in 0..count.min(2) {
            scores[state] = log_probs[self.class(state)];
        }
        for frame in 1..frames {
            std::mem::swap(&mut scores, &mut before);
            let log_probs = &log_probs[frame * classes..][..classes];
            for state in 0..count {
                let stay = before[state];
                let next = if state >= 1 { before[state - 1] } else { f64::NEG_INFINITY };
                let skip = if self.skips(state) { before[state - 2] } else { f64::NEG_INFINITY };
                let (best, from) = if skip > next && skip > stay {
                    (skip, 2)
                } else if next > stay && next > skip {
                    (next, 1)
                } else {
                    (stay, 0)
                };
                scores[state] = round(best + log_probs[self.class(state)]);
                back[frame * count + state] = from;
            }
        }
        let mut state = match count {
            1 => 0,
            _ if scores[count - 1] > scores[count - 2] => count - 1,
            _ => count - 2,
        };
        let mut path = vec![0; frames];
        for frame in (0..frames).rev() {
            path[frame] = self.class(state) as i64;
            state = state.saturating_sub(usize::from(back[frame * count + state]));
        }
        Ok(path)
    }
}
