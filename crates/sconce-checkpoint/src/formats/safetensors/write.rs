//! The safetensors layout: the header's length, a JSON header, the elements.

use std::collections::BTreeMap;
use std::io::Write;

use sconce_source::StreamReader;
use sconce_tensor::{DType, Tensor};
use serde_json::{Map, Value, json};

use crate::formats::export::{Error, StorageUseCounts, elements};

const FORMAT: &str = "safetensors";

/// The order in which the `safetensors` library writes dtypes, largest alignment first; among
/// tensors of one dtype names decide.
static ORDER: [&str; 22] = [
    "U64",
    "I64",
    "F64",
    "C64",
    "F32",
    "U32",
    "I32",
    "BF16",
    "F16",
    "U16",
    "I16",
    "F8_E5M2FNUZ",
    "F8_E4M3FNUZ",
    "F8_E8M0",
    "F8_E4M3",
    "F8_E5M2",
    "I8",
    "U8",
    "F6_E3M2",
    "F6_E2M3",
    "F4",
    "BOOL",
];

/// The header with its padding, without the eight bytes that say its length, and the tensors in the
/// order of their elements (as indices of `tensors`).
///
/// The order, the spelling and the padding are those of the `safetensors` library.
///
/// # Errors
/// [`Error::DType`] and [`Error::Layout`] for tensors that the format cannot hold, and
/// [`Error::Name`] for one called `__metadata__` or a name that occurs twice.
pub fn safetensors_header(
    tensors: &[(String, Tensor)],
    metadata: &BTreeMap<String, String>,
) -> Result<(Vec<u8>, Vec<usize>), Error> {
    let mut rows = Vec::with_capacity(tensors.len());
    for (at, (name, tensor)) in tensors.iter().enumerate() {
        if name == "__metadata__" {
            let message = "a safetensors file keeps '__metadata__' for itself";
            return Err(Error::Name(message.to_owned()));
        }
        let dtype = dtype_name(name, tensor)?;
        let rank = ORDER.iter().position(|known| *known == dtype).unwrap_or(ORDER.len());
        rows.push((rank, name.as_str(), at, dtype));
    }
    rows.sort_unstable();
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].1 == pair[1].1) {
        return Err(Error::Name(format!("two tensors are called '{}'", pair[0].1)));
    }
    let mut header = Vec::from(b"{".as_slice());
    if !metadata.is_empty() {
        let pairs: Map<String, Value> =
            metadata.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        entry(&mut header, "__metadata__", &Value::Object(pairs).to_string());
    }
    let mut offset = 0u64;
    for (_, name, at, dtype) in &rows {
        let tensor = &tensors[*at].1;
        let end = offset.saturating_add(tensor.nbytes());
        let shape = json!(shape(tensor)).to_string();
        let info =
            format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{offset},{end}]}}"#);
        entry(&mut header, name, &info);
        offset = end;
    }
    header.push(b'}');
    header.resize(header.len().next_multiple_of(8), b' ');
    Ok((header, rows.into_iter().map(|(_, _, at, _)| at).collect()))
}

/// Bytes that [`write_safetensors`] will write.
///
/// # Errors
/// Those of [`safetensors_header`].
pub fn safetensors_len(
    tensors: &[(String, Tensor)],
    metadata: &BTreeMap<String, String>,
) -> Result<u64, Error> {
    let (header, _) = safetensors_header(tensors, metadata)?;
    let data = tensors.iter().fold(0u64, |sum, (_, tensor)| sum.saturating_add(tensor.nbytes()));
    Ok(data.saturating_add(8 + header.len() as u64))
}

/// Writes a safetensors file. `progress` is told the bytes of every part of a tensor after it was
/// written. Of a mapped file, no more than a few megabytes are in memory at a time.
///
/// # Errors
/// Those of [`safetensors_header`], of reading the elements and of writing them.
pub fn write_safetensors(
    tensors: &[(String, Tensor)],
    metadata: &BTreeMap<String, String>,
    mut out: impl Write,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let (header, order) = safetensors_header(tensors, metadata)?;
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    let (use_counts, mut reader) = (StorageUseCounts::of(tensors), StreamReader::new());
    for at in order {
        elements::parts(&mut reader, &use_counts.loaded(&tensors[at].1)?, |part| {
            out.write_all(part)?;
            progress(part.len() as u64);
            Ok(())
        })?;
    }
    out.flush()?;
    Ok(())
}

fn entry(header: &mut Vec<u8>, key: &str, value: &str) {
    if header.len() > 1 {
        header.push(b',');
    }
    header.extend_from_slice(Value::from(key).to_string().as_bytes());
    header.push(b':');
    header.extend_from_slice(value.as_bytes());
}

fn dtype_name(name: &str, tensor: &Tensor) -> Result<&'static str, Error> {
    crate::formats::npz::check_layout(name, tensor, FORMAT)?;
    let dtype = tensor.dtype();
    if dtype == DType::Float4E2M1FNx2 && tensor.ndim() == 0 {
        // Its two numbers would need a dimension of two, or half a byte.
        let what = "a scalar of two 4-bit numbers";
        return Err(Error::Layout { name: name.to_owned(), what, format: FORMAT });
    }
    dtype.safetensors_name().ok_or_else(|| Error::DType {
        name: name.to_owned(),
        dtype,
        format: FORMAT,
    })
}

/// Two 4-bit numbers of a `float4_e2m1fn_x2` count as two elements in a safetensors file.
fn shape(tensor: &Tensor) -> Vec<i64> {
    let mut shape = tensor.sizes().to_vec();
    if tensor.dtype() == DType::Float4E2M1FNx2
        && let Some(last) = shape.last_mut()
    {
        *last = last.saturating_mul(2);
    }
    shape
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use safetensors::tensor::TensorView;

    use super::*;

    fn tensors() -> Vec<(String, Tensor)> {
        let matrix = Tensor::from_vec((0..6).map(|i| i as f32).collect(), &[2, 3]).unwrap();
        vec![
            ("b".to_owned(), matrix.transpose(0, 1).unwrap()),
            ("a\"\n".to_owned(), Tensor::from_vec(vec![1i64, -2], &[2]).unwrap()),
            ("flag".to_owned(), Tensor::from_vec(vec![true], &[]).unwrap()),
            ("a".to_owned(), matrix.narrow(0, 0, 0).unwrap()),
            ("half".to_owned(), Tensor::from_vec(vec![3u8; 5], &[5]).unwrap()),
        ]
    }

    fn written(metadata: &BTreeMap<String, String>) -> Vec<u8> {
        let mut out = Vec::new();
        write_safetensors(&tensors(), metadata, &mut out, &mut |_| {}).unwrap();
        assert_eq!(out.len() as u64, safetensors_len(&tensors(), metadata).unwrap());
        out
    }

    #[test]
    fn byte_for_byte_what_the_library_writes() {
        let tensors = tensors();
        let bytes: Vec<_> = tensors.iter().map(|(_, t)| t.contiguous_bytes().unwrap()).collect();
        let views = tensors.iter().zip(&bytes).map(|((name, tensor), bytes)| {
            let dtype = serde_json::from_value(json!(tensor.dtype().safetensors_name())).unwrap();
            let shape = tensor.sizes().iter().map(|&size| size as usize).collect();
            (name.as_str(), TensorView::new(dtype, shape, bytes).unwrap())
        });
        let views: Vec<_> = views.collect();
        for metadata in [None, Some(HashMap::from([("format".to_owned(), "pt".to_owned())]))] {
            let theirs = safetensors::serialize(views.clone(), metadata.clone()).unwrap();
            let ours = written(&metadata.unwrap_or_default().into_iter().collect());
            assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_an_error_of_the_system() {
        let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let results = [
            write_safetensors(&tensors(), &BTreeMap::new(), full(), &mut |_| {}),
            crate::export::write_npz(&tensors(), full(), &mut |_| {}),
        ];
        for result in results {
            let Err(Error::Io(error)) = result else { panic!("{result:?}") };
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn pairs_of_small_numbers_count_as_two() {
        let pairs = |sizes: &[i64]| {
            let bytes = sconce_tensor::Storage::from_bytes(vec![0; 6].into(), Default::default());
            vec![("a".to_owned(), Tensor::contiguous(bytes, DType::Float4E2M1FNx2, sizes).unwrap())]
        };
        let (header, _) = safetensors_header(&pairs(&[3, 2]), &BTreeMap::new()).unwrap();
        let want = br#"{"a":{"dtype":"F4","shape":[3,4],"data_offsets":[0,6]}}"#;
        assert!(header.starts_with(want), "{}", String::from_utf8_lossy(&header));
        assert!(safetensors_header(&pairs(&[]), &BTreeMap::new()).is_err());
    }

    #[test]
    fn the_order_is_the_librarys() {
        use safetensors::Dtype;
        let known: Vec<Dtype> =
            ORDER.iter().map(|name| serde_json::from_value(json!(name)).unwrap()).collect();
        assert!(known.is_sorted_by(|a, b| a > b));
        for dtype in DType::all().filter_map(DType::safetensors_name) {
            assert!(ORDER.contains(&dtype), "{dtype}");
        }
    }

    #[test]
    fn what_the_format_cannot_hold_is_refused() {
        let complex = complex();
        let meta = Tensor::meta(DType::Float32, &[2], &[1]).unwrap();
        for (name, tensor) in [("complex", complex), ("meta", meta)] {
            let error = safetensors_header(&[(name.to_owned(), tensor)], &BTreeMap::new());
            assert_eq!(error.unwrap_err().kind(), crate::export::ErrorKind::Unsupported, "{name}");
        }
        let byte = Tensor::from_vec(vec![1u8], &[1]).unwrap();
        let named = safetensors_header(&[("__metadata__".to_owned(), byte)], &BTreeMap::new());
        assert!(matches!(named, Err(Error::Name(_))));
    }

    fn complex() -> Tensor {
        let bytes = sconce_tensor::Storage::from_bytes(vec![0; 16].into(), Default::default());
        Tensor::contiguous(bytes, DType::Complex128, &[1]).unwrap()
    }
}
