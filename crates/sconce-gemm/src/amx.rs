//! AMX: tile registers of x86-64 CPUs that hold whole matrices, and the instruction that multiplies two
//! of them of `bfloat16`. It computes sixteen times the products of a vector instruction.
//!
//! The compiler does not know the instructions yet, so they are written in assembly. The operating
//! system must permit a process to use the registers; [`has_amx_bf16`] has asked it.
#![allow(unsafe_code, reason = "instructions that were found to be there; see the safety comments")]

use std::arch::asm;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use half::bf16;
use sconce_kernel_core::simd::dispatch::has_amx_bf16;

/// Rows of a register.
pub(crate) const ROWS: usize = 16;
/// Rows, and columns, that are multiplied together: those of two registers.
pub(crate) const UNIT: usize = 2 * ROWS;
/// Numbers in a row of a left operand's register; pairs of numbers in one of a right operand's are half as
/// many.
pub(crate) const DEPTH: usize = 32;
/// The number of `bfloat16` parts that an operand is split into.
pub(crate) const PARTS: usize = 3;

/// 16 rows of 64 bytes. Of a left operand: 16 rows of 32 numbers. Of a right one: 16 pairs of lines of 16
/// columns, the numbers of a pair side by side.
pub(crate) type TileRegister = [[bf16; DEPTH]; ROWS];

/// 32 rows, or columns, of 32 numbers of an operand, which are sums of three parts, the greatest first: of
/// each part two registers.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct SplitBlock(pub(crate) [[TileRegister; 2]; PARTS]);

/// While it lives, this thread's registers hold 16 rows of 64 bytes each. The configuration is the thread's
/// own: a `TileConfig` proves nothing on another thread, so it is neither `Send` nor `Sync`.
pub(crate) struct TileConfig(PhantomData<*const ()>);

/// The operand of the instruction that configures the tiles.
#[repr(C, align(64))]
struct TilePalette {
    palette: u8,
    start: u8,
    unused: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl TileConfig {
    /// # Panics
    /// Where there are no such registers.
    pub(crate) fn new() -> TileConfig {
        assert!(has_amx_bf16());
        let first = |value| std::array::from_fn(|at| if at < 8 { value } else { 0 });
        let rows = first(ROWS as u16).map(|rows| rows as u8);
        let sizes =
            TilePalette { palette: 1, start: 0, unused: [0; 14], row_bytes: first(64), rows };
        // SAFETY: the CPU has the instruction, and the sizes are some that it has.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const sizes, options(nostack, readonly)) };
        TileConfig(PhantomData)
    }
}

impl Drop for TileConfig {
    fn drop(&mut self) {
        // SAFETY: the CPU has the instruction; nobody holds anything in the registers now.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}

/// 32 rows of 32 columns of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProductTile {
    /// What the products are added to: 32 rows of 32 numbers, and from one to the next.
    pub(crate) begin: *const f32,
    pub(crate) begin_stride: usize,
    /// Where the sums go.
    pub(crate) out: *mut f32,
    pub(crate) out_stride: usize,
    /// What is read soon: with each block [`AHEAD`] bytes from here on, and this many further those of the next
    /// one. Need not be valid.
    pub(crate) ahead: *const f32,
    pub(crate) ahead_step: usize,
}

/// Bytes that are prefetched with each block.
pub(crate) const AHEAD: usize = 1024;

/// Adds the products of 32 rows and 32 columns: those of the parts whose product can be seen in the sum.
///
/// # Panics
/// Where there are no blocks, or not as many of both operands.
///
/// # Safety
/// `begin` and `out` must be valid for 32 rows of 32 numbers.
pub(crate) unsafe fn add_products(
    _: &TileConfig,
    rows: &[SplitBlock],
    columns: &[SplitBlock],
    to: ProductTile,
) {
    let blocks = rows.len();
    assert!(blocks > 0 && columns.len() == blocks, "as many blocks of both, and some");
    let (begin_bytes, out_bytes) = (to.begin_stride * 4, to.out_stride * 4);
    // SAFETY: `TileConfig` says that the CPU has the instructions and that registers have 16 rows of 64
    // bytes; as many blocks are read as both operands have, and the rows of `begin` and `out` are the
    // caller's. Hints read nothing as far as the program can tell.
    unsafe {
        asm!(
            "tileloadd tmm0, [{begin} + {begin_bytes}]",
            "tileloadd tmm1, [{begin} + {begin_bytes} + 64]",
            "tileloadd tmm2, [{begin_below} + {begin_bytes}]",
            "tileloadd tmm3, [{begin_below} + {begin_bytes} + 64]",
            "2:",
            // The greatest parts of the columns, with all parts of the rows.
            "tileloadd tmm6, [{columns} + {row}]",
            "tileloadd tmm7, [{columns} + {row} + 0x400]",
            "tileloadd tmm4, [{rows} + {row} + 0x1000]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{rows} + {row} + 0x1400]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "prefetcht1 [{ahead}]",
            "prefetcht1 [{ahead} + 0x40]",
            "prefetcht1 [{ahead} + 0x80]",
            "prefetcht1 [{ahead} + 0xc0]",
            "tileloadd tmm4, [{rows} + {row}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{rows} + {row} + 0x400]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "prefetcht1 [{ahead} + 0x100]",
            "prefetcht1 [{ahead} + 0x140]",
            "prefetcht1 [{ahead} + 0x180]",
            "prefetcht1 [{ahead} + 0x1c0]",
            "tileloadd tmm4, [{rows} + {row} + 0x800]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{rows} + {row} + 0xc00]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "prefetcht1 [{ahead} + 0x200]",
            "prefetcht1 [{ahead} + 0x240]",
            "prefetcht1 [{ahead} + 0x280]",
            "prefetcht1 [{ahead} + 0x2c0]",
            // The second parts of the columns, with the second and the first of the rows.
            "tileloadd tmm6, [{columns} + {row} + 0x800]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tileloadd tmm7, [{columns} + {row} + 0xc00]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "prefetcht1 [{ahead} + 0x300]",
            "prefetcht1 [{ahead} + 0x340]",
            "prefetcht1 [{ahead} + 0x380]",
            "prefetcht1 [{ahead} + 0x3c0]",
            "tileloadd tmm4, [{rows} + {row}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{rows} + {row} + 0x400]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            // The third parts of the columns, with the first of the rows.
            "tileloadd tmm6, [{columns} + {row} + 0x1000]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tileloadd tmm7, [{columns} + {row} + 0x1400]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {rows}, 0x1800",
            "add {columns}, 0x1800",
            "add {ahead}, {ahead_step}",
            "dec {blocks}",
            "jnz 2b",
            "tilestored [{out} + {out_bytes}], tmm0",
            "tilestored [{out} + {out_bytes} + 64], tmm1",
            "tilestored [{out_below} + {out_bytes}], tmm2",
            "tilestored [{out_below} + {out_bytes} + 64], tmm3",
            begin = in(reg) to.begin,
            begin_below = in(reg) to.begin.wrapping_add(ROWS * to.begin_stride),
            begin_bytes = in(reg) begin_bytes,
            rows = inout(reg) rows.as_ptr() => _,
            columns = inout(reg) columns.as_ptr() => _,
            row = in(reg) 64usize,
            ahead = inout(reg) to.ahead => _,
            ahead_step = in(reg) to.ahead_step,
            blocks = inout(reg) blocks => _,
            out = in(reg) to.out,
            out_below = in(reg) to.out.wrapping_add(ROWS * to.out_stride),
            out_bytes = in(reg) out_bytes,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// Adds the products of 32 rows and 32 columns of `bfloat16`, `blocks` times 32 numbers of each, to `sums`. The
/// numbers of a row lie side by side, those of the columns in pairs, line by line. Strides are those of rows.
///
/// # Safety
/// All must be valid for as many numbers as that says.
pub(crate) unsafe fn add_pairs(
    _: &TileConfig,
    (rows, row_stride): (*const bf16, usize),
    pairs: *const [bf16; 4 * ROWS],
    blocks: usize,
    (sums, sums_stride): (*mut f32, usize),
) {
    if blocks == 0 {
        return;
    }
    let (row_bytes, sum_bytes) = (row_stride * 2, sums_stride * 4);
    // SAFETY: as in `add_products`.
    unsafe {
        asm!(
            "tileloadd tmm0, [{sums} + {sum_bytes}]",
            "tileloadd tmm1, [{sums} + {sum_bytes} + 64]",
            "tileloadd tmm2, [{sums_below} + {sum_bytes}]",
            "tileloadd tmm3, [{sums_below} + {sum_bytes} + 64]",
            "2:",
            "tileloadd tmm6, [{pairs} + {pair_bytes}]",
            "tileloadd tmm4, [{rows} + {row_bytes}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm7, [{pairs} + {pair_bytes} + 64]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{rows_below} + {row_bytes}]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {rows}, 64",
            "add {rows_below}, 64",
            "add {pairs}, 0x800",
            "dec {blocks}",
            "jnz 2b",
            "tilestored [{sums} + {sum_bytes}], tmm0",
            "tilestored [{sums} + {sum_bytes} + 64], tmm1",
            "tilestored [{sums_below} + {sum_bytes}], tmm2",
            "tilestored [{sums_below} + {sum_bytes} + 64], tmm3",
            rows = inout(reg) rows => _,
            rows_below = inout(reg) rows.wrapping_add(ROWS * row_stride) => _,
            row_bytes = in(reg) row_bytes,
            pairs = inout(reg) pairs => _,
            pair_bytes = in(reg) 128usize,
            blocks = inout(reg) blocks => _,
            sums = in(reg) sums,
            sums_below = in(reg) sums.wrapping_add(ROWS * sums_stride),
            sum_bytes = in(reg) sum_bytes,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
