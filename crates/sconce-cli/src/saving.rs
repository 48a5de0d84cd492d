//! How checkpoints are written: the flags that stand for `torch.save`'s arguments, and the file.

use std::path::Path;

use clap::{Args, ValueEnum};
use sconce::checkpoint::{ArchiveLayout, Object, SaveOptions};
use sconce::tensor::ByteOrder;

use crate::atomic::AtomicFile;
use crate::cli::ByteOrderChoice;
use crate::error::Failure;
use crate::output::Progress;

/// Flags of every verb that saves a checkpoint.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Saving options")]
pub struct Saving {
    /// Pickle protocol (default: 2, as torch.save)
    #[arg(long, value_name = "2..5", value_parser = clap::value_parser!(u8).range(2..=5))]
    pub protocol: Option<u8>,
    /// Write the stream that every PyTorch reads, instead of an archive
    #[arg(long, conflicts_with_all = ["layout", "alignment", "no_crc", "byteorder"])]
    pub legacy: bool,
    /// Which PyTorch's archive to write
    #[arg(long, value_enum, value_name = "VERSION")]
    pub layout: Option<LayoutChoice>,
    /// Where tensors may begin: multiples of this many bytes (default: 64)
    #[arg(long, value_name = "BYTES")]
    pub alignment: Option<u64>,
    /// Write no checksums, as compute_crc32 = False does
    #[arg(long)]
    pub no_crc: bool,
    /// Write tensors alone, by their dotted names: no classes, no functions, no other values
    #[arg(long)]
    pub tensors_only: bool,
    /// Byte order to write (--byte-order is for reading)
    #[arg(long, value_enum, value_name = "ORDER")]
    pub byteorder: Option<ByteOrderChoice>,
}

/// `--layout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayoutChoice {
    /// PyTorch 1.6 to 2.0
    #[value(name = "1.6")]
    Torch1_6,
    /// PyTorch 2.1 to 2.6
    #[value(name = "2.1")]
    Torch2_1,
    /// PyTorch 2.15
    Current,
}

impl Saving {
    /// The options that the flags stand for.
    pub fn options(&self) -> SaveOptions {
        let options = SaveOptions::new().legacy(self.legacy).compute_crc32(!self.no_crc);
        let options = options.layout(match self.layout {
            Some(LayoutChoice::Torch1_6) => ArchiveLayout::Torch1_6,
            Some(LayoutChoice::Torch2_1) => ArchiveLayout::Torch2_1,
            Some(LayoutChoice::Current) | None => ArchiveLayout::Current,
        });
        let options = options.byte_order(match self.byteorder {
            Some(ByteOrderChoice::Big) => ByteOrder::Big,
            Some(ByteOrderChoice::Little) | None => ByteOrder::Little,
        });
        let options = options.protocol(self.protocol.unwrap_or(2));
        match self.alignment {
            Some(bytes) => options.storage_alignment(bytes),
            None => options,
        }
    }

    /// The first flag that was given, for formats that none of them is for.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--protocol", self.protocol.is_some()),
            ("--legacy", self.legacy),
            ("--layout", self.layout.is_some()),
            ("--alignment", self.alignment.is_some()),
            ("--no-crc", self.no_crc),
            ("--tensors-only", self.tensors_only),
            ("--byteorder", self.byteorder.is_some()),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}

/// Writes a checkpoint as `torch.save` does. The file takes its name by [`AtomicFile::commit`].
pub fn write(
    object: Object<'_>,
    target: &Path,
    force: bool,
    saving: &Saving,
    progress: &Progress,
) -> Result<AtomicFile, Failure> {
    write_as(object, target, target, force, saving, progress)
}

/// [`write`] of a file whose archive is named as if it were called `name`.
pub fn write_as(
    object: Object<'_>,
    name: &Path,
    target: &Path,
    force: bool,
    saving: &Saving,
    progress: &Progress,
) -> Result<AtomicFile, Failure> {
    let mut file = AtomicFile::create(target, force)?;
    let options = saving.options().on_progress(progress.listener());
    match options.save_as(object, &mut file, name) {
        Ok(_) => Ok(file),
        Err(error) => Err(file.failure().unwrap_or_else(|| refused(error))),
    }
}

/// Refuses names that promise another format.
pub fn checkpoint_name(target: &Path) -> Result<(), Failure> {
    let extension = target.extension().map(|text| text.to_string_lossy().to_ascii_lowercase());
    if matches!(extension.as_deref(), Some("pt" | "pth" | "bin" | "ckpt")) {
        return Ok(());
    }
    let name = target.to_string_lossy();
    Err(Failure::usage(format!("a checkpoint is written, but '{name}' does not say so"))
        .help("end it in .pt, .pth, .bin or .ckpt; sconce convert writes the other formats"))
}

/// What the library refuses is the command line's fault where it says that it is the caller's.
pub fn refused(error: sconce::checkpoint::Error) -> Failure {
    if error.kind() != sconce::checkpoint::ErrorKind::Caller {
        return Failure::from(error);
    }
    let mut failure = Failure::usage(error.message());
    if let Some(note) = error.note() {
        failure = failure.note(note);
    }
    match error.help() {
        Some(help) => failure.help(help),
        None => failure,
    }
}
