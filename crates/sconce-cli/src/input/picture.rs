//! Pictures as tensors: float32, 1 x channels x height x width, 0 to 1.

use std::io::Cursor;

use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageReader, Luma, Pixel, Rgb};
use sconce::run::{IValue, Tensor};

use crate::calling::PictureOptions;
use crate::error::Failure;

/// Decodes a PNG or JPEG file. Alpha is dropped; elements are the stored values divided by the
/// largest possible (255, 65535), as torchvision's `to_image` and `to_dtype(scale=True)` give them.
pub fn read(bytes: &[u8], options: &PictureOptions, file: &str) -> Result<IValue, Failure> {
    let wrong = |error: image::ImageError| {
        Failure::unreadable(format!("the picture cannot be read: {error}")).in_file(file)
    };
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let reader = reader.map_err(|error| Failure::unreadable(error.to_string()).in_file(file))?;
    let picture = reader.decode().map_err(wrong)?;
    let gray = match (options.gray, options.rgb) {
        (true, _) => true,
        (_, true) => false,
        _ => !picture.color().has_color(),
    };
    let (channels, sizes, mut elements) = match gray {
        true => (1, size_of(&picture, options), planes::<Luma<f32>>(gray_of(&picture), options)),
        false => (3, size_of(&picture, options), planes::<Rgb<f32>>(picture.to_rgb32f(), options)),
    };
    normalise(&mut elements, channels, options)?;
    let sizes = [1, channels as i64, i64::from(sizes.0), i64::from(sizes.1)];
    let tensor = Tensor::from_slice(&elements, &sizes)
        .map_err(|error| Failure::unreadable(error.message()).in_file(file))?;
    Ok(IValue::Tensor(tensor))
}

/// Brightness by the weights of ITU-R 601, as `PIL.Image.convert("L")` has them.
fn gray_of(picture: &DynamicImage) -> image::ImageBuffer<Luma<f32>, Vec<f32>> {
    if !picture.color().has_color() {
        return picture.to_luma32f();
    }
    let rgb = picture.to_rgb32f();
    image::ImageBuffer::from_fn(rgb.width(), rgb.height(), |x, y| {
        let Rgb([r, g, b]) = *rgb.get_pixel(x, y);
        Luma([0.299 * r + 0.587 * g + 0.114 * b])
    })
}

/// Height and width of the tensor.
fn size_of(picture: &DynamicImage, options: &PictureOptions) -> (u32, u32) {
    options.resize.unwrap_or((picture.height(), picture.width()))
}

/// The channels one behind the other, each row by row.
fn planes<P: Pixel<Subpixel = f32> + 'static>(
    picture: image::ImageBuffer<P, Vec<f32>>,
    options: &PictureOptions,
) -> Vec<f32> {
    let picture = match options.resize {
        Some((height, width)) if (height, width) != (picture.height(), picture.width()) => {
            imageops::resize(&picture, width, height, FilterType::Triangle)
        }
        _ => picture,
    };
    let channels = usize::from(P::CHANNEL_COUNT);
    let interleaved = picture.into_raw();
    let channel = |at: usize| interleaved.iter().skip(at).step_by(channels).copied();
    (0..channels).flat_map(channel).collect()
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

    fn png(picture: DynamicImage) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, image::ImageFormat::Png).unwrap();
        out.into_inner()
    }

    fn read_as(bytes: &[u8], options: &PictureOptions) -> (Vec<i64>, Vec<f32>) {
        let value = read(bytes, options, "x.png").unwrap();
        let tensor = value.as_tensor().unwrap();
        (tensor.sizes().to_vec(), tensor.to_vec().unwrap())
    }

    #[test]
    fn channels_stand_one_behind_the_other() {
        let rgba = image::RgbaImage::from_raw(2, 1, vec![255, 0, 51, 9, 0, 102, 0, 255]).unwrap();
        let bytes = png(rgba.into());
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
        let gray =
            image::ImageBuffer::<Luma<u16>, _>::from_raw(1, 2, vec![65535u16, 13107]).unwrap();
        let bytes = png(gray.into());
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
