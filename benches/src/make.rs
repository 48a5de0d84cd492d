//! Makes the files that are measured, as torch.save lays them out, without PyTorch.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

/// A float32 tensor of one dimension or two.
pub struct Spec {
    pub name: String,
    pub shape: Vec<u64>,
}

impl Spec {
    fn numel(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// The pickle of `{name: tensor, …}` with one storage a tensor, memoized as CPython does.
fn pickle(specs: &[Spec]) -> Vec<u8> {
    let mut out = vec![0x80, 2, b'}'];
    let mut memo = 0u32;
    let put = |out: &mut Vec<u8>, memo: &mut u32| {
        match u8::try_from(*memo) {
            Ok(small) => out.extend([b'q', small]),
            Err(_) => {
                out.push(b'r');
                out.extend(memo.to_le_bytes());
            }
        }
        *memo += 1;
        *memo - 1
    };
    let get = |out: &mut Vec<u8>, at: u32| match u8::try_from(at) {
        Ok(small) => out.extend([b'h', small]),
        Err(_) => {
            out.push(b'j');
            out.extend(at.to_le_bytes());
        }
    };
    let text = |out: &mut Vec<u8>, text: &str| {
        out.push(b'X');
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.as_bytes());
    };
    let int = |out: &mut Vec<u8>, number: u64| {
        if number < 256 {
            out.extend([b'K', number as u8]);
        } else if number < 65536 {
            out.push(b'M');
            out.extend((number as u16).to_le_bytes());
        } else if number < 1 << 31 {
            out.push(b'J');
            out.extend((number as u32).to_le_bytes());
        } else {
            out.extend([0x8a, 8]);
            out.extend(number.to_le_bytes());
        }
    };
    put(&mut out, &mut memo);
    let mut shared: [Option<u32>; 5] = [None; 5];
    for (chunk, specs) in specs.chunks(1000).enumerate() {
        out.push(b'(');
        for (at, spec) in specs.iter().enumerate() {
            let key = chunk * 1000 + at;
            text(&mut out, &spec.name);
            put(&mut out, &mut memo);
            let mut once =
                |out: &mut Vec<u8>, slot: usize, bytes: &dyn Fn(&mut Vec<u8>)| match shared[slot] {
                    Some(at) => get(out, at),
                    None => {
                        bytes(out);
                        shared[slot] = Some(put(out, &mut memo));
                    }
                };
            once(&mut out, 0, &|out| out.extend(b"ctorch._utils\n_rebuild_tensor_v2\n"));
            out.extend(b"((");
            once(&mut out, 1, &|out| text(out, "storage"));
            once(&mut out, 2, &|out| out.extend(b"ctorch\nFloatStorage\n"));
            text(&mut out, &key.to_string());
            let location = shared[3];
            put(&mut out, &mut memo);
            match location {
                Some(at) => get(&mut out, at),
                None => {
                    text(&mut out, "cpu");
                    shared[3] = Some(put(&mut out, &mut memo));
                }
            }
            int(&mut out, spec.numel());
            out.push(b't');
            put(&mut out, &mut memo);
            out.extend(b"QK\0");
            let mut strides = vec![1; spec.shape.len()];
            for dim in (1..spec.shape.len()).rev() {
                strides[dim - 1] = strides[dim] * spec.shape[dim];
            }
            for dims in [&spec.shape, &strides] {
                dims.iter().for_each(|&dim| int(&mut out, dim));
                out.push(0x84 + dims.len() as u8);
                put(&mut out, &mut memo);
            }
            out.push(0x89);
            match shared[4] {
                Some(at) => get(&mut out, at),
                None => {
                    out.extend(b"ccollections\nOrderedDict\n");
                    shared[4] = Some(put(&mut out, &mut memo));
                }
            }
            out.extend(b")R");
            put(&mut out, &mut memo);
            out.push(b't');
            put(&mut out, &mut memo);
            out.push(b'R');
            put(&mut out, &mut memo);
        }
        out.push(b'u');
    }
    out.push(b'.');
    out
}

/// What a record holds.
enum Data<'a> {
    Bytes(&'a [u8]),
    /// So many bytes, `fill` or a hole in the file.
    Filled(u64, Option<u8>),
}

struct Entry {
    name: String,
    crc: u32,
    len: u64,
    offset: u64,
}

/// A zip of stored records, aligned to 64 bytes, zip64 where needed.
struct Zip {
    file: BufWriter<File>,
    at: u64,
    entries: Vec<Entry>,
}

impl Zip {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn record(&mut self, name: &str, data: Data<'_>) -> io::Result<()> {
        let name = format!("archive/{name}");
        let offset = self.at;
        let mut header = b"PK\x03\x04".to_vec();
        header.extend([0u8; 22]);
        header[6..8].copy_from_slice(&0x0808u16.to_le_bytes());
        header.extend((name.len() as u16).to_le_bytes());
        let start = self.at + 30 + name.len() as u64 + 4;
        let pad = (64 - start % 64) % 64;
        header.extend((pad as u16 + 4).to_le_bytes());
        header.truncate(30);
        header.extend(name.as_bytes());
        header.extend(b"FB");
        header.extend((pad as u16).to_le_bytes());
        header.resize(header.len() + pad as usize, b'Z');
        self.write(&header)?;
        let (crc, len) = match data {
            Data::Bytes(bytes) => {
                self.write(bytes)?;
                (crc32(bytes), bytes.len() as u64)
            }
            Data::Filled(len, Some(fill)) => {
                let block = vec![fill; len as usize];
                self.write(&block)?;
                (crc32(&block), len)
            }
            Data::Filled(len, None) => {
                self.file.flush()?;
                self.at = self.file.seek(SeekFrom::Start(self.at + len))?;
                (0, len)
            }
        };
        let mut descriptor = b"PK\x07\x08".to_vec();
        descriptor.extend(crc.to_le_bytes());
        if offset >= u64::from(u32::MAX) || len >= u64::from(u32::MAX) {
            descriptor.extend(len.to_le_bytes());
            descriptor.extend(len.to_le_bytes());
        } else {
            descriptor.extend((len as u32).to_le_bytes());
            descriptor.extend((len as u32).to_le_bytes());
        }
        self.write(&descriptor)?;
        self.entries.push(Entry { name, crc, len, offset });
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        let start = self.at;
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            let big = entry.offset >= u64::from(u32::MAX);
            let mut out = b"PK\x01\x02".to_vec();
            out.extend([0, 0, 0, 0]);
            out.extend(0x0808u16.to_le_bytes());
            out.extend([0; 6]);
            out.extend(entry.crc.to_le_bytes());
            out.extend((entry.len as u32).to_le_bytes());
            out.extend((entry.len as u32).to_le_bytes());
            out.extend((entry.name.len() as u16).to_le_bytes());
            out.extend((if big { 12u16 } else { 0 }).to_le_bytes());
            out.extend([0; 10]);
            out.extend((if big { u32::MAX } else { entry.offset as u32 }).to_le_bytes());
            out.extend(entry.name.as_bytes());
            if big {
                out.extend([1, 0, 8, 0]);
                out.extend(entry.offset.to_le_bytes());
            }
            self.write(&out)?;
        }
        let (end, count) = (self.at, entries.len() as u64);
        let mut out = b"PK\x06\x06".to_vec();
        out.extend(44u64.to_le_bytes());
        out.extend([0x1e, 3, 0x2d, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend((end - start).to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend(b"PK\x06\x07\0\0\0\0");
        out.extend(end.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend((count as u16).to_le_bytes());
        out.extend((count as u16).to_le_bytes());
        out.extend(((end - start) as u32).to_le_bytes());
        out.extend((start.min(u64::from(u32::MAX)) as u32).to_le_bytes());
        out.extend([0, 0]);
        self.write(&out)?;
        self.file.flush()
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (index, slot) in table.iter_mut().enumerate() {
        *slot = (0..8).fold(index as u32, |crc, _| {
            if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 }
        });
    }
    !bytes.iter().fold(!0u32, |crc, &byte| table[(crc as u8 ^ byte) as usize] ^ (crc >> 8))
}

/// Writes a checkpoint; without `fill`, tensors are holes in the file.
pub fn checkpoint(path: &Path, specs: &[Spec], fill: Option<u8>) -> io::Result<()> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut zip = Zip { file, at: 0, entries: Vec::new() };
    zip.record("data.pkl", Data::Bytes(&pickle(specs)))?;
    zip.record(".format_version", Data::Bytes(b"1"))?;
    zip.record(".storage_alignment", Data::Bytes(b"64"))?;
    zip.record("byteorder", Data::Bytes(b"little"))?;
    for (key, spec) in specs.iter().enumerate() {
        zip.record(&format!("data/{key}"), Data::Filled(spec.numel() * 4, fill))?;
    }
    zip.record("version", Data::Bytes(b"3\n"))?;
    zip.finish()
}

/// Writes the same tensors as safetensors.
pub fn safetensors(path: &Path, specs: &[Spec], fill: u8) -> io::Result<()> {
    let mut at = 0;
    let mut fields = Vec::new();
    for spec in specs {
        let (name, shape, len) = (&spec.name, &spec.shape, spec.numel() * 4);
        let end = at + len;
        fields.push(format!(
            "\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}}"
        ));
        at = end;
    }
    let mut header = format!("{{{}}}", fields.join(","));
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for spec in specs {
        file.write_all(&vec![fill; spec.numel() as usize * 4])?;
    }
    file.flush()
}
