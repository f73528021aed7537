"""Compiles kernels for an NVIDIA GPU, without one: the interpreter does not check the types of loop variables."""

from triton import compile as triton_compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from treetok.model.kernels import mbr_trees, morpheme_sums, weighted_split_sum, word_attention

LONG, FLOAT, HALF = "*i64", "*fp32", "*bf16"
TREES = {"first_span": LONG, "length": LONG, "order": LONG, "W": "i32"}
CELLS = {"first_C": LONG, "count_C": LONG, "C": "i32", "K": "i32"}
KERNELS = [
    (
        mbr_trees._add_log_probabilities,
        {
            **TREES,
            "score": FLOAT,
            "first_split": LONG,
            "substring_of_span": LONG,
            "own": FLOAT,
            "total": FLOAT,
            "temperature": "fp32",
            "least": "fp32",
        },
        {"BW": 32},
    ),
    (
        mbr_trees._best_trees,
        {
            **TREES,
            "of_span": FLOAT,
            "value": FLOAT,
            "best": "*i32",
            "depth_of": "*i32",
            "margin": FLOAT,
            "depths": "*u8",
            "word_margin": FLOAT,
            "row": "i32",
        },
        {"BW": 32},
    ),
    (
        word_attention._attend,
        {"qkv": HALF, "firsts": LONG, "lengths": LONG, "mixed": HALF, "scale": "fp32"},
        {"A": 4, "E": 32, "BL": 16},
    ),
    (
        word_attention._attend_backward,
        {"qkv": HALF, "firsts": LONG, "lengths": LONG, "d_mixed": HALF, "d_qkv": HALF, "scale": "fp32"},
        {"A": 4, "E": 32, "BL": 16},
    ),
    (
        morpheme_sums._sum,
        {"rows": "*i32", "begin": FLOAT, "end": FLOAT, "inside": FLOAT, "total": FLOAT, "N": "i32", "L": "i32"},
        {"K": 4, "D": 64, "BN": 16},
    ),
    (
        morpheme_sums._sum_backward,
        {
            "rows": "*i32",
            "d_total": FLOAT,
            "d_begin": FLOAT,
            "d_end": FLOAT,
            "d_inside": FLOAT,
            "N": "i32",
            "L": "i32",
        },
        {"K": 4, "D": 64, "BN": 16},
    ),
    (
        weighted_split_sum._combine_candidates,
        {"out": HALF, "score": FLOAT, "weight": FLOAT, "vector": HALF, **CELLS},
        {"EQUAL": False, "T": 2, "D": 128, "BC": 4},
    ),
    (
        weighted_split_sum._combine_candidates_backward,
        {
            "out": HALF,
            "weight": FLOAT,
            "d_vector": FLOAT,
            "score_weights": HALF,
            "d_score": FLOAT,
            "d_out": HALF,
            **CELLS,
        },
        {"EQUAL": False, "T": 2, "D": 128, "BC": 4},
    ),
]

if __name__ == "__main__":
    for kernel, types, constants in KERNELS:
        signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        compiled = triton_compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 1})
        print(kernel.__name__, len(compiled.asm["cubin"]))
