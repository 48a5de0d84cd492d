//! The names that classes and functions had in Python 2.
//!
//! Two readers replace them: pickle's own `find_class`, by the tables of CPython's `_compat_pickle`
//! ([`modern`]), and torch's weights_only unpickler, by shorter tables of its own
//! (`torch._utils.NAME_MAPPING` and `IMPORT_MAPPING`; [`modern_for_weights_only`]). The tables below
//! are printed by `tests/golden/python2_names.py`.

use std::borrow::Cow;

/// Module and name in Python 2, module and name in Python 3, and whether torch's table has it too.
type Name = (&'static str, &'static str, &'static str, &'static str, bool);
/// Module in Python 2, module in Python 3, and whether torch's table has it too.
type Module = (&'static str, &'static str, bool);

/// What Python 3's pickle reads `module.name` as. Allocates nothing.
///
/// pickle does this for protocols 0 to 2 only.
pub fn modern<'a>(module: &'a str, name: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    replaced(module, name, false)
}

/// What torch's weights_only unpickler reads `module.name` as, whatever the protocol.
pub(crate) fn modern_for_weights_only<'a>(
    module: &'a str,
    name: &'a str,
) -> (Cow<'a, str>, Cow<'a, str>) {
    replaced(module, name, true)
}

fn replaced<'a>(module: &'a str, name: &'a str, torch: bool) -> (Cow<'a, str>, Cow<'a, str>) {
    let found = NAMES.binary_search_by(|entry| (entry.0, entry.1).cmp(&(module, name)));
    if let Ok(at) = found
        && let (_, _, new_module, new_name, in_torch) = NAMES[at]
        && (in_torch || !torch)
    {
        return (Cow::Borrowed(new_module), Cow::Borrowed(new_name));
    }
    if let Ok(at) = MODULES.binary_search_by(|entry| entry.0.cmp(module))
        && let (_, new_module, in_torch) = MODULES[at]
        && (in_torch || !torch)
    {
        return (Cow::Borrowed(new_module), Cow::Borrowed(name));
    }
    (Cow::Borrowed(module), Cow::Borrowed(name))
}

static NAMES: &[Name] = &[
    ("UserDict", "IterableUserDict", "collections", "UserDict", true),
    ("UserDict", "UserDict", "collections", "UserDict", true),
    ("UserList", "UserList", "collections", "UserList", true),
    ("UserString", "UserString", "collections", "UserString", true),
    ("__builtin__", "basestring", "builtins", "str", true),
    ("__builtin__", "intern", "sys", "intern", true),
    ("__builtin__", "long", "builtins", "int", true),
    ("__builtin__", "reduce", "functools", "reduce", true),
    ("__builtin__", "unichr", "builtins", "chr", true),
    ("__builtin__", "unicode", "builtins", "str", true),
    ("__builtin__", "xrange", "builtins", "range", true),
    ("_multiprocessing", "Connection", "multiprocessing.connection", "Connection", false),
    ("_socket", "fromfd", "socket", "fromfd", false),
    ("exceptions", "ArithmeticError", "builtins", "ArithmeticError", false),
    ("exceptions", "AssertionError", "builtins", "AssertionError", false),
    ("exceptions", "AttributeError", "builtins", "AttributeError", false),
    ("exceptions", "BaseException", "builtins", "BaseException", false),
    ("exceptions", "BufferError", "builtins", "BufferError", false),
    ("exceptions", "BytesWarning", "builtins", "BytesWarning", false),
    ("exceptions", "DeprecationWarning", "builtins", "DeprecationWarning", false),
    ("exceptions", "EOFError", "builtins", "EOFError", false),
    ("exceptions", "EnvironmentError", "builtins", "EnvironmentError", false),
    ("exceptions", "Exception", "builtins", "Exception", false),
    ("exceptions", "FloatingPointError", "builtins", "FloatingPointError", false),
    ("exceptions", "FutureWarning", "builtins", "FutureWarning", false),
    ("exceptions", "GeneratorExit", "builtins", "GeneratorExit", false),
    ("exceptions", "IOError", "builtins", "IOError", false),
    ("exceptions", "ImportError", "builtins", "ImportError", false),
    ("exceptions", "ImportWarning", "builtins", "ImportWarning", false),
    ("exceptions", "IndentationError", "builtins", "IndentationError", false),
    ("exceptions", "IndexError", "builtins", "IndexError", false),
    ("exceptions", "KeyError", "builtins", "KeyError", false),
    ("exceptions", "KeyboardInterrupt", "builtins", "KeyboardInterrupt", false),
    ("exceptions", "LookupError", "builtins", "LookupError", false),
    ("exceptions", "MemoryError", "builtins", "MemoryError", false),
    ("exceptions", "NameError", "builtins", "NameError", false),
    ("exceptions", "NotImplementedError", "builtins", "NotImplementedError", false),
    ("exceptions", "OSError", "builtins", "OSError", false),
    ("exceptions", "OverflowError", "builtins", "OverflowError", false),
    ("exceptions", "PendingDeprecationWarning", "builtins", "PendingDeprecationWarning", false),
    ("exceptions", "ReferenceError", "builtins", "ReferenceError", false),
    ("exceptions", "RuntimeError", "builtins", "RuntimeError", false),
    ("exceptions", "RuntimeWarning", "builtins", "RuntimeWarning", false),
    ("exceptions", "StandardError", "builtins", "Exception", true),
    ("exceptions", "StopIteration", "builtins", "StopIteration", false),
    ("exceptions", "SyntaxError", "builtins", "SyntaxError", false),
    ("exceptions", "SyntaxWarning", "builtins", "SyntaxWarning", false),
    ("exceptions", "SystemError", "builtins", "SystemError", false),
    ("exceptions", "SystemExit", "builtins", "SystemExit", false),
    ("exceptions", "TabError", "builtins", "TabError", false),
    ("exceptions", "TypeError", "builtins", "TypeError", false),
    ("exceptions", "UnboundLocalError", "builtins", "UnboundLocalError", false),
    ("exceptions", "UnicodeDecodeError", "builtins", "UnicodeDecodeError", false),
    ("exceptions", "UnicodeEncodeError", "builtins", "UnicodeEncodeError", false),
    ("exceptions", "UnicodeError", "builtins", "UnicodeError", false),
    ("exceptions", "UnicodeTranslateError", "builtins", "UnicodeTranslateError", false),
    ("exceptions", "UnicodeWarning", "builtins", "UnicodeWarning", false),
    ("exceptions", "UserWarning", "builtins", "UserWarning", false),
    ("exceptions", "ValueError", "builtins", "ValueError", false),
    ("exceptions", "Warning", "builtins", "Warning", false),
    ("exceptions", "ZeroDivisionError", "builtins", "ZeroDivisionError", false),
    ("itertools", "ifilter", "builtins", "filter", true),
    ("itertools", "ifilterfalse", "itertools", "filterfalse", true),
    ("itertools", "imap", "builtins", "map", true),
    ("itertools", "izip", "builtins", "zip", true),
    ("itertools", "izip_longest", "itertools", "zip_longest", true),
    (
        "multiprocessing",
        "AuthenticationError",
        "multiprocessing.context",
        "AuthenticationError",
        false,
    ),
    ("multiprocessing", "BufferTooShort", "multiprocessing.context", "BufferTooShort", false),
    ("multiprocessing", "ProcessError", "multiprocessing.context", "ProcessError", false),
    ("multiprocessing", "TimeoutError", "multiprocessing.context", "TimeoutError", false),
    ("multiprocessing.forking", "Popen", "multiprocessing.popen_fork", "Popen", false),
    ("multiprocessing.process", "Process", "multiprocessing.context", "Process", false),
    ("socket", "_socketobject", "socket", "SocketType", false),
    ("urllib", "ContentTooShortError", "urllib.error", "ContentTooShortError", false),
    ("urllib", "getproxies", "urllib.request", "getproxies", false),
    ("urllib", "pathname2url", "urllib.request", "pathname2url", false),
    ("urllib", "quote", "urllib.parse", "quote", false),
    ("urllib", "quote_plus", "urllib.parse", "quote_plus", false),
    ("urllib", "unquote", "urllib.parse", "unquote", false),
    ("urllib", "unquote_plus", "urllib.parse", "unquote_plus", false),
    ("urllib", "url2pathname", "urllib.request", "url2pathname", false),
    ("urllib", "urlcleanup", "urllib.request", "urlcleanup", false),
    ("urllib", "urlencode", "urllib.parse", "urlencode", false),
    ("urllib", "urlopen", "urllib.request", "urlopen", false),
    ("urllib", "urlretrieve", "urllib.request", "urlretrieve", false),
    ("urllib2", "HTTPError", "urllib.error", "HTTPError", false),
    ("urllib2", "URLError", "urllib.error", "URLError", false),
    ("whichdb", "whichdb", "dbm", "whichdb", false),
];

static MODULES: &[Module] = &[
    ("BaseHTTPServer", "http.server", false),
    ("CGIHTTPServer", "http.server", false),
    ("ConfigParser", "configparser", false),
    ("Cookie", "http.cookies", false),
    ("Dialog", "tkinter.dialog", false),
    ("DocXMLRPCServer", "xmlrpc.server", false),
    ("FileDialog", "tkinter.filedialog", false),
    ("HTMLParser", "html.parser", false),
    ("Queue", "queue", true),
    ("ScrolledText", "tkinter.scrolledtext", false),
    ("SimpleDialog", "tkinter.simpledialog", false),
    ("SimpleHTTPServer", "http.server", false),
    ("SimpleXMLRPCServer", "xmlrpc.server", false),
    ("SocketServer", "socketserver", false),
    ("StringIO", "io", true),
    ("Tix", "tkinter.tix", false),
    ("Tkconstants", "tkinter.constants", false),
    ("Tkdnd", "tkinter.dnd", false),
    ("Tkinter", "tkinter", false),
    ("UserDict", "collections", true),
    ("UserList", "collections", true),
    ("UserString", "collections", true),
    ("__builtin__", "builtins", true),
    ("_abcoll", "collections.abc", true),
    ("_elementtree", "xml.etree.ElementTree", false),
    ("_winreg", "winreg", false),
    ("anydbm", "dbm", false),
    ("cPickle", "pickle", false),
    ("cStringIO", "io", true),
    ("commands", "subprocess", false),
    ("cookielib", "http.cookiejar", false),
    ("copy_reg", "copyreg", true),
    ("dbhash", "dbm.bsd", false),
    ("dbm", "dbm.ndbm", false),
    ("dumbdbm", "dbm.dumb", false),
    ("dummy_thread", "_dummy_thread", false),
    ("gdbm", "dbm.gnu", false),
    ("htmlentitydefs", "html.entities", false),
    ("httplib", "http.client", false),
    ("markupbase", "_markupbase", false),
    ("repr", "reprlib", true),
    ("robotparser", "urllib.robotparser", false),
    ("test.test_support", "test.support", false),
    ("thread", "_thread", false),
    ("tkColorChooser", "tkinter.colorchooser", false),
    ("tkCommonDialog", "tkinter.commondialog", false),
    ("tkFileDialog", "tkinter.filedialog", false),
    ("tkFont", "tkinter.font", false),
    ("tkMessageBox", "tkinter.messagebox", false),
    ("tkSimpleDialog", "tkinter.simpledialog", false),
    ("ttk", "tkinter.ttk", false),
    ("urllib2", "urllib.request", false),
    ("urlparse", "urllib.parse", false),
    ("whichdb", "dbm", true),
    ("xmlrpclib", "xmlrpc.client", false),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(NAMES.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)));
        assert!(MODULES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn old_names_become_new_ones() {
        // Module, name, what pickle makes of them, what torch's weights_only makes of them.
        let cases = [
            ("__builtin__", "set", "builtins.set", "builtins.set"),
            ("__builtin__", "xrange", "builtins.range", "builtins.range"),
            ("copy_reg", "_reconstructor", "copyreg._reconstructor", "copyreg._reconstructor"),
            ("cPickle", "loads", "pickle.loads", "cPickle.loads"),
            ("exceptions", "ValueError", "builtins.ValueError", "exceptions.ValueError"),
            ("exceptions", "NoSuchError", "exceptions.NoSuchError", "exceptions.NoSuchError"),
            ("UserDict", "UserDict", "collections.UserDict", "collections.UserDict"),
            ("urllib2", "HTTPError", "urllib.error.HTTPError", "urllib2.HTTPError"),
            ("torch", "FloatStorage", "torch.FloatStorage", "torch.FloatStorage"),
            ("", "", ".", "."),
        ];
        for (module, name, pickle, torch) in cases {
            let joined = |(module, name): (Cow<'_, str>, Cow<'_, str>)| format!("{module}.{name}");
            assert_eq!(joined(modern(module, name)), pickle);
            assert_eq!(joined(modern_for_weights_only(module, name)), torch);
        }
    }
}
