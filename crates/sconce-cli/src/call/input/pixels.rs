//! PNG and JPEG files decoded to planes of numbers from 0 to 1.

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Most bytes that a decoded picture may take. A file of a few kilobytes can claim gigabytes.
const MAX_DECODED_BYTES: usize = 512 << 20;

/// A decoded picture: its channels one behind the other, each row by row.
pub struct Pixels {
    pub width: usize,
    pub height: usize,
    /// One plane for grey pictures, three (red, green, blue) for others. Alpha is dropped.
    pub planes: Vec<Vec<f32>>,
}

impl Pixels {
    /// Decodes a PNG or JPEG file, told apart by its first bytes. Errors say what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Pixels, String> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            return decode_png(bytes);
        }
        if bytes.starts_with(b"\xff\xd8\xff") {
            return decode_jpeg(bytes);
        }
        Err("it is neither PNG nor JPEG".to_owned())
    }

    /// Splits interleaved channels into planes. Of `stored` channels those that are colours are kept.
    fn from_interleaved(
        (width, height): (usize, usize),
        stored: usize,
        numbers: impl Fn(usize) -> f32,
    ) -> Pixels {
        let colours = if stored < 3 { 1 } else { 3 };
        let plane =
            |channel| (0..width * height).map(|at| numbers(at * stored + channel)).collect();
        Pixels { width, height, planes: (0..colours).map(plane).collect() }
    }

    /// The picture in grey: brightness by the weights of ITU-R 601, as `PIL.Image.convert("L")` has them.
    pub fn into_grey(mut self) -> Pixels {
        if let [red, green, blue] = &self.planes[..] {
            let grey = red.iter().zip(green).zip(blue);
            let grey = grey.map(|((r, g), b)| 0.299 * r + 0.587 * g + 0.114 * b).collect();
            self.planes = vec![grey];
        }
        self
    }

    /// The picture with three channels: those of a grey one are alike.
    pub fn into_rgb(mut self) -> Pixels {
        if let [grey] = &self.planes[..] {
            self.planes = vec![grey.clone(), grey.clone(), grey.clone()];
        }
        self
    }
}

fn decode_png(bytes: &[u8]) -> Result<Pixels, String> {
    let limits = png::Limits { bytes: MAX_DECODED_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    // Palettes become colours, samples of 1, 2 and 4 bits become bytes.
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let size = reader.output_buffer_size().unwrap_or(usize::MAX);
    let mut decoded = buffer(size)?;
    let frame = reader.next_frame(&mut decoded).map_err(|error| error.to_string())?;
    let size = (frame.width as usize, frame.height as usize);
    let stored = frame.color_type.samples();
    match frame.bit_depth {
        png::BitDepth::Eight => {
            Ok(Pixels::from_interleaved(size, stored, |at| f32::from(decoded[at]) / 255.0))
        }
        png::BitDepth::Sixteen => Ok(Pixels::from_interleaved(size, stored, |at| {
            f32::from(u16::from_be_bytes([decoded[2 * at], decoded[2 * at + 1]])) / 65535.0
        })),
        other => Err(format!("samples of {} bits were not expanded", other as u8)),
    }
}

fn decode_jpeg(bytes: &[u8]) -> Result<Pixels, String> {
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| error.to_string())?;
    let grey = matches!(decoder.input_colorspace(), Some(ColorSpace::Luma | ColorSpace::LumaA));
    let (colours, stored) = if grey { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    let mut decoded = buffer(decoder.output_buffer_size().unwrap_or(usize::MAX))?;
    decoder.decode_into(&mut decoded).map_err(|error| error.to_string())?;
    let info = decoder.info().ok_or("it has no frame header")?;
    let size = (usize::from(info.width), usize::from(info.height));
    Ok(Pixels::from_interleaved(size, stored, |at| f32::from(decoded[at]) / 255.0))
}

fn buffer(bytes: usize) -> Result<Vec<u8>, String> {
    if bytes > MAX_DECODED_BYTES {
        let most = MAX_DECODED_BYTES >> 20;
        return Err(format!(
            "it has {bytes} bytes of pixels, more than the {most} MiB that are read"
        ));
    }
    Ok(vec![0; bytes])
}
