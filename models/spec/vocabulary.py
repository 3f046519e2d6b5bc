"""The choices of a configuration with formulas and sources. A key is a control's label and the value in the URL.

`models/nets` and `models/training` implement NORMS, ACTIVATIONS, INITS and OPTIMIZERS under the same keys, and
`models/insight/gaussian.py` has the curves of the activations; tests keep the keys equal.
"""

from models.spec.knob import ActivationEntry, Entry, InitEntry, NormEntry, describe
from models.spec.scales import deepnorm_gain

NETS = {
    "mlp": Entry(),
    "transformer": Entry(source="Vaswani 2017, 1706.03762"),
}

# Fields set when a net is chosen: the other net's training settings would mislead.
NET_DEFAULTS: dict[str, dict[str, object]] = {
    "mlp": {"optimizer": "momentum", "lr": 0.01, "expansion": 1},
    "transformer": {"optimizer": "adam", "lr": 0.001, "expansion": 4},
}

NORMS: dict[str, NormEntry] = {
    "none": NormEntry(r"x"),
    "layer norm": NormEntry(
        r"\gamma\odot\frac{x-\mu}{\sqrt{\sigma^2+\varepsilon}}+\beta",
        "Ba 2016, 1607.06450",
        symbol=r"\operatorname{LN}",
        short="LayerNorm",
        code="nn.LayerNorm({width}, eps={eps}{switch})",
        switch="elementwise_affine",
        over="token",
        divisor="variance",
    ),
    "rms norm": NormEntry(
        r"\gamma\odot\frac{x}{\sqrt{\operatorname{mean}(x^2)+\varepsilon}}",
        "Zhang & Sennrich 2019, 1910.07467",
        symbol=r"\operatorname{RMS}",
        short="RMSNorm",
        code="nn.RMSNorm({width}, eps={eps}{switch})",
        switch="elementwise_affine",
        over="token",
        divisor="mean square",
    ),
    "batch norm": NormEntry(
        r"\gamma\odot\frac{x-\mu_B}{\sqrt{\sigma_B^2+\varepsilon}}+\beta",
        "Ioffe & Szegedy 2015, 1502.03167",
        symbol=r"\operatorname{BN}",
        short="BatchNorm",
        code="TokenBatchNorm({width}, eps={eps}{switch})",
        over="batch",
    ),
    "dynamic tanh": NormEntry(
        r"\gamma\odot\tanh(\alpha x)+\beta",
        "Zhu 2025, 2503.10622",
        symbol=r"\operatorname{DyT}",
        short="DyT",
        code="DynamicTanh({width}{switch})",
    ),
    "dynamic erf": NormEntry(
        r"\gamma\odot\operatorname{erf}(\alpha x+s)+\beta",
        "Chen 2025 (Derf), 2512.10938",
        symbol=r"\operatorname{Derf}",
        short="Derf",
        code="DynamicErf({width}{switch})",
    ),
}

ACTIVATIONS: dict[str, ActivationEntry] = {
    "relu": ActivationEntry(r"\max(0,z)", code="F.relu"),
    "gelu": ActivationEntry(r"z\,\Phi(z)", "Hendrycks 2016, 1606.08415", code="F.gelu"),
    "silu": ActivationEntry(r"z\,\sigma(z)", "Elfwing 2017, 1702.03118", code="F.silu"),
    "selu": ActivationEntry(
        r"\lambda\max(0,z)+\lambda\alpha\min(0,e^z-1)", "Klambauer 2017, 1706.02515", code="F.selu"
    ),
    "tanh": ActivationEntry(r"\tanh(z)", code="torch.tanh"),
    "sigmoid": ActivationEntry(r"\sigma(z)", code="torch.sigmoid"),
    "identity": ActivationEntry(r"z", code=""),
}

_FAN_IN = "p.normal_(generator=source).mul_(inputs**-0.5)"
_XAVIER = "p.normal_(generator=source).mul_(math.sqrt(2 / (inputs + outputs)))"

INITS: dict[str, InitEntry] = {
    "fan-in": InitEntry(
        r"\mathcal N(0, 1/n_\text{in})",
        "LeCun 1998",
        title="Branch weights from N(0, 1/inputs)",
        draw=_FAN_IN,
        variance=lambda w: 1 / w.inputs,
    ),
    "he": InitEntry(
        r"\mathcal N(0, 2/n_\text{in})",
        "He 2015, 1502.01852",
        title="Branch weights from N(0, 2/inputs)",
        draw="p.normal_(generator=source).mul_(math.sqrt(2 / inputs))",
        variance=lambda w: 2 / w.inputs,
    ),
    "xavier": InitEntry(
        r"\mathcal N(0, 2/(n_\text{in}+n_\text{out}))",
        "Glorot & Bengio 2010",
        title="Branch weights from N(0, 2/(inputs + outputs))",
        draw=_XAVIER,
        variance=lambda w: 2 / (w.inputs + w.outputs),
    ),
    "torch": InitEntry(
        r"\mathcal U(\pm 1/\sqrt{n_\text{in}})",
        "torch.nn.Linear",
        title="PyTorch's own uniform weights for the branches",
        draw="p.uniform_(-(inputs**-0.5), inputs**-0.5, generator=source)",
        variance=lambda w: 1 / (3 * w.inputs),
    ),
    "orthogonal": InitEntry(
        r"W^\top W = I",
        "Saxe 2013, 1312.6120",
        title="Orthogonal branch weights",
        draw="nn.init.orthogonal_(p, generator=source)",
        variance=lambda w: 1 / max(w.inputs, w.outputs),
    ),
    "normal 0.02": InitEntry(
        r"\mathcal N(0, 0.02^2)",
        "Radford 2019",
        title="Branch weights from N(0, 0.02^2)",
        draw="p.normal_(generator=source).mul_(0.02)",
        fixed=True,
        variance=lambda w: 0.02**2,
    ),
    "gpt2": InitEntry(
        r"W_\text{out}\sim\mathcal N(0, 1/(n_\text{in}M))",
        "Radford 2019",
        title="Branch weights from N(0, 1/inputs), output matrices divided by sqrt(M)",
        draw=_FAN_IN,
        on_outputs="M**-0.5",
        variance=lambda w: 1 / (w.inputs * (w.sublayers if w.last else 1)),
    ),
    "zero last": InitEntry(
        r"W_\text{out}=0",
        "Goyal 2017, 1706.02677; Zhang 2019, 1901.09321",
        title="Branch weights from N(0, 1/inputs), output matrices zero",
        draw=_FAN_IN,
        on_outputs="0.0",
        variance=lambda w: 0.0 if w.last else 1 / w.inputs,
    ),
    "deepnorm": InitEntry(
        r"\mathcal N(0, 2\beta^2/(n_\text{in}+n_\text{out})),\ \beta=(4M)^{-1/4}",
        "Wang 2022, 2203.00555",
        title="Xavier weights for the branches, all but queries and keys times (4M)^(-1/4)",
        draw=_XAVIER,
        past_scores="(4 * M) ** -0.25",
        variance=lambda w: 2 / (w.inputs + w.outputs) * deepnorm_gain(w.sublayers) ** 2,
    ),
}

OPTIMIZERS = {
    "sgd": Entry(r"w-\eta g"),
    "momentum": Entry(r"m\leftarrow 0.9m+g,\; w-\eta m"),
    "adam": Entry(r"w-\eta\,\hat m/(\sqrt{\hat v}+10^{-8})", "Kingma 2014, 1412.6980"),
    "adamw": Entry(r"(1-\eta\lambda)w-\eta\,\hat m/(\sqrt{\hat v}+10^{-8})", "Loshchilov 2017, 1711.05101"),
    "muon": Entry(
        r"W-\eta\sqrt{\max(1,n_\text{out}/n_\text{in})}\,UV^\top,\; U\Sigma V^\top=0.05g+0.95m",
        "Jordan 2024, kellerjordan.github.io/posts/muon",
    ),
}

SCHEDULES = {
    "constant": Entry(),
    "cosine": Entry(source="Loshchilov 2016, 1608.03983"),
}

DECAYED = {
    "matrices": Entry(),
    "all": Entry(),
}

PARAMETRIZATIONS = {
    "standard": Entry(),
    "muP": Entry(r"W_\text{out}\,x/m,\; \eta_\text{hidden}/m,\quad m=n/64", "Yang 2022, 2203.03466"),
    "muP + 1/depth": Entry(r"W_\text{out}\,x/m,\; \eta_\text{hidden}/m,\; 2F/L", "Dey 2025 (CompleteP), 2505.01618"),
}

POSITIONS = {
    "sinusoidal": Entry(source="Vaswani 2017, 1706.03762"),
    "learned": Entry(),
    "rotary": Entry(source="Su 2021, 2104.09864"),
    "relative bias": Entry(r"q_i\cdot k_j/\sqrt{d_k}+b_{h,\beta(i-j)}", "Raffel 2019 (T5), 1910.10683"),
    "alibi": Entry(r"q_i\cdot k_j/\sqrt{d_k}-2^{-8h/H}|i-j|", "Press 2021, 2108.12409"),
    "none": Entry(source="Haviv 2022, 2203.16634"),
}

MASKS = {
    "causal": Entry(),
    "none": Entry(),
}

STACKS = {
    "single": Entry(),
    "learned scalars": Entry(
        r"x\leftarrow \lambda_l\,x+\mu_l\,x_0\text{ before block }l",
        "Jordan 2024, modded-nanogpt; Karpathy 2026, nanochat",
    ),
    "residual": Entry(r"x\leftarrow N(x+f(x)),\; y\leftarrow y+f(x),\; x_M+N(y_M)", "Xie 2023, 2304.14802"),
    "dlcl": Entry(r"x_{l+1}=\sum_{k\le l} W_{l+1,k}\,N(y_k)", "Wang 2019, 1906.01787"),
    "hyper-connections": Entry(r"H\leftarrow A_r^\top H + B^\top f(A_m^\top H)", "Zhu 2024, 2409.19606"),
    "dynamic hyper-connections": Entry(
        r"H\leftarrow A_r(H)^\top H + B(H)^\top f(A_m(H)^\top H)", "Zhu 2024, 2409.19606"
    ),
    "mHC": Entry(r"H\leftarrow\operatorname{Sinkhorn}(R)\,H + 2\sigma(b)^\top f(\sigma(a)\,H)", "Xie 2025, 2512.24880"),
    "attention residuals": Entry(
        r"x_l=\sum_{i<l}\operatorname{softmax}_i(w_l^\top\operatorname{RMS}(v_i))\,v_i", "Chen 2026, 2603.15031"
    ),
}
MANY_STREAMS = ("hyper-connections", "dynamic hyper-connections", "mHC")  # stacks whose sublayers mix n streams
CONNECTED = (*MANY_STREAMS, "attention residuals")  # stacks that join sublayers by other means than one sum
NORMED_SUMS = ("residual", "dlcl")  # stacks that hold norms of their own, of which the head reads a sum
ONE_STREAM = ("single", "learned scalars")  # stacks whose end the head reads, as long as no further norm joins streams

DEVICES = {
    "auto": Entry(),
    "cpu": Entry(),
    "cuda": Entry(),
    "mps": Entry(),
}

describe(
    nets=NETS,
    norms=NORMS,
    activations=ACTIVATIONS,
    inits=INITS,
    optimizers=OPTIMIZERS,
    schedules=SCHEDULES,
    decayed=DECAYED,
    parametrizations=PARAMETRIZATIONS,
    positions=POSITIONS,
    masks=MASKS,
    stacks=STACKS,
    devices=DEVICES,
)
