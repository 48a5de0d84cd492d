"""Arguments and results as they are kept in files."""
import io

import torch


def plain(value):
    """A result that can be pickled wherever it is read: no classes of its own."""
    if isinstance(value, (tuple, list)):
        elements = [plain(element) for element in value]
        return elements if isinstance(value, list) else tuple(elements)
    if isinstance(value, dict):
        return {key: plain(element) for key, element in value.items()}
    kept = (torch.Tensor, torch.device, int, float, complex, str, type(None))
    return value if isinstance(value, kept) else f"<{type(value).__name__}>"


def copied(value):
    """A deep copy, as saving and loading makes it."""
    data = io.BytesIO()
    torch.save(value, data)
    data.seek(0)
    return torch.load(data, weights_only=False)


def last_line(error):
    """The last line of an error that is PyTorch's own: what its bindings for Python add is left out."""
    return [line for line in str(error).strip().splitlines() if not line.startswith("Cast error details")][-1]
