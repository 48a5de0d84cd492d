//! The `sconce` binary: PyTorch's files at a shell, without PyTorch.

/// Counts what the process holds, so that `--max-memory` binds all of it.
#[global_allocator]
static ALLOCATOR: sconce::run::CountingAllocator = sconce::run::CountingAllocator;

fn main() -> std::process::ExitCode {
    sconce_cli::main()
}
