"""Recurrent layers and cells; sequences are tensors, not packed."""
from typing import List, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import Module, Parameter


class RNNBase(Module):
    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int
    _flat_weights: List[Tensor]

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if dropout < 0 or dropout > 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        gates = hidden_size
        if mode == "LSTM":
            gates = 4 * hidden_size
        elif mode == "GRU":
            gates = 3 * hidden_size
        directions = 2 if bidirectional else 1
        given = proj_size if proj_size > 0 else hidden_size
        weights = []
        self._flat_weights_names = []
        self._all_weights = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else given * directions
            for direction in range(directions):
                ending = f"_l{layer}" + ("_reverse" if direction == 1 else "")
                shapes = [("weight_ih", (gates, width)), ("weight_hh", (gates, given))]
                if bias:
                    shapes += [("bias_ih", (gates,)), ("bias_hh", (gates,))]
                if proj_size > 0:
                    shapes += [("weight_hr", (proj_size, hidden_size))]
                names = []
                for name, shape in shapes:
                    weight = Parameter(torch.empty(shape, device=device, dtype=dtype))
                    self.register_parameter(name + ending, weight)
                    weights.append(weight)
                    names.append(name + ending)
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        # The operators take all weights as one list.
        self._flat_weights = weights

    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def check_input(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise RuntimeError(f"input must have 2 or 3 dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: Tuple[int, int, int], msg: str) -> None:
        if hx.size() != [expected_hidden_size[0], expected_hidden_size[1], expected_hidden_size[2]]:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def get_expected_hidden_size(self, input: Tensor, width: int) -> Tuple[int, int, int]:
        batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * self._directions(), batch, width

    def _state(self, input: Tensor, hx: Optional[Tensor], batched: bool, width: int, msg: str) -> Tensor:
        """A state with a batch: that which is given, or zeros."""
        expected = self.get_expected_hidden_size(input, width)
        if hx is None:
            return torch.zeros(expected[0], expected[1], expected[2], dtype=input.dtype, device=input.device)
        state = hx if batched else hx.unsqueeze(1)
        self.check_hidden_size(state, expected, msg)
        return state

    def _check_state(self, name: str, input: Tensor, state: Tensor) -> None:
        """Refuses a state whose dimensions are not those of the input."""
        if input.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D tensor instead")
        if input.dim() != state.dim():
            if input.dim() == 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {state.dim()}-D tensor")
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {state.dim()}-D tensor")


class RNN(RNNBase):
    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        nonlinearity="tanh",
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        if nonlinearity == "tanh":
            mode = "RNN_TANH"
        elif nonlinearity == "relu":
            mode = "RNN_RELU"
        else:
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        # Before all other attributes, which are saved in the order in which they are set.
        self.nonlinearity = nonlinearity
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        batched = input.dim() == 3
        if hx is not None:
            self._check_state("RNN", input, hx)
        self.check_input(input)
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        state = self._state(input, hx, batched, self.hidden_size, "Expected hidden size {}, got {}")
        if self.mode == "RNN_TANH":
            output, last = torch.rnn_tanh(
                input,
                state,
                self._flat_weights,
                self.bias,
                self.num_layers,
                self.dropout,
                self.training,
                self.bidirectional,
                self.batch_first,
            )
        else:
            output, last = torch.rnn_relu(
                input,
                state,
                self._flat_weights,
                self.bias,
                self.num_layers,
                self.dropout,
                self.training,
                self.bidirectional,
                self.batch_first,
            )
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), last.squeeze(1)
        return output, last


class LSTM(RNNBase):
    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def forward(
        self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        hidden: Optional[Tensor] = None
        cell: Optional[Tensor] = None
        if hx is not None:
            hidden, cell = hx
            if hidden.dim() != input.dim() or cell.dim() != input.dim():
                if batched:
                    raise RuntimeError(
                        "For batched 3-D input, hx and cx should also be 3-D but got "
                        f"({hidden.dim()}-D, {cell.dim()}-D) tensors"
                    )
                raise RuntimeError(
                    "For unbatched 2-D input, hx and cx should also be 2-D but got "
                    f"({hidden.dim()}-D, {cell.dim()}-D) tensors"
                )
        self.check_input(input)
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        given = self.proj_size if self.proj_size > 0 else self.hidden_size
        h = self._state(input, hidden, batched, given, "Expected hidden[0] size {}, got {}")
        c = self._state(input, cell, batched, self.hidden_size, "Expected hidden[1] size {}, got {}")
        output, last_h, last_c = torch.lstm(
            input,
            [h, c],
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), (last_h.squeeze(1), last_c.squeeze(1))
        return output, (last_h, last_c)


class GRU(RNNBase):
    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        if input.dim() not in (2, 3):
            raise ValueError(f"GRU: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if hx is not None:
            self._check_state("GRU", input, hx)
        self.check_input(input)
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        state = self._state(input, hx, batched, self.hidden_size, "Expected hidden size {}, got {}")
        output, last = torch.gru(
            input,
            state,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), last.squeeze(1)
        return output, last


class RNNCellBase(Module):
    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(torch.empty((rows, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(torch.empty(rows, device=device, dtype=dtype))
            self.bias_hh = Parameter(torch.empty(rows, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)

    def _checked(self, name: str, input: Tensor, hx: Optional[Tensor]) -> Tensor:
        """The state of a batch: that which is given, or zeros."""
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if hx is None:
            batch = input.size(0) if input.dim() == 2 else 1
            return torch.zeros(batch, self.hidden_size, dtype=input.dtype, device=input.device)
        if hx.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {hx.dim()}D instead")
        return hx if input.dim() == 2 else hx.unsqueeze(0)


class RNNCell(RNNCellBase):
    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        state = self._checked("RNNCell", input, hx)
        alone = input.dim() == 1
        batch = input.unsqueeze(0) if alone else input
        if self.nonlinearity == "tanh":
            after = torch.rnn_tanh_cell(batch, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        elif self.nonlinearity == "relu":
            after = torch.rnn_relu_cell(batch, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            after = batch
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return after.squeeze(0) if alone else after


class LSTMCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        if input.dim() not in (1, 2):
            raise ValueError(f"LSTMCell: Expected input to be 1D or 2D, got {input.dim()}D instead")
        hidden: Optional[Tensor] = None
        cell: Optional[Tensor] = None
        if hx is not None:
            hidden, cell = hx
            for place, value in enumerate(hx):
                if value.dim() not in (1, 2):
                    raise ValueError(f"LSTMCell: Expected hx[{place}] to be 1D or 2D, got {value.dim()}D instead")
        h = self._checked("LSTMCell", input, hidden)
        c = self._checked("LSTMCell", input, cell)
        alone = input.dim() == 1
        batch = input.unsqueeze(0) if alone else input
        h, c = torch.lstm_cell(batch, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if alone:
            return h.squeeze(0), c.squeeze(0)
        return h, c


class GRUCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        state = self._checked("GRUCell", input, hx)
        alone = input.dim() == 1
        batch = input.unsqueeze(0) if alone else input
        after = torch.gru_cell(batch, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return after.squeeze(0) if alone else after
