"""The parser's kernels equal the plain operations, with all gradients.

Without a GPU they run in Triton's interpreter (tests/conftest.py).
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[train]'")
pytest.importorskip("triton", reason="Triton is not installed")

from treetok.model.data.morpheme_vocabulary import MorphemeVocabulary  # noqa: E402
from treetok.model.kernels.morpheme_sums import morpheme_sums  # noqa: E402
from treetok.model.kernels.word_attention import word_attention  # noqa: E402
from treetok.model.losses.plain_or_fused import fastest_parser_operations  # noqa: E402
from treetok.model.network.parser import (  # noqa: E402
    PLAIN,
    LetterRows,
    Parser,
    ParserConfig,
    ParserInput,
    ParserOperations,
    ParserTable,
    sums_of_morphemes,
)
from treetok.model.network.transformer import TransformerBlock  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS = ["abacus", "babac", "abacusbabacusabac", "us", "cab"]
MORPHEMES = MorphemeVocabulary("abcus", ["ab", "ac", "aba", "us", "abac", "bacus"])
SIZES = ParserConfig(dimension=32, heads=2, hidden=32, layers=2, max_morpheme_length=5)
FUSED = ParserOperations(morpheme_sums, word_attention)


def random_like(tensor, seed):
    return torch.randn(tensor.shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def gradients(loss, parameters):
    return torch.autograd.grad(loss, parameters, retain_graph=True)


def test_sums_of_morphemes():
    table = ParserTable(WORDS, MORPHEMES, SIZES, DEVICE)
    tables = [random_like(torch.empty(7, 32), seed).requires_grad_() for seed in range(3)]
    results = []
    for sums in (sums_of_morphemes, morpheme_sums):
        total = sums(table.begin_NLK, *tables)
        results.append((total, *gradients((total * random_like(total, 9)).sum(), tables)))
    assert torch.count_nonzero(table.begin_NLK) > 10
    for plain, fused in zip(*results, strict=True):
        # Row 0 stands for no morpheme.
        assert torch.allclose(plain, fused, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2])
def test_attention_among_the_letters_of_a_word(heads):
    lengths = torch.tensor([5, 1, 17, 16], device=DEVICE)
    block = TransformerBlock(32, heads, 32, 0.0).to(DEVICE)
    qkv = random_like(torch.empty(4, 17, 96), 1).requires_grad_()
    exists = torch.arange(17, device=DEVICE) < lengths[:, None]
    bias = torch.zeros(4, 1, 1, 17, device=DEVICE).masked_fill(~exists[:, None, None], -torch.inf)
    weights = random_like(torch.empty(39, 32), 2)
    rows = LetterRows.of(ParserInput(torch.empty(4, 17), torch.empty(0), lengths))
    plain, fused = block._attend(qkv, bias)[exists], word_attention(qkv[exists], rows, heads)
    assert torch.allclose(plain, fused, atol=1e-5)
    (of_plain,) = gradients((plain * weights).sum(), [qkv])
    (of_fused,) = gradients((fused * weights).sum(), [qkv])
    assert torch.allclose(of_plain, of_fused, atol=1e-5)


def test_scores_and_gradients_of_the_parser():
    torch.manual_seed(0)
    parser = Parser(SIZES, MORPHEMES).to(DEVICE)
    batch = ParserTable(WORDS, MORPHEMES, SIZES, DEVICE).take(torch.arange(len(WORDS), device=DEVICE))
    exists = torch.arange(16, device=DEVICE) < batch.lengths_W[:, None] - 1
    weights = random_like(torch.empty(len(WORDS), 16), 3) * exists
    results = []
    for operations in (PLAIN, FUSED):
        parser.operations = operations
        scores = parser(batch)
        results.append((scores * exists, *gradients((scores * weights).sum(), list(parser.parameters()))))
    for plain, fused in zip(*results, strict=True):
        assert torch.allclose(plain, fused, atol=1e-4)


def test_evaluation_is_plain():
    parser = Parser(SIZES, MORPHEMES).to(DEVICE).eval()
    parser.operations = ParserOperations(lambda *_: 1 / 0, lambda *_: 1 / 0)
    batch = ParserTable(WORDS, MORPHEMES, SIZES, DEVICE).take(torch.arange(len(WORDS), device=DEVICE))
    scores = parser(batch)
    assert torch.isfinite(scores[0, :5]).all()
    with pytest.raises(ZeroDivisionError):
        parser.train()(batch)


def test_kernels_where_sizes_allow():
    assert fastest_parser_operations(ParserConfig(dimension=128, hidden=256)).attention is word_attention
    for sizes in (ParserConfig(dimension=96), ParserConfig(dimension=32, heads=4)):
        assert fastest_parser_operations(sizes).attention is None
        assert fastest_parser_operations(sizes).precision is torch.bfloat16
