"""More of a model where it is asked for: the outputs of attention heads, and the gradient of each parameter."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from addnorm.compiled import plain_name
from addnorm.probe import Hook, accumulate_dtype

COUNTS = ("num_heads", "n_head", "n_heads", "heads", "num_attention_heads")
OUTPUTS = ("out_proj", "o_proj", "c_proj", "proj", "to_out", "out_lin", "dense", "wo", "o")  # what reads all heads


class Heads:
    """The attention heads of a model, found by the counts that modules of attention have. `names`: one per head.

    `heard` is given the index of a module's first head and the mean squares of its heads.
    """

    def __init__(self, model: nn.Module, heard: Callable[[int, Tensor], None]) -> None:
        self.names: list[str] = []
        self.undo: list[Callable[[], None]] = []
        self._heard = heard
        for name, module in model.named_modules():
            count = heads_of(module)
            if not count:
                continue
            last = next((getattr(module, one) for one in OUTPUTS if hasattr(module, one)), None)
            if isinstance(last, nn.Module):
                self.undo.append(last.register_forward_pre_hook(Hook(self._given, len(self.names), count)).remove)
            else:
                self.undo.append(module.register_forward_hook(Hook(self._gave, len(self.names), count)).remove)
            self.names += [f"{plain_name(name)} head {at}" for at in range(count)]

    def _given(self, start: int, count: int, _module: nn.Module, args: tuple[object, ...]) -> None:
        """The heads side by side, as the last matrix reads them."""
        self._take(start, count, args[0] if args else None)

    def _gave(self, start: int, count: int, _module: nn.Module, _args: object, output: object) -> None:
        """The same as a module without a last matrix gives them."""
        self._take(start, count, output[0] if isinstance(output, tuple) and output else output)

    def _take(self, start: int, count: int, tensor: object) -> None:
        if isinstance(tensor, Tensor) and tensor.ndim > 1 and tensor.shape[-1] % count == 0:
            heads = tensor.detach().unflatten(-1, (count, -1)).to(accumulate_dtype(tensor.device))
            self._heard(start, heads.square().mean(dim=[*range(heads.ndim - 2), heads.ndim - 1]))


def heads_of(module: nn.Module) -> int:
    """How many heads a module of attention has; 0 of any other, and of torch's own, which calls no last matrix."""
    if isinstance(module, nn.MultiheadAttention):
        return 0
    if "attention" not in type(module).__name__.lower() and "attn" not in type(module).__name__.lower():
        return 0
    counts = [getattr(module, name, None) for name in COUNTS]
    counts += [getattr(getattr(module, "config", None), name, None) for name in COUNTS]
    inner = any(heads_of(child) for child in module.children())
    return 0 if inner else next((count for count in counts if isinstance(count, int) and count > 0), 0)
