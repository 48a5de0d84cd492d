//! How fast matrix products are: billions of multiply-adds, doubled, in a second.
//!
//!     cargo run --profile optimized -p sconce-kernels --example products -- THREADS
#![allow(clippy::print_stdout, reason = "a tool for developers")]

use std::time::Instant;

use sconce_kernels::{
    Precision, Result, Tensor, linear, linear_packed, matmul, pack_linear, set_num_threads,
};

fn main() -> Result<()> {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1);
    set_num_threads(count);
    println!("m x k x n\tlinear\tpacked\tmatmul");
    let sizes = [
        (1, 64, 64),
        (1, 128, 512),
        (1, 512, 2048),
        (4, 128, 512),
        (16, 256, 64),
        (128, 384, 1152),
        (128, 384, 1536),
        (128, 1536, 384),
        (1024, 1024, 1024),
    ];
    for (m, k, n) in sizes {
        let numbers = |count: i64| (0..count).map(|i| (i % 17) as f32 / 17.0).collect::<Vec<_>>();
        let tensor =
            |rows: i64, cols: i64| Tensor::from_slice(&numbers(rows * cols), &[rows, cols]);
        let (x, weight, right) = (tensor(m, k)?, tensor(n, k)?, tensor(k, n)?);
        let bias = Tensor::from_slice(&numbers(n), &[n])?;
        let packed = pack_linear(&weight, Precision::Full)?;
        let speed = |f: &dyn Fn() -> Result<()>| {
            f()?;
            let mut best = f64::INFINITY;
            let start = Instant::now();
            while start.elapsed().as_millis() < 300 {
                let one = Instant::now();
                f()?;
                best = best.min(one.elapsed().as_secs_f64());
            }
            Ok::<f64, sconce_kernels::Error>((2 * m * k * n) as f64 / best / 1e9)
        };
        let plain = speed(&|| linear(&x, &weight, Some(&bias)).map(drop))?;
        let fast = speed(&|| linear_packed(&x, &packed, n, Some(&bias), None).map(drop))?;
        let product = speed(&|| matmul(&x, &right).map(drop))?;
        println!("{m} x {k} x {n}\t{plain:.0}\t{fast:.0}\t{product:.0}");
    }
    Ok(())
}
