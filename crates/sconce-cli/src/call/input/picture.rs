//! Pictures as tensors: float32, 1 x channels x height x width, 0 to 1.

use sconce::run::{IValue, RunTensor};

use super::pixels::Pixels;
use super::resample::resize;
use crate::arguments::call::PictureOptions;
use crate::error::Failure;

/// Decodes a PNG or JPEG file. Alpha is dropped; elements are the stored values divided by the
/// largest possible (255, 65535), as torchvision's `to_image` and `to_dtype(scale=True)` give them.
pub fn read(bytes: &[u8], options: &PictureOptions, file: &str) -> Result<IValue, Failure> {
    let picture = Pixels::decode(bytes).map_err(|why| {
        Failure::unreadable(format!("the picture cannot be read: {why}")).in_file(file)
    })?;
    let picture = match (options.gray, options.rgb) {
        (true, _) => picture.into_grey(),
        (_, true) => picture.into_rgb(),
        _ => picture,
    };
    let picture = match options.resize {
        Some((height, width)) => resize(picture, height as usize, width as usize),
        None => picture,
    };
    let channels = picture.planes.len();
    let mut elements = picture.planes.concat();
    normalise(&mut elements, channels, options)?;
    let sizes = [1, channels as i64, picture.height as i64, picture.width as i64];
    let tensor = RunTensor::from_slice(&elements, &sizes)
        .map_err(|error| Failure::unreadable(error.message()).in_file(file))?;
    Ok(IValue::Tensor(tensor))
}

/// `--mean` and `--std`, for each channel or one for all.
fn normalise(
    elements: &mut [f32],
    channels: usize,
    options: &PictureOptions,
) -> Result<(), Failure> {
    let per_channel = |name: &str, given: &[f32], default: f32| match *given {
        [] => Ok(vec![default; channels]),
        [one] => Ok(vec![one; channels]),
        _ if given.len() == channels => Ok(given.to_vec()),
        _ => Err(Failure::usage(format!(
            "{name} has {} numbers, the picture {channels} channels",
            given.len()
        ))),
    };
    let mean = per_channel("--mean", &options.mean, 0.0)?;
    let std = per_channel("--std", &options.std, 1.0)?;
    let plane = elements.len() / channels;
    for (plane, (mean, std)) in elements.chunks_mut(plane.max(1)).zip(mean.into_iter().zip(std)) {
        plane.iter_mut().for_each(|x| *x = (*x - mean) / std);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(
        size: (u32, u32),
        colours: png::ColorType,
        depth: png::BitDepth,
        data: &[u8],
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, size.0, size.1);
        encoder.set_color(colours);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        out
    }

    fn read_as(bytes: &[u8], options: &PictureOptions) -> (Vec<i64>, Vec<f32>) {
        let value = read(bytes, options, "x.png").unwrap();
        let tensor = value.as_tensor().unwrap();
        (tensor.sizes().to_vec(), tensor.to_vec().unwrap())
    }

    #[test]
    fn channels_stand_one_behind_the_other() {
        let rgba = [255, 0, 51, 9, 0, 102, 0, 255];
        let bytes = png((2, 1), png::ColorType::Rgba, png::BitDepth::Eight, &rgba);
        let (sizes, elements) = read_as(&bytes, &PictureOptions::default());
        assert_eq!(sizes, [1, 3, 1, 2]);
        assert_eq!(elements, [1.0, 0.0, 0.0, 0.4, 0.2, 0.0]);
        let options = PictureOptions { mean: vec![0.5], std: vec![0.5], ..Default::default() };
        assert_eq!(read_as(&bytes, &options).1[..2], [1.0, -1.0]);
        let options = PictureOptions { gray: true, ..Default::default() };
        assert_eq!(read_as(&bytes, &options).0, [1, 1, 1, 2]);
        let options = PictureOptions { mean: vec![0.5, 0.5], ..Default::default() };
        assert_eq!(read(&bytes, &options, "x.png").unwrap_err().code(), 3);
    }

    #[test]
    fn grey_pictures_of_16_bits_have_one_channel() {
        let grey = [0xff, 0xff, 0x33, 0x33];
        let bytes = png((1, 2), png::ColorType::Grayscale, png::BitDepth::Sixteen, &grey);
        let (sizes, elements) = read_as(&bytes, &PictureOptions::default());
        assert_eq!((sizes, elements), (vec![1, 1, 2, 1], vec![1.0, 0.2]));
        let options = PictureOptions { rgb: true, resize: Some((4, 6)), ..Default::default() };
        assert_eq!(read_as(&bytes, &options).0, [1, 3, 4, 6]);
    }

    #[test]
    fn what_is_no_picture_is_an_error() {
        let error = read(b"\x89PNG\r\n\x1a\nnot really", &PictureOptions::default(), "x.png");
        assert!(error.unwrap_err().message().starts_with("the picture cannot be read"));
    }
}
