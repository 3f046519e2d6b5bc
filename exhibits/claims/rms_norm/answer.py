"""A question about torch's own layers: small tokens."""

from dataclasses import dataclass

from models.answers import Question


@dataclass(frozen=True)
class SmallTokens:
    """RMS of small tokens after torch's RMS norm and layer norm with default eps, in float32."""

    input_rms: float
    rms: float
    layer: float
    rms_eps: float
    layer_eps: float


SMALL_TOKENS = Question("small tokens", SmallTokens, of_torch=True)
