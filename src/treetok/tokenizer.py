"""TreeTokenizer: text in, ids out, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from treetok.arguments import (
    checked_dropout,
    checked_seed,
    checked_threads,
    explained,
    explained_in_batch,
    integers_for,
)
from treetok.decode_stream import DecodeStream
from treetok.encoding import Encoding, FlatEncoding
from treetok.errors import TreetokError
from treetok.id_arrays import as_kind, flattened
from treetok.native_encoder import native_encoder
from treetok.reference_encoder import ReferenceEncoder
from treetok.sampling import Dropout
from treetok.sources import CountTrees, ParserTrees, TreeSource
from treetok.special_token_search import Specials
from treetok.special_tokens import changed_roles, check_roles, check_special_tokens, checked_names, checked_roles
from treetok.text import check_encodable
from treetok.token_table import TokenTable, check_entries
from treetok.tokenizer_state import TokenizerState
from treetok.tree import Tree, join_scores

# What reads and writes files is imported where it is used: most who use a tokenizer have their text in memory.
if TYPE_CHECKING:
    from treetok.count_files import TextCounts

AllowedSpecial = Iterable[str] | Literal["all"]


class TreeTokenizer:
    """A trained tokenizer. It is immutable: share it between threads, pickle it, fork with it.

    >>> tok = TreeTokenizer.load("en")
    >>> tok.decode(tok.encode("Don't panic: 東京!"))
    "Don't panic: 東京!"
    """

    def __init__(self, state: TokenizerState) -> None:
        """Most users want `load` or `train`."""
        self.state = state
        self._profile = state.text_profile
        # Both have the same methods; the tests hold them equal.
        self._encoder: Any = native_encoder(state) or ReferenceEncoder(state)

    def __reduce__(self) -> tuple[type[TreeTokenizer], tuple[TokenizerState]]:
        return TreeTokenizer, (self.state,)

    def __eq__(self, other: object) -> bool:
        """Whether both do the same to every text: what they consist of is equal."""
        if not isinstance(other, TreeTokenizer):
            return NotImplemented
        mine, others = self.state, other.state
        if mine is others:
            return True
        is_plain = isinstance(mine.source, CountTrees | ParserTrees)
        same_trees = type(mine.source) is type(others.source) if is_plain else mine.source == others.source
        return type(mine) is type(others) and same_trees and mine.sha256 == others.sha256

    def __hash__(self) -> int:
        return hash(self.state.sha256)

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        return f"<TreeTokenizer: {self.profile}, {self.vocab_size} tokens, {self.known_words} known words>"

    # ---- loading, saving, training

    @classmethod
    def load(cls, name_or_directory: str | PathLike[str], *, trees: TreeSource | None = None) -> TreeTokenizer:
        """Load a shipped tokenizer by name, or a saved one from its directory.

        `trees` is required for tokenizers that were trained with a custom source of trees.

        The larger files stay mapped into memory, as long as the tokenizer is in use. `save` replaces them safely;
        overwriting them in place, as `cp` does, changes the tokenizer or ends the process.
        """
        from treetok.storage import load_state

        return cls(load_state(name_or_directory, trees))

    def save(self, directory: str | PathLike[str]) -> None:
        """Save the tokenizer to a directory. An existing tokenizer there is replaced atomically."""
        from treetok.storage import save_state

        save_state(self.state, directory)

    @classmethod
    def train(
        cls,
        corpus: Any,
        vocab_size: int = 30_000,
        trees: str | TreeSource | TreeTokenizer = "neural",
        profile: str = "lossless",
        seed: int = 0,
        *,
        directory: str | PathLike[str] | None = None,
        resume: bool = False,
        force: bool = False,
        progress: bool | Callable[[str, int, int | None], object] = True,
        **options: Any,
    ) -> TreeTokenizer:
        """Train on a corpus.

        corpus: Path objects (files), an iterable of strings (texts, whatever they look like), or a mapping from
            words to counts. A lone string could be either and is refused: pass Path(name) or [text].
        vocab_size: total number of ids, including special tokens (and bytes, in `lossless`). If the text is too
            small to support that many, the vocabulary is smaller and a warning is issued.
        trees: "neural" (learned from the text; needs PyTorch), "counts" (instant, with
            less morphology), a tokenizer whose trees are reused (an object, a shipped name or a directory), or
            any object with `split_scores(words)`.
        directory: where the stages of neural training keep their artefacts and checkpoints; None keeps none.
        resume: skip the stages that are already finished there and continue the one that was interrupted.
        force: accept a directory that has an earlier run: its stages are used again if text, settings and seed
            are the same, and replaced otherwise.
        progress: True (on stderr), False, or a function called with (stage, done, total).
        options: the other fields of `treetok.pipeline.TrainOptions`: special tokens, the vocabulary's knobs, the
            preset of neural training and overrides of its settings, the device, a time budget, and so on.
        """
        from treetok.pipeline import TrainOptions
        from treetok.pipeline import train as run_pipeline

        source = trees.state if isinstance(trees, TreeTokenizer) else trees
        chosen = TrainOptions.checked(vocab_size=vocab_size, trees=source, profile=profile, seed=seed, **options)
        trained = run_pipeline(corpus, chosen, directory=directory, resume=resume, force=force, progress=progress)
        return cls(trained.state)

    def with_special_tokens(self, tokens: Iterable[str] = (), **roles: str | None) -> TreeTokenizer:
        """A tokenizer with more special tokens, whose ids follow the present ones, and with other roles.

        tokens: new special tokens; those that it has already keep their ids.
        roles: the tokens that are to be `bos`, `eos`, `unk`, `pad`, `mask`, `cls` or `sep`; they are added if they
            are new. None takes a role away.

        >>> chat = TreeTokenizer.load("en").with_special_tokens(["<|user|>", "<|assistant|>"], eos="<|end|>")
        >>> chat.encode("<|user|>", allowed_special="all") == [chat.special_tokens["<|user|>"]]
        True
        """
        changes = checked_roles(roles)
        named = [token for token in changes.values() if token is not None]
        specials = dict(self.state.special_tokens)
        for name in dict.fromkeys([*checked_names(tokens), *named]):
            specials.setdefault(name, len(self.state.entries) + len(specials))
        check_special_tokens(specials)
        new_roles = changed_roles(self.state.roles, changes)
        check_roles(new_roles, specials, self._profile.byte_fallback)
        check_entries([entry for entry, _ in self.state.entries], specials, self._profile.byte_fallback)
        return TreeTokenizer(replace(self.state, special_tokens=specials, roles=new_roles))

    # ---- properties

    @property
    def vocab_size(self) -> int:
        """Number of ids, special tokens included."""
        return len(self.state.entries) + len(self.state.special_tokens)

    @property
    def profile(self) -> str:
        """The name of the text profile."""
        return self._profile.name

    @property
    def special_tokens(self) -> dict[str, int]:
        """Special tokens and their ids."""
        return dict(self.state.special_tokens)

    @property
    def roles(self) -> dict[str, str]:
        """What special tokens are for: "bos", "eos", "unk", "pad", "mask", "cls" or "sep", and the token of each.

        >>> TreeTokenizer.load("en").roles["eos"]
        '<|endoftext|>'
        """
        return dict(self.state.roles)

    @property
    def known_words(self) -> int:
        """Number of words with precomputed trees."""
        return len(self.state.lexicon)

    @property
    def settings(self) -> Mapping[str, Any]:
        """How the tokenizer was trained."""
        return dict(self.state.settings)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None if it is not in the vocabulary. Bytes are written <0x80> to <0xFF>."""
        if not isinstance(token, str):
            raise TreetokError(f"a token must be a string, not {type(token).__name__}")
        return self._table.id_of_name.get(token)

    def id_to_token(self, token_id: int) -> str:
        """The text of a token; bytes are written <0x80> to <0xFF>, markers <join>, <cap> and <upper>."""
        return self._table.names[self._table.checked_id(token_id)]

    def get_vocab(self) -> dict[str, int]:
        """All tokens, special ones included, and their ids, in the order of ids. Bytes are written <0x80> to
        <0xFF>, markers <join>, <cap> and <upper>."""
        return dict(self._table.id_of_name)

    def export_vocab(self, path: str | PathLike[str]) -> None:
        """Write `get_vocab` as JSON, in the order of ids, for other tools."""
        from treetok.encode_files import checked_output, target_of, written_beside

        with written_beside(target_of(checked_output(path))) as file:
            file.write((json.dumps(self.get_vocab(), ensure_ascii=False, indent=0) + "\n").encode())

    # ---- encoding

    @overload
    def __call__(self, text: str) -> list[int]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, text: Mapping[str, Any]) -> dict[str, Any]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, text: Iterable[str]) -> list[list[int]]: ...
    def __call__(self, text: Any) -> Any:
        """`encode` for a text, `encode_batch` for a list of texts.

        Rows and batches of a dataset are mappings from columns. From the column `text`, a column `input_ids` is
        made, so that `dataset.map(tok, batched=True)` works.

        >>> tok = TreeTokenizer.load("en")
        >>> tok("windsurfing") == tok.encode("windsurfing"), tok(["a", "b"]) == tok.encode_batch(["a", "b"])
        (True, True)
        >>> tok({"text": ["a", "b"]}) == {"input_ids": tok(["a", "b"])}
        True
        """
        if isinstance(text, Mapping):
            if "text" not in text:
                raise TreetokError(
                    f"there is no column 'text' among {', '.join(map(repr, text))}: to encode another one, use"
                    " dataset.map(lambda batch: {'input_ids': tok.encode_batch(batch[COLUMN])}, batched=True)"
                )
            return {"input_ids": self(text["text"])}
        return self.encode(text) if isinstance(text, str) else self.encode_batch(text)

    def encode(
        self,
        text: str,
        *,
        allowed_special: AllowedSpecial = (),
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[int]:
        """Encode a text as ids.

        Text that looks like a special token is encoded as ordinary text unless the token is in `allowed_special`,
        which may also be "all".

        >>> tok = TreeTokenizer.load("en")
        >>> tok.encode("<|endoftext|>", allowed_special="all") == [tok.special_tokens["<|endoftext|>"]]
        True

        dropout: the probability with which every token is declined, so that a smaller one is taken: subword
            regularization for the training of language models. 0 is the usual encoding, 1 splits words into
            characters. Occurrences of a word are sampled independently; a decoder gets the same text back.
        seed: the same seed gives the same sample; None a new one in each call.
        """
        if dropout or seed is not None:
            return self.encode_batch([text], allowed_special=allowed_special, dropout=dropout, seed=seed)[0]
        specials = self._specials(allowed_special) if allowed_special else None
        try:
            return self._encoder.encode(text, specials)  # type: ignore[no-any-return]
        except (TypeError, ValueError) as error:
            raise explained(error, text) from None

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        threads: int | None = None,
        allowed_special: AllowedSpecial = (),
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[list[int]]:
        """Encode a batch of texts, divided among `threads` (one if None).

        dropout, seed: as for `encode`. A sample depends on the seed, the text and its place in the batch.
        """
        probability, seed = checked_dropout(dropout), checked_seed(seed)
        texts, threads, specials = self._batch(texts, threads, allowed_special)
        try:
            if probability:
                threshold = Dropout.of(probability, seed).threshold
                return self._encoder.encode_sampled(texts, threads, threshold, seed, specials)  # type: ignore[no-any-return]
            return self._encoder.encode_batch(texts, threads, specials)  # type: ignore[no-any-return]
        except (TypeError, ValueError, TreetokError) as error:
            raise explained_in_batch(error, texts) from None

    def encode_flat(
        self,
        texts: Iterable[str],
        *,
        threads: int | None = None,
        allowed_special: AllowedSpecial = (),
        dtype: npt.DTypeLike = np.uint32,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Encode texts into one array of ids, with offsets: text k is ids[offsets[k]:offsets[k + 1]].

        dtype: of the ids. With signed integers (int64, int32), the offsets are int64 instead of uint64, so that
            PyTorch takes both.
        dropout, seed: as for `encode_batch`.
        """
        kind = integers_for(dtype, self.vocab_size)
        if dropout or seed is not None:
            ids, offsets = flattened(
                self.encode_batch(
                    texts, threads=threads, allowed_special=allowed_special, dropout=dropout, seed=seed
                )
            )
        else:
            texts, threads, specials = self._batch(texts, threads, allowed_special)
            try:
                ids, offsets = self._encoder.encode_flat(texts, threads, specials)
            except (TypeError, ValueError, TreetokError) as error:
                raise explained_in_batch(error, texts) from None
        return as_kind(ids, kind), offsets.view(np.int64) if kind.kind == "i" else offsets

    @overload
    def count_tokens(  # type: ignore[overload-overlap]
        self, text: str, *, threads: int | None = None, allowed_special: AllowedSpecial = ()
    ) -> int: ...
    @overload
    def count_tokens(
        self, text: Iterable[str], *, threads: int | None = None, allowed_special: AllowedSpecial = ()
    ) -> list[int]: ...
    def count_tokens(
        self, text: str | Iterable[str], *, threads: int | None = None, allowed_special: AllowedSpecial = ()
    ) -> int | list[int]:
        """The number of tokens of a text, or of each of several texts, without making lists of ids.

        >>> TreeTokenizer.load("en").count_tokens(["windsurfing", ""])
        [3, 0]
        """
        is_one = isinstance(text, str)
        _, offsets = self.encode_flat([text] if is_one else text, threads=threads, allowed_special=allowed_special)  # type: ignore[list-item]
        counts: list[int] = np.diff(offsets).tolist()
        return counts[0] if is_one else counts

    def encode_file(
        self,
        file: str | PathLike[str],
        *,
        dtype: npt.DTypeLike = np.uint32,
        end: str | None = None,
        text_column: str = "text",
        threads: int | None = None,
    ) -> npt.NDArray[Any]:
        """Encode a file into one array of ids, in memory. It takes less time than to read the file as a string and
        to encode that; for files larger than memory, there is `encode_files`.

        file, end, text_column, threads: as for `encode_files`; dtype: as for `encode_flat`.
        """
        from treetok.encode_files import checked_file, ids_in_memory

        kind = integers_for(dtype, self.vocab_size)
        path = checked_file(file)
        end_id = None if end is None else self._specials([end])[0][1]
        ids = ids_in_memory(self._encoder, path, end_id, text_column, checked_threads(threads))
        return as_kind(ids, kind)

    def encode_files(
        self,
        files: str | PathLike[str] | Iterable[str | PathLike[str]],
        output: str | PathLike[str],
        *,
        dtype: npt.DTypeLike | None = None,
        end: str | None = None,
        text_column: str = "text",
        threads: int | None = None,
        progress: bool | Callable[[str, int, int | None], object] = True,
    ) -> int:
        """Encode files into one file of ids, and return how many there are. Memory does not grow with the files: a
        row may have 64 MiB, and plain text that has no space or line feed behind a word for 16 MiB is cut there. A
        file that changes while it is read is an error.

        files: paths of plain text, JSON Lines or Parquet (`text_column`), compressed or not.
        output: `.npy` (numpy.load, also with mmap_mode="r"); any other name gets plain little-endian numbers, as
            numpy.memmap and the loaders of language models read them.
        dtype: uint16 or uint32 (default: uint16 if it can hold all ids).
        end: a special token to write after every document: after a file of plain text, and after each row.
        threads: default 1.
        """
        from treetok.encode_files import checked_dtype, checked_files, checked_output, encode_files
        from treetok.progress import Progress

        return encode_files(
            self._encoder,
            checked_files(files),
            checked_output(output),
            checked_dtype(dtype, self.vocab_size),
            None if end is None else self._specials([end])[0][1],
            text_column,
            checked_threads(threads),
            Progress(progress),
        )

    def count_files(
        self,
        files: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        text_column: str = "text",
        threads: int | None = None,
        progress: bool | Callable[[str, int, int | None], object] = True,
    ) -> list[TextCounts]:
        """The numbers of tokens, words and characters of each file. Memory does not grow with the files, which may
        be all that `encode_files` reads."""
        from treetok.count_files import count_files
        from treetok.encode_files import checked_files
        from treetok.progress import Progress

        return count_files(
            self._encoder, checked_files(files), text_column, checked_threads(threads), Progress(progress)
        )

    def encode_with_offsets(self, text: str, *, allowed_special: AllowedSpecial = ()) -> Encoding:
        """Ids, tokens, character offsets into the input, and the number of each token's word.

        >>> TreeTokenizer.load("en").encode_with_offsets("the windsurfers").word_ids
        [0, 1, 1, 1, 1]
        """
        specials = self._specials(allowed_special) if allowed_special else None
        try:
            arrays = self._encoder.encode_with_offsets([text], 1, specials)
        except (TypeError, ValueError) as error:
            raise explained(error, text) from None
        return next(FlatEncoding(*arrays).encodings(self._table.names))

    def encode_batch_with_offsets(
        self, texts: Iterable[str], *, threads: int | None = None, allowed_special: AllowedSpecial = ()
    ) -> list[Encoding]:
        """The same for a batch of texts, divided among `threads` (one if None)."""
        flat = self.encode_flat_with_offsets(texts, threads=threads, allowed_special=allowed_special)
        return list(flat.encodings(self._table.names))

    def encode_flat_with_offsets(
        self, texts: Iterable[str], *, threads: int | None = None, allowed_special: AllowedSpecial = ()
    ) -> FlatEncoding:
        """The same in arrays over the tokens of all texts, without a Python object for each."""
        texts, threads, specials = self._batch(texts, threads, allowed_special)
        try:
            return FlatEncoding(*self._encoder.encode_with_offsets(texts, threads, specials))
        except (TypeError, ValueError, TreetokError) as error:
            raise explained_in_batch(error, texts) from None

    def tokenize(self, text: str, *, allowed_special: AllowedSpecial = ()) -> list[str]:
        """The text of each token; bytes of characters outside the vocabulary are written <0x80> to <0xFF>, markers
        <join>, <cap> and <upper>."""
        names = self._table.names
        return [names[token_id] for token_id in self.encode(text, allowed_special=allowed_special)]

    # ---- decoding

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Decode ids to text: in `lossless` exactly what was encoded; in `uncased` the tokens separated by spaces,
        since that profile does not mark where words begin. Invalid UTF-8 sequences become U+FFFD."""
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise TreetokError(f"ids must be a sequence of integers, not {type(ids).__name__}")
        if isinstance(ids, np.ndarray) and ids.ndim != 1:
            raise TreetokError(f"ids must be one-dimensional, not of shape {ids.shape}")
        ids = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        text: str | None = self._encoder.decode(ids, skip_special_tokens, self._profile.separator)
        if text is None:
            # Raises an error that names the id at fault.
            for token_id in ids:
                self._table.checked_id(token_id)
            raise AssertionError("unreachable")
        return text

    def decode_batch(self, batch: Iterable[Iterable[int]], *, skip_special_tokens: bool = False) -> list[str]:
        """Decode several lists of ids."""
        if not isinstance(batch, Iterable):
            raise TreetokError(f"a batch must be a list of lists of ids, not {type(batch).__name__}")
        return [self.decode(ids, skip_special_tokens=skip_special_tokens) for ids in batch]

    def decode_stream(self, *, skip_special_tokens: bool = False) -> DecodeStream:
        """Incremental decoding for generation loops: `.step(id)` returns the text completed by each id,
        `.extend(ids)` that completed by several.

        >>> tok = TreeTokenizer.load("en")
        >>> stream = tok.decode_stream()
        >>> "".join(map(stream.step, tok.encode("née 東"))) + stream.finish()
        'née 東'
        """
        skipped = self.state.special_tokens.values() if skip_special_tokens else ()
        return DecodeStream(self._table, self._profile.separator, skipped)

    # ---- words

    def segment(self, word: str) -> list[str]:
        """Segment one bare word into pieces, without markers; characters outside the vocabulary are kept as is.

        In `lossless` the word is segmented as it would be inside a sentence, with a leading space, which is then
        removed.
        """
        check_encodable(word)
        words = self._encoder.split(word)
        if not words:
            return []
        first = self._profile.in_running_text(words[0])
        leading_space = len(first) - len(words[0])
        pieces = [piece for part in [first, *words[1:]] for piece in self._pieces_of(part)]
        pieces[0] = pieces[0][leading_space:]
        return pieces if pieces[0] else pieces[1:]

    def tree(self, word: str) -> Tree:
        """The tree of a word. If the profile splits the string into several words, the topmost splits are the
        boundaries between them."""
        check_encodable(word)
        words = self._encoder.split(word)
        if not words:
            raise TreetokError(f"there is no word in {word!r}")
        try:
            scores = [self._encoder.scores(part) for part in words]
        except ValueError as error:
            raise TreetokError(str(error)) from None
        return Tree("".join(words), join_scores(scores))

    # ---- internals

    @property
    def _table(self) -> TokenTable:
        return self.state.table

    def _pieces_of(self, word: str) -> list[str]:
        try:
            return self._encoder.pieces(word)  # type: ignore[no-any-return]
        except ValueError as error:
            raise TreetokError(str(error)) from None

    def _batch(
        self, texts: Iterable[str], threads: int | None, allowed: AllowedSpecial
    ) -> tuple[list[str], int, Specials | None]:
        """The arguments of the methods for batches, checked."""
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise TreetokError(f"a batch must be a list of texts, not {type(texts).__name__}")
        return list(texts), checked_threads(threads), self._specials(allowed) if allowed else None

    def _specials(self, allowed: AllowedSpecial) -> Specials:
        """The allowed special tokens and their ids, longest first."""
        specials = self.state.special_tokens
        if not isinstance(allowed, Iterable):
            raise TreetokError(f"allowed_special must be 'all' or a list of special tokens, not {allowed!r}")
        names = specials if allowed == "all" else [allowed] if isinstance(allowed, str) else list(allowed)
        for name in names:
            if not isinstance(name, str) or name not in specials:
                raise TreetokError(f"{name!r} is not a special token of this tokenizer")
        return [(name, specials[name]) for name in sorted(set(names), key=len, reverse=True)]
