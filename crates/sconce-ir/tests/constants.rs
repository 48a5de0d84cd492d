//! Constants against PyTorch's print of them: `golden/constants.tsv`, written by
//! `golden/make_constants.py`.

use sconce_ir::Constant;

const GOLDEN: &str = include_str!("golden/constants.tsv");

fn float(bits: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(bits, 16).unwrap())
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn numbers_and_strings_print_as_in_pytorch() {
    let mut wrong = Vec::new();
    for line in GOLDEN.lines() {
        let fields: Vec<&str> = line.splitn(3, '\t').collect();
        let constant = match fields[0] {
            "float" => Constant::Float(float(fields[1])),
            "complex" => {
                let (real, imaginary) = fields[1].split_once(',').unwrap();
                Constant::Complex(float(real), float(imaginary))
            }
            _ => Constant::Str(String::from_utf8(bytes(fields[1])).unwrap().into()),
        };
        if constant.graph_text() != fields[2] {
            wrong.push(format!("{line}: found {}", constant.graph_text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
