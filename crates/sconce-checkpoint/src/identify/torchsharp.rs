//! TorchSharp's own format: a state dict, one tensor, or the state of an optimizer, without any
//! signature.

use super::protobuf::varint;

/// Optimizers, by the names their states begin with.
static OPTIMIZERS: [&str; 11] = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSProp", "Rprop",
    "SGD",
];
/// Bytes per element of the dtypes, by PyTorch's number (uint8, int8, ..., bfloat16).
static ITEM_SIZES: [u64; 16] = [1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2];
/// Dimensions that are believed.
const MAX_DIMS: u64 = 16;

/// What it holds, in words.
pub(super) fn identify(bytes: &[u8], file_len: usize) -> Option<String> {
    let mut at = 0;
    if let Some(len) = tensor(bytes, &mut at)
        && len == (file_len - at) as u64
    {
        return Some("one tensor".to_owned());
    }
    if let Some(name) = short_name(bytes, 0)
        && OPTIMIZERS.contains(&name)
        && file_len > 1 + name.len()
    {
        return Some(format!("the state of {name}"));
    }
    let mut at = 0;
    let count = varint(bytes, &mut at)?;
    let name_len = usize::try_from(varint(bytes, &mut at)?).ok()?;
    let name = bytes.get(at..at.checked_add(name_len)?)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if count == 0 || name.is_empty() || !name.iter().all(plain) {
        return None;
    }
    at += name_len;
    let len = tensor(bytes, &mut at)?;
    let left = (file_len - at) as u64;
    let fits = if count == 1 { len == left } else { len < left };
    let tensors = if count == 1 { "tensor" } else { "tensors" };
    fits.then(|| format!("a state dict of {count} {tensors}"))
}

/// Reads a dtype and a shape, and gives the bytes of data that follow.
fn tensor(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let dtype = usize::try_from(varint(bytes, at)?).ok()?;
    let mut len = *ITEM_SIZES.get(dtype)?;
    let dims = varint(bytes, at)?;
    if dims == 0 || dims > MAX_DIMS {
        return None;
    }
    for _ in 0..dims {
        len = len.checked_mul(varint(bytes, at)?)?;
    }
    Some(len)
}

fn short_name(bytes: &[u8], at: usize) -> Option<&str> {
    let len = usize::from(*bytes.get(at)?);
    std::str::from_utf8(bytes.get(at + 1..at + 1 + len)?).ok()
}
