# Attention and recurrent layers.

# Attention.


def attention_scale(query: Tensor, scale: Optional[float]) -> float:
    by = 1 / torch.sqrt(query.size(-1))
    if scale is not None:
        by = scale
    return by


def attention_weights(query: Tensor, key: Tensor, attn_mask: Optional[Tensor], is_causal: bool, scale: Optional[float]) -> Tensor:
    scores = query.matmul(key.transpose(-2, -1)) * attention_scale(query, scale)
    if is_causal:
        allowed = torch.ones([query.size(-2), key.size(-2)], dtype=dtype_bool(), device=query.device).tril()
        scores = scores.masked_fill(allowed.logical_not(), -inf())
    if attn_mask is not None:
        if attn_mask.dtype == dtype_bool():
            scores = scores.masked_fill(attn_mask.logical_not(), -inf())
        else:
            scores = scores + attn_mask
    # A row where nothing is allowed gives zeros.
    nothing = (scores == -inf()).all(-1, True)
    return scores.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0)


def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, scale: Optional[float], enable_gqa: bool) -> Tensor:
    if enable_gqa:
        key = repeat_interleaved(key, query.size(-3) // key.size(-3), -3)
        value = repeat_interleaved(value, query.size(-3) // value.size(-3), -3)
    weights = attention_weights(query, key, attn_mask, is_causal, scale)
    return dropped(weights, dropout_p, True, False).matmul(value)


def attention_grads(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, is_causal: bool, attn_mask: Optional[Tensor], scale: Optional[float]) -> Tuple[Tensor, Tensor, Tensor]:
    weights = attention_weights(query, key, attn_mask, is_causal, scale)
    slope = softmax_grad(grad.matmul(value.transpose(-2, -1)), weights, -1) * attention_scale(query, scale)
    return slope.matmul(key), slope.transpose(-2, -1).matmul(query), weights.transpose(-2, -1).matmul(grad)


def gradient_of_places(grad: Tensor, size: List[int], places: Tensor):
    count = 1
    for n in size:
        count = count * n
    flat = torch.zeros([count], dtype=grad.dtype).index_add(0, places.reshape(-1), grad.reshape(-1))
    return flat.view(size)


# Recurrent cells and layers.


def lstm_cell(input: Tensor, hidden: Tensor, cell: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    gates = torch.linear(input, w_ih, b_ih) + torch.linear(hidden, w_hh, b_hh)
    parts = gates.chunk(4, -1)
    cell = parts[1].sigmoid() * cell + parts[0].sigmoid() * parts[2].tanh()
    return parts[3].sigmoid() * cell.tanh(), cell


def gru_cell(input: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    x = torch.linear(input, w_ih, b_ih).chunk(3, -1)
    h = torch.linear(hidden, w_hh, b_hh).chunk(3, -1)
    reset, update = (x[0] + h[0]).sigmoid(), (x[1] + h[1]).sigmoid()
    new = (x[2] + reset * h[2]).tanh()
    return (hidden - new) * update + new


def rnn_cell(input: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor], relu: bool) -> Tensor:
    sums = torch.linear(input, w_ih, b_ih) + torch.linear(hidden, w_hh, b_hh)
    return sums.relu() if relu else sums.tanh()


def recurrent(input: Tensor, hx: Tensor, cx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, kind: str) -> Tuple[Tensor, Tensor, Tensor]:
    """Layers of cells over the steps of a sequence, `kind` of which they are."""
    batched = input.dim() == 3
    if batched and batch_first:
        input = input.transpose(0, 1)
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    finals: List[Tensor] = []
    cells: List[Tensor] = []
    steps = input.size(0)
    for layer in range(num_layers):
        outputs: List[Tensor] = []
        for direction in range(directions):
            at = layer * directions + direction
            w_ih, w_hh = params[at * each], params[at * each + 1]
            b_ih: Optional[Tensor] = None
            b_hh: Optional[Tensor] = None
            if has_biases:
                b_ih, b_hh = params[at * each + 2], params[at * each + 3]
            hidden, cell = hx.select(0, at), cx.select(0, at)
            results: List[Tensor] = []
            for step in range(steps):
                x = input.select(0, step if direction == 0 else steps - 1 - step)
                if kind == "lstm":
                    hidden, cell = lstm_cell(x, hidden, cell, w_ih, w_hh, b_ih, b_hh)
                elif kind == "gru":
                    hidden = gru_cell(x, hidden, w_ih, w_hh, b_ih, b_hh)
                else:
                    hidden = rnn_cell(x, hidden, w_ih, w_hh, b_ih, b_hh, kind == "relu")
                results.append(hidden)
            if direction == 1:
                results.reverse()
            outputs.append(torch.stack(results, 0))
            finals.append(hidden)
            cells.append(cell)
        input = torch.cat(outputs, -1) if directions == 2 else outputs[0]
        if train and dropout > 0 and layer < num_layers - 1:
            input = dropped(input, dropout, True, False)
    if batched and batch_first:
        input = input.transpose(0, 1)
    return input, torch.stack(finals, 0), torch.stack(cells, 0)


def recurrent_simple(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, kind: str) -> Tuple[Tensor, Tensor]:
    result, hidden, cell = recurrent(input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, kind)
    return result, hidden
