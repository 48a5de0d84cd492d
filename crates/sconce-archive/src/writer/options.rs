//! What a caller may choose about an archive to be written.

/// The order of the bytes in a word, as the `byteorder` record names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// `little`
    Little,
    /// `big`
    Big,
}

impl ByteOrder {
    /// The record's whole content.
    pub const fn name(self) -> &'static str {
        match self {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        }
    }
}

/// Which PyTorch's habits an archive follows.
///
/// The form of records and tables has not changed since 1.6; what has is the small records that
/// describe the archive itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Layout {
    /// 1.6 to 2.0: only the version.
    Torch1_6,
    /// 2.1 to 2.6: byte order and serialization id too.
    Torch2_1,
    /// Since 2.7: `torch.save` also writes `.format_version` and `.storage_alignment`.
    #[default]
    Current,
}

struct Describing {
    byte_order: bool,
    serialization_id: bool,
    storage_alignment: bool,
}

impl Describing {
    const fn new(byte_order: bool, serialization_id: bool, storage_alignment: bool) -> Self {
        Describing { byte_order, serialization_id, storage_alignment }
    }
}

impl Layout {
    const fn describing(self) -> Describing {
        match self {
            Layout::Torch1_6 => Describing::new(false, false, false),
            Layout::Torch2_1 => Describing::new(true, true, false),
            Layout::Current => Describing::new(true, true, true),
        }
    }

    /// Whether archives have a `byteorder` record.
    pub const fn has_byte_order(self) -> bool {
        self.describing().byte_order
    }

    /// Whether archives have a `.data/serialization_id` record.
    pub const fn has_serialization_id(self) -> bool {
        self.describing().serialization_id
    }

    /// Whether `torch.save` writes `.format_version` and `.storage_alignment` (which are the
    /// caller's to write: [`ArchiveWriter`](crate::ArchiveWriter) never adds them).
    pub const fn has_storage_alignment(self) -> bool {
        self.describing().storage_alignment
    }
}

/// How to write an archive: the arguments of `torch._C.PyTorchFileWriter` and what it takes from
/// the machine it runs on, as a builder.
///
/// ```
/// use sconce_archive::{Layout, WriterOptions};
///
/// let options = WriterOptions::new().alignment(4096).crc(false).layout(Layout::Torch1_6);
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
pub struct WriterOptions {
    pub(crate) alignment: u64,
    pub(crate) crc: bool,
    pub(crate) min_version: u64,
    pub(crate) layout: Layout,
    pub(crate) byte_order: ByteOrder,
}

/// The version that PyTorch's writer starts from.
const FIRST_VERSION: u64 = 3;

impl Default for WriterOptions {
    fn default() -> Self {
        WriterOptions {
            alignment: 64,
            crc: true,
            min_version: FIRST_VERSION,
            layout: Layout::default(),
            byte_order: if cfg!(target_endian = "big") {
                ByteOrder::Big
            } else {
                ByteOrder::Little
            },
        }
    }
}

impl WriterOptions {
    /// What `torch.save` does when nothing is set.
    pub fn new() -> Self {
        WriterOptions::default()
    }

    /// Every record's data begins at a multiple of this many bytes; 64 unless set
    /// (`torch.utils.serialization.config.save.storage_alignment`).
    pub fn alignment(mut self, bytes: u64) -> Self {
        self.alignment = bytes;
        self
    }

    /// Whether checksums are computed; they are 0 otherwise
    /// (`torch.serialization.set_crc32_options`).
    pub fn crc(mut self, compute: bool) -> Self {
        self.crc = compute;
        self
    }

    /// Raises the version that the archive declares; it is never below 3.
    pub fn min_version(mut self, version: u64) -> Self {
        self.min_version = version.max(FIRST_VERSION);
        self
    }

    /// Which PyTorch's habits to follow.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// What the `byteorder` record says when the caller does not write it; this machine's order
    /// unless set.
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.byte_order = order;
        self
    }
}
