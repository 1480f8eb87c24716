"""Products of many rows on a CPU through oneDNN, to which torch's compiler gives them, too. Times nothing.

Plain torch hands the product of a prompt's rows with a weight to MKL. Here the same weight, where it is and as it is,
goes to oneDNN, which lays it out anew in each call and still took 15 to 25 % less time on this project's machines.
"""

from __future__ import annotations

import copy

import torch
from transformers import PreTrainedModel


def unavailable(dtype: torch.dtype, device: torch.device) -> str | None:
    """Why products cannot go through oneDNN here, in words; None where they can."""
    if device.type != "cpu" or dtype != torch.float32:
        return "products through oneDNN are made for a CPU in float32"
    if not torch._C._has_mkldnn or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return "this torch was built without oneDNN"
    return None


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """x (..., in) times weight (out, in) transposed, plus bias (out,)."""
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


def packed(weight: torch.Tensor, rows: int) -> torch.Tensor:
    """`weight` (out, in) in the layout that oneDNN likes best for products of `rows` rows, for `linear`."""
    laid_out: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
    return laid_out


class OneDnnLinear(torch.nn.Module):
    """A linear layer whose products go through oneDNN."""

    def __init__(self, original: torch.nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = original.weight, original.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., in) to (..., out)."""
        return linear(x, self.weight, self.bias)


def prompt_model(model: PreTrainedModel) -> PreTrainedModel:
    """A model with the same tensors whose layers multiply through oneDNN.

    The output head stays as it is: of a prompt it sees one row.
    """
    tensors = {id(t): t for t in [*model.parameters(), *model.buffers()]}
    twin: PreTrainedModel = copy.deepcopy(model, tensors)  # new modules, shared tensors
    _replace(twin.model.layers)
    return twin


def _replace(module: torch.nn.Module) -> None:
    for name, child in list(module.named_children()):
        if isinstance(child, torch.nn.Linear):
            setattr(module, name, OneDnnLinear(child))
        else:
            _replace(child)
