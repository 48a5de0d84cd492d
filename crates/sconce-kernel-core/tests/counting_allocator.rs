//! What the counting allocator counts, in a process of its own: tests beside it would count too.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use sconce_kernel_core::{CountingAllocator, DType, ErrorKind, Memory, Tensor};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MIB: usize = 1 << 20;

// One test, so that nothing runs beside it.
#[test]
fn the_limit_binds_what_the_whole_process_holds() {
    let memory = Memory::new(Some(64 * MIB));
    let _entered = memory.enter();
    let near = |bytes: usize| memory.held().abs_diff(bytes) < MIB;
    assert!(near(0), "{}", memory.held());
    let large: Vec<u8> = Vec::with_capacity(40 * MIB);
    assert!(near(40 * MIB), "{}", memory.held());
    let small: Vec<Box<[u8; 100]>> = (0..100_000).map(|_| Box::new([0; 100])).collect();
    // 112 bytes each with what the system puts before it, and 8 in the list.
    assert!(near(40 * MIB + 100_000 * 120), "{}", memory.held());
    assert_eq!(memory.used(), 0);
    let error = Tensor::zeros(&[20 * MIB as i64], DType::UInt8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(
        error.message(),
        "memory limit of 64 MiB exceeded: the program holds 51.4 MiB and asks for 20 MiB more"
    );
    // Another thread frees it.
    std::thread::spawn(move || drop((large, small))).join().unwrap();
    assert!(near(0), "{}", memory.held());

    // What kernels keep for later is given back before anything is refused.
    drop(Tensor::zeros(&[20 * MIB as i64], DType::UInt8).unwrap());
    drop(Tensor::zeros(&[30 * MIB as i64], DType::UInt8).unwrap());
    assert!(near(50 * MIB), "{}", memory.held());
    let grown = Tensor::zeros(&[40 * MIB as i64], DType::UInt8).unwrap();
    assert!(near(40 * MIB), "{}", memory.held());
    drop(grown);
    assert!(!memory.is_exceeded());
}
