use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The device types that `torch.device` knows, in the order of its error message.
static KINDS: &[(&str, DeviceKind)] = &[
    ("cpu", DeviceKind::Cpu),
    ("cuda", DeviceKind::Cuda),
    ("ipu", DeviceKind::Ipu),
    ("xpu", DeviceKind::Xpu),
    ("mkldnn", DeviceKind::Mkldnn),
    ("opengl", DeviceKind::OpenGl),
    ("opencl", DeviceKind::OpenCl),
    ("ideep", DeviceKind::Ideep),
    ("hip", DeviceKind::Hip),
    ("ve", DeviceKind::Ve),
    ("fpga", DeviceKind::Fpga),
    ("maia", DeviceKind::Maia),
    ("xla", DeviceKind::Xla),
    ("lazy", DeviceKind::Lazy),
    ("vulkan", DeviceKind::Vulkan),
    ("mps", DeviceKind::Mps),
    ("meta", DeviceKind::Meta),
    ("hpu", DeviceKind::Hpu),
    ("mtia", DeviceKind::Mtia),
    ("privateuseone", DeviceKind::PrivateUse1),
];

/// The part of a device before the colon.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the variants are the names of torch's device types")]
pub enum DeviceKind {
    Cpu,
    Cuda,
    Ipu,
    Xpu,
    Mkldnn,
    OpenGl,
    OpenCl,
    Ideep,
    Hip,
    Ve,
    Fpga,
    Maia,
    Xla,
    Lazy,
    Vulkan,
    Mps,
    Meta,
    Hpu,
    Mtia,
    PrivateUse1,
    /// A back end that `torch.device` does not know by itself, such as a renamed `privateuseone`.
    Other(Box<str>),
}

impl DeviceKind {
    /// The name before the colon.
    pub fn name(&self) -> &str {
        if let DeviceKind::Other(name) = self {
            return name;
        }
        let found = KINDS.iter().find(|(_, kind)| kind == self);
        found.map_or("cpu", |(name, _)| name)
    }
}

/// Where a tensor lived when it was saved, `torch.device`.
///
/// sconce keeps all bytes in the memory of the CPU; a device is a label that is read, printed and
/// written back.
///
/// ```
/// use sconce_tensor::{Device, DeviceKind};
/// let device: Device = "cuda:1".parse().unwrap();
/// assert_eq!(device.kind, DeviceKind::Cuda);
/// assert_eq!(device.index, Some(1));
/// assert!("gpu".parse::<Device>().is_err());
/// assert_eq!(Device::from_location("npu:0").to_string(), "npu:0");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Device {
    /// The back end.
    pub kind: DeviceKind,
    /// The number behind the colon, if there is one.
    pub index: Option<u32>,
}

impl Device {
    /// The CPU, without an index.
    pub const CPU: Device = Device { kind: DeviceKind::Cpu, index: None };
    /// The device of tensors without data.
    pub const META: Device = Device { kind: DeviceKind::Meta, index: None };

    /// A device of a known kind.
    pub fn new(kind: DeviceKind, index: Option<u32>) -> Device {
        Device { kind, index }
    }

    /// The device of a storage's location tag. Never fails: a tag that `torch.device` would refuse
    /// is kept as text, so that it is written back as it was read.
    pub fn from_location(tag: &str) -> Device {
        if let Ok(device) = tag.parse() {
            return device;
        }
        if let Some((name, index)) = tag.split_once(':')
            && let Some(index) = canonical_index(index)
            && is_backend_name(name)
        {
            return Device { kind: DeviceKind::Other(name.into()), index: Some(index) };
        }
        Device { kind: DeviceKind::Other(tag.into()), index: None }
    }

    /// The name before the colon.
    pub fn name(&self) -> &str {
        self.kind.name()
    }

    /// Whether this is the CPU, with or without an index.
    pub fn is_cpu(&self) -> bool {
        self.kind == DeviceKind::Cpu
    }

    /// Whether this is the device of tensors without data.
    pub fn is_meta(&self) -> bool {
        self.kind == DeviceKind::Meta
    }

    /// The tag that a storage record carries: the text form.
    pub fn location(&self) -> Cow<'_, str> {
        match self.index {
            None => Cow::Borrowed(self.name()),
            Some(_) => Cow::Owned(self.to_string()),
        }
    }
}

fn is_backend_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A decimal number without sign or leading zeros: the only form that prints back as it was read.
fn canonical_index(text: &str) -> Option<u32> {
    let canonical =
        text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if canonical { text.parse().ok() } else { None }
}

impl Default for Device {
    fn default() -> Device {
        Device::CPU
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            None => f.write_str(self.name()),
            Some(index) => write!(f, "{}:{index}", self.name()),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    /// Reads what `torch.device(text)` reads, with its error messages. Indices above 127, which
    /// PyTorch lets wrap around, are kept.
    fn from_str(text: &str) -> Result<Device, Error> {
        if text.is_empty() {
            return Err(Error::InvalidDevice("Device string must not be empty".into()));
        }
        let invalid = || Error::InvalidDevice(format!("Invalid device string: '{text}'"));
        let (name, index) = match text.split_once(':') {
            None => (text, None),
            Some((name, index)) => (name, Some(canonical_index(index).ok_or_else(invalid)?)),
        };
        if !is_backend_name(name) {
            return Err(invalid());
        }
        match KINDS.iter().find(|(known, _)| *known == name) {
            Some((_, kind)) => Ok(Device { kind: kind.clone(), index }),
            None => {
                let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
                Err(Error::InvalidDevice(format!(
                    "Expected one of {} device type at start of device string: {name}",
                    known.join(", ")
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_what_torch_does() {
        for text in ["cpu", "cuda:0", "cpu:0", "meta", "privateuseone:1", "xla", "fpga:3", "maia"] {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_with_torchs_words() {
        let one_of = "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, \
                      fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type \
                      at start of device string: ";
        let cases = [
            ("", "Device string must not be empty".to_owned()),
            ("foo", format!("{one_of}foo")),
            ("CUDA", format!("{one_of}CUDA")),
            ("ort", format!("{one_of}ort")),
            ("cuda:", "Invalid device string: 'cuda:'".to_owned()),
            ("cuda:01", "Invalid device string: 'cuda:01'".to_owned()),
            ("cuda:-1", "Invalid device string: 'cuda:-1'".to_owned()),
            ("cuda:0:1", "Invalid device string: 'cuda:0:1'".to_owned()),
            ("cuda :0", "Invalid device string: 'cuda :0'".to_owned()),
        ];
        for (text, want) in cases {
            assert_eq!(text.parse::<Device>().unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn location_tags_survive() {
        for tag in ["cpu", "cuda:7", "npu:0", "npu", "cuda0", "a:b:c", "", "cuda:01", ":1", "é:3"]
        {
            assert_eq!(Device::from_location(tag).to_string(), tag);
        }
        assert_eq!(Device::from_location("npu:2").index, Some(2));
    }
}
