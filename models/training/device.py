"""The device that a run is computed on; one that this machine lacks is refused in a sentence."""

import torch


def available_devices() -> list[str]:
    """The devices of this machine, as a configuration names them."""
    return [
        "cpu",
        *(["cuda"] if torch.cuda.is_available() else []),
        *(["mps"] if torch.backends.mps.is_available() else []),
    ]


def resolve_device(device: str) -> torch.device:
    """The torch device of a configuration. ValueError where this machine lacks it."""
    here = available_devices()
    if device == "auto":
        return torch.device("cuda" if "cuda" in here else "cpu")
    if device not in here:
        raise ValueError(f"device is {device}, and this machine has none; legal here is {', '.join(['auto', *here])}")
    return torch.device(device)
