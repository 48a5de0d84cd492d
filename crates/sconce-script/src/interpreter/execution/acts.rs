//! Functions of libraries that would do something outside of Python, which nothing here does.

/// Modules all of whose functions reach outside.
const MODULES: &[&str] = &[
    "ctypes",
    "ftplib",
    "http.client",
    "multiprocessing",
    "pty",
    "shutil",
    "smtplib",
    "socket",
    "subprocess",
    "urllib.request",
    "webbrowser",
    "torch.utils.cpp_extension",
];

const FUNCTIONS: &[&str] = &[
    "builtins.breakpoint",
    "builtins.compile",
    "builtins.eval",
    "builtins.exec",
    "builtins.input",
    "os.chdir",
    "os.chmod",
    "os.kill",
    "os.popen",
    "os.remove",
    "os.rename",
    "os.replace",
    "os.rmdir",
    "os.startfile",
    "os.symlink",
    "os.system",
    "os.unlink",
    "torch.hub.download_url_to_file",
    "torch.ops.load_library",
    "torch.classes.load_library",
    "torch.save",
];

/// Whether a function starts programs, writes files or connects somewhere by itself.
pub(super) fn reaches_outside(name: &str) -> bool {
    let is_in =
        |module: &&str| name.strip_prefix(*module).is_some_and(|rest| rest.starts_with('.'));
    FUNCTIONS.contains(&name)
        || MODULES.iter().any(is_in)
        || ["os.exec", "os.spawn", "os.fork", "os.posix_spawn"]
            .iter()
            .any(|at| name.starts_with(at))
}

/// What is said of a function that is not called.
pub(super) fn refusal(name: &str) -> String {
    let short = name.strip_prefix("builtins.").unwrap_or(name);
    match reaches_outside(name) {
        true => format!(
            "{short}() is not called: nothing here runs programs, writes files or connects anywhere \
             but to load state dicts"
        ),
        false => format!("{short}() is not supported here"),
    }
}
