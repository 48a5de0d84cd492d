//! Opens a checkpoint and saves it again, with every option of [`SaveOptions`]:
//!
//! ```text
//! resave [OPTION]... IN OUT
//!   legacy  buffer  no-crc  no-byteorder  skip-data
//!   protocol=2..5  alignment=BYTES  layout=1.6|2.1|current
//! ```
//!
//! `buffer` writes what `torch.save(obj, io.BytesIO())` writes. `conformance/save.py` compares the
//! files with PyTorch's.

use std::error::Error;
use std::fs::File;

use sconce_checkpoint::{ArchiveLayout, LoadOptions, SaveOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(output), Some(input)) = (arguments.pop(), arguments.pop()) else {
        return Err("usage: resave [OPTION]... IN OUT".into());
    };
    let mut save = SaveOptions::new().replace(true);
    let mut load = LoadOptions::new();
    let mut buffer = false;
    for argument in &arguments {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        save = match name {
            "legacy" => save.legacy(true),
            "no-crc" => save.compute_crc32(false),
            "no-byteorder" => save.disable_byteorder_record(true),
            "skip-data" => {
                load = load.skip_data(true);
                save.skip_data(true)
            }
            "protocol" => save.protocol(value.parse()?),
            "alignment" => save.storage_alignment(value.parse()?),
            "layout" => save.layout(match value {
                "1.6" => ArchiveLayout::Torch1_6,
                "2.1" => ArchiveLayout::Torch2_1,
                "current" => ArchiveLayout::Current,
                other => return Err(format!("no such layout: {other}").into()),
            }),
            "buffer" => {
                buffer = true;
                save
            }
            other => return Err(format!("no such option: {other}").into()),
        };
    }
    let checkpoint = load.open(input)?;
    match buffer {
        true => {
            save.save_to(checkpoint.root(), File::create(output)?)?;
        }
        false => save.save(checkpoint.root(), output)?,
    }
    Ok(())
}
