//! `sconce.dtype`, with the names and the text of `torch.dtype`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use sconce::DType;

use crate::error;

/// The type of a tensor's elements: ``torch.dtype`` without torch.
#[pyclass(frozen, module = "sconce", name = "dtype", from_py_object)]
#[derive(Clone, Copy)]
pub struct PyDType(pub DType);

#[pymethods]
impl PyDType {
    #[new]
    #[pyo3(signature = (name, /))]
    fn new(name: &str) -> PyResult<Self> {
        let parsed = name.parse().map(PyDType);
        parsed.map_err(|_| PyValueError::new_err(format!("there is no dtype '{name}'")))
    }

    /// The name after ``torch.``, such as ``float32``.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.item_size()
    }

    /// Whether it is a real floating type.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_floating_point()
    }

    /// Whether it is a complex type.
    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    /// Whether it has negative numbers.
    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }

    /// The dtype that NumPy has for it, of ``ml_dtypes`` where that has it.
    #[getter]
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy_dtype(py, self.0)
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<PyDType>() {
            Ok(other) => other.get().0 == self.0,
            // torch.float32, and "float32".
            Err(_) => dtype_of(other).is_ok_and(|other| other == self.0),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        pyo3::types::PyString::new(py, self.0.name()).hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&'static str,))> {
        Ok((py.get_type::<PyDType>().into_any(), (self.0.name(),)))
    }
}

/// The dtype that an argument names: one of ours, torch's, or a name; of NumPy's dtypes those that PyTorch has.
pub fn dtype_of(given: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(ours) = given.cast::<PyDType>() {
        return Ok(ours.get().0);
    }
    if let Ok(name) = given.extract::<String>() {
        return PyDType::new(&name).map(|dtype| dtype.0);
    }
    let module = given.get_type().getattr("__module__").and_then(|name| name.extract::<String>());
    let module = module.unwrap_or_default();
    let text = match module.as_str() {
        "torch" => given.str()?.to_string(),
        // A dtype has a name, and so do classes such as numpy.float32 and ml_dtypes.bfloat16.
        _ => given
            .getattr("name")
            .or_else(|_| given.getattr("__name__"))
            .and_then(|name| name.extract())
            .map_err(|_| PyTypeError::new_err("expected a dtype or the name of one"))?,
    };
    PyDType::new(&text).map(|dtype| dtype.0)
}

/// NumPy's dtype for one of PyTorch's.
pub fn numpy_dtype<'py>(py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let numpy = DTYPE
        .get_or_try_init(py, || PyResult::Ok(py.import("numpy")?.getattr("dtype")?.unbind()))?
        .bind(py);
    match dtype {
        _ if dtype.numpy_descr().is_some() => numpy.call1((dtype.name(),)),
        DType::BFloat16
        | DType::Float8E5M2
        | DType::Float8E4M3FN
        | DType::Float8E5M2FNUZ
        | DType::Float8E4M3FNUZ
        | DType::Float8E8M0FNU => {
            let missing = |_| {
                let name = dtype.name();
                let what = format!("NumPy has no {name}: the package ml_dtypes has it");
                error::unsupported(py, what + " (pip install ml_dtypes)")
            };
            let ml_dtypes = py.import("ml_dtypes").map_err(missing)?;
            numpy.call1((ml_dtypes.getattr(dtype.name())?,))
        }
        _ => Err(error::unsupported(py, format!("NumPy has no dtype for {dtype}"))),
    }
}
