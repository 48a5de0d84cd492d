//! The kinds of files that are told apart, and what is said of each.

/// Defines the enum and its facts side by side, so that no kind lacks any.
macro_rules! kinds {
    ($($variant:ident, $name:literal, $description:literal, $opens:literal, $advice:expr;)*) => {
        /// What a file is, by its contents.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum FileKind {
            $(#[doc = concat!($description, ".")] $variant,)*
        }

        impl FileKind {
            /// Every kind.
            pub const ALL: &[FileKind] = &[$(FileKind::$variant),*];

            /// A short name that stays the same between releases.
            pub fn name(self) -> &'static str {
                match self { $(FileKind::$variant => $name,)* }
            }

            /// The kind in a few words, for people.
            pub fn description(self) -> &'static str {
                match self { $(FileKind::$variant => $description,)* }
            }

            /// Whether sconce reads it.
            pub fn opens(self) -> bool {
                match self { $(FileKind::$variant => $opens,)* }
            }

            /// Whether it holds a program in TorchScript.
            pub fn is_torchscript(self) -> bool {
                matches!(self, FileKind::TorchScript | FileKind::MobileFlatbuffer)
            }

            /// What to do next, in one sentence, where that is not to open it.
            pub fn advice(self) -> Option<&'static str> {
                match self { $(FileKind::$variant => $advice,)* }
            }
        }
    };
}

const UNPACK: &str = "unpack it first and open the file that is in it";
const IMAGE: Option<&str> = Some("this is a picture: check that the path is the one you meant");
const PROGRAM: Option<&str> = Some("this is a program: check that the path is the one you meant");

kinds! {
    Zip, "zip", "PyTorch checkpoint (zip)", true, None;
    Legacy, "legacy", "PyTorch checkpoint (stream of pickles, before 1.6)", true, None;
    Tar, "tar", "PyTorch checkpoint (tar, before 0.1.10)", true, None;
    Pickle, "pickle", "Python pickle", true, None;
    ShardIndex, "shard-index", "index of a checkpoint in several files", true, None;
    TorchScript, "torchscript", "TorchScript archive", true, None;
    Safetensors, "safetensors", "safetensors file", true, None;
    Npy, "npy", "numpy array", true, None;
    Npz, "npz", "numpy arrays (zip)", true, None;
    Pt2, "pt2", "torch.export program", true, None;
    AotInductor, "aotinductor", "AOTInductor package (native code)", false,
        Some("use the torch.export program that it was compiled from: native code is never loaded here");
    TorchPackage, "torch-package", "torch.package archive", false,
        Some("load it with torch.package.PackageImporter and save what is needed with torch.save");
    PreviewArchive, "preview-archive", "archive of PyTorch's 1.0 preview", false,
        Some("no released PyTorch reads it: export the model again");
    MobileFlatbuffer, "mobile-flatbuffer", "PyTorch mobile module (flatbuffer)", true, None;
    ExecuTorch, "executorch", "ExecuTorch program", false,
        Some("use the checkpoint that it was made from");
    TorchSharp, "torchsharp", "TorchSharp state", false,
        Some("load it in TorchSharp, or with its script exportsd.py, and save it with torch.save");
    TorchServe, "torchserve", "TorchServe model archive", false,
        Some("unpack it (it is a zip file) and open the checkpoint that is in it");
    TruncatedZip, "truncated-zip", "zip file that is cut short", false,
        Some("the download or the save was interrupted: fetch or write the file again");
    PrefixedZip, "prefixed-zip", "zip file behind other bytes", false,
        Some("cut off what stands before the archive, for example with tail -c");
    EncryptedZip, "encrypted-zip", "encrypted zip file", false,
        Some("unpack it with its password and open the file that is in it");
    OtherZip, "other-zip", "zip file that is not a checkpoint", false, Some(UNPACK);
    OtherTar, "other-tar", "tar file that is not a checkpoint", false,
        Some("unpack it first (tar -xf FILE) and open the file that is in it");
    SevenZip, "7z", "7-Zip archive", false, Some(UNPACK);
    Rar, "rar", "RAR archive", false, Some(UNPACK);
    Gzip, "gzip", "gzip data", false, Some("decompress it first: gunzip FILE");
    Bzip2, "bzip2", "bzip2 data", false, Some("decompress it first: bunzip2 FILE");
    Xz, "xz", "xz data", false, Some("decompress it first: unxz FILE");
    Zstd, "zstd", "Zstandard data", false, Some("decompress it first: unzstd FILE");
    Lz4, "lz4", "LZ4 data", false, Some("decompress it first: unlz4 FILE");
    Zlib, "zlib", "zlib data", false,
        Some("decompress it first; joblib.dump writes such files, joblib.load reads them");
    Onnx, "onnx", "ONNX model", false,
        Some("read it with the onnx package, or use the checkpoint that it was made from");
    Gguf, "gguf", "GGUF model", false, Some("read it with llama.cpp or the gguf package");
    Ggml, "ggml", "GGML model (before GGUF)", false,
        Some("convert it to GGUF with llama.cpp's scripts");
    Hdf5, "hdf5", "HDF5 file, such as Keras weights", false, Some("read it with h5py or Keras");
    Keras, "keras", "Keras model (zip)", false, Some("load it with keras.models.load_model");
    TfLite, "tflite", "TensorFlow Lite model", false, Some("read it with TensorFlow Lite");
    TfSavedModel, "tf-saved-model", "TensorFlow SavedModel", false,
        Some("load its folder with tf.saved_model.load");
    TfCheckpoint, "tf-checkpoint", "index of a TensorFlow checkpoint", false,
        Some("read it with tf.train.load_checkpoint");
    CoreMl, "coreml", "Core ML package (zip)", false, Some("read it with coremltools");
    Parquet, "parquet", "Parquet table", false, Some("read it with a Parquet reader");
    Arrow, "arrow", "Arrow table", false, Some("read it with an Arrow reader");
    Sqlite, "sqlite", "SQLite database", false, Some("read it with sqlite3");
    GitLfsPointer, "git-lfs", "Git LFS pointer, not the file itself", false,
        Some("run `git lfs pull`");
    Html, "html", "web page", false,
        Some("the download gave a web page, such as a login or error page: fetch it again");
    Xml, "xml", "XML document", false,
        Some("if it was downloaded, it may be a server's error reply: look at it, fetch it again");
    Json, "json", "JSON document", false,
        Some("it holds no tensors: look for the checkpoint next to it");
    Text, "text", "text file", false, Some("it holds no tensors: look at it in an editor");
    Pdf, "pdf", "PDF document", false,
        Some("this is a document: check that the path is the one you meant");
    Png, "png", "PNG picture", false, IMAGE;
    Jpeg, "jpeg", "JPEG picture", false, IMAGE;
    Gif, "gif", "GIF picture", false, IMAGE;
    Elf, "elf", "program or library (ELF)", false, PROGRAM;
    Pe, "pe", "program or library (Windows)", false, PROGRAM;
    MachO, "mach-o", "program or library (macOS)", false, PROGRAM;
    Empty, "empty", "empty file", false,
        Some("the download or the save did not happen: fetch or write the file again");
    Zeros, "zeros", "file of zero bytes", false,
        Some("space was set aside and never written, as after a crash: fetch or write it again");
    Unknown, "unknown", "unknown data", false, None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_plain() {
        let mut names: Vec<&str> = FileKind::ALL.iter().map(|kind| kind.name()).collect();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(names.iter().all(|name| name.chars().all(plain)));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn what_does_not_open_comes_with_advice() {
        for &kind in FileKind::ALL {
            let advised = kind.advice().is_some() || kind == FileKind::Unknown;
            assert_eq!(advised, !kind.opens(), "{kind:?}");
            assert!(!kind.description().is_empty());
        }
    }
}
