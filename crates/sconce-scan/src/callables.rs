//! Classes and functions that are known to run code, or to reach outside the process, when they are called.
//!
//! The table is for saying *dangerous* and why. It is not what makes a file *clean*: that is the list of
//! names that PyTorch allows, and what is on neither list is *unknown*. So a name that is missing here is
//! never taken for harmless.
//!
//! A class that only stands for its instances (`argparse.Namespace`, `pathlib.PosixPath`, a model's own
//! classes) is not here, wherever it is from: making an instance of it runs nothing that a file chooses.
//! A function of the standard library, of numpy or of PyTorch is here if a call of it with arguments from a
//! file runs code, starts a process, opens a file or a connection, loads machine code, reaches any
//! attribute (with which all the others are reached), or changes the interpreter for what runs later.
//! Modules are here as a whole where nearly all in them does.

use std::collections::HashMap;
use std::sync::OnceLock;

const CODE: &str = "it runs code that its arguments choose";
const PROCESSES: &str = "it starts processes or acts on the machine";
const FILES: &str = "it reads or writes files";
const NETWORK: &str = "it reaches the network";
const NATIVE: &str = "it loads or runs machine code";
const ATTRIBUTES: &str = "it reaches any attribute or function by name, and so anything at all";
const STATE: &str = "it changes the running Python";
/// Of a module that is here as a whole, what is harmless all the same.
const INERT: &str = "";

/// What is matched, and why it is here. Patterns, of the full name with modules of Python 2 under their
/// names in Python 3:
///
/// * `os.*`: everything below a module (or a class);
/// * `signal.signal`: this name;
/// * `code.Interactive*`: every name that begins so;
/// * a `(` at the end: only where it is called, since pickles of its instances name it, too.
static TABLE: &[(&str, &str)] = &[
    ("BaseHTTPServer.*", NETWORK),
    ("CGIHTTPServer.*", NETWORK),
    ("Cython.*", NATIVE),
    ("IPython.*", PROCESSES),
    ("SimpleHTTPServer.*", NETWORK),
    ("SimpleXMLRPCServer.*", NETWORK),
    ("SocketServer.*", NETWORK),
    ("__main__.__builtins__*", CODE),
    ("_aix_support.*", PROCESSES),
    ("_cffi_backend.*", NATIVE),
    ("_code.*", CODE),
    ("_codecs.register", STATE),
    ("_codecs.register_error", STATE),
    ("_compat_pickle.*", CODE),
    ("_ctypes.*", NATIVE),
    ("_dill.*", CODE),
    ("_frozen_importlib.*", CODE),
    ("_frozen_importlib_external.*", CODE),
    ("_imp.*", CODE),
    ("_io.FileIO", FILES),
    ("_io.open", FILES),
    ("_io.open_code", FILES),
    ("_lsprof.*", CODE),
    ("_multiprocessing.*", PROCESSES),
    ("_operator.attrgetter", ATTRIBUTES),
    ("_operator.call", ATTRIBUTES),
    ("_operator.methodcaller", ATTRIBUTES),
    ("_osx_support.*", PROCESSES),
    ("_pickle.*", CODE),
    ("_posixsubprocess.*", PROCESSES),
    ("_pyio.*", FILES),
    ("_pyrepl.*", PROCESSES),
    ("_pytest.*", CODE),
    ("_signal.*", STATE),
    ("_socket.*", NETWORK),
    ("_sqlite3.*", FILES),
    ("_ssl.*", NETWORK),
    ("_thread.start_new*", PROCESSES),
    ("_winapi.*", PROCESSES),
    ("_winreg.*", PROCESSES),
    ("aiohttp.*", NETWORK),
    ("antigravity.*", PROCESSES),
    ("anydbm.*", FILES),
    ("asynchat.*", NETWORK),
    ("asyncio.*", PROCESSES),
    ("asyncore.*", NETWORK),
    ("atexit.*", STATE),
    ("bdb.*", CODE),
    ("boto.*", NETWORK),
    ("boto3.*", NETWORK),
    ("botocore.*", NETWORK),
    ("bsddb.*", FILES),
    ("builtins.__build_class__", CODE),
    ("builtins.__dict__", STATE),
    ("builtins.__dict__*", ATTRIBUTES),
    ("builtins.__import__", CODE),
    ("builtins.__loader__*", CODE),
    ("builtins.__spec__*", CODE),
    ("builtins.apply", CODE),
    ("builtins.breakpoint", CODE),
    ("builtins.code", CODE),
    ("builtins.compile", CODE),
    ("builtins.delattr", ATTRIBUTES),
    ("builtins.eval", CODE),
    ("builtins.exec", CODE),
    ("builtins.execfile", CODE),
    ("builtins.file", FILES),
    ("builtins.filter", ATTRIBUTES),
    ("builtins.function", CODE),
    ("builtins.getattr", ATTRIBUTES),
    ("builtins.globals", ATTRIBUTES),
    ("builtins.help", CODE),
    ("builtins.input", CODE),
    ("builtins.locals", ATTRIBUTES),
    ("builtins.map", ATTRIBUTES),
    ("builtins.object.__getattribute__", ATTRIBUTES),
    ("builtins.object.__reduce__*", ATTRIBUTES),
    ("builtins.open", FILES),
    ("builtins.reload", CODE),
    ("builtins.setattr", ATTRIBUTES),
    ("builtins.str.format", ATTRIBUTES),
    ("builtins.str.format_map", ATTRIBUTES),
    ("builtins.type.__getattribute__", ATTRIBUTES),
    ("builtins.type.__subclasses__*", ATTRIBUTES),
    ("builtins.type.mro", ATTRIBUTES),
    ("builtins.vars", ATTRIBUTES),
    ("bz2.BZ2File", FILES),
    ("bz2.open", FILES),
    ("cPickle.*", CODE),
    ("cProfile.*", CODE),
    ("cffi.*", NATIVE),
    ("cgi.*", NETWORK),
    ("cgitb.*", NETWORK),
    ("cloudpickle.*", CODE),
    ("code.Interactive*", CODE),
    ("code.interact", CODE),
    ("codecs.open", FILES),
    ("codecs.register", STATE),
    ("codecs.register_error", STATE),
    ("codeop.*", CODE),
    ("commands.*", PROCESSES),
    ("compileall.*", CODE),
    ("concurrent.futures.*", PROCESSES),
    ("copy_reg.*", STATE),
    ("copyreg._extension_*", STATE),
    ("copyreg.add_extension", STATE),
    ("copyreg.clear_extension_cache", STATE),
    ("copyreg.constructor", STATE),
    ("copyreg.dispatch_table*", STATE),
    ("copyreg.pickle", STATE),
    ("copyreg.remove_extension", STATE),
    ("crypt.*", FILES),
    ("ctypes.*", NATIVE),
    ("cupy.RawKernel", NATIVE),
    ("cupy.RawModule", NATIVE),
    ("curses.*", PROCESSES),
    ("dbm.*", FILES),
    ("dill.*", CODE),
    ("distutils.*", PROCESSES),
    ("distutils.version.*", INERT),
    ("doctest.*", CODE),
    ("dumbdbm.*", FILES),
    ("ensurepip.*", PROCESSES),
    ("faulthandler.*", STATE),
    ("fcntl.*", FILES),
    ("filecmp.*", FILES),
    ("fileinput.*", FILES),
    ("ftplib.*", NETWORK),
    ("functools.reduce", ATTRIBUTES),
    ("gc.*", STATE),
    ("gdbm.*", FILES),
    ("gdown.*", NETWORK),
    ("getpass.*", FILES),
    ("glob.*", FILES),
    ("grp.*", FILES),
    ("grpc.*", NETWORK),
    ("gzip.GzipFile", FILES),
    ("gzip.open", FILES),
    ("h5py.*", FILES),
    ("http.client.*", NETWORK),
    ("http.cookiejar.*", NETWORK),
    ("http.server.*", NETWORK),
    ("httplib.*", NETWORK),
    ("httplib2.*", NETWORK),
    ("httpx.*", NETWORK),
    ("huggingface_hub._snapshot_download.*", NETWORK),
    ("huggingface_hub.file_download.*", NETWORK),
    ("huggingface_hub.hf_api.*", NETWORK),
    ("huggingface_hub.hf_hub_*", NETWORK),
    ("huggingface_hub.snapshot_*", NETWORK),
    ("huggingface_hub.upload_*", NETWORK),
    ("hydra._internal.*", CODE),
    ("hydra.utils.*", CODE),
    ("idlelib.*", PROCESSES),
    ("imaplib.*", NETWORK),
    ("imp.*", CODE),
    ("importlib.*", CODE),
    ("io.FileIO", FILES),
    ("io.OpenWrapper", FILES),
    ("io.open", FILES),
    ("io.open_code", FILES),
    ("itertools.starmap", ATTRIBUTES),
    ("joblib.externals.*", CODE),
    ("joblib.load", CODE),
    ("joblib.memory.*", CODE),
    ("joblib.numpy_pickle.load", CODE),
    ("joblib.numpy_pickle_utils.*", CODE),
    ("jpype.*", NATIVE),
    ("jsonpickle.*", CODE),
    ("keras.models.load_model", CODE),
    ("keras.saving.load_model", CODE),
    ("keras.src.saving.saving_api.load_model", CODE),
    ("keras.utils.get_file", CODE),
    ("lib2to3.*", PROCESSES),
    ("linecache.*", FILES),
    ("llvmlite.*", CODE),
    ("locale.setlocale", STATE),
    ("logging.FileHandler", FILES),
    ("logging.basicConfig", STATE),
    ("logging.config.*", STATE),
    ("logging.handlers.*(", FILES),
    ("logging.handlers.HTTPHandler", NETWORK),
    ("logging.handlers.SocketHandler", NETWORK),
    ("lzma.LZMAFile", FILES),
    ("lzma.open", FILES),
    ("mailcap.*", PROCESSES),
    ("marshal.*", CODE),
    ("mmap.*", FILES),
    ("msvcrt.*", PROCESSES),
    ("multiprocessing.*", PROCESSES),
    ("netrc.*", FILES),
    ("new.code", CODE),
    ("new.function", CODE),
    ("new.instancemethod", CODE),
    ("nltk.internals.java", PROCESSES),
    ("nntplib.*", NETWORK),
    ("nt.*", PROCESSES),
    ("numba.core.serialize.*", CODE),
    ("numexpr.*", CODE),
    ("numpy.DataSource", FILES),
    ("numpy._core.memmap.memmap(", FILES),
    ("numpy._core.multiarray.fromfile", FILES),
    ("numpy._core.numeric.fromfunction", CODE),
    ("numpy._core.records.fromfile", FILES),
    ("numpy._core.tests.*", PROCESSES),
    ("numpy.apply_along_axis", CODE),
    ("numpy.apply_over_axes", CODE),
    ("numpy.conftest.*", PROCESSES),
    ("numpy.core.memmap.memmap(", FILES),
    ("numpy.core.multiarray.fromfile", FILES),
    ("numpy.core.numeric.fromfunction", CODE),
    ("numpy.core.records.fromfile", FILES),
    ("numpy.core.tests.*", PROCESSES),
    ("numpy.ctypeslib.*", NATIVE),
    ("numpy.distutils.*", PROCESSES),
    ("numpy.f2py.*", PROCESSES),
    ("numpy.fromfile", FILES),
    ("numpy.fromfunction", CODE),
    ("numpy.frompyfunc", CODE),
    ("numpy.fromregex", FILES),
    ("numpy.genfromtxt", FILES),
    ("numpy.lib._datasource.*", FILES),
    ("numpy.lib._format_impl.*", CODE),
    ("numpy.lib._function_base_impl.piecewise", CODE),
    ("numpy.lib._function_base_impl.vectorize", CODE),
    ("numpy.lib._npyio_impl.*", CODE),
    ("numpy.lib._shape_base_impl.apply_*", CODE),
    ("numpy.lib.format.*", CODE),
    ("numpy.lib.format.open_memmap", FILES),
    ("numpy.lib.function_base.piecewise", CODE),
    ("numpy.lib.function_base.vectorize", CODE),
    ("numpy.lib.npyio.*", CODE),
    ("numpy.lib.shape_base.apply_*", CODE),
    ("numpy.load", CODE),
    ("numpy.loadtxt", FILES),
    ("numpy.ma.core._frommethod", CODE),
    ("numpy.ma.extras.apply_along_axis", CODE),
    ("numpy.memmap(", FILES),
    ("numpy.piecewise", CODE),
    ("numpy.recfromcsv", FILES),
    ("numpy.recfromtxt", FILES),
    ("numpy.save", FILES),
    ("numpy.savetxt", FILES),
    ("numpy.savez", FILES),
    ("numpy.savez_compressed", FILES),
    ("numpy.set_string_function", CODE),
    ("numpy.testing.*", PROCESSES),
    ("numpy.vectorize", CODE),
    ("operator.attrgetter", ATTRIBUTES),
    ("operator.call", ATTRIBUTES),
    ("operator.methodcaller", ATTRIBUTES),
    ("os.*", PROCESSES),
    ("pandas.core.computation.*", CODE),
    ("pandas.core.frame.DataFrame.eval", CODE),
    ("pandas.core.frame.DataFrame.query", CODE),
    ("pandas.eval", CODE),
    ("pandas.io.clipboard.*", CODE),
    ("pandas.io.common.*", CODE),
    ("pandas.io.parsers.*", FILES),
    ("pandas.io.pickle.*", CODE),
    ("pandas.io.sql.*", CODE),
    ("pandas.read_*", FILES),
    ("pandas.read_pickle", CODE),
    ("paramiko.*", PROCESSES),
    ("pathlib.Path.*", FILES),
    ("pathlib.PosixPath.*", FILES),
    ("pathlib.WindowsPath.*", FILES),
    ("pdb.*", CODE),
    ("pexpect.*", PROCESSES),
    ("pickle.*", CODE),
    ("pip.*", PROCESSES),
    ("pkgutil.*", CODE),
    ("platform._syscmd_file", PROCESSES),
    ("platform._syscmd_uname", PROCESSES),
    ("platform._syscmd_ver", PROCESSES),
    ("platform.popen", PROCESSES),
    ("plistlib.dump", FILES),
    ("plistlib.load", FILES),
    ("plumbum.*", PROCESSES),
    ("popen2.*", PROCESSES),
    ("poplib.*", NETWORK),
    ("posix.*", PROCESSES),
    ("profile.Profile*", CODE),
    ("profile.run*", CODE),
    ("psutil.Popen", PROCESSES),
    ("pty.*", PROCESSES),
    ("pwd.*", FILES),
    ("py_compile.*", CODE),
    ("pycuda.*", NATIVE),
    ("pydoc.*", PROCESSES),
    ("pytest.*", CODE),
    ("pyximport.*", NATIVE),
    ("requests.*", NETWORK),
    ("resource.setrlimit", STATE),
    ("rlcompleter.*", CODE),
    ("runpy.*", CODE),
    ("safetensors.torch.load_file", FILES),
    ("safetensors.torch.save_file", FILES),
    ("scipy.io.*", FILES),
    ("scipy.weave.*", PROCESSES),
    ("select.*", NETWORK),
    ("selectors.*", NETWORK),
    ("setuptools.*", PROCESSES),
    ("setuptools._distutils.version.*", INERT),
    ("shelve.*", CODE),
    ("shutil.*", FILES),
    ("signal.alarm", STATE),
    ("signal.pthread_kill", STATE),
    ("signal.raise_signal", STATE),
    ("signal.setitimer", STATE),
    ("signal.signal", STATE),
    ("site.add*", STATE),
    ("site.main", STATE),
    ("sitecustomize.*", STATE),
    ("smtpd.*", NETWORK),
    ("smtplib.*", NETWORK),
    ("socket.*", NETWORK),
    ("socketserver.*", NETWORK),
    ("spwd.*", FILES),
    ("sqlite3.*", FILES),
    ("ssl.*", NETWORK),
    ("string.Formatter.*", CODE),
    ("subprocess.*", PROCESSES),
    ("sympy.core.sympify.*", CODE),
    ("sympy.parsing.*", CODE),
    ("sympy.sympify", CODE),
    ("sympy.utilities.autowrap.*", CODE),
    ("sympy.utilities.lambdify.*", CODE),
    ("sys.*", STATE),
    ("tarfile.*", FILES),
    ("telnetlib.*", NETWORK),
    ("tempfile.*", FILES),
    ("tensorflow.keras.models.load_model", CODE),
    ("termios.*", FILES),
    ("test.support.*", PROCESSES),
    ("thread.start_new*", PROCESSES),
    ("threading._start_new_thread", PROCESSES),
    ("threading.setprofile*", STATE),
    ("threading.settrace*", STATE),
    ("timeit.*", CODE),
    ("tkinter.*", PROCESSES),
    ("torch._C.PyTorchFileReader", CODE),
    ("torch._C.PyTorchFileWriter", FILES),
    ("torch._C._distributed_c10d.*", NETWORK),
    ("torch._C._distributed_rpc.*", NETWORK),
    ("torch._C._import_ir_module*", CODE),
    ("torch._C._jit_*", CODE),
    ("torch._C.import_ir_module", CODE),
    ("torch._appdirs.*", FILES),
    ("torch._dynamo.bytecode_*", CODE),
    ("torch._dynamo.codegen.*", CODE),
    ("torch._dynamo.debug_utils.*", PROCESSES),
    ("torch._dynamo.guards.*", CODE),
    ("torch._dynamo.package.*", CODE),
    ("torch._dynamo.repro.*", PROCESSES),
    ("torch._dynamo.resume_execution.*", CODE),
    ("torch._export.*", CODE),
    ("torch._functorch._aot_autograd.*", CODE),
    ("torch._functorch.compilers.*", CODE),
    ("torch._functorch.fx_minifier.*", CODE),
    ("torch._inductor.*", PROCESSES),
    ("torch._numpy.testing.*", CODE),
    ("torch._ops.load_library", NATIVE),
    ("torch._register_device_module", STATE),
    ("torch._sources.*", CODE),
    ("torch._utils_internal.*", STATE),
    ("torch._weights_only_unpickler.*", CODE),
    ("torch.autograd.profiler.emit_*", FILES),
    ("torch.autograd.profiler.load_nvprof", CODE),
    ("torch.autograd.profiler.profile", FILES),
    ("torch.backends._coreml.*", PROCESSES),
    ("torch.classes.load_library", NATIVE),
    ("torch.compile", CODE),
    ("torch.cuda._compile_kernel", NATIVE),
    ("torch.cuda._memory_viz.*", FILES),
    ("torch.cuda.jiterator.*", NATIVE),
    ("torch.cuda.memory._dump_snapshot", FILES),
    ("torch.cuda.memory._save_memory_usage", FILES),
    ("torch.distributed.FileStore", NETWORK),
    ("torch.distributed.TCPStore", NETWORK),
    ("torch.distributed.checkpoint.format_utils.*", CODE),
    ("torch.distributed.checkpoint.state_dict_loader.*", CODE),
    ("torch.distributed.checkpoint.state_dict_saver.*", FILES),
    ("torch.distributed.distributed_c10d._new_process_group_helper", NETWORK),
    ("torch.distributed.distributed_c10d._tensor_to_object", CODE),
    ("torch.distributed.distributed_c10d.init_process_group", NETWORK),
    ("torch.distributed.distributed_c10d.new_group", NETWORK),
    ("torch.distributed.elastic.*", PROCESSES),
    ("torch.distributed.init_process_group", NETWORK),
    ("torch.distributed.launch.*", PROCESSES),
    ("torch.distributed.launcher.*", PROCESSES),
    ("torch.distributed.nn.api.*", CODE),
    ("torch.distributed.rendezvous.*", NETWORK),
    ("torch.distributed.rpc.*", NETWORK),
    ("torch.distributed.run.*", PROCESSES),
    ("torch.export.load", CODE),
    ("torch.export.pt2_archive.*", CODE),
    ("torch.export.save", FILES),
    ("torch.from_file", FILES),
    ("torch.fx._lazy_graph_module.*", CODE),
    ("torch.fx._symbolic_trace.*", CODE),
    ("torch.fx.experimental.*", CODE),
    ("torch.fx.experimental._config.*", INERT),
    ("torch.fx.graph.Graph.*", CODE),
    ("torch.fx.graph_module.*", CODE),
    ("torch.fx.interpreter.*", CODE),
    ("torch.fx.passes.*", CODE),
    ("torch.hub.*", CODE),
    ("torch.jit._recursive.*", CODE),
    ("torch.jit._serialization.*", CODE),
    ("torch.jit.annotations.*", CODE),
    ("torch.jit.frontend.*", CODE),
    ("torch.jit.jit_module_from_flatbuffer", CODE),
    ("torch.jit.load", CODE),
    ("torch.jit.mobile.*", CODE),
    ("torch.jit.save", FILES),
    ("torch.jit.save_jit_module_to_flatbuffer", FILES),
    ("torch.jit.unsupported_tensor_ops.*", CODE),
    ("torch.load", CODE),
    ("torch.multiprocessing.*", PROCESSES),
    ("torch.nn.modules.module.register_module_*", STATE),
    ("torch.onnx._internal.*", CODE),
    ("torch.onnx.export", CODE),
    ("torch.onnx.utils.*", CODE),
    ("torch.onnx.verification.*", CODE),
    ("torch.ops.import_module", NATIVE),
    ("torch.ops.load_library", NATIVE),
    ("torch.package.*", CODE),
    ("torch.profiler.*", FILES),
    ("torch.save", FILES),
    ("torch.serialization.*", CODE),
    ("torch.set_default_*", STATE),
    ("torch.storage._register*", STATE),
    ("torch.testing.*", PROCESSES),
    ("torch.use_deterministic_algorithms", STATE),
    ("torch.utils._config_module.*", CODE),
    ("torch.utils._cpp_extension_versioner.*", NATIVE),
    ("torch.utils._freeze.*", CODE),
    ("torch.utils._import_utils.*", CODE),
    ("torch.utils._strobelight.*", PROCESSES),
    ("torch.utils._traceback.*", CODE),
    ("torch.utils.backend_registration.*", STATE),
    ("torch.utils.benchmark.*", CODE),
    ("torch.utils.bottleneck.*", PROCESSES),
    ("torch.utils.collect_env.*", PROCESSES),
    ("torch.utils.cpp_extension.*", NATIVE),
    ("torch.utils.data.datapipes.*", CODE),
    ("torch.utils.ffi.*", NATIVE),
    ("torch.utils.file_baton.*", FILES),
    ("torch.utils.hipify.*", PROCESSES),
    ("torch.utils.jit.*", CODE),
    ("torch.utils.model_dump.*", CODE),
    ("torch.utils.model_zoo.*", CODE),
    ("torch.utils.rename_privateuse1_backend", STATE),
    ("torch.utils.show_pickle.*", CODE),
    ("torch.utils.tensorboard.*", FILES),
    ("torch.utils.viz.*", PROCESSES),
    ("tornado.*", NETWORK),
    ("trace.Trace*", CODE),
    ("transformers.dynamic_module_utils.*", CODE),
    ("transformers.pipeline", CODE),
    ("transformers.pipelines.pipeline", CODE),
    ("triton.*", NATIVE),
    ("tty.*", FILES),
    ("turtledemo.*", PROCESSES),
    ("twisted.*", NETWORK),
    ("types.CodeType", CODE),
    ("types.FunctionType", CODE),
    ("types.LambdaType", CODE),
    ("unittest.*", CODE),
    ("urllib.FancyURLopener", NETWORK),
    ("urllib.URLopener", NETWORK),
    ("urllib.request.*", NETWORK),
    ("urllib.robotparser.*", NETWORK),
    ("urllib.urlopen", NETWORK),
    ("urllib.urlretrieve", NETWORK),
    ("urllib2.*", NETWORK),
    ("urllib3.*", NETWORK),
    ("usercustomize.*", STATE),
    ("uuid._find_mac", PROCESSES),
    ("uuid._get_command_stdout", PROCESSES),
    ("uuid._popen", PROCESSES),
    ("venv.*", PROCESSES),
    ("virtualenv.*", PROCESSES),
    ("wave.open", FILES),
    ("weakref.finalize", ATTRIBUTES),
    ("webbrowser.*", PROCESSES),
    ("websocket.*", NETWORK),
    ("websockets.*", NETWORK),
    ("wget.*", NETWORK),
    ("win32api.*", PROCESSES),
    ("win32com.*", PROCESSES),
    ("winreg.*", PROCESSES),
    ("wsgiref.*", NETWORK),
    ("xmlrpc.*", NETWORK),
    ("xmlrpclib.*", NETWORK),
    ("yaml.full_load", CODE),
    ("yaml.full_load_all", CODE),
    ("yaml.load", CODE),
    ("yaml.load_all", CODE),
    ("yaml.unsafe_load", CODE),
    ("yaml.unsafe_load_all", CODE),
    ("zipapp.*", CODE),
    ("zipfile.*", FILES),
    ("zipimport.*", CODE),
    ("zmq.*", NETWORK),
];

/// Attributes by which dotted names (`torch.serialization.os.system`) get from one object to another, and
/// methods that reach outside wherever they are. Any part of a dotted name is looked up here.
static ATTRIBUTE_TABLE: &[(&str, &str)] = &[
    ("__base__", ATTRIBUTES),
    ("__bases__", ATTRIBUTES),
    ("__builtins__", ATTRIBUTES),
    ("__call__", ATTRIBUTES),
    ("__class__", ATTRIBUTES),
    ("__closure__", ATTRIBUTES),
    ("__code__", ATTRIBUTES),
    ("__dict__", ATTRIBUTES),
    ("__func__", ATTRIBUTES),
    ("__get__", ATTRIBUTES),
    ("__getattr__", ATTRIBUTES),
    ("__getattribute__", ATTRIBUTES),
    ("__globals__", ATTRIBUTES),
    ("__import__", ATTRIBUTES),
    ("__init_subclass__", ATTRIBUTES),
    ("__loader__", ATTRIBUTES),
    ("__mro__", ATTRIBUTES),
    ("__reduce__", ATTRIBUTES),
    ("__reduce_ex__", ATTRIBUTES),
    ("__self__", ATTRIBUTES),
    ("__spec__", ATTRIBUTES),
    ("__subclasses__", ATTRIBUTES),
    ("__wrapped__", ATTRIBUTES),
    ("_new_shared_fd_cpu", FILES),
    ("_new_shared_filename_cpu", FILES),
    ("_new_using_filename_cpu", FILES),
    ("_new_with_file", FILES),
    ("_share_fd_cpu_", FILES),
    ("_share_filename_cpu_", FILES),
    ("_write_file", FILES),
    ("chmod", FILES),
    ("cr_frame", ATTRIBUTES),
    ("dump", FILES),
    ("evaluate_guards_expression", CODE),
    ("execWrapper", CODE),
    ("exec_module", CODE),
    ("f_builtins", ATTRIBUTES),
    ("f_globals", ATTRIBUTES),
    ("f_locals", ATTRIBUTES),
    ("from_file", FILES),
    ("gi_frame", ATTRIBUTES),
    ("hardlink_to", FILES),
    ("import_module", NATIVE),
    ("load_config", CODE),
    ("load_library", NATIVE),
    ("load_module", CODE),
    ("mkdir", FILES),
    ("mro", ATTRIBUTES),
    ("popen", CODE),
    ("read_bytes", FILES),
    ("read_text", FILES),
    ("rmdir", FILES),
    ("spawn", CODE),
    ("symlink_to", FILES),
    ("system", CODE),
    ("tb_frame", ATTRIBUTES),
    ("tofile", FILES),
    ("touch", FILES),
    ("unlink", FILES),
    ("write_bytes", FILES),
    ("write_text", FILES),
];

/// Modules that are of use to nobody but an attacker where they are taken from another module.
static MODULES: &[&str] = &[
    "__builtin__",
    "__builtins__",
    "_pickle",
    "builtins",
    "cPickle",
    "ctypes",
    "importlib",
    "marshal",
    "nt",
    "os",
    "pickle",
    "posix",
    "pty",
    "runpy",
    "shutil",
    "socket",
    "subprocess",
    "sys",
];

/// The table by what is looked up in it.
#[derive(Default)]
struct Index {
    exact: HashMap<&'static str, Known>,
    /// By the module's name.
    below: HashMap<&'static str, Known>,
    /// What begins so.
    starts: Vec<(&'static str, Known)>,
}

#[derive(Clone, Copy)]
struct Known {
    reason: &'static str,
    only_called: bool,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index::default();
        for &(pattern, reason) in TABLE {
            let (pattern, only_called) = match pattern.strip_suffix('(') {
                Some(pattern) => (pattern, true),
                None => (pattern, false),
            };
            let known = Known { reason, only_called };
            if let Some(module) = pattern.strip_suffix(".*") {
                index.below.insert(module, known);
            } else if let Some(start) = pattern.strip_suffix('*') {
                index.starts.push((start, known));
            } else {
                index.exact.insert(pattern, known);
            }
        }
        index
    })
}

/// The row of a full name. What says more of it comes first.
fn lookup(full: &str) -> Option<Known> {
    let index = index();
    if let Some(known) = index.exact.get(full) {
        return Some(*known);
    }
    let starts = index.starts.iter().find(|(start, _)| full.starts_with(start));
    if let Some((_, known)) = starts {
        return Some(*known);
    }
    let mut module = full;
    while let Some((outer, _)) = module.rsplit_once('.') {
        if let Some(known) = index.below.get(outer) {
            return Some(*known);
        }
        module = outer;
    }
    None
}

/// Longest name that is looked up; no module has one that comes near.
const LONGEST: usize = 4096;
/// Most parts of a dotted name that are looked at.
const MOST_PARTS: usize = 64;

/// Why `module.name` (a name of Python 3) is dangerous; `None` for what is on no list here.
/// `called` tells whether it is called, and not only named.
pub(crate) fn danger(module: &str, name: &str, called: bool) -> Option<&'static str> {
    if module.len() + name.len() > LONGEST {
        return None;
    }
    let applies = |known: Known| {
        (!known.reason.is_empty() && (called || !known.only_called)).then_some(known.reason)
    };
    let full = format!("{module}.{name}");
    if let Some(known) = lookup(&full) {
        return applies(known);
    }
    let parts: Vec<&str> = name.split('.').take(MOST_PARTS).collect();
    for (at, part) in parts.iter().enumerate() {
        let dotted = parts.len() > 1;
        if MODULES.contains(part) {
            return Some(ATTRIBUTES);
        }
        if dotted || part.starts_with("__") {
            let row = ATTRIBUTE_TABLE.iter().find(|(attribute, _)| attribute == part);
            if let Some((_, reason)) = row {
                return Some(reason);
            }
        }
        if dotted && at + 1 < parts.len() {
            // A dotted name comes to a module by way of another one that imports it.
            if let Some(reason) = lookup(&parts[at..].join(".")).and_then(applies) {
                return Some(reason);
            }
        }
    }
    // Names are cut short above, and what is cut off may be anything.
    (name.split('.').count() > MOST_PARTS).then_some(ATTRIBUTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_said_once() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
        assert!(ATTRIBUTE_TABLE.is_sorted_by(|a, b| a.0 < b.0));
        assert!(MODULES.is_sorted());
        for (pattern, _) in TABLE {
            let plain = pattern.trim_end_matches('(').trim_end_matches('*');
            assert!(!plain.is_empty() && !plain.contains(['*', '(', ' ']), "{pattern}");
        }
    }

    #[test]
    fn what_runs_or_reaches_is_dangerous() {
        let cases = [
            ("os", "system"),
            ("posix", "system"),
            ("nt", "system"),
            ("subprocess", "Popen"),
            ("builtins", "eval"),
            ("builtins", "exec"),
            ("builtins", "getattr"),
            ("builtins", "__import__"),
            ("builtins", "open"),
            ("runpy", "run_path"),
            ("pip", "main"),
            ("pip._internal", "main"),
            ("torch.hub", "load"),
            ("torch", "load"),
            ("torch.package", "PackageImporter"),
            ("torch.package.package_importer", "PackageImporter"),
            ("ctypes", "CDLL"),
            ("marshal", "loads"),
            ("types", "FunctionType"),
            ("types", "CodeType"),
            ("operator", "attrgetter"),
            ("operator", "methodcaller"),
            ("importlib", "import_module"),
            ("socket", "create_connection"),
            ("shutil", "rmtree"),
            ("webbrowser", "open"),
            ("pty", "spawn"),
            ("copyreg", "add_extension"),
            ("numpy.testing._private.utils", "runstring"),
            ("numpy.f2py.crackfortran", "getlincoef"),
            ("torch.jit.unsupported_tensor_ops", "execWrapper"),
            ("torch.fx.experimental.symbolic_shapes", "ShapeEnv.evaluate_guards_expression"),
            ("torch.utils._config_module", "ConfigModule.load_config"),
            ("torch._dynamo.guards", "GuardBuilder.get"),
            ("uuid", "_get_command_stdout"),
            ("numpy", "memmap"),
            ("code", "InteractiveInterpreter.runcode"),
            // By way of another module.
            ("torch", "serialization.os.system"),
            ("torch._utils", "sys.modules"),
            ("torch.nn", "Module.__init__.__globals__"),
            ("torch", "UntypedStorage.from_file"),
            ("pathlib", "Path.write_text"),
            ("mypackage", "os"),
            ("mypackage", "helpers.subprocess.call"),
        ];
        let missed: Vec<_> =
            cases.iter().filter(|(module, name)| danger(module, name, true).is_none()).collect();
        assert!(missed.is_empty(), "{missed:?}");
        let endless = vec!["a"; 100].join(".");
        assert!(danger("m", &endless, false).is_some());
    }

    #[test]
    fn classes_that_stand_for_instances_are_not() {
        let cases = [
            ("argparse", "Namespace"),
            ("pathlib", "PosixPath"),
            ("pathlib", "Path"),
            ("collections", "deque"),
            ("functools", "partial"),
            ("datetime", "datetime"),
            ("numpy", "dtype"),
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy.core.multiarray", "scalar"),
            ("numpy.random", "RandomState"),
            ("torch.nn.modules.linear", "Linear"),
            ("torch.nn.modules.container", "Sequential"),
            ("torch.optim.adam", "Adam"),
            ("torch.storage", "_load_from_bytes"),
            ("torch.utils.data.dataset", "TensorDataset"),
            ("torch.distributed.checkpoint.metadata", "Metadata"),
            ("omegaconf.dictconfig", "DictConfig"),
            ("sklearn.linear_model", "LogisticRegression"),
            ("transformers.training_args", "TrainingArguments"),
            ("models.yolo", "Model"),
            ("code", "Model"),
            ("test", "Net"),
            ("site", "Model"),
            ("mypackage.subprocess", "Net"),
            ("distutils.version", "LooseVersion"),
            ("builtins", "set"),
            ("builtins", "complex"),
            ("operator", "itemgetter"),
            ("logging", "getLogger"),
            ("inspect", "Signature"),
            ("threading", "Event"),
        ];
        for (module, name) in cases {
            assert_eq!(danger(module, name, true), None, "{module}.{name}");
        }
        assert_eq!(danger("numpy.core.memmap", "memmap", false), None);
        assert_eq!(danger("numpy.core.memmap", "memmap", true), Some(FILES));
    }
}
