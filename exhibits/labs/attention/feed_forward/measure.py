"""Results on the held-out split without attention or feed-forward nets (Veit 2016, 1605.06431)."""

from exhibits.labs.attention.feed_forward.answer import SUBLAYERS, Sublayers, Without
from models.instruments import on_snapshot
from models.instruments.surgery import HeldOut, Replacements, curves, evaluate_held_out, replaced, skip_replacements
from models.spec.overrides import PARTS
from models.training import Snapshot, Work


def sublayer_lesions(snapshot: Snapshot) -> Work[Sublayers]:
    """Evaluates the held-out split with attention or feed-forward net skipped, in each block and in all of them.

    ValueError for a net other than a transformer.
    """
    net, blocks = snapshot.model.stream, range(1, snapshot.cfg.depth + 1)
    if snapshot.cfg.net != "transformer":
        raise ValueError(f"net is {snapshot.cfg.net!r}; only a transformer has attention and feed-forward nets")
    intact = evaluate_held_out(snapshot.model, snapshot.task)
    without: dict[str, Without] = {}
    for kind_index, kind in enumerate(PARTS):
        results: list[HeldOut] = []
        in_all_blocks: Replacements = {}
        for block in blocks:
            replacements = skip_replacements(net, block, kind)
            in_all_blocks |= replacements
            with replaced(net, replacements):
                results.append(evaluate_held_out(snapshot.model, snapshot.task))
            yield (kind_index + block / snapshot.cfg.depth) / len(PARTS)
        with replaced(net, in_all_blocks):
            all_skipped = evaluate_held_out(snapshot.model, snapshot.task)
        without[kind] = Without(*curves(results), all_skipped.loss, all_skipped.accuracy)
    return Sublayers(intact.loss, intact.accuracy, without)


MEASURES = {SUBLAYERS: on_snapshot(sublayer_lesions)}
NETS = ("transformer",)
