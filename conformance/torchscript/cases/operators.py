"""Operators that no function of torch's Python interface is made of: what old archives, `torch.ops` and
methods of tensors in scripts reach."""
import torch

from registry import Case, register, t

x23 = torch.tensor([[1.5, -2.0, 0.25], [3.0, -0.5, 7.0]])
x34 = t(3, 4) - 2.5
ints = torch.tensor([[1, 2, 3], [4, 5, 6]])
image = (t(1, 2, 5, 5) - 10) / 4
weight = (t(3, 2, 2, 2) - 5) / 8
bias = torch.tensor([0.5, -1.0, 2.0])
volume = (t(1, 2, 4, 4, 4) - 30) / 16
cube = (t(3, 2, 2, 2, 2) - 9) / 8
mask = torch.tensor([[True, False, False], [False, False, True]])

# The program changes copies, for it is run more than once with the same arguments.
ONE = "one = torch.ones([1], dtype=torch.long)\n  a, b, s, z = a.clone(), b.clone(), s.clone(), z.clone()\n  "
OBSERVE = "y = torch.fused_moving_avg_obs_fake_quant(x, one, one, a, b, s, z, 0.5,"


def running(sizes):
    """What an observer keeps that has seen nothing."""
    least = torch.full(sizes, float("inf"))
    return least, -least, torch.ones(sizes), torch.zeros(sizes, dtype=torch.int32)


# Name: (what is given, body of the program, arguments).
PROGRAMS = {
    "norm_scalar": ("x", "return x.norm(), x.norm(1), x.norm(dtype=torch.float64, p=2), x.norm(2, [1], dtype=torch.float64, keepdim=True)", x23),
    "weight_norm": ("v, g", "return torch._weight_norm(v, g, 0)", x34, t(3, 1) + 1),
    "weight_norm_last": ("v, g", "return torch._weight_norm(v, g, 1), torch.norm_except_dim(v, 2, 1), torch.norm_except_dim(v, 1, 0)", x34, t(1, 4) + 1),
    "weight_norm_whole": ("v, g", "return torch._weight_norm(v, g, -1), torch.norm_except_dim(v, 2, -1)", x34, torch.tensor(2.0)),
    "weight_norm_interface": ("v, g", "return torch._weight_norm_interface(v, g, 0)", x34, t(3, 1) + 1),
    "softmax_native": ("x", "return torch._softmax(x, 1, False), torch._log_softmax(x, 0, False)", x23),
    "masked_softmax": ("x, m", "return torch._masked_softmax(x, m, 1)", x23, mask),
    "in_place_bits": ("x", "y = x.clone()\n  y.__iand__(6)\n  y.__ior__(x)\n  y.__ixor__(3)\n  y.__ilshift__(1)\n  y.__irshift__(x)\n  return y", ints),
    "fill_diagonal": ("x", "x.fill_diagonal_(0.5)\n  return x", torch.zeros(4, 3)),
    "fill_diagonal_wrap": ("x", "x.fill_diagonal_(2, wrap=True)\n  return x", torch.zeros(7, 3)),
    "fill_diagonal_cube": ("x", "x.fill_diagonal_(1)\n  return x", torch.zeros(3, 3, 3)),
    "einsum_path": ("x, y", "return torch.einsum('ij,jk->ik', [x, y])", x23, t(3, 4)),
    "lists_of_tensors": ("x, y", "a = [x, y]\n  b = [x, y]\n  return a == b, a != b, a.count(x), torch.stack(a)", torch.tensor(1.0), torch.tensor(2.0)),
    "lists_sorted": ("x, y", "a = [y, x]\n  a.sort()\n  b = sorted([y, x])\n  c = [y, x]\n  c.remove(x)\n  return a, b, c, [x, y].index(y)", torch.tensor(1.0), torch.tensor(2.0)),
    "ranges": ("x", "return torch.range(0, 3), torch.range(1, 2, 0.25), torch.range(5, 1, -2), torch.range(0, 4, dtype=torch.int64)", x23),
    "casts": ("x", "return torch._cast_Float(x), torch._cast_Long(x), torch._cast_Int(x, True), torch._cast_Byte(x), torch._cast_Char(x), torch._cast_Short(x), torch._cast_Double(x), torch._cast_Half(x)", x23.abs()),
    "stacked": ("x", "return torch._stack([x, x], 1)", x23),
    "all_any_true": ("x", "return torch._is_all_true(x), torch._is_any_true(x), torch.ops.aten._local_scalar_dense(x.sum())", mask),
    "aminmax": ("x", "return torch._aminmax(x), torch._aminmax(x, 1), torch._aminmax(x, 0, True)", x23),
    "unique_old": ("x", "return torch._unique(x, True, True)", torch.tensor([3, 1, 2, 1, 3])),
    "dim_arange": ("x", "return torch._dim_arange(x, 1)", x23),
    "add_relu": ("x, y", "return torch._add_relu(x, y), torch._add_relu(x, y, alpha=2), torch._add_relu(x, 1.0)", x23, -x23 + 1),
    "batch_norm_impl": ("x, m, v", "a, b, c, d, e = torch._batch_norm_impl_index(x, None, None, m, v, False, 0.1, 1e-5, True)\n  return a", image, torch.tensor([0.5, 1.0]), torch.tensor([2.0, 0.5])),
    "log_sigmoid_forward": ("x", "return torch.ops.aten.log_sigmoid_forward(x)[0]", x23),
    "conv_tbc": ("x, w, b", "return torch.conv_tbc(x, w, b, 1)", (t(5, 2, 3) - 4) / 4, (t(2, 3, 4) - 6) / 8, torch.tensor([1.0, 2.0, 3.0, 4.0])),
    "slow_convolutions": ("x, w, b", "return torch.ops.aten.thnn_conv2d(x, w, [2, 2], b, [1, 1], [1, 1]), torch.ops.aten._slow_conv2d_forward(x, w, [2, 2], b, [1, 1], [0, 0]), torch.ops.aten.slow_conv_dilated2d(x, w, [2, 2], b, [1, 1], [0, 0], [2, 2])", image, weight, bias),
    "slow_convolutions_3d": ("x, w, b", "return torch.ops.aten.slow_conv3d(x, w, [2, 2, 2], b), torch.ops.aten.slow_conv3d_forward(x, w, [2, 2, 2], b, [1, 1, 1], [1, 1, 1]), torch.ops.aten.slow_conv_dilated3d(x, w, [2, 2, 2], b)", volume, cube, bias),
    "slow_transposed": ("x, w, b", "return torch.ops.aten.slow_conv_transpose2d(x, w, [2, 2], b, [2, 2], [1, 1], [1, 1])", image, (t(2, 3, 2, 2) - 5) / 8, bias),
    "slow_transposed_3d": ("x, w, b", "return torch.ops.aten.slow_conv_transpose3d(x, w, [2, 2, 2], b, [2, 2, 2])", volume, (t(2, 3, 2, 2, 2) - 9) / 8, bias),
    "trilinear": ("x, y, z", "return torch._trilinear(x, y, z, [1, 3], [0], [1, 2], [2, 3])", t(2, 3), t(4, 3, 5), t(2, 5)),
    "int_mm": ("x, y", "return torch._int_mm(x, y)", torch.arange(-8, 16, dtype=torch.int8).reshape(3, 8), torch.arange(-16, 24, dtype=torch.int8).reshape(8, 5)),
    "fake_quantize": ("x", "return torch.fake_quantize_per_tensor_affine(x, 0.1, 2, 0, 255), torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.5, 0, -3, 4)", x23),
    "fake_quantize_tensors": ("x, s, z", "return torch.fake_quantize_per_tensor_affine(x, s, z, -128, 127)", x23, torch.tensor(0.25), torch.tensor(3, dtype=torch.int32)),
    "fake_quantize_channels": ("x, s, z", "return torch.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7), torch.ops.aten.fake_quantize_per_channel_affine_cachemask(x, s, z, 0, -8, 7)", x23, torch.tensor([0.25, 0.5]), torch.tensor([0, 1], dtype=torch.int32)),
    "quantize_lists": ("x, s, z", "a = torch.quantize_per_tensor([x, x + 1], s, z, torch.quint8)\n  return torch.dequantize(a)", x23, torch.tensor([0.25, 0.5]), torch.tensor([10, 20])),
    "quantize_dynamic_tensor": ("x", "a = torch.quantize_per_tensor_dynamic(x, torch.quint8, False)\n  return a.dequantize(), a.q_scale(), a.q_zero_point()", x23),
    "choose_qparams": ("x", "return torch._choose_qparams_per_tensor(x, False), torch._choose_qparams_per_tensor(x, True)", x23),
    "upsample_old": ("x", "return torch.ops.aten.__upsample(x, 10, None, 'nearest', None), torch.ops.aten.__upsample_nearest(x, None, 2), torch.ops.aten.__upsample_bilinear(x, [7, 9], None)", image),
    "interpolate_old": ("x", "return torch.ops.aten.__interpolate(x, [7, 9], None, 'bilinear', False, None, False), torch.ops.aten.__interpolate(x, None, 2., 'nearest', None, None, False)", image),
    "flags": ("x", "return x.is_pinned(), x.is_set_to(x), x.is_set_to(x.clone()), x.output_nr(), torch._is_zerotensor(x), torch.is_non_overlapping_and_dense(x.t()) if False else True", x23),
    "dense_tensors": ("x, y", "return torch.ops.aten.flatten_dense_tensors([x, y]), torch.ops.aten.unflatten_dense_tensors(torch.ops.aten.flatten_dense_tensors([x, y]), [x, y])", x23, x34),
    "copies": ("x, y", "return torch.ops.aten.copy(x, y), torch.ops.aten.lift(x), torch.ops.aten._lazy_clone(x), torch.ops.aten._to_cpu([x, y])", x23, ints),
    "embedding_renorm": ("w, i", "torch.embedding_renorm_(w, i, 1.0, 2.0)\n  return w", t(4, 3), torch.tensor([1, 3])),
    "pad_enum": ("x", "return torch.ops.aten._pad_enum(x, [1, 2], 3, 3.0), torch.ops.aten._pad_enum(x, [1, 1], 0, None), torch.ops.aten._pad_enum(x, [1, 1], 2, None), torch.ops.aten._pad_enum(x, [1, 1], 1, None)", t(1, 2, 4)),
    "cummax_helper": ("x", "return torch.cummax(x, 1), torch.logcumsumexp(x, 0), torch._logcumsumexp(x, 1)", x23),
    "mm_dtype": ("x, y", "return torch.addmm(x, y, y.t(), beta=0.5, alpha=2.0), torch._addmm_activation(x, y, y.t()), torch._addmm_activation(x, y, y.t(), use_gelu=True)", t(2, 2), x23),
    "grid_fallback": ("x, g", "return torch._grid_sampler_2d_cpu_fallback(x, g, 0, 0, False)", image, (t(1, 3, 3, 2) - 4) / 5),
    "to_other": ("x, y", "return x.to(y), x.to(torch.float64), x.to('cpu', torch.int64), x.type_as(y)", x23, ints),
    "rrelu_eval": ("x", "return torch.rrelu(x), torch.rrelu(x, 0.1, 0.5, False)", x23),
    "polygamma_": ("x", "y = x.abs() + 1\n  y.polygamma_(1)\n  return y, torch.polygamma(2, x.abs() + 1)", x23),
    "gradients_not_asked_for": ("x", "y = x.clone()\n  y.requires_grad_(True)\n  z = (y * 2).detach()\n  return z, x.requires_grad_(False)", x23),
    "abs_builtin": ("x", "return abs(x), abs(x.to(torch.int64)), [abs(y) for y in [x, x + 1]], abs(x[0, 1].item())", x23),
    "views_by_other_names": ("x", "return torch.ops.aten._unsafe_view(x, [3, 2]), x.data, torch.ops.aten.data(x)", x23),
    "complex_implicit": ("z", "return torch.ops.aten.ComplexImplicit(z), complex(z)", torch.tensor(1.5 - 2j)),
    "no_grad_random": ("x", "torch.manual_seed(3)\n  y = torch.ops.aten._no_grad_uniform_(x.clone(), -1.0, 2.0)\n  return y, torch.ops.aten._no_grad_normal_(x.clone(), 1.0, 0.5)", x23),
    "observed": ("x, a, b, s, z", f"{ONE}{OBSERVE} 0, 255, 0)\n  return y, a, b, s, z", x23, *running([1])),
    "observed_again": ("x, a, b, s, z", f"{ONE}for i in range(3):\n    {OBSERVE} -128, 127, 0, False, True)\n  return a, b, s, z, torch.ops.aten._fused_moving_avg_obs_fq_helper(x, one * 0, one, a, b, s, z, 0.5, -8, 7, 0)", x23, *running([1])),
    "observed_off": ("x, a, b, s, z", f"{ONE}{OBSERVE} 0, 127, 0)\n  y = torch.fused_moving_avg_obs_fake_quant(x * 3, one * 0, one, a, b, s, z, 0.5, 0, 127, 0)\n  return y, torch.ops.aten._fused_moving_avg_obs_fq_helper(x, one * 0, one * 0, a, b, s, z, 0.5, 0, 127, 0), a, s", x23, *running([1])),
    "observed_channels": ("x, a, b, s, z", f"{ONE}{OBSERVE} -128, 127, 0, True, True)\n  w = torch.fused_moving_avg_obs_fake_quant(x * 2, one, one, a, b, s, z, 0.25, -128, 127, 0, True, False)\n  return y, w, a, b, s, z", weight, *running([0])),
    "observed_other_channels": ("x, a, b, s, z", f"{ONE}y = torch.fused_moving_avg_obs_fake_quant(x, one * 0, one, a, b, s, z, 0.5, -128, 127, 1, True)\n  return y, a, s, z", weight, *running([0])),
    "observed_refused": ("x, a, b, s, z", f"{ONE}{OBSERVE} -128, 127, 1, True)\n  return y", weight, *running([0])),
    "observed_strides": ("x, a, b, s, z", f"{ONE}{OBSERVE} 0, 255, 0)\n  return y, abs(x), torch.ops.aten._fused_moving_avg_obs_fq_helper(x, one, one * 0, a, b, s, z, 0.5, 0, 255, 0)", x34.t(), *running([1])),
    "observed_nothing": ("x, a, b, s, z", f"{ONE}{OBSERVE} 0, 255, 0)\n  return y, a, b", torch.zeros(0, 3), *running([1])),
    "tensor_to_list": ("x", "return torch.ops.aten._list_to_tensor([1, 2, 3])", torch.tensor([4, 5, 6])),
    "made_out": ("x", "a = torch.zeros([2, 3], out=x)\n  b = torch.empty([0], dtype=torch.int64)\n  torch.arange(5, out=b)\n  c = torch.empty([0])\n  torch.arange(1, 9, 2, out=c)\n  d = torch.linspace(0, 1, 4, out=torch.empty([4], dtype=torch.float64))\n  torch.manual_seed(5)\n  return a, x, b, c, d, torch.rand([3], out=torch.empty([3], dtype=torch.float64)), torch.randn([2], out=torch.empty([2])), torch.eye(2, 3, out=c), torch.full([2], 7, out=b), torch.ones([1, 2], out=torch.empty([2])[:1])", x23),
    "made_out_randint": ("x", "torch.manual_seed(5)\n  return torch.randint(10, [4], out=torch.empty([4], dtype=torch.int32)), torch.randperm(4, out=torch.empty([0], dtype=torch.int64)), torch.logspace(0, 2, 3, out=x[0])", x23),
    "symbolic_sizes": ("x", "return torch.ops.aten.sym_size(x, 1), torch.ops.aten.sym_stride(x, 0), torch.ops.aten.sym_numel(x), torch.ops.aten.sym_storage_offset(x[1])", x23),
    "backwards": ("x", "return torch.ops.aten.silu_backward(x, x), torch.ops.aten.elu_backward(x, 1.5, 2, 1.0, True, x - 1), torch.ops.aten.threshold_backward(x, x - 1, 0), torch.ops.aten.slice_backward(x, [2, 7], 1, 1, 7, 2)", x23),
    "backwards_saved": ("x", "y = torch.zeros([2, 3])\n  torch.ops.aten._index_put_impl_(y, [torch.tensor([0, 0])], x, True, True)\n  return y, torch.ops.aten.log_sigmoid_backward(x, x, x.abs() / 9), torch.ops.aten.log_sigmoid_backward(x, x, torch.ops.aten.log_sigmoid_forward(x)[1])", x23),
    "backwards_masked": ("x, w", "y = torch.ops.aten.convolution_backward(x, x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False])\n  return y[1]", t(1, 2, 3, 3), t(2, 2, 1, 1)),
    "einsum_ones": ("x, y", "return torch.einsum('bildsk,biokl->bolsd', x, y).view(2, 6, -1)", t(2, 4, 5, 1, 8, 3), t(2, 4, 6, 3, 5)),
    "einsum_batch_of_one": ("x, y", "return torch.einsum('btchw,tcf->bfhw', x, y).view(1, 6, 5)", t(1, 4, 5, 2, 5), t(4, 5, 3)),
    "grouped_mm": ("x, y, i", "return torch.ops.aten._grouped_mm(x, y, i), torch.ops.aten._grouped_mm(x.unsqueeze(0).repeat(3, 1, 1), y)", t(10, 16) / 8, t(3, 16, 8) / 8, torch.tensor([3, 3, 10], dtype=torch.int32)),
    "sum_to": ("x", "return torch.ops.aten._grad_sum_to_size(x, [1, 3]), x.sum_to_size([2, 1])", x23),
}


def program(parameters, body):
    """A scripted function of this body."""
    return torch.jit.CompilationUnit(f"def f({parameters}):\n  {body}\n").f


for name, (parameters, body, *arguments) in PROGRAMS.items():
    register(f"aten_{name}", Case(lambda parameters=parameters, body=body: program(parameters, body), (tuple(arguments),), ready=True))
