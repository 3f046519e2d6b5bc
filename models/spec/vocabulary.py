"""The vocabulary of the app, with formulas and sources. A key is the label on the control and the value in the URL.

The modules behind NORMS, ACTIVATIONS, INITS and OPTIMIZERS are dicts in `models/nets` and `models/training` with the
same keys, as are the curves in `models/insight/gaussian.py`; tests keep the keys equal.
"""

from models.spec.knob import ActivationEntry, Entry, InitEntry, NormEntry
from models.spec.scales import deepnorm_gain

NETS = {
    "mlp": Entry("deep MLP: every block is one branch, applied to each token by itself"),
    "transformer": Entry("every block is attention, then a feed-forward network", source="Vaswani 2017, 1706.03762"),
}

# Set when a net is chosen, because the training settings of the other net would mislead.
NET_DEFAULTS: dict[str, dict[str, object]] = {
    "mlp": {"optimizer": "momentum", "lr": 0.01, "expansion": 1},
    "transformer": {"optimizer": "adam", "lr": 0.001, "expansion": 4},
}

NORMS: dict[str, NormEntry] = {
    "none": NormEntry("no normalisation: every slot is the identity", r"x"),
    "layer norm": NormEntry(
        "centres and scales the features of one token",
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
        "scales the features of one token to unit mean square and, unlike layer norm, does not subtract their mean",
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
        "centres and scales each feature over the batch and its tokens; uses running statistics when not training",
        r"\gamma\odot\frac{x-\mu_B}{\sqrt{\sigma_B^2+\varepsilon}}+\beta",
        "Ioffe & Szegedy 2015, 1502.03167",
        symbol=r"\operatorname{BN}",
        short="BatchNorm",
        code="TokenBatchNorm({width}, eps={eps}{switch})",
        over="batch",
    ),
    "dynamic tanh": NormEntry(
        "squashes every feature by itself, with a learned slope that starts at 0.5; no statistics",
        r"\gamma\odot\tanh(\alpha x)+\beta",
        "Zhu 2025, 2503.10622",
        symbol=r"\operatorname{DyT}",
        short="DyT",
        code="DynamicTanh({width}{switch})",
    ),
}

ACTIVATIONS: dict[str, ActivationEntry] = {
    "relu": ActivationEntry("keeps the positive part", r"\max(0,z)", code="F.relu"),
    "gelu": ActivationEntry(
        "weighs z by the Gaussian chance of being below it", r"z\,\Phi(z)", "Hendrycks 2016, 1606.08415", code="F.gelu"
    ),
    "silu": ActivationEntry("weighs z by its sigmoid", r"z\,\sigma(z)", "Elfwing 2017, 1702.03118", code="F.silu"),
    "tanh": ActivationEntry("squashes to (-1, 1)", r"\tanh(z)", code="torch.tanh"),
    "sigmoid": ActivationEntry("squashes to (0, 1); its slope is at most 1/4", r"\sigma(z)", code="torch.sigmoid"),
    "identity": ActivationEntry("no activation: the branch is linear", r"z", code=""),
}

_FAN_IN = "p.normal_(generator=source).mul_(inputs**-0.5)"
_XAVIER = "p.normal_(generator=source).mul_(math.sqrt(2 / (inputs + outputs)))"

INITS: dict[str, InitEntry] = {
    "fan-in": InitEntry(
        "every weight from N(0, 1/inputs)",
        r"\mathcal N(0, 1/n_\text{in})",
        "LeCun 1998",
        title="Branch weights from N(0, 1/inputs)",
        draw=_FAN_IN,
        variance=lambda w: 1 / w.inputs,
    ),
    "he": InitEntry(
        "every weight from N(0, 2/inputs)",
        r"\mathcal N(0, 2/n_\text{in})",
        "He 2015, 1502.01852",
        title="Branch weights from N(0, 2/inputs)",
        draw="p.normal_(generator=source).mul_(math.sqrt(2 / inputs))",
        variance=lambda w: 2 / w.inputs,
    ),
    "xavier": InitEntry(
        "every weight from N(0, 2/(inputs + outputs))",
        r"\mathcal N(0, 2/(n_\text{in}+n_\text{out}))",
        "Glorot & Bengio 2010",
        title="Branch weights from N(0, 2/(inputs + outputs))",
        draw=_XAVIER,
        variance=lambda w: 2 / (w.inputs + w.outputs),
    ),
    "torch": InitEntry(
        "PyTorch's default for the weights of a linear layer: uniform within 1/sqrt(inputs), a variance of 1/(3 "
        "inputs); PyTorch draws its biases from the same range, here they start at 0",
        r"\mathcal U(\pm 1/\sqrt{n_\text{in}})",
        "torch.nn.Linear",
        title="PyTorch's own uniform weights for the branches",
        draw="p.uniform_(-(inputs**-0.5), inputs**-0.5, generator=source)",
        variance=lambda w: 1 / (3 * w.inputs),
    ),
    "orthogonal": InitEntry(
        "random orthonormal rows or columns",
        r"W^\top W = I",
        "Saxe 2013, 1312.6120",
        title="Orthogonal branch weights",
        draw="nn.init.orthogonal_(p, generator=source)",
        variance=lambda w: 1 / max(w.inputs, w.outputs),
    ),
    "normal 0.02": InitEntry(
        "every weight from N(0, 0.02²) whatever the width: at width 64 the branches are far weaker than at 768",
        r"\mathcal N(0, 0.02^2)",
        "Radford 2019",
        title="Branch weights from N(0, 0.02^2)",
        draw="p.normal_(generator=source).mul_(0.02)",
        variance=lambda w: 0.02**2,
    ),
    "gpt2": InitEntry(
        "GPT-2's scaling on fan-in weights: the output matrix of every branch divided by sqrt(M), M the number of "
        "sublayers",
        r"W_\text{out}\sim\mathcal N(0, 1/(n_\text{in}M))",
        "Radford 2019",
        title="Branch weights from N(0, 1/inputs), output matrices divided by sqrt(M)",
        draw=_FAN_IN,
        on_outputs="M**-0.5",
        variance=lambda w: 1 / (w.inputs * (w.sublayers if w.last else 1)),
    ),
    "zero last": InitEntry(
        "fan-in, with the output matrix of every branch zero: a residual block whose branch ends in a matrix adds "
        "nothing at first",
        r"W_\text{out}=0",
        "Goyal 2017, 1706.02677; Zhang 2019, 1901.09321",
        title="Branch weights from N(0, 1/inputs), output matrices zero",
        draw=_FAN_IN,
        on_outputs="0.0",
        variance=lambda w: 0.0 if w.last else 1 / w.inputs,
    ),
    "deepnorm": InitEntry(
        "Xavier, with the value, output and feed-forward matrices times (4M)^(-1/4), M the number of sublayers",
        r"\mathcal N(0, 2\beta^2/(n_\text{in}+n_\text{out})),\ \beta=(4M)^{-1/4}",
        "Wang 2022, 2203.00555",
        title="Xavier weights for the branches, all but queries and keys times (4M)^(-1/4)",
        draw=_XAVIER,
        past_scores="(4 * M) ** -0.25",
        variance=lambda w: 2 / (w.inputs + w.outputs) * deepnorm_gain(w.sublayers) ** 2,
    ),
}

OPTIMIZERS = {
    "sgd": Entry("steps along the gradient", r"w-\eta g"),
    "momentum": Entry("SGD with momentum 0.9", r"m\leftarrow 0.9m+g,\; w-\eta m"),
    "adam": Entry(
        "the first steps change every weight by about the learning rate, later ones mostly by less",
        r"w-\eta\,\hat m/(\sqrt{\hat v}+10^{-8})",
        "Kingma 2014, 1412.6980",
    ),
    "adamw": Entry(
        "Adam with decoupled weight decay",
        r"(1-\eta\lambda)w-\eta\,\hat m/(\sqrt{\hat v}+10^{-8})",
        "Loshchilov 2017, 1711.05101",
    ),
}

SCHEDULES = {
    "constant": Entry("the learning rate stays after warm-up"),
    "cosine": Entry("the learning rate falls to zero along half a cosine", source="Loshchilov 2016, 1608.03983"),
}

POSITIONS = {
    "sinusoidal": Entry("fixed sines and cosines are added to the token", source="Vaswani 2017, 1706.03762"),
    "learned": Entry("one learned vector per position is added to the token"),
    "rotary": Entry("queries and keys are turned by an angle that grows with position", source="Su 2021, 2104.09864"),
    "relative bias": Entry(
        "every score gets a learned number for the distance of its two tokens, from 32 buckets that widen with the "
        "distance; here every block has its own numbers, in T5 all blocks share them, and W_Q starts small instead of "
        "the division by √d_k",
        r"q_i\cdot k_j/\sqrt{d_k}+b_{h,\beta(i-j)}",
        "Raffel 2019 (T5), 1910.10683",
    ),
    "alibi": Entry(
        "a fixed slope times the distance is subtracted from every score, a smaller slope from head to head; nothing "
        "is learned",
        r"q_i\cdot k_j/\sqrt{d_k}-2^{-8h/H}|i-j|",
        "Press 2021, 2108.12409",
    ),
    "none": Entry(
        "the net is not told the order; a causal mask still lets it infer some", source="Haviv 2022, 2203.16634"
    ),
}

MASKS = {
    "causal": Entry("a token sees itself and what came before"),
    "none": Entry("a token sees the whole sequence, the future too"),
}

STACKS = {
    "single": Entry("one stream runs through all blocks"),
    "residual": Entry(
        "ResiDual: a second stream only collects the branches, unnormalised; both are joined at the end",
        r"x\leftarrow N(x+f(x)),\; y\leftarrow y+f(x),\; x_M+N(y_M)",
        "Xie 2023, 2304.14802",
    ),
    "dlcl": Entry(
        "every block reads a learned weighted sum of all earlier blocks",
        r"x_{l+1}=\sum_{k\le l} W_{l+1,k}\,N(y_k)",
        "Wang 2019, 1906.01787",
    ),
}

DEVICES = {
    "auto": Entry("CUDA where there is one, else the CPU"),
    "cpu": Entry("the processor, one thread"),
    "cuda": Entry("an NVIDIA GPU"),
    "mps": Entry("an Apple GPU"),
}
