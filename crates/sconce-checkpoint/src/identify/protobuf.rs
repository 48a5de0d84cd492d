//! Protocol buffers have no signature: the outermost fields tell ONNX models and SavedModels apart.

use super::FileKind;

/// Fields that are looked at.
const MAX_FIELDS: usize = 64;

/// What a message may be whose outermost fields span the whole file.
pub(super) fn identify(bytes: &[u8], file_len: usize) -> Option<FileKind> {
    // Both begin with a version, field 1.
    let [0x08, 1..=31, ..] = bytes else { return None };
    let mut at = 0;
    let mut seen = [0u32; 32];
    for _ in 0..MAX_FIELDS {
        // A field may be longer than what is looked at.
        if at == file_len || at >= bytes.len() {
            break;
        }
        let key = varint(bytes, &mut at)?;
        let field = usize::try_from(key >> 3).ok()?;
        match key & 7 {
            0 => {
                varint(bytes, &mut at)?;
            }
            2 => {
                let len = usize::try_from(varint(bytes, &mut at)?).ok()?;
                at = at.checked_add(len).filter(|end| *end <= file_len)?;
            }
            _ => return None,
        }
        *seen.get_mut(field)? += 1;
    }
    let only = |fields: &[usize]| (0..32).all(|field| seen[field] == 0 || fields.contains(&field));
    // ModelProto: ir_version, producer_name, producer_version, domain, model_version, doc_string,
    // graph, opset_import, metadata_props, training_info, functions.
    if seen[7] == 1 && only(&[1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26]) {
        return Some(FileKind::Onnx);
    }
    // SavedModel: saved_model_schema_version, meta_graphs.
    (bytes[1] == 1 && seen[1] == 1 && seen[2] > 0 && only(&[1, 2]) && at == file_len)
        .then_some(FileKind::TfSavedModel)
}

/// A base-128 number.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
