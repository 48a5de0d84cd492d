use sconce_source::Source;

use super::*;

/// A zip file of stored, empty records.
fn zip_of(names: &[&str]) -> Vec<u8> {
    zip_with_flags(names, 0)
}

fn zip_with_flags(names: &[&str], flags: u16) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for name in names {
        let offset = file.len() as u32;
        let len = (name.len() as u16).to_le_bytes();
        file.extend_from_slice(b"PK\x03\x04\x14\0");
        file.extend_from_slice(&flags.to_le_bytes());
        file.extend_from_slice(&[0; 18]);
        file.extend_from_slice(&len);
        file.extend_from_slice(&[0; 2]);
        file.extend_from_slice(name.as_bytes());
        directory.extend_from_slice(b"PK\x01\x02\x14\0\x14\0");
        directory.extend_from_slice(&flags.to_le_bytes());
        directory.extend_from_slice(&[0; 18]);
        directory.extend_from_slice(&len);
        directory.extend_from_slice(&[0; 12]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let offset = (file.len() as u32).to_le_bytes();
    let count = (names.len() as u16).to_le_bytes();
    file.extend_from_slice(&directory);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend_from_slice(&count);
    file.extend_from_slice(&count);
    file.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    file.extend_from_slice(&offset);
    file.extend_from_slice(&[0; 2]);
    file
}

/// A tar file of empty members.
fn tar_of(names: &[&str]) -> Vec<u8> {
    let mut file = Vec::new();
    for name in names {
        let mut block = [0u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(b"00000000000");
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        file.extend_from_slice(&block);
    }
    file.extend_from_slice(&[0; 1024]);
    file
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

const MAGIC: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

#[test]
fn kinds_are_told_by_contents() {
    let torch = ["a/data.pkl", "a/byteorder", "a/data/0", "a/version"];
    let script = ["m/data.pkl", "m/code/__torch__.py", "m/constants.pkl", "m/version"];
    let mobile = ["m/data.pkl", "m/constants.pkl", "m/bytecode.pkl", "m/version"];
    let old_script =
        ["m/version", "m/code/m.py", "m/attributes.pkl", "m/tensors/0", "m/model.json"];
    let cases: Vec<(Vec<u8>, FileKind, &str)> = vec![
        // Zip files.
        (zip_of(&torch), FileKind::Zip, "zip, 4 records"),
        (zip_of(&["a/DATA.PKL"]), FileKind::Zip, "zip, 1 record"),
        (zip_of(&["/data.pkl", "/version"]), FileKind::Zip, "zip, 2 records"),
        (zip_of(&script), FileKind::TorchScript, "zip, 4 records"),
        (zip_of(&mobile), FileKind::TorchScript, "zip, 4 records, with mobile bytecode"),
        (
            zip_of(&old_script),
            FileKind::TorchScript,
            "zip, 5 records, in the layout of PyTorch 1.0 to 1.3",
        ),
        (zip_of(&["p/a.txt", "p/.data/extern_modules"]), FileKind::TorchPackage, "zip, 2 records"),
        (
            zip_of(&["version", "serialized_exported_program.json"]),
            FileKind::Pt2,
            "zip, 2 records, before 2.8",
        ),
        (zip_of(&["n/models/model.json", "n/archive_format"]), FileKind::Pt2, "zip, 2 records"),
        (
            zip_of(&["n/models/a.json", "n/models/b/c.json", "n/archive_format"]),
            FileKind::Pt2,
            "zip, 3 records, 2 models",
        ),
        (
            zip_of(&["n/data/aotinductor/model/a.so", "n/archive_format"]),
            FileKind::AotInductor,
            "zip, 2 records",
        ),
        (
            zip_of(&["n/data/aotinductor/m/a.so", "n/models/m.json", "n/archive_format"]),
            FileKind::Pt2,
            "zip, 3 records, with native code of AOTInductor",
        ),
        (
            zip_of(&["n/data/executorch/a.pte", "n/archive_format"]),
            FileKind::ExecuTorch,
            "zip, 2 records, in a package",
        ),
        (zip_of(&["n/extra/a", "n/archive_format"]), FileKind::Pt2, "zip, 2 records, no program"),
        (zip_of(&["a.npy", "b.npy"]), FileKind::Npz, "zip, 2 arrays"),
        (zip_of(&["metadata.json", "model.weights.h5"]), FileKind::Keras, "zip, 2 records"),
        (zip_of(&["h.py", "MAR-INF/MANIFEST.json"]), FileKind::TorchServe, "zip, 2 records"),
        (zip_of(&["META-INF/MANIFEST.MF"]), FileKind::OtherZip, "a Java archive"),
        (
            zip_of(&["x/model.pt", "y"]),
            FileKind::OtherZip,
            "zip, 2 records, one of them x/model.pt",
        ),
        (zip_of(&["x/y\n"]), FileKind::OtherZip, "zip, 1 record, first x/y\\n"),
        (zip_of(&[]), FileKind::OtherZip, "an empty zip file"),
        (zip_with_flags(&torch, 1), FileKind::EncryptedZip, "zip, 4 records"),
        (zip_of(&torch)[..60].to_vec(), FileKind::TruncatedZip, "its first record is a/data.pkl"),
        (b"PK\x03\x04".to_vec(), FileKind::TruncatedZip, "its first record is "),
        (
            joined(&[b"\x01\xffjunk", &zip_of(&torch)]),
            FileKind::PrefixedZip,
            "the archive begins at byte 6",
        ),
        // Tar files.
        (tar_of(&["./sys_info", "./pickle", "tensors", "storages"]), FileKind::Tar, "tar, 4 files"),
        (tar_of(&["pickle", "storages"]), FileKind::Tar, "tar, 2 files, without its tensors"),
        (tar_of(&["model.pt"]), FileKind::OtherTar, "its first file is model.pt"),
        // Pickles.
        (joined(&[MAGIC, b"\x80\x02M\xe9\x03."]), FileKind::Legacy, "protocol 2"),
        (b"L119547037146038801333356L\n.rest".to_vec(), FileKind::Legacy, "protocol 0"),
        (b"\x80\x02}q\0.".to_vec(), FileKind::Pickle, "protocol 2"),
        (b"\x80\x02}q\0.tail".to_vec(), FileKind::Pickle, "protocol 2, with more after it"),
        (b"\x80\x04\x95\x05\0\0\0\0\0\0\0]".to_vec(), FileKind::Pickle, "protocol 4, cut short"),
        (b"(dp0\nS'a'\np1\nI1\ns.".to_vec(), FileKind::Pickle, "protocol 0"),
        (b"cos\nsystem\n(S'ls'\ntR.".to_vec(), FileKind::Pickle, "protocol 0"),
        // Other formats with tensors.
        (joined(&[b"\x02\0\0\0\0\0\0\0{}"]), FileKind::Safetensors, "header of 2 bytes"),
        (
            joined(&[b"\xff\0\0\0\0\0\0\0{\"a\":{"]),
            FileKind::Safetensors,
            "cut short within its header",
        ),
        (b"\x93NUMPY\x01\0v\0{".to_vec(), FileKind::Npy, ""),
        (
            b"{\"metadata\": {}, \"weight_map\" : {}}".to_vec(),
            FileKind::ShardIndex,
            "JSON with a weight_map",
        ),
        (b"{\"weight_map\": 1}".to_vec(), FileKind::Json, ""),
        (b"PYTORCH1\0\0".to_vec(), FileKind::PreviewArchive, ""),
        (b"\x18\0\0\0PTMF\0\0".to_vec(), FileKind::MobileFlatbuffer, ""),
        (b"\x18\0\0\0ET12\0\0".to_vec(), FileKind::ExecuTorch, ""),
        (b"\x1c\0\0\0TFL3\0\0".to_vec(), FileKind::TfLite, ""),
        (b"GGUF\x03\0\0\0".to_vec(), FileKind::Gguf, ""),
        (b"tjgg\x03\0\0\0".to_vec(), FileKind::Ggml, ""),
        (b"\x89HDF\r\n\x1a\n\0".to_vec(), FileKind::Hdf5, ""),
        (b"\x08\x07\x12\x02pt\x3a\x02\x0a\0\x42\0".to_vec(), FileKind::Onnx, ""),
        (b"\x08\x01\x12\x02\x0a\0".to_vec(), FileKind::TfSavedModel, ""),
        (
            joined(&[b"\0\xff\0\xff", &0xdb47_7524_8b80_fb57_u64.to_le_bytes()]),
            FileKind::TfCheckpoint,
            "",
        ),
        (b"\x04Adam\x02\x04\xfc\xa9".to_vec(), FileKind::TorchSharp, "the state of Adam"),
        (
            b"\x01\x03a.w\x06\x01\x01\0\0\x80\xbf".to_vec(),
            FileKind::TorchSharp,
            "a state dict of 1 tensor",
        ),
        (b"\x06\x02\x01\x01\0\0\x80\xbf".to_vec(), FileKind::TorchSharp, "one tensor"),
        // Compressed.
        (b"\x1f\x8b\x08\0".to_vec(), FileKind::Gzip, ""),
        (b"BZh91AY&SY\0".to_vec(), FileKind::Bzip2, ""),
        (b"\xfd7zXZ\0\0".to_vec(), FileKind::Xz, ""),
        (b"\x28\xb5\x2f\xfd\0".to_vec(), FileKind::Zstd, ""),
        (b"\x04\x22\x4d\x18\0".to_vec(), FileKind::Lz4, ""),
        (b"7z\xbc\xaf\x27\x1c\0".to_vec(), FileKind::SevenZip, ""),
        (b"Rar!\x1a\x07\x01\0".to_vec(), FileKind::Rar, ""),
        (b"\x78\x9c\xff\x03".to_vec(), FileKind::Zlib, ""),
        // Texts.
        (
            b"version https://git-lfs.example/spec/v1\noid sha256:0\nsize 12\n".to_vec(),
            FileKind::GitLfsPointer,
            "for a file of 12 bytes",
        ),
        (b"\xef\xbb\xbf \n<!doctype HTML>".to_vec(), FileKind::Html, ""),
        (b"<?xml version='1.0'?><html xmlns=''>".to_vec(), FileKind::Html, ""),
        (b"<?xml version='1.0'?><Error>".to_vec(), FileKind::Xml, ""),
        (b"[1, 2]".to_vec(), FileKind::Json, ""),
        (b"Not Found".to_vec(), FileKind::Text, "begins 'Not Found'"),
        ("é\n".as_bytes().to_vec(), FileKind::Text, "begins 'é'"),
        (b"caf\xe9 is how Latin-1 says what we drink.".to_vec(), FileKind::Text, "not in UTF-8"),
        (b"\xff\xfeh\0i\0".to_vec(), FileKind::Text, "UTF-16"),
        // What people mistake for a checkpoint.
        (b"%PDF-1.7".to_vec(), FileKind::Pdf, ""),
        (b"\x89PNG\r\n\x1a\n".to_vec(), FileKind::Png, ""),
        (b"\xff\xd8\xff\xe0".to_vec(), FileKind::Jpeg, ""),
        (b"GIF89a".to_vec(), FileKind::Gif, ""),
        (b"\x7fELF\x02".to_vec(), FileKind::Elf, ""),
        (b"\xcf\xfa\xed\xfe".to_vec(), FileKind::MachO, ""),
        (b"SQLite format 3\0".to_vec(), FileKind::Sqlite, ""),
        (b"PAR1\x15".to_vec(), FileKind::Parquet, ""),
        (b"ARROW1\0\0".to_vec(), FileKind::Arrow, ""),
        // Nothing.
        (Vec::new(), FileKind::Empty, ""),
        (vec![0; 5000], FileKind::Zeros, "5000 bytes"),
        (b"\x01\xfe\xff".to_vec(), FileKind::Unknown, "begins 01 fe ff"),
    ];
    let mut problems = Vec::new();
    for (at, (bytes, kind, detail)) in cases.into_iter().enumerate() {
        let found = identify(&Source::from_vec("x", bytes));
        if found != Identity::new(kind, detail) {
            problems.push(format!("case {at}: {kind:?} '{detail}' was {found:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_damaged_checkpoint_is_still_one() {
    let mut file = zip_of(&["a/data.pkl", "a/version"]);
    let central = file.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    file[central] = b'X';
    let found = identify(&Source::from_vec("x", file));
    assert_eq!(found.kind, FileKind::Zip);
    assert!(found.detail.starts_with("its directory cannot be read: "), "{}", found.detail);
}

#[test]
fn a_hole_in_the_middle_is_not_zeros() {
    let mut file = vec![0; 1 << 20];
    file[9000..].fill(1);
    assert_eq!(identify(&Source::from_vec("x", file)).kind, FileKind::Unknown);
}

/// Every start of every format, and every byte of it changed: nothing panics.
#[test]
fn damaged_files_are_something() {
    let files = [
        zip_of(&["a/data.pkl", "a/version"]),
        tar_of(&["pickle"]),
        joined(&[MAGIC, b"\x80\x02M\xe9\x03."]),
        b"\x08\x07\x12\x02pt\x3a\x02\x0a\0\x42\0".to_vec(),
        b"\x01\x03a.w\x06\x01\x01\0\0\x80\xbf".to_vec(),
        b"\x02\0\0\0\0\0\0\0{}".to_vec(),
        b"{\"weight_map\": {}}".to_vec(),
    ];
    for file in files {
        for end in 0..file.len() {
            identify(&Source::from_vec("x", file[..end].to_vec()));
        }
        for at in 0..file.len().min(700) {
            for byte in [0, 0x7f, 0x80, 0xff] {
                let mut changed = file.clone();
                changed[at] = byte;
                identify(&Source::from_vec("x", changed));
            }
        }
    }
}

#[test]
fn long_names_are_shown_in_part() {
    let long = "n".repeat(60_000);
    let in_folder = format!("{long}/data.pkl");
    for (bytes, kind) in [
        (zip_of(&[&long]), FileKind::OtherZip),
        (zip_of(&[&in_folder]), FileKind::Zip),
        (zip_of(&[&long])[..60_040].to_vec(), FileKind::TruncatedZip),
    ] {
        let identity = identify(&Source::from_vec("x", bytes));
        assert_eq!(identity.kind, kind);
        assert!(identity.detail.len() < 200, "{kind:?}: {}", identity.detail.len());
    }
}
