"""Pretrain a small GPT-2 from scratch on text files with a TreeTok tokenizer, then let it write.

pip install 'treetok[hf]' datasets accelerate torch
python examples/pretrain_gpt2.py sample_text/*.txt -o gpt2-small
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import datasets
import torch
from transformers import (
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    TextStreamer,
    Trainer,
    TrainingArguments,
    set_seed,
)

from treetok.hf import TreeTokTokenizer


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    set_seed(options.seed)
    tok = TreeTokTokenizer(options.tokenizer, model_max_length=options.context)
    data = blocks_of_text(options.files, tok, options.context).train_test_split(test_size=0.05, seed=options.seed)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=options.context,
            n_embd=options.width,
            n_layer=options.layers,
            n_head=max(1, options.width // 64),
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=options.output,
            max_steps=options.steps,
            per_device_train_batch_size=options.batch,
            learning_rate=options.learning_rate,
            lr_scheduler_type="cosine",
            warmup_steps=options.steps // 10,
            weight_decay=0.1,
            adam_beta2=0.95,
            bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
            logging_steps=max(1, options.steps // 20),
            eval_strategy="steps",
            eval_steps=max(1, options.steps // 4),
            save_strategy="no",
            report_to="none",
            dataloader_pin_memory=torch.cuda.is_available(),
            seed=options.seed,
        ),
        train_dataset=data["train"],
        eval_dataset=data["test"],
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )
    trainer.train()
    trainer.save_model(options.output)
    write(options.output, options.prompt, options.new_tokens)


def blocks_of_text(files: Sequence[str], tok: TreeTokTokenizer, length: int) -> datasets.Dataset:
    """The text in blocks of `length` tokens. Documents, which are the files, end with the end-of-text token."""

    def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        ids = list(chain.from_iterable(tok(batch["text"], verbose=False)["input_ids"]))
        return {"input_ids": [ids[start : start + length] for start in range(0, len(ids), length)]}

    documents = [Path(file).read_text(encoding="utf-8") + tok.eos_token for file in files]
    return datasets.Dataset.from_dict({"text": documents}).map(encode, batched=True, remove_columns=["text"])


def write(directory: str, prompt: str, new_tokens: int) -> None:
    """Continue a prompt with the saved model; the text is printed as it is generated."""
    tok = AutoTokenizer.from_pretrained(directory)
    model = GPT2LMHeadModel.from_pretrained(directory).eval()
    streamer = TextStreamer(tok, skip_special_tokens=True)
    model.generate(
        **tok(prompt, return_tensors="pt"), max_new_tokens=new_tokens, do_sample=True, top_p=0.9, streamer=streamer
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Pretrain a small GPT-2 with a TreeTok tokenizer.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="plain text")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where model and tokenizer are saved")
    parser.add_argument("--tokenizer", default="en", metavar="MODEL", help="name or directory (default: en)")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--context", type=int, default=512, help="tokens in a row")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=16, help="rows in a step")
    parser.add_argument("--learning-rate", type=float, default=6e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prompt", default="Once upon a time")
    parser.add_argument("--new-tokens", type=int, default=100)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
