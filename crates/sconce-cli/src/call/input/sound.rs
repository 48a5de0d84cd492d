//! Sound as tensors: float32, channels x samples, -1 to 1, as `torchaudio.load` gives its waveform.

use std::io::Cursor;

use hound::{SampleFormat, WavReader};
use sconce::run::{IValue, RunTensor};

use crate::error::Failure;

/// Decodes a WAV file of integer or float samples.
pub fn read(bytes: &[u8], file: &str) -> Result<IValue, Failure> {
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
    let channel = |at: usize| samples.iter().skip(at).step_by(channels).copied();
    let elements: Vec<f32> = (0..channels).flat_map(channel).collect();
    let sizes = [channels as i64, (samples.len() / channels) as i64];
    let tensor = RunTensor::from_slice(&elements, &sizes)
        .map_err(|error| Failure::unreadable(error.message()).in_file(file))?;
    Ok(IValue::Tensor(tensor))
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
        let value = read(file.get_ref(), "x.wav").unwrap();
        let tensor = value.as_tensor().unwrap();
        assert_eq!(tensor.sizes(), [2, 2]);
        assert_eq!(tensor.to_vec::<f32>().unwrap(), [-1.0, 0.0, 0.5, 0.25]);
        assert!(read(&file.get_ref()[..20], "x.wav").is_err());
    }
}
