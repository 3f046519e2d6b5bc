"""The outputs of attention heads, for `detail="heads"`."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from addnorm.compiled import plain_name
from addnorm.probe import Hook, accumulate_dtype

COUNT_NAMES = ("num_heads", "n_head", "n_heads", "heads", "num_attention_heads")
# Names of the matrix that reads all heads side by side.
OUTPUT_NAMES = ("out_proj", "o_proj", "c_proj", "proj", "to_out", "out_lin", "dense", "wo", "o")


class Heads:
    """Hooks on the attention heads of a model, recognised by attributes that count heads. `names`: one per head.

    `on_squares` receives the index of a module's first head and the mean squares of its heads.
    """

    def __init__(self, model: nn.Module, on_squares: Callable[[int, Tensor], None]) -> None:
        self.names: list[str] = []
        self.undo: list[Callable[[], None]] = []
        self._on_squares = on_squares
        for name, module in model.named_modules():
            count = head_count(module)
            if not count:
                continue
            start = len(self.names)
            projection = next((getattr(module, attr) for attr in OUTPUT_NAMES if hasattr(module, attr)), None)
            if isinstance(projection, nn.Module):
                handle = projection.register_forward_pre_hook(Hook(self._before_projection, start, count))
            else:
                handle = module.register_forward_hook(Hook(self._after_attention, start, count))
            self.undo.append(handle.remove)
            self.names += [f"{plain_name(name)} head {head}" for head in range(count)]

    def _before_projection(self, start: int, count: int, _module: nn.Module, args: tuple[object, ...]) -> None:
        self._measure(start, count, args[0] if args else None)

    def _after_attention(self, start: int, count: int, _module: nn.Module, _args: object, output: object) -> None:
        self._measure(start, count, output[0] if isinstance(output, tuple) and output else output)

    def _measure(self, start: int, count: int, tensor: object) -> None:
        if isinstance(tensor, Tensor) and tensor.ndim > 1 and tensor.shape[-1] % count == 0:
            heads = tensor.detach().unflatten(-1, (count, -1)).to(accumulate_dtype(tensor.device))
            self._on_squares(start, heads.square().mean(dim=[*range(heads.ndim - 2), heads.ndim - 1]))


def head_count(module: nn.Module) -> int:
    """The number of heads of an attention module; 0 for any other module.

    Also 0 for torch's `nn.MultiheadAttention`, which does not call its output matrix as a module.
    """
    if isinstance(module, nn.MultiheadAttention):
        return 0
    class_name = type(module).__name__.lower()
    if "attention" not in class_name and "attn" not in class_name:
        return 0
    if any(head_count(child) for child in module.children()):
        return 0
    counts = [getattr(module, name, None) for name in COUNT_NAMES]
    counts += [getattr(getattr(module, "config", None), name, None) for name in COUNT_NAMES]
    return next((count for count in counts if isinstance(count, int) and count > 0), 0)
