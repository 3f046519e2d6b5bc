"""Glossary terms for nets, text and norms that no field or option defines. For measurements see `words_measured`."""

from dataclasses import dataclass

from models.spec.placement import PLACEMENTS
from models.spec.tasks import MAX_TOKENS


@dataclass(frozen=True)
class Term:
    """One or two sentences, LaTeX, "author year, arXiv number", pages where it appears, related terms."""

    text: str
    formula: str = ""
    source: str = ""
    met: tuple[str, ...] = ("playground",)
    see: tuple[str, ...] = ()
    of: str = ""  # what it is, of a control, an option or an arrangement


LABS = ("normalization", "gradients", "residual")
EVERYWHERE = ("playground", "compare")
_FINAL = ", ".join(name for name, placement in PLACEMENTS.items() if placement.final_norm)

NET: dict[str, Term] = {
    # --- the net ---
    "stream": Term(
        "The vector of each sample or token on its way from the embedding to the output head (the residual stream). "
        "Branches add to it. With residuals on, it is the channel through which blocks communicate.",
        r"x_0,\ldots,x_M",
        "Elhage 2021, A mathematical framework for transformer circuits",
        met=("playground", "anatomy", "residual"),
        see=("branch", "residual", "site", "width"),
    ),
    "branch": Term(
        "What a sublayer computes from the stream before it is added: the F in x + F(x).",
        r"F(x)",
        met=("playground", "anatomy", "residual"),
        see=("residual", "sublayer", "branch share"),
    ),
    "residual": Term(
        "The path that carries the stream past a branch to the add (skip connection, shortcut), times the skip weight.",
        r"a\,x",
        "He 2015, 1512.03385",
        ("playground", "anatomy", "residual"),
        ("skip weight", "identity"),
    ),
    "add": Term(
        "The sum of residual and branch at the end of a sublayer.", r"a\,x+s\,F(x)", met=("anatomy", "residual")
    ),
    "sublayer": Term(
        "One branch with its residual and its norms. An MLP block has one, a transformer block two: attention, then "
        "feed-forward; M counts them.",
        r"y=N_\text{add}(a\,x+s\,N_\text{out}(F(c\,N_\text{in}(x))))",
        met=("playground", "anatomy"),
        see=("block", "slot", "depth"),
    ),
    "block": Term("The repeated unit of the stack; depth counts the blocks.", see=("sublayer", "depth", "net")),
    "slot": Term(
        "A place in a sublayer that may hold a norm: before the branch, inside it, after it, or after the add. The "
        "placement says which are filled.",
        met=("playground", "anatomy"),
        see=("placement", "norm"),
    ),
    "site": Term(
        "A point at which the stream is measured: the input (after the embedding), then one after every sublayer. "
        "Exported numbers call them `x0`, then `b03` or `b03.attn`.",
        see=("stream", "sublayer"),
    ),
    "final norm": Term(
        f"One more norm between the end of the stream and the output head; {_FINAL} have it.",
        met=("anatomy", "lessons"),
        see=("placement", "pre-norm"),
    ),
    "embedding": Term(
        "The first layer: it turns a token, or an image, into the first vector of the stream, the input of the stack.",
        see=("stream", "token"),
    ),
    "head": Term(
        "The output head, the last linear layer: it turns the end of the stream into one logit per class. Not to be "
        "confused with an attention head.",
        see=("logit", "attention head"),
    ),
    "feed-forward": Term(
        "A transformer's second branch: two linear layers with an activation between them, applied to each token by "
        "itself.",
        r"W_2\,\phi(W_1x)",
        "Vaswani 2017, 1706.03762",
        see=("expansion", "activation"),
    ),
    "gain and bias": Term(
        "The learned vectors that scale and shift a norm's output. With gain = standard deviation and bias = mean "
        "they undo layer norm on a token.",
        r"\gamma\odot z+\beta",
        met=("normalization", "playground"),
        see=("affine",),
    ),
    "ReLU after the add": Term(
        "The first residual nets pass the sum of residual and branch through ReLU: the residual is cut wherever the "
        "sum is negative, so it is no identity. Later nets leave the sum alone and put ReLU into the branch.",
        r"x_{l+1}=\operatorname{relu}(x_l+F(x_l))",
        "He 2015, 1512.03385; without it: He 2016, 1603.05027",
        ("residual",),
        ("residual", "identity", "add"),
    ),
    "gate": Term(
        "A learned number, or one per channel, that multiplies a branch and starts at 0 or near it.",
        r"x+\alpha F(x)",
        "Bachlechner 2020, 2003.04887",
        see=("zero gate", "layer scale", "branch scale"),
    ),
    "parameter": Term(
        "A number of the net that training changes: a weight, a bias, a gain or a gate.", see=("gain and bias",)
    ),
    "arrangement": Term(
        "A named set of residual, placement, norm, scales, stack and initialisation, as a paper describes them.",
        met=("playground", "compare", "autoregression"),
        see=("placement", "stack"),
    ),
    # --- attention and text ---
    "token": Term(
        "One unit of a sequence: a character of the book, a symbol, a row of an image. An MLP reads an image as one "
        "vector.",
        met=("playground", "autoregression"),
        see=("context", "stream"),
    ),
    "subword": Term(
        "A piece of a word as a token, as in most language models: byte-pair encoding starts from characters and joins "
        "the most frequent pair of neighbours, again and again. Frequent words become one token, rare ones several.",
        source="Sennrich 2016, 1508.07909",
        met=("autoregression",),
        see=("token", "one-hot"),
    ),
    "recurrent net": Term(
        "A net that reads a sequence one token after another and keeps a state. Sequences differ in length, so batch "
        "norm would have other statistics at every step; layer norm was made for it.",
        r"h_t=f(h_{t-1},x_t)",
        "Ba 2016, 1607.06450",
        ("normalization", "attention"),
        ("layer norm", "batch norm"),
    ),
    "one-hot": Term(
        "A row of zeros with a 1 at a symbol's number. Multiplied by the embedding table it gives that symbol's row, "
        "which a net looks up directly.",
        met=("autoregression",),
        see=("embedding",),
    ),
    "context": Term(
        f"The tokens that a net reads at once; it was trained on at most {MAX_TOKENS}.", met=("autoregression",)
    ),
    "attention": Term(
        "The branch in which every token takes a weighted mean of values; the weights are a softmax over the dot "
        "products of its query with all keys.",
        r"\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V",
        "Vaswani 2017, 1706.03762",
        ("playground", "attention"),
        ("query, key, value", "softmax", "mask"),
    ),
    "query, key, value": Term(
        "Three linear projections of a token: what it looks for, what it is found by, and what it passes on.",
        r"Q=XW_Q,\;K=XW_K,\;V=XW_V",
        "Vaswani 2017, 1706.03762",
        met=("attention",),
        see=("attention", "qk-norm"),
    ),
    "attention head": Term(
        "One of several attentions in parallel, each with width / heads features; their outputs are concatenated.",
        met=("playground", "attention"),
        see=("heads",),
    ),
    "softmax": Term(
        "Exponentials over their sum: positive numbers that add up to 1.",
        r"p_i=e^{z_i}/\sum_j e^{z_j}",
        met=("playground", "autoregression"),
        see=("logit", "temperature"),
    ),
    "logit": Term("A net's score for a class before the softmax.", r"z_i", met=("autoregression",), see=("softmax",)),
    "temperature": Term(
        "Sharpens (below 1) or flattens (above 1) the probabilities before a token is drawn; 0 is the most probable "
        "token.",
        r"p_i^{1/T}/\sum_j p_j^{1/T}",
        met=("autoregression",),
        see=("autoregression", "softmax"),
    ),
    "autoregression": Term(
        "Producing a token, appending it to the text, and producing the next one from all of it. Under a causal mask "
        "earlier tokens never change.",
        r"p(x_1,\ldots,x_T)=\prod_t p(x_t\mid x_{<t})",
        met=("autoregression",),
        see=("causal", "end symbol", "temperature"),
    ),
    "cross-attention": Term(
        "Attention between two sequences: queries from a decoder, keys and values from an encoder.",
        source="Vaswani 2017, 1706.03762",
        met=("attention",),
        see=("attention",),
    ),
    "end symbol": Term(
        "The token after which generation stops, even before the requested length.", met=("autoregression",)
    ),
    "prompt": Term("The text that a net is given to continue.", met=("autoregression",), see=("context",)),
    "padding": Term(
        "Tokens that only fill sequences up to a common length. A norm over the batch must leave them out.",
        met=("normalization", "attention"),
    ),
    "logit lens": Term(
        "What the output head would predict if the net ended at a site.",
        r"\operatorname{softmax}(\text{head}(N_\text{final}(x_l)))",
        "nostalgebraist 2020",
        ("playground", "autoregression"),
        ("head", "site", "kl divergence"),
    ),
    "kl divergence": Term(
        "How far one distribution is from another, in nats; 0 if they are equal.",
        r"\sum_i p_i\ln(p_i/q_i)",
        see=("logit lens",),
    ),
    # --- norms of the lab ---
    "group norm": Term(
        "Centres and scales the features of one token in groups, each group separately. On images and sequences "
        "torch's nn.GroupNorm also averages over all positions of the sample.",
        r"\gamma\odot\frac{x-\mu_g}{\sqrt{\sigma_g^2+\varepsilon}}+\beta",
        "Wu & He 2018, 1803.08494",
        ("normalization",),
        ("layer norm", "instance norm"),
    ),
    "instance norm": Term(
        "Centres and scales each feature over the tokens of one sequence.",
        r"\gamma\odot\frac{x-\mu_s}{\sqrt{\sigma_s^2+\varepsilon}}+\beta",
        "Ulyanov 2016, 1607.08022",
        ("normalization",),
        ("batch norm",),
    ),
    "joint layer norm": Term(
        "Centres and scales all cells of the table with one mean and one variance.",
        met=("normalization",),
        see=("layer norm",),
    ),
    "z-score": Term(
        "Distance from the feature's mean in standard deviations.", r"(x-\mu)/\sigma", met=("normalization",)
    ),
    "min-max": Term(
        "Maps the minimum of a feature to 0 and the maximum to 1.",
        r"\frac{x-\min}{\max-\min}",
        met=("normalization",),
    ),
    "running statistics": Term(
        "Batch norm's memory of mean and variance over past batches, which it uses at inference.",
        r"\mu\leftarrow(1-m)\mu+m\,\mu_B",
        "Ioffe & Szegedy 2015, 1502.03167",
        ("normalization",),
        ("batch norm", "eval mode"),
    ),
    "eval mode": Term(
        "The net at inference rather than in training: batch norm then uses its running statistics.",
        see=("running statistics",),
    ),
    "covariate shift": Term(
        "Inputs whose distribution differs between training and inference.",
        source="Shimodaira 2000",
        met=("normalization",),
        see=("internal covariate shift",),
    ),
    "internal covariate shift": Term(
        "The change of a layer's inputs during training because the layers before it learn. Batch norm was proposed "
        "against it; later work found that batch norm helps even where noise puts such a shift back.",
        source="Ioffe & Szegedy 2015, 1502.03167; disputed by Santurkar 2018, 1805.11604",
        met=("normalization",),
        see=("covariate shift", "batch norm"),
    ),
}
