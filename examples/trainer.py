"""A tiny GPT-2 on Moby-Dick with Hugging Face's `Trainer`. Half a minute: `python -m examples.trainer`.

Needs `pip install transformers accelerate`.
"""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from addnorm.huggingface import HuggingFaceCallback
from examples.data import book, windows


def main(path: str = "recordings/gpt2.jsonl", steps: int = 150) -> None:
    """Trains for `steps` steps and records to `path`."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    text, symbols = book()
    pieces = windows(text, 16 * steps, 64)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=symbols, n_positions=64, n_embd=64, n_layer=6, n_head=4, bos_token_id=0, eos_token_id=0)
    )
    callback = HuggingFaceCallback(path, meta={"task": "book"})
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
        )
        data = [{"input_ids": piece, "labels": piece} for piece in pieces]
        Trainer(model=model, args=arguments, train_dataset=data, callbacks=[callback]).train()
    if callback.recorder is not None:
        print(f"python -m addnorm show {callback.recorder.path}")


if __name__ == "__main__":
    main()
