//! Sound at another sample rate: `torchaudio.functional.resample` with its defaults, a sinc under a Hann window.

/// Zero crossings on each side of the filter.
const LOWPASS_FILTER_WIDTH: f64 = 6.0;
/// The filter's cut-off, as a part of the lower rate's Nyquist frequency.
const ROLLOFF: f64 = 0.99;

/// Taps of the filter for outputs that stand alike between two inputs.
struct Phase {
    /// Where the first tap is, from the input at or before the output.
    first: i64,
    taps: Vec<f32>,
}

/// The samples of one channel at another rate.
pub fn resample(samples: &[f32], from: u32, to: u32) -> Vec<f32> {
    if from == to || samples.is_empty() {
        return samples.to_vec();
    }
    let divisor = gcd(from, to);
    let (from, to) = (u64::from(from / divisor), u64::from(to / divisor));
    let length = (samples.len() as u64 * to).div_ceil(from);
    let phases: Vec<Phase> = (0..to.min(length)).map(|at| phase(at, from, to)).collect();
    let mut out = Vec::with_capacity(length as usize);
    for block in 0..length.div_ceil(to) {
        let start = (block * from) as i64;
        for phase in phases.iter().take((length - block * to) as usize) {
            let first = start + phase.first;
            // What stands before the first and behind the last sample is silence.
            let skipped = (-first).max(0) as usize;
            let inputs = samples.get((first + skipped as i64) as usize..).unwrap_or_default();
            let taps = phase.taps.get(skipped..).unwrap_or_default();
            let products = inputs.iter().zip(taps).map(|(x, tap)| f64::from(*x) * f64::from(*tap));
            out.push(products.sum::<f64>() as f32);
        }
    }
    out
}

fn phase(at: u64, from: u64, to: u64) -> Phase {
    let base = from.min(to) as f64 * ROLLOFF;
    let half = LOWPASS_FILTER_WIDTH * from as f64 / base;
    let centre = at as f64 * from as f64 / to as f64;
    let (first, last) = ((centre - half).ceil() as i64, (centre + half).floor() as i64);
    let tap = |input: i64| {
        let t = (input as f64 / from as f64 - at as f64 / to as f64) * base;
        let t = t.clamp(-LOWPASS_FILTER_WIDTH, LOWPASS_FILTER_WIDTH);
        let window = (t * std::f64::consts::PI / LOWPASS_FILTER_WIDTH / 2.0).cos().powi(2);
        let t = t * std::f64::consts::PI;
        let sinc = if t == 0.0 { 1.0 } else { t.sin() / t };
        (sinc * window * base / from as f64) as f32
    };
    Phase { first, taps: (first..=last).map(tap).collect() }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By torchaudio's formula in PyTorch, of `sin(arange(12) * 0.7)`.
    #[test]
    fn samples_are_those_of_torchaudio() {
        let samples: Vec<f32> = (0..12).map(|at| (at as f32 * 0.7).sin()).collect();
        for (from, to, want) in GOLDEN {
            let found = resample(&samples, *from, *to);
            assert_eq!(found.len(), want.len(), "{from} {to}");
            for (found, want) in found.iter().zip(*want) {
                assert!((found - want).abs() < 1e-6, "{from} {to}: {found} {want}");
            }
        }
        assert_eq!(resample(&samples, 8000, 8000), samples);
        assert!(resample(&[], 1, 2).is_empty());
    }

    #[rustfmt::skip]
    #[expect(clippy::excessive_precision, reason = "as PyTorch printed them")]
    const GOLDEN: &[(u32, u32, &[f32])] = &[
        (8000, 16000, &[0.0018438529, 0.27975044, 0.6424405, 0.89412647, 0.98690552, 0.97104591, 0.86235583, 0.64325106, 0.33549359, -0.0091729462, -0.35082152, -0.6502955, -0.87166476, -0.98532259, -0.98318166, -0.86738688, -0.62935925, -0.3014738, 0.013573127, 0.30337107, 0.66157705, 1.0003964, 0.98299628, 0.51264924]),
        (16000, 8000, &[0.12765348, 0.95922452, 0.34519103, -0.8702572, -0.64851469, 0.70333695]),
        (44100, 16000, &[0.21157102, 0.90816414, -0.68104655, -0.38483563, 0.6419121]),
        (3, 5, &[0.0018438529, 0.35264021, 0.76316619, 0.96587896, 0.98118293, 0.86235583, 0.58716637, 0.19958165, -0.21700582, -0.59553331, -0.87166476, -0.99400359, -0.9508239, -0.73926622, -0.36932346, 0.013573127, 0.36759585, 0.81610239, 1.0512543, 0.62789875]),
    ];
}
