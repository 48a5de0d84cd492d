//! Sound as tensors: float32, channels x samples, -1 to 1, as `torchaudio.load` gives its waveform.

use std::io::Cursor;

use hound::{SampleFormat, WavReader};
use sconce::run::{IValue, RunTensor};

use super::sinc_resample::resample;
use crate::arguments::call::SoundOptions;
use crate::error::Failure;

/// The most samples that resampling may make: six hours at 48 kHz.
const MOST_SAMPLES: u64 = 1 << 30;

/// Decodes a WAV file of integer or float samples.
pub fn read(bytes: &[u8], options: SoundOptions, file: &str) -> Result<IValue, Failure> {
    let wrong = |error: hound::Error| {
        Failure::unreadable(format!("the sound cannot be read: {error}")).in_file(file)
    };
    let reader = WavReader::new(Cursor::new(bytes)).map_err(wrong)?;
    let spec = reader.spec();
    let samples: Result<Vec<f32>, hound::Error> = match spec.sample_format {
        SampleFormat::Float => reader.into_samples::<f32>().collect(),
        // The header can say anything.
        SampleFormat::Int if !(1..=32).contains(&spec.bits_per_sample) => {
            Err(hound::Error::FormatError("samples of no number of bits that there is"))
        }
        SampleFormat::Int => {
            let full = (1u64 << (spec.bits_per_sample - 1)) as f32;
            reader.into_samples::<i32>().map(|sample| Ok(sample? as f32 / full)).collect()
        }
    };
    let samples = samples.map_err(wrong)?;
    let channels = usize::from(spec.channels).max(1);
    let channel =
        |at: usize| -> Vec<f32> { samples.iter().skip(at).step_by(channels).copied().collect() };
    let mut sound: Vec<Vec<f32>> = match options.mono {
        true => vec![samples.chunks(channels).map(mean).collect()],
        false => (0..channels).map(channel).collect(),
    };
    if let Some(rate) = options.sample_rate {
        check_rate(spec.sample_rate, rate, samples.len() as u64)
            .map_err(|failure| failure.in_file(file))?;
        sound = sound.iter().map(|channel| resample(channel, spec.sample_rate, rate)).collect();
    }
    let sizes = [sound.len() as i64, sound.first().map_or(0, Vec::len) as i64];
    let elements = sound.concat();
    let tensor = RunTensor::from_slice(&elements, &sizes)
        .map_err(|error| Failure::unreadable(error.message()).in_file(file))?;
    Ok(IValue::Tensor(tensor))
}

fn mean(frame: &[f32]) -> f32 {
    frame.iter().sum::<f32>() / frame.len().max(1) as f32
}

/// Whether sound of a file can be resampled.
fn check_rate(from: u32, to: u32, samples: u64) -> Result<(), Failure> {
    if from == 0 {
        return Err(Failure::unreadable("the sound has a sample rate of 0"));
    }
    if samples.saturating_mul(u64::from(to)) / u64::from(from) > MOST_SAMPLES {
        let message =
            format!("resampled from {from} to {to} samples a second, the sound is too long");
        return Err(Failure::usage(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hound::{WavSpec, WavWriter};

    use super::*;

    #[test]
    fn samples_are_parted_by_channel() {
        let spec = WavSpec {
            channels: 2,
            sample_rate: 8000,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        };
        let mut file = Cursor::new(Vec::new());
        let mut writer = WavWriter::new(&mut file, spec).unwrap();
        for sample in [-32768i16, 16384, 0, 8192] {
            writer.write_sample(sample).unwrap();
        }
        writer.finalize().unwrap();
        let sound = |options| {
            let value = read(file.get_ref(), options, "x.wav").ok()?;
            let tensor = value.as_tensor()?.clone();
            Some((tensor.sizes().to_vec(), tensor.to_vec::<f32>().ok()?))
        };
        let as_it_is = SoundOptions::default();
        assert_eq!(sound(as_it_is), Some((vec![2, 2], vec![-1.0, 0.0, 0.5, 0.25])));
        let mono = SoundOptions { mono: true, ..as_it_is };
        assert_eq!(sound(mono), Some((vec![1, 2], vec![-0.25, 0.125])));
        let same = SoundOptions { sample_rate: Some(8000), ..as_it_is };
        assert_eq!(sound(same), sound(as_it_is));
        let faster = SoundOptions { sample_rate: Some(16000), ..mono };
        assert_eq!(sound(faster).map(|(sizes, _)| sizes), Some(vec![1, 4]));
        assert!(read(&file.get_ref()[..20], as_it_is, "x.wav").is_err());
        assert!(check_rate(1, 768_000, 1 << 20).is_err() && check_rate(0, 1, 1).is_err());
    }
}
