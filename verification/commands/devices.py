"""Where states are searched and measured: the name of a device."""

from __future__ import annotations

from verification.commands.terminal import UsageError


def device_name(name: str) -> str:
    """The name as torch spells it, if a float64 tensor can be made there; UsageError with the reason otherwise."""
    if name == "cpu":
        return name  # without importing torch
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"--device {name}: torch knows no such device. Choose cpu, cuda or cuda:N.") from None
    if device.type == "cpu":
        return "cpu"
    if device.type != "cuda":
        raise UsageError(f"--device {name}: searches run on cpu and cuda only, in float64. Choose one of them.")
    if not torch.cuda.is_available():
        without = torch.version.cuda is None
        built = "this torch is built without CUDA" if without else "torch finds no NVIDIA driver or no GPU"
        raise UsageError(f"--device {name}: {built}. `odernn doctor` says more; --device cpu works everywhere.")
    if device.index is not None and device.index >= torch.cuda.device_count():
        raise UsageError(f"--device {name}: there are {torch.cuda.device_count()} CUDA devices, numbered from 0.")
    return str(device)
