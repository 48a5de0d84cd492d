//! Every tensor of `golden/print.txt` prints as PyTorch printed it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sconce_source::Bytes;
use sconce_tensor::{
    ByteOrder, ChannelScheme, DType, Device, Layout, PrintOptions, Quantizer, Storage, Tensor,
};

struct Case<'a> {
    name: &'a str,
    options: PrintOptions,
    parameter: bool,
    build: Vec<&'a str>,
    want: String,
}

fn parse(block: &str) -> Case<'_> {
    let mut case = Case {
        name: "",
        options: PrintOptions::default(),
        parameter: false,
        build: Vec::new(),
        want: String::new(),
    };
    let mut text = Vec::new();
    for line in block.lines() {
        if let Some(name) = line.strip_prefix("case ") {
            case.name = name;
        } else if let Some(option) = line.strip_prefix("option ") {
            set(&mut case.options, option);
        } else if let Some(line) = line.strip_prefix('|') {
            text.push(line);
        } else if line == "parameter" {
            case.parameter = true;
        } else {
            case.build.push(line);
        }
    }
    case.want = text.join("\n");
    case
}

fn set(options: &mut PrintOptions, option: &str) {
    let (name, value) = option.split_once(' ').unwrap();
    match name {
        "profile" => *options = PrintOptions::from_profile(value).unwrap(),
        "precision" => options.precision = value.parse().unwrap(),
        "threshold" => options.threshold = value.parse().unwrap(),
        "edgeitems" => options.edgeitems = value.parse().unwrap(),
        "linewidth" => options.linewidth = value.parse().unwrap(),
        "sci_mode" => options.sci_mode = Some(value == "True"),
        other => panic!("option {other}"),
    }
}

fn list(text: &str) -> Vec<i64> {
    if text == "-" {
        return Vec::new();
    }
    text.split(',').map(|number| number.parse().unwrap()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn data(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    let Some(spec) = text.strip_prefix("lcg:") else { return hex(text) };
    let (seed, count) = spec.split_once(':').unwrap();
    let mut seed: u64 = seed.parse().unwrap();
    (0..count.parse::<usize>().unwrap())
        .map(|_| {
            seed = (seed * 1_103_515_245 + 12345) % (1 << 31);
            (seed >> 16) as u8
        })
        .collect()
}

/// Storage, dtype, offset, sizes, strides, flags.
fn strided(line: &str) -> (Storage, DType, i64, Vec<i64>, Vec<i64>, &str) {
    let fields: Vec<&str> = line.split(' ').collect();
    let ["strided", dtype, sizes, strides, offset, flags, bytes] = fields[..] else {
        panic!("{line}")
    };
    let dtype = DType::from_name(dtype).unwrap();
    let bytes = Bytes::from(data(bytes));
    let storage =
        Storage::with_byte_order(bytes, ByteOrder::Little, dtype.swap_size(), Device::CPU);
    (storage, dtype, offset.parse().unwrap(), list(sizes), list(strides), flags)
}

fn view(line: &str) -> Tensor {
    let (storage, dtype, offset, sizes, strides, flags) = strided(line);
    Tensor::strided(storage, dtype, offset, &sizes, &strides)
        .unwrap()
        .with_conj(flags.contains('c'))
        .with_neg(flags.contains('n'))
        .with_requires_grad(flags.contains('g'))
}

fn quantized(line: &str, quantizer: Quantizer) -> Tensor {
    let (storage, dtype, offset, sizes, strides, _) = strided(line);
    Tensor::quantized(storage, dtype, offset, &sizes, &strides, quantizer).unwrap()
}

fn build(lines: &[&str]) -> Tensor {
    let head: Vec<&str> = lines[0].split(' ').collect();
    match head[..] {
        ["strided", ..] => view(lines[0]),
        ["meta", dtype, sizes, strides, grad] => {
            let dtype = DType::from_name(dtype).unwrap();
            let meta = Tensor::meta(dtype, &list(sizes), &list(strides)).unwrap();
            meta.with_requires_grad(grad == "g")
        }
        ["coo", sizes, grad] => {
            let t = Tensor::sparse_coo(view(lines[1]), view(lines[2]), &list(sizes), None).unwrap();
            t.with_requires_grad(grad == "g")
        }
        ["compressed", layout, sizes, grad] => {
            let layout = Layout::from_name(layout).unwrap();
            let (c, p, v) = (view(lines[1]), view(lines[2]), view(lines[3]));
            let t = Tensor::sparse_compressed(layout, c, p, v, &list(sizes)).unwrap();
            t.validate_sparse().unwrap();
            t.with_requires_grad(grad == "g")
        }
        ["quantized", scale, zero_point] => {
            let scale = f64::from_le_bytes(hex(scale).try_into().unwrap());
            let zero_point = zero_point.parse().unwrap();
            quantized(lines[1], Quantizer::PerTensorAffine { scale, zero_point })
        }
        ["channels", axis] => {
            let (scales, zero_points) = (view(lines[1]), view(lines[2]));
            let axis = axis.parse().unwrap();
            let scheme = ChannelScheme::Affine;
            quantized(lines[3], Quantizer::PerChannel { scheme, scales, zero_points, axis })
        }
        ["nested", grad] => {
            let parts: Vec<Tensor> = lines[1..].iter().map(|line| view(line)).collect();
            let [buffer, sizes, strides, offsets] = parts.try_into().unwrap();
            Tensor::nested(buffer, sizes, strides, offsets).unwrap().with_requires_grad(grad == "g")
        }
        _ => panic!("{}", lines[0]),
    }
}

#[test]
fn every_case_prints_as_pytorch_prints_it() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for block in include_str!("golden/print.txt").split("\n\n") {
        let case = parse(block);
        let tensor = build(&case.build);
        let got = if case.parameter {
            tensor.display_parameter(&case.options).to_string()
        } else {
            tensor.display(&case.options).to_string()
        };
        count += 1;
        if got != case.want {
            wrong.push(format!("{}\nwant\n{}\ngot\n{got}\n", case.name, case.want));
        }
    }
    assert!(count > 500, "only {count} cases were read");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ\n\n{}",
        wrong.len(),
        wrong[..wrong.len().min(8)].join("\n")
    );
}
