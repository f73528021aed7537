"""TreeTokTokenizer: a TreeTokenizer as transformers expects a tokenizer to be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from inspect import signature
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from transformers import AddedToken, AutoTokenizer, BatchEncoding, PreTrainedConfig, PythonBackend
from transformers.tokenization_utils_base import LARGE_INTEGER
from transformers.utils import PaddingStrategy

from treetok.arguments import checked_seed
from treetok.errors import TreetokError, shown
from treetok.garbage_collection import without_garbage_collection
from treetok.hf.chats import check_chat, check_rendering, encode_sanitized
from treetok.hf.encodings import Encodings, Padding, Row, Template
from treetok.hf.samples import Samples
from treetok.hf.saved_options import check_file, check_options, check_token, one_line
from treetok.hf.text_encoder import Sampling, TextEncoder
from treetok.hf.truncation import kept, limits, rows_of_windows, windows
from treetok.storage import find_directory, shipped_names
from treetok.storage.files import real_path
from treetok.storage.format import HEAD, LEXICON, NGRAMS, PARSER, TRANSFORMERS, VOCABULARY
from treetok.tokenizer import TreeTokenizer

# Lets directories load with `trust_remote_code=True` where treetok is installed, but treetok.hf not imported.
REMOTE_MODULE = "treetok_tokenizer"
REMOTE_CODE = '''"""Loads this tokenizer in transformers. Needs treetok and transformers."""

from treetok.hf import TreeTokTokenizer
'''
# Arguments that transformers passes to the constructor, and that say where files were found.
ABOUT_FILES = ("tokenizer_file", "is_local", "local_files_only", "trust_remote_code", "auto_map")
# Files of older releases of transformers that list added tokens. TreeTok never wrote them.
OLD_FILES = ("added_tokens_file", "special_tokens_map_file", "tokenizer_file")
# Transformers takes any other for "none" or "all_zeros".
PATTERNS = {
    "special_tokens_pattern": ("none", "cls_sep", "eos", "bos", "bos_eos", "cls_double_sep", "prefix_suffix"),
    "token_type_ids_pattern": ("all_zeros", "bert_style"),
}
# Stand for the sequences of a pair.
SEQUENCES = (-1, -2)
# Arguments of `apply_chat_template` that decide what the text is, beside the variables of the template.
RENDERED = (
    *("conversation", "tools", "documents", "chat_template"),
    *("add_generation_prompt", "continue_final_message"),
)


class TreeTokTokenizer(PythonBackend):  # type: ignore[misc]
    """A TreeTokenizer in transformers.

    tokenizer: a TreeTokenizer, or the name or directory of one.
    options: those of all tokenizers in transformers: special tokens (by default those of the tokenizer),
        padding_side, model_max_length, chat_template and so on.

    >>> tok = TreeTokTokenizer("en")
    >>> tok.tokenize("The windsurfers")
    ['The', ' wind', 'surf', 'er', 's']
    """

    vocab_files_names = {  # noqa: RUF012
        "treetok_file": HEAD,
        "vocab_file": VOCABULARY,
        "ngrams_file": NGRAMS,
        "parser_file": PARSER,
        "lexicon_file": LEXICON,
    }
    _auto_map = {"AutoTokenizer": [f"{REMOTE_MODULE}.TreeTokTokenizer", None]}  # noqa: RUF012

    def __init__(self, tokenizer: TreeTokenizer | str | os.PathLike[str] | None = None, **options: Any) -> None:
        files = {name: options.pop(name, None) for name in (*self.vocab_files_names, *ABOUT_FILES)}
        if tokenizer is None:
            # Called by from_pretrained.
            head = files["treetok_file"]
            tokenizer = Path(head).parent if head else Path(options.get("name_or_path") or HEAD)
        self.treetok = tokenizer if isinstance(tokenizer, TreeTokenizer) else TreeTokenizer.load(tokenizer)
        if len(self._vocabulary) < self.treetok.vocab_size:
            raise TreetokError("two tokens have the same name, which transformers does not allow")
        check_options(options)
        add_special_tokens(options, self.treetok)
        check_added_tokens(options["added_tokens_decoder"], self.treetok)
        has_frame = options.get("cls_token") is not None and options.get("sep_token") is not None
        # Like BERT if there are [CLS] and [SEP], else like GPT-2.
        options.setdefault("special_tokens_pattern", "cls_sep" if has_frame else "none")
        if has_frame:
            options.setdefault("model_input_names", ["input_ids", "token_type_ids", "attention_mask"])
        patterns = {name: options[name] for name in PATTERNS if name in options}
        check_patterns(patterns)
        super().__init__(**options)
        # Else they would not be saved.
        self.init_kwargs.update(patterns)

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], *arguments: Any, **options: Any
    ) -> TreeTokTokenizer:
        """A shipped tokenizer by name, a directory or, as with all tokenizers of transformers, one on the Hub."""
        name = pretrained_model_name_or_path
        # Without asking the Hub.
        is_shipped = isinstance(name, str) and name in shipped_names() and not Path(name).is_dir()
        found = find_directory(name) if is_shipped else name
        config = Path(found, options.get("subfolder") or "", TRANSFORMERS)
        # Transformers reads it first, and takes it for what it should be.
        if config.exists():
            check_file(config)
        tokenizer: TreeTokTokenizer = super().from_pretrained(found, *arguments, **options)
        return tokenizer

    @classmethod
    def _from_pretrained(
        cls, files: dict[str, str | None], name: str, *arguments: Any, **options: Any
    ) -> TreeTokTokenizer:
        """Load what was found in a directory or on the Hub. It is checked first, as it may be from strangers."""
        files = {kind: path for kind, path in files.items() if kind not in OLD_FILES}
        config = files.get("tokenizer_config_file")
        if options.get("_is_local"):
            for path in files.values():
                if path is not None:
                    real_path(Path(path), Path(name))
        elif config is not None:
            check_file(Path(config))
        try:
            return super()._from_pretrained(files, name, *arguments, **options)  # type: ignore[no-any-return]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise TreetokError(
                f"{config or name}, or an option it is loaded with, is not right: {one_line(error)}"
            ) from error

    # ---- the vocabulary

    @property
    def is_fast(self) -> bool:
        """Whether there are offsets and word ids, as there are with tokenizers in Rust."""
        return True

    @property
    def vocab_size(self) -> int:
        """The number of tokens, without those that were added in transformers."""
        return self.treetok.vocab_size

    @property
    def _vocabulary(self) -> dict[str, int]:
        # Not an attribute: it would be pickled.
        return self.treetok.state.table.id_of_name

    def get_vocab(self) -> dict[str, int]:
        added: dict[str, int] = self._added_tokens_encoder
        return self._vocabulary | added

    def _update_total_vocab_size(self) -> None:
        # Called whenever tokens were added.
        super()._update_total_vocab_size()
        self._encoder = TextEncoder(self.treetok, dict(self._added_tokens_decoder))

    def _update_trie(self, unique_no_split_tokens: Iterable[str] | None = None) -> None:
        """TextEncoder finds added tokens, not the trie."""

    def _convert_token_to_id(self, token: str) -> int | None:
        known = self._vocabulary.get(token)
        return self.unk_token_id if known is None and token != self.unk_token else known

    def _convert_id_to_token(self, index: int) -> str:
        return self.treetok.id_to_token(index)

    # ---- text to ids

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **options: Any
    ) -> Any:
        encoded = self._encode_plus(text, pair, add_special_tokens=add_special_tokens, **options)
        return self.convert_ids_to_tokens(encoded["input_ids"])

    @without_garbage_collection()
    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        padding_strategy: Any = "do_not_pad",
        truncation_strategy: Any = "do_not_truncate",
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        split_special_tokens: bool | None = None,
        sanitize_control_tokens: bool = False,
        threads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
        **unknown: Any,
    ) -> BatchEncoding:
        """What `__call__` does: encodes a text, a pair, or a batch of either. The results are like those of
        tokenizers in Rust; in particular, overflowing tokens are further rows. `threads` is for batches; `dropout`
        and `seed` are as for `TreeTokenizer.encode`, and give ids without offsets, tokens or word ids."""
        check_unknown(unknown)
        if dropout and return_offsets_mapping:
            raise TreetokError("return_offsets_mapping is not available with dropout")
        samples = Samples.of(text, text_pair, is_split_into_words)
        split = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        if sanitize_control_tokens:
            for name, is_asked_for in {
                "dropout": dropout,
                "is_split_into_words": is_split_into_words,
                "return_offsets_mapping": return_offsets_mapping,
                "split_special_tokens": bool(split) != bool(self.split_special_tokens),
            }.items():
                if is_asked_for:
                    raise TreetokError(f"{name} is not available with sanitize_control_tokens")
        encoder = self._encoder.without_added_tokens() if split else self._encoder
        encode: Any = encoder.encode_words if is_split_into_words else encoder.encode
        first_seed = checked_seed(seed)
        # The texts of a pair are sampled independently.
        seeds = (first_seed, (first_seed + 1) % (1 << 64))
        if sanitize_control_tokens:
            ids = [[encode_sanitized(self, str(text)) for text in texts] for texts in samples.texts]
        else:
            ids = [
                encode(texts, threads, Sampling(dropout, of_texts))
                for texts, of_texts in zip(samples.texts, seeds, strict=False)
            ]
        template = self._template(len(ids), add_special_tokens)
        room = None
        if truncation_strategy != "do_not_truncate" and max_length is not None:
            room = max_length - len(template)
        strategy = str(getattr(truncation_strategy, "value", truncation_strategy))
        rows = self._rows(ids, template, room, strategy, stride, return_overflowing_tokens)
        padding = self._padding(padding_strategy, max_length, pad_to_multiple_of, padding_side)
        encodings = Encodings(
            encoder,
            samples.texts,
            ids,
            rows,
            template,
            padding,
            names_of=self.convert_ids_to_tokens,
            as_arrays=return_tensors is not None,
        )

        columns: dict[str, Any] = {"input_ids": encodings.input_ids}
        if is_wanted(return_token_type_ids, "token_type_ids" in self.model_input_names):
            columns["token_type_ids"] = encodings.type_ids()
        if is_wanted(return_attention_mask, "attention_mask" in self.model_input_names):
            columns["attention_mask"] = encodings.attention_masks()
        if return_special_tokens_mask:
            columns["special_tokens_mask"] = encodings.special_tokens_masks()
        if return_offsets_mapping:
            columns["offset_mapping"] = encodings.offsets()
        if return_length:
            columns["length"] = list(map(len, encodings.input_ids))
        if return_overflowing_tokens:
            columns["overflow_to_sample_mapping"] = [row.sample for row in encodings.rows]
        if max_length is None and self.model_max_length < LARGE_INTEGER:
            longest: list[int] = max(encodings.input_ids, key=len, default=[])
            self._eventual_warn_about_too_long_sequence(longest, max_length, verbose)

        if return_tensors is None and not samples.is_batch and not return_overflowing_tokens:
            columns = {name: column[0] if name != "length" else column for name, column in columns.items()}
        # The details of rows are computed when they are asked for, from texts as they usually are: without dropout
        # and without marks.
        details = None if dropout or sanitize_control_tokens else encodings
        return BatchEncoding(columns, details, tensor_type=return_tensors, n_sequences=len(ids))

    def _template(self, sequences: int, add_special_tokens: bool) -> Template:
        """The special tokens that `build_inputs_with_special_tokens` puts around sequences."""
        marks = SEQUENCES[:sequences]
        try:
            layout = self.build_inputs_with_special_tokens(*([mark] for mark in marks))
            types = self.create_token_type_ids_from_sequences(*([mark] for mark in marks))
        except ValueError:
            layout = [None]
        if None in layout:
            raise TreetokError(
                f"special_tokens_pattern={self.special_tokens_pattern!r} needs tokens that this tokenizer does not"
                f" have: it has {self.special_tokens_map}"
            )
        places = [layout.index(mark) for mark in marks]
        types_of_sequences = [types[place] for place in places]
        if not add_special_tokens:
            nothing: list[list[int]] = [[] for _ in range(sequences + 1)]
            return Template(nothing, nothing, types_of_sequences)
        starts, ends = [0, *(place + 1 for place in places)], [*places, len(layout)]
        return Template(
            [layout[start:end] for start, end in zip(starts, ends, strict=True)],
            [types[start:end] for start, end in zip(starts, ends, strict=True)],
            types_of_sequences,
        )

    def _rows(
        self,
        ids: Sequence[Sequence[Sequence[int]]],
        template: Template,
        room: int | None,
        strategy: Any,
        stride: int,
        with_overflow: bool,
    ) -> list[Row] | None:
        """What of each sample is in the output; None if it is all. `room` is how many tokens a row may have beside
        special ones."""
        if room is not None and room < 0:
            raise TreetokError(
                f"max_length must be at least {len(template)}, the number of special tokens that are added"
            )
        lengths_of_samples = list(zip(*(map(len, of_all) for of_all in ids), strict=True))
        if room is None or max(map(sum, lengths_of_samples), default=0) <= room:
            return None
        rows, side = [], self.truncation_side
        for sample, lengths in enumerate(lengths_of_samples):
            if sum(lengths) <= room:
                rows.append(Row(sample, tuple((0, length) for length in lengths)))
                continue
            most = limits(lengths, room, strategy)
            if with_overflow:
                spans = [windows(*of_text, stride, side) for of_text in zip(lengths, most, strict=True)]
                rows += [Row(sample, of_row) for of_row in rows_of_windows(spans)]
            else:
                rows.append(
                    Row(sample, tuple(kept(*of_text, side) for of_text in zip(lengths, most, strict=True)))
                )
        return rows

    def _padding(
        self, strategy: Any, max_length: int | None, multiple_of: int | None, side: str | None
    ) -> Padding | None:
        if strategy == PaddingStrategy.DO_NOT_PAD:
            return None
        side = self.padding_side if side is None else side
        if side not in ("left", "right"):
            raise TreetokError(f"padding_side must be 'left' or 'right', not {side!r}")
        length = max_length if strategy == PaddingStrategy.MAX_LENGTH else None
        return Padding(length, multiple_of, side, self.pad_token_id, self.pad_token_type_id)  # type: ignore[arg-type]

    def apply_chat_template(self, *arguments: Any, **options: Any) -> Any:
        """As in all tokenizers of transformers. With `sanitize_control_tokens`, control tokens that users typed
        are text; a chat in which they could not be is refused."""
        call = signature(super().apply_chat_template).bind(*arguments, **options).arguments
        if call.get("sanitize_control_tokens"):
            template = self.get_chat_template(call.get("chat_template"), call.get("tools"))
            control_tokens = self._get_control_tokens(template)
            check_chat(call, control_tokens)
            try:
                check_rendering(self._rendered, call, control_tokens)
            except RecursionError:
                raise TreetokError("the chat is nested too deeply") from None
        return super().apply_chat_template(*arguments, **options)

    def _rendered(self, call: dict[str, Any]) -> str | list[str]:
        """What the template makes of the arguments of `apply_chat_template`."""
        text = {name: call[name] for name in RENDERED if name in call}
        return super().apply_chat_template(**text, **call.get("kwargs", {}), tokenize=False)  # type: ignore[no-any-return]

    # ---- ids to text

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **unused: Any,
    ) -> str:
        """Spaces are never cleaned up: it would change the text."""
        if isinstance(token_ids, dict | BatchEncoding):
            token_ids = token_ids["input_ids"]
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        if skip_special_tokens:
            special = set(self.all_special_ids)
            ids = [token_id for token_id in ids if token_id not in special]
        return self._text_of(ids)

    def _text_of(self, ids: list[int]) -> str:
        size = self.treetok.vocab_size
        parts = []
        for is_added, group in groupby(ids, lambda token_id: isinstance(token_id, int) and token_id >= size):
            if not is_added:
                parts.append(self.treetok.decode(group))
                continue
            for token_id in group:
                if token_id not in self._added_tokens_decoder:
                    raise TreetokError(f"token id {token_id} is out of range: ids run from 0 to {len(self) - 1}")
                parts.append(self._added_tokens_decoder[token_id].content)
        return self._separator.join(parts)

    @property
    def _separator(self) -> str:
        return self.treetok.state.text_profile.separator

    def convert_tokens_to_string(self, tokens: Iterable[str]) -> str:
        """Strings that are no tokens are kept: pipelines join words that they have put together from tokens."""
        ids = [self._added_tokens_encoder.get(token, self._vocabulary.get(token, token)) for token in tokens]
        parts = groupby(ids, lambda part: isinstance(part, str))
        texts = [list(group) if is_text else [self._text_of(list(group))] for is_text, group in parts]
        return self._separator.join(chain.from_iterable(texts))

    # ---- saving

    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        *arguments: Any,
        filename_prefix: str | None = None,
        **options: Any,
    ) -> Any:
        """Save the tokenizer with all that was set or added in transformers."""
        if filename_prefix is not None:
            raise TreetokError(
                "filename_prefix is not supported: the files of a TreeTok tokenizer have fixed names"
            )
        self.treetok.save(save_directory)
        return super().save_pretrained(save_directory, *arguments, **options)

    def _save_pretrained(
        self, save_directory: str | os.PathLike[str], file_names: tuple[str, ...], *unused: Any, **also_unused: Any
    ) -> tuple[str, ...]:
        module = Path(save_directory, f"{REMOTE_MODULE}.py")
        module.write_text(REMOTE_CODE, encoding="utf-8")
        return (*file_names, *self._saved_files(save_directory), str(module))

    def save_vocabulary(
        self, save_directory: str | os.PathLike[str], filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        """Save the tokenizer without what was set or added in transformers."""
        self.treetok.save(save_directory)
        return self._saved_files(save_directory)

    def _saved_files(self, directory: str | os.PathLike[str]) -> tuple[str, ...]:
        paths = [Path(directory, name) for name in self.vocab_files_names.values()]
        return tuple(str(path) for path in paths if path.exists())

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = "AutoTokenizer") -> None:
        """Nothing to do: the module is registered when it is imported, and its source need not be copied."""


def add_special_tokens(options: dict[str, Any], treetok: TreeTokenizer) -> None:
    """Add the special tokens of the tokenizer to the options, under the names of their roles or as extra ones."""
    for role, token in treetok.roles.items():
        options.setdefault(f"{role}_token", token)
    extra = options.pop("additional_special_tokens", None)
    extra = options.get("extra_special_tokens") or extra or []
    if isinstance(extra, dict):
        options["model_specific_special_tokens"] = options.get("model_specific_special_tokens", {}) | extra
        extra = []
    known = {str(value) for name, value in options.items() if name.endswith("_token")}
    saved = options.get("added_tokens_decoder") or {}
    known.update(map(str, (*extra, *saved.values())))
    # Transformers would look each of them up among all others.
    names = set(map(str, saved.values()))
    options["added_tokens_decoder"] = saved | {
        number: AddedToken(name, special=True, normalized=False)
        for name, number in treetok.special_tokens.items()
        if name not in names and number not in saved
    }
    options["extra_special_tokens"] = [*extra, *(token for token in treetok.special_tokens if token not in known)]


def check_added_tokens(tokens: dict[int, Any], treetok: TreeTokenizer) -> None:
    """Raise TreetokError if saved tokens have ids or names of others, or ids that do not follow the vocabulary."""
    size, ids = treetok.vocab_size, treetok.state.table.id_of_name
    seen = set()
    for number, token in tokens.items():
        check_token(f"the added token {number}", token)
        name = str(token)
        if name in seen:
            raise TreetokError(f"{TRANSFORMERS} has the added token {shown(name)} twice")
        seen.add(name)
        if number < size and ids.get(name) != number:
            other = treetok.id_to_token(number) if number >= 0 else "no id"
            raise TreetokError(
                f"{TRANSFORMERS} is not that of this tokenizer: it has {shown(name)} as token {number}, which is"
                f" {shown(other)}"
            )
        if number >= size and name in ids:
            raise TreetokError(
                f"{TRANSFORMERS} is not that of this tokenizer: it adds {shown(name)}, which is token {ids[name]}"
            )
    new = sorted(number for number in tokens if number >= size)
    if new != list(range(size, size + len(new))):
        raise TreetokError(
            f"{TRANSFORMERS} is not that of this tokenizer: the ids of its new tokens must be {size} and so on"
        )


def check_unknown(options: dict[str, Any]) -> None:
    """Raise TreetokError if something is asked for that TreeTok does not do; what is off may be unknown."""
    names = [name for name, value in options.items() if value is not None and value is not False]
    if names:
        raise TreetokError(f"TreeTok does not know the options {', '.join(names)}")


def check_patterns(patterns: dict[str, Any]) -> None:
    for name, value in patterns.items():
        if value not in PATTERNS[name]:
            raise TreetokError(f"{name} must be one of {', '.join(PATTERNS[name])}, not {shown(value)}")


def is_wanted(asked: bool | None, default: bool) -> bool:
    return default if asked is None else asked


class TreeTokConfig(PreTrainedConfig):  # type: ignore[misc]
    """Tokenizers are registered under the configuration of a model; this stands for none."""

    model_type = "treetok"


AutoTokenizer.register(TreeTokConfig, tokenizer_class=TreeTokTokenizer, exist_ok=True)
