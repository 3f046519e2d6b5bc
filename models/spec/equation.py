"""The equation of a configuration in LaTeX, written from the plan that the model is built from."""

from models.spec.config import RunConfig
from models.spec.knob import Entry
from models.spec.plan import SublayerPlan, one_layer, plan
from models.spec.scales import BRANCH_SCALES, SKIP_SCALES
from models.spec.vocabulary import NORMS


def equation(cfg: RunConfig, block: int | None = None) -> str:
    """LaTeX of a block (by default the last): a sublayer, its branches spelled out, and the stack's own rule."""
    left = plan(cfg).left_of_block(block or cfg.depth)
    lines = [rf"x \leftarrow {sublayer_equation(cfg, left[-1])}"]
    lines += [line for sublayer in left if not sublayer.identity for line in _branch_lines(cfg, sublayer)]
    if cfg.stack == "residual":
        lines += [rf"y \leftarrow y + f(x),\qquad \text{{out}} = x_M + {normed(cfg.norm, 'y_M')}"]
    if cfg.stack == "dlcl":
        lines += [rf"x_{{l+1}} = \textstyle\sum_{{k\le l}} W_{{l+1,k}}\,{normed(cfg.norm, 'y_k')}"]
    if plan(cfg).final_norm != "none":
        lines += [rf"\text{{logits}} = W\,{NORMS[plan(cfg).final_norm].symbol}(x_M)"]
    return r"\begin{aligned}" + r"\\ ".join("&" + line for line in lines) + r"\end{aligned}"


def sublayer_equation(cfg: RunConfig, sublayer: SublayerPlan) -> str:
    """LaTeX of what the stream becomes in a sublayer."""
    if sublayer.identity:
        return "x"
    inner = normed(sublayer.norm_in, "x")
    if cfg.input_scale != "one":
        inner = rf"{inner}/\sqrt{{l}}" if sublayer.norm_in != "none" else r"x/\sqrt{l}"
    branch = normed(sublayer.norm_out, f"F({inner})")
    branch = _weight(cfg.branch_scale, BRANCH_SCALES) + branch
    skip = f"{_weight(cfg.skip_scale, SKIP_SCALES)}x + " if sublayer.skip else ""
    total = normed(sublayer.norm_add, skip + branch)
    return normed(sublayer.norm_add, skip + total) if sublayer.repeats > 1 else total


def normed(norm: str, inner: str) -> str:
    """LaTeX of a slot: the norm's symbol around its input; the input itself for an empty slot."""
    return inner if norm == "none" else rf"{NORMS[norm].symbol}({inner})"


def _weight(scale: float | str, rules: dict[str, Entry]) -> str:
    if isinstance(scale, str):
        return rules[scale].formula + r"\,"
    return "" if scale == 1 else rf"{scale:g}\,"


def _branch_lines(cfg: RunConfig, sublayer: SublayerPlan) -> list[str]:
    name = cfg.activation.replace(" ", r"\ ")
    activation = "" if cfg.activation == "identity" else rf"\operatorname{{{name}}}"
    hidden = rf"{activation}({normed(sublayer.norm_mid, 'W_1 z')})"
    if one_layer(cfg, sublayer.kind):
        return [rf"F(z) = {activation}({normed(sublayer.norm_mid, 'W z')})"]
    feed_forward = rf"W_2\,{hidden}"
    if sublayer.kind != "attn":
        name = "F" if sublayer.kind == "mlp" else r"F_\text{ffn}"
        return [f"{name}(z) = {feed_forward}"]
    query, key = (r"\operatorname{RMS}(q)", r"\operatorname{RMS}(k)") if cfg.qk_norm else ("q", "k")
    added = {"relative bias": r"+b_{\beta(i-j)}", "alibi": r"-2^{-8h/H}|i-j|"}.get(cfg.position, "")
    if cfg.position == "rotary":
        query, key = rf"(R\,{query})", rf"(R\,{key})"
    heads = rf"\operatorname{{softmax}}({query}\,{key}^\top/\sqrt{{d_k}}{added})\,v"
    return [rf"F_\text{{attn}}(z) = W_O\,{normed(sublayer.norm_mid, heads)}"]
