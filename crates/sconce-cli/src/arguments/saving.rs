//! How checkpoints are written: the flags that stand for the arguments of `torch.save`.

use clap::{Args, ValueEnum};
use sconce::checkpoint::{ArchiveLayout, SaveOptions};
use sconce::tensor::ByteOrder;

use super::reading::ByteOrderChoice;

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
