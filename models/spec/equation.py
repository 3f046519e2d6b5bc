"""The equation of a configuration in LaTeX, written from the same plan as the model."""

from models.spec.config import RunConfig
from models.spec.knob import Entry
from models.spec.parametrization import BASE_DEPTH, BASE_WIDTH, branch_factor, output_factor, score_scale
from models.spec.plan import SublayerPlan, has_dropout, is_one_layer, plan
from models.spec.scales import BRANCH_SCALES, SKIP_SCALES
from models.spec.vocabulary import MANY_STREAMS, NORMS, ONE_STREAM, STACKS


def equation(cfg: RunConfig, block: int | None = None) -> str:
    """LaTeX of a block, by default the last: its sublayer, its branches, and the rule of the stack."""
    sublayers = plan(cfg).active_sublayers(block or cfg.depth)
    lines = [STACKS[cfg.stack].formula] if cfg.stack == "learned scalars" else []
    lines += _stream_lines(cfg, sublayers[-1])
    lines += [line for sublayer in sublayers if not sublayer.identity for line in _branch_lines(cfg, sublayer)]
    if has_dropout(cfg):
        lines += [r"\operatorname{D}_p(z) = m \odot z/(1-p)", r"m_i = 0\text{ with probability }p\text{, else }1"]
    stack_output = r"\textstyle\sum_s H_s" if cfg.stack in MANY_STREAMS else "x_M"
    if cfg.stack == "residual":
        lines += [rf"y \leftarrow y + {branch_equation(cfg, sublayers[-1])},\qquad y_0 = x_0"]
        stack_output = f"x_M + {norm_latex(cfg.norm, 'y_M')}"
    if cfg.stack == "dlcl":
        lines += [
            rf"x_{{l+1}} = \textstyle\sum_{{k=0}}^{{l}} W_{{l+1,k}}\,{norm_latex(cfg.norm, 'y_k')}",
            r"y_0\text{: embedding},\quad y_k\text{: output of block }k",
        ]
        stack_output = "x_{L+1}"
    lines += _logits_lines(cfg, stack_output)
    return r"\begin{aligned}" + r"\\ ".join("&" + line for line in lines) + r"\end{aligned}"


def _stream_lines(cfg: RunConfig, sublayer: SublayerPlan) -> list[str]:
    """The equation of the stream, or of the streams H (n, D), and what it takes to read it."""
    branch = branch_equation(cfg, sublayer)
    if cfg.stack == "attention residuals":
        if sublayer.identity:
            return [r"x \leftarrow x"]
        v, last = ("v", "l") if cfg.depth_block == 1 else ("b", "n")
        weight = rf"\operatorname{{softmax}}_i(w_l^\top\operatorname{{RMS}}({v}_i))"
        read = rf"x \leftarrow \textstyle\sum_{{i=0}}^{{{last}}} {weight}\,{v}_i"
        start = rf"v_l = {branch},\qquad {v}_0 = x_0"
        size = cfg.depth_block
        total = rf"b_n = \textstyle\sum_k v_k,\quad {size}(n-1) < k \le \min({size}n,\,l)"
        return [read, start] if size == 1 else [read, total, start]
    if cfg.stack not in MANY_STREAMS:
        return [rf"x \leftarrow {sublayer_equation(cfg, sublayer)}"]
    if sublayer.identity:
        return [r"H \leftarrow H"]
    streams = rf"H \in \mathbb{{R}}^{{{cfg.streams}\times d}}"
    if cfg.stack == "mHC":
        return [
            rf"H \leftarrow \mathcal{{H}}^\text{{res}} H + \mathcal{{H}}^{{\text{{post}}\top}}\,{branch}",
            rf"x = \mathcal{{H}}^\text{{pre}} H,\qquad {streams}",
            r"\mathcal{H}^\text{pre} = \sigma(p),\quad \mathcal{H}^\text{post} = 2\sigma(q)",
            rf"\mathcal{{H}}^\text{{res}} = \operatorname{{Sinkhorn}}_{{{cfg.sinkhorn}}}(R)",
            r"(p, q, R) = a\,\operatorname{RMS}(\operatorname{vec}H)\,\varphi + b",
        ]
    lines = [rf"H \leftarrow A_r^\top H + B^\top\,{branch}", rf"x = A_m^\top H,\qquad {streams}"]
    if cfg.stack == "dynamic hyper-connections":
        lines += [
            r"(A_m\ A_r) = (A_m\ A_r)_0 + s_\alpha\tanh(\bar H W)",
            r"B = B_0 + s_\beta\tanh(\bar H w)^\top,\qquad \bar H = \operatorname{norm}(H)",
        ]
    return lines


def _logits_lines(cfg: RunConfig, stack_output: str) -> list[str]:
    """The equation of the logits; none where it is only W x_M."""
    final_norm = plan(cfg).final_norm
    factor = rf"\tfrac{{{BASE_WIDTH}}}{{{cfg.width}}}\," if output_factor(cfg) != 1 else ""
    if not factor and final_norm == "none" and cfg.stack in ONE_STREAM:
        return []
    if final_norm != "none":
        head_input = norm_latex(final_norm, stack_output)
    else:
        head_input = f"({stack_output})" if "+" in stack_output else stack_output
    return [rf"\text{{logits}} = {factor}W\,{head_input}"]


def sublayer_equation(cfg: RunConfig, sublayer: SublayerPlan) -> str:
    """LaTeX of a sublayer's output y."""
    if sublayer.identity:
        return "x"
    skip = f"{_weight(cfg.skip_scale, SKIP_SCALES)}x + " if sublayer.skip else ""
    total = norm_latex(sublayer.norm_add, skip + branch_equation(cfg, sublayer))
    if sublayer.repeats > 1:
        total = norm_latex(sublayer.norm_add, skip + total)
    return _dropout_latex(sublayer.drop_stream, total)


def branch_equation(cfg: RunConfig, sublayer: SublayerPlan) -> str:
    """LaTeX of a sublayer's branch; 0 for an ablated one."""
    if sublayer.identity:
        return "0"
    inner = norm_latex(sublayer.norm_in, "x")
    if cfg.input_scale != "one":
        inner = rf"{inner}/\sqrt{{l}}"
    depth_factor = rf"\tfrac{{{BASE_DEPTH}}}{{{cfg.depth}}}\," if branch_factor(cfg) != 1 else ""
    weight = depth_factor + _weight(cfg.branch_scale, BRANCH_SCALES)
    return _dropout_latex(sublayer.drop_branch, weight + norm_latex(sublayer.norm_out, f"F({inner})"))


def norm_latex(norm: str, inner: str) -> str:
    """LaTeX of a norm applied to its input; the input itself for an empty slot."""
    return inner if norm == "none" else rf"{NORMS[norm].symbol}({inner})"


def _dropout_latex(rate: float, inner: str) -> str:
    return rf"\operatorname{{D}}_{{{rate:g}}}({inner})" if rate else inner


def _weight(scale: float | str, rules: dict[str, Entry]) -> str:
    if isinstance(scale, str):
        return rules[scale].formula + r"\,"
    return "" if scale == 1 else rf"{scale:g}\,"


def _branch_lines(cfg: RunConfig, sublayer: SublayerPlan) -> list[str]:
    if sublayer.kind == "attn":
        return _attention_lines(cfg, sublayer)
    name = sublayer.activation.replace(" ", r"\ ")
    activation = "" if sublayer.activation == "identity" else rf"\operatorname{{{name}}}"
    if is_one_layer(cfg, sublayer.kind):
        return [rf"F(z) = {activation}({norm_latex(sublayer.norm_mid, 'W z')})"]
    function = "F" if sublayer.kind == "mlp" else r"F_\text{ffn}"
    return [rf"{function}(z) = W_2\,{activation}({norm_latex(sublayer.norm_mid, 'W_1 z')})"]


def _attention_lines(cfg: RunConfig, sublayer: SublayerPlan) -> list[str]:
    query, key = (r"\operatorname{RMS}(q)", r"\operatorname{RMS}(k)") if cfg.qk_norm else ("q", "k")
    bias = {"relative bias": r"+b_{\beta(i-j)}", "alibi": r"-2^{-8h/H}|i-j|"}.get(cfg.position, "")
    if cfg.position == "rotary":
        query, key = rf"(R\,{query})", rf"(R\,{key})"
    mask_lines = [r"m_{ij} = -\infty\ \text{for}\ j > i\text{, else}\ 0"] if cfg.mask == "causal" else []
    value_lines = [r"v_1\text{: values of the first attention}"] if sublayer.values == "mixed" else []
    value = r"\tfrac12(v+v_1)" if sublayer.values == "mixed" else "v"
    scale = r"/\sqrt{d_k}" if score_scale(cfg) is None else rf"\sqrt{{{BASE_WIDTH / cfg.heads:.3g}}}/d_k"
    heads = rf"\operatorname{{softmax}}({query}\,{key}^\top{scale}{bias}{'+m_{ij}' if mask_lines else ''})\,{value}"
    return [rf"F_\text{{attn}}(z) = W_O\,{norm_latex(sublayer.norm_mid, heads)}", *mask_lines, *value_lines]
