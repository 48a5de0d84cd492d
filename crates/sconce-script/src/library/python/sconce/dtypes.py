"""What torch.finfo and torch.iinfo say of dtypes."""

# Bits, the smallest number above 1 less 1, the largest, the smallest, the smallest above 0 that is normal, the
# precision in decimals.
_FLOATS = {
    "float16": (16, 0.0009765625, 65504.0, -65504.0, 6.103515625e-05, 0.001),
    "bfloat16": (16, 0.0078125, 3.3895313892515355e+38, -3.3895313892515355e+38, 1.1754943508222875e-38, 0.01),
    "float32": (32, 1.1920928955078125e-07, 3.4028234663852886e+38, -3.4028234663852886e+38, 1.1754943508222875e-38, 1e-06),
    "float64": (64, 2.220446049250313e-16, 1.7976931348623157e+308, -1.7976931348623157e+308, 2.2250738585072014e-308, 1e-15),
    "float8_e4m3fn": (8, 0.125, 448.0, -448.0, 0.015625, 1.0),
    "float8_e5m2": (8, 0.25, 57344.0, -57344.0, 6.103515625e-05, 1.0),
    "float8_e4m3fnuz": (8, 0.125, 240.0, -240.0, 0.0078125, 1.0),
    "float8_e5m2fnuz": (8, 0.25, 57344.0, -57344.0, 3.0517578125e-05, 1.0),
}
_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
# Bits, the largest number, the smallest.
_INTS = {
    "uint8": (8, 255, 0),
    "int8": (8, 127, -128),
    "int16": (16, 32767, -32768),
    "int32": (32, 2147483647, -2147483648),
    "int64": (64, 9223372036854775807, -9223372036854775807 - 1),
}


class finfo:
    def __init__(self, dtype):
        name = dtype.split(".")[-1]
        name = _PARTS.get(name, name)
        if name not in _FLOATS:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        self.bits, self.eps, self.max, self.min, self.tiny, self.resolution = _FLOATS[name]
        self.smallest_normal = self.tiny
        self.dtype = name


class iinfo:
    def __init__(self, dtype):
        name = dtype.split(".")[-1]
        if name not in _INTS:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        self.bits, self.max, self.min = _INTS[name]
        self.dtype = name
