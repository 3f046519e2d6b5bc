"""The device that a run trains on."""

import torch


def available_devices() -> list[str]:
    """The devices of this machine under their names in a configuration."""
    return [
        "cpu",
        *(["cuda"] if torch.cuda.is_available() else []),
        *(["mps"] if torch.backends.mps.is_available() else []),
    ]


def resolve_device(device: str) -> torch.device:
    """The torch device of that name; "auto" is CUDA if there is one, else the CPU.

    Raises ValueError for a device that this machine lacks.
    """
    available = available_devices()
    if device == "auto":
        return torch.device("cuda" if "cuda" in available else "cpu")
    if device not in available:
        legal = ", ".join(["auto", *available])
        raise ValueError(f"device is {device}, and this machine has none; legal here is {legal}")
    return torch.device(device)
