//! Values of flags that several verbs take.

use sconce::MapLocation;
use sconce::tensor::{DType, Device};

/// The name of a dtype, as PyTorch has it or in short: `bfloat16` or `bf16`.
pub fn dtype(text: &str) -> Result<DType, String> {
    let name = match text.to_ascii_lowercase().as_str() {
        "bf16" => "bfloat16",
        "fp16" | "f16" | "half" => "float16",
        "fp32" | "f32" => "float32",
        "fp64" | "f64" => "float64",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" => "int64",
        "u8" => "uint8",
        _ => text,
    };
    name.parse().map_err(|error: sconce::tensor::Error| error.to_string())
}

/// Where tensors go: a device for all of them (`cpu`, `cuda:1`), or from one to another (`cuda:0=cpu`).
#[derive(Debug, Clone)]
pub enum Place {
    /// All to one device.
    All(Device),
    /// What was saved on the first goes to the second.
    From(String, String),
}

/// A device, or `FROM=TO`.
pub fn place(text: &str) -> Result<Place, String> {
    let device = |text: &str| text.parse::<Device>().map_err(|error| error.to_string());
    match text.split_once('=') {
        None => device(text).map(Place::All),
        Some((from, to)) => {
            device(from)?;
            device(to)?;
            Ok(Place::From(from.to_owned(), to.to_owned()))
        }
    }
}

/// What `torch.load` would be given as `map_location`; a device for all cannot stand beside pairs.
pub fn map_location(places: &[Place]) -> Result<MapLocation, String> {
    let mut pairs = Vec::new();
    for place in places {
        match place {
            Place::All(device) if places.len() == 1 => {
                return Ok(MapLocation::Device(device.clone()));
            }
            Place::All(device) => {
                return Err(format!(
                    "'{device}' is for all tensors; name FROM=TO for each device, or one device alone"
                ));
            }
            Place::From(from, to) => pairs.push((from.clone(), to.clone())),
        }
    }
    Ok(if pairs.is_empty() { MapLocation::Default } else { MapLocation::Map(pairs) })
}

/// As [`size`], but GB are those of Hugging Face and disk makers: powers of ten.
pub fn decimal_size(text: &str) -> Result<u64, String> {
    let power = match text.to_ascii_lowercase() {
        lower if lower.ends_with("kb") => 1,
        lower if lower.ends_with("mb") => 2,
        lower if lower.ends_with("gb") => 3,
        lower if lower.ends_with("tb") => 4,
        _ => return size(text),
    };
    let number: f64 =
        text[..text.len() - 2].trim().parse().map_err(|_| "not a number".to_owned())?;
    if !(0.0..=1e6).contains(&number) {
        return Err("not a size".to_owned());
    }
    Ok((number * 1000f64.powi(power)) as u64)
}

/// `4096`, `64K`, `1.5GiB`.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err("a size is a number with K, M, G or T behind it".to_owned()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| "not a number".to_owned())?;
    if !(0.0..=1e18).contains(&number) {
        return Err("not a size".to_owned());
    }
    Ok((number * (1u64 << shift) as f64) as u64)
}

pub fn offset(text: &str) -> Result<usize, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_offsets() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64K"), Ok(64 << 10));
        assert_eq!(size("1.5GiB"), Ok(3 << 29));
        assert!(size("x").is_err() && size("-1").is_err() && size("1X").is_err());
        assert_eq!(decimal_size("5GB"), Ok(5_000_000_000));
        assert_eq!(decimal_size("1.5kb"), Ok(1500));
        assert_eq!(decimal_size("2GiB"), Ok(2 << 30));
        assert!(decimal_size("xMB").is_err() && decimal_size("-1GB").is_err());
        assert_eq!(offset("0x1c4"), Ok(0x1c4));
        assert_eq!(offset("12"), Ok(12));
    }
}
