"""Is our decode on a CPU as fast as llama.cpp's in float32, and is prefill faster? Same weights and machine, in pairs.

    python -m tests.bench.llama_cpp [--pairs 4] [--model qwen2.5-1.5b] [--gguf FILE]

llama.cpp comes with the Python package llama-cpp-python, which is no dependency of this project. Build it on the
machine that it is compared on, so that it has the same instructions at hand as torch:

    CMAKE_ARGS="-DGGML_NATIVE=ON" pip install --no-binary llama-cpp-python llama-cpp-python==0.3.36

Both programs run in processes of their own that wait for their turn. The weights are the seeded random ones of a run,
written to FILE in float32 unless it is there already (a temporary file otherwise; 6.2 GB for Qwen2.5-1.5B, and the
memory holds them twice). Printed are medians, the ratio of each pair, and how far the logits of the two are apart.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROMPT = 500
STEPS = 8
SEED = 20
ROOT = Path(__file__).resolve().parents[2]
SIDES = ("llama.cpp", "eager", "compiled")


def main() -> None:
    """Take the pairs, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--model", default="qwen2.5-1.5b")
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve", choices=("llama.cpp", "ours"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(*(llama(arguments) if arguments.serve == "llama.cpp" else ours(arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments.gguf = arguments.gguf or Path(folder) / f"{arguments.model}-f32.gguf"
        if not arguments.gguf.exists():
            subprocess.run(
                [sys.executable, "-c", WRITE, arguments.model, arguments.gguf], check=True, cwd=ROOT
            )
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Interleave the sides: each pair has one window of each, close together in time."""
    theirs, own = (Side(name, arguments) for name in ("llama.cpp", "ours"))
    sides = {"llama.cpp": theirs, "eager": own, "compiled": own}
    try:
        print(theirs.ask("about")["text"], "|", own.ask("about")["text"])
        logits = {name: side.ask("logits", mode=name)["logits"] for name, side in sides.items()}
        largest = max(map(abs, logits["eager"]))
        for name in ("llama.cpp", "compiled"):
            apart = max(abs(a - b) for a, b in zip(logits[name], logits["eager"], strict=True))
            print(f"logits of {name} against eager: {apart / largest:.1e} of the largest")
        taken: dict[tuple[str, str], list[float]] = {}
        for pair in range(arguments.pairs + 1):  # the first warms up
            for what in ("decode", "prefill"):
                for name in SIDES:
                    if what == "prefill" and not pair:
                        continue  # long enough to need no warm-up
                    seconds = sides[name].ask(what, mode=name)["seconds"]
                    if pair:
                        taken.setdefault((what, name), []).append(seconds)
            read = own.ask("probe")["bytes_per_s"]
            if pair:
                taken.setdefault(("read", ""), []).append(read)
    finally:
        theirs.end()
        own.end()
    report(taken)


def report(taken: dict[tuple[str, str], list[float]]) -> None:
    """Medians and ratios of pairs."""
    print(f"read ceiling, median {statistics.median(taken['read', '']) / 1e9:.1f} GB/s")
    for (what, name), seconds in taken.items():
        if what != "read":
            tokens = PROMPT if what == "prefill" else 1
            rates = [tokens / s for s in seconds]
            print(
                f"{what:8} {name:10} {statistics.median(rates):7.2f} tokens/s  ({min(rates):.2f} to {max(rates):.2f})"
            )
    for what, name, base in (
        ("decode", "compiled", "eager"),
        ("decode", "compiled", "llama.cpp"),
        ("decode", "eager", "llama.cpp"),
        ("prefill", "compiled", "eager"),
        ("prefill", "compiled", "llama.cpp"),
        ("prefill", "eager", "llama.cpp"),
    ):
        ratios = [b / a for a, b in zip(taken[what, name], taken[what, base], strict=True)]
        print(
            f"{what}: {name} is {statistics.median(ratios):.2f} times as fast as {base} "
            f"(pairs from {min(ratios):.2f} to {max(ratios):.2f})"
        )


class Side:
    """A process that measures when it is asked."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.bench.llama_cpp",
            "--serve",
            name,
            "--gguf",
            str(arguments.gguf),
        ]
        command += ["--model", arguments.model, "--threads", str(arguments.threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def ask(self, what: str, **options: Any) -> dict[str, Any]:
        """Its answer."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"what": what, **options}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a side ended; its message stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Let it go."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()


def serve(about: str, answers: dict[str, Callable[[str], dict[str, Any]]]) -> None:
    """Answer on standard output what is asked on standard input."""
    for line in sys.stdin:
        asked = json.loads(line)
        what = asked["what"]
        print(
            json.dumps({"text": about} if what == "about" else answers[what](asked.get("mode", ""))),
            flush=True,
        )


def timed(run: Callable[[], object], steps: int = 1) -> dict[str, float]:
    """Seconds of one of `steps`."""
    begin = time.perf_counter()
    for _ in range(steps):
        run()
    return {"seconds": (time.perf_counter() - begin) / steps}


def prompt(vocabulary: int) -> list[int]:
    """The same prompt on both sides."""
    return [(7919 * i + 11) % vocabulary for i in range(PROMPT)]


def ours(arguments: argparse.Namespace) -> tuple[str, dict[str, Callable[[str], dict[str, Any]]]]:
    """transformers, eager and compiled."""
    import torch
    from transformers import DynamicCache

    from measure import modes
    from measure.caches import fill, forward
    from measure.ceilings import Ceilings

    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    model = build(arguments.model)
    tokens = torch.tensor([prompt(model.config.vocab_size)])
    cache = fill(model, tokens)
    decoders = {mode: modes.open_decoder(mode, model, cache) for mode in ("eager", "compiled")}
    prompted = {mode: modes.open_prompt_model(mode, model) for mode in ("eager", "compiled")}
    first = torch.tensor([[5]])
    ceilings = Ceilings(torch.device("cpu"), torch.float32, spare_bytes=2**33, synchronize=lambda: None)
    return f"torch {torch.__version__}, {torch.get_num_threads()} threads", {
        "decode": lambda mode: {
            "seconds": timed(lambda: decoders[mode].run(first, STEPS))["seconds"] / STEPS
        },
        "prefill": lambda mode: timed(
            lambda: forward(prompted[mode], tokens, DynamicCache(config=model.config)).argmax(dim=-1)
        ),
        "logits": lambda mode: {"logits": decoders[mode].logits(first).flatten().tolist()},
        "probe": lambda _: {"bytes_per_s": ceilings.probe().bytes_per_s},
    }


def llama(arguments: argparse.Namespace) -> tuple[str, dict[str, Callable[[str], dict[str, Any]]]]:
    """llama.cpp through its own C functions; float32 weights, float32 cache, one batch a prompt."""
    import llama_cpp as lib

    quiet = lib.llama_log_callback(lambda level, text, data: None)
    lib.llama_log_set(quiet, ctypes.c_void_p(0))
    lib.llama_backend_init()
    model = lib.llama_model_load_from_file(str(arguments.gguf).encode(), lib.llama_model_default_params())
    options = lib.llama_context_default_params()
    options.n_ctx, options.n_batch, options.n_ubatch = 1024, 512, 512
    options.n_threads = options.n_threads_batch = arguments.threads
    options.type_k = options.type_v = lib.GGML_TYPE_F32
    context = lib.llama_init_from_model(model, options)
    memory = lib.llama_get_memory(context)
    vocabulary = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    text = prompt(vocabulary)
    tokens = (lib.llama_token * len(text))(*text)
    one = (lib.llama_token * 1)(5)

    def prefill() -> None:
        lib.llama_memory_clear(memory, True)
        if lib.llama_decode(context, lib.llama_batch_get_one(tokens, len(text))):
            raise SystemExit("llama.cpp could not decode")
        likeliest()

    def step() -> None:
        if lib.llama_decode(context, lib.llama_batch_get_one(one, 1)):
            raise SystemExit("llama.cpp could not decode")
        one[0] = likeliest()
        lib.llama_memory_seq_rm(memory, 0, len(text), -1)

    def likeliest() -> int:
        """As a sampler would: over the logits where they are."""
        import numpy

        return int(numpy.ctypeslib.as_array(lib.llama_get_logits_ith(context, -1), (vocabulary,)).argmax())

    def logits(_: str) -> dict[str, Any]:
        one[0] = 5
        if lib.llama_decode(context, lib.llama_batch_get_one(one, 1)):
            raise SystemExit("llama.cpp could not decode")
        found = lib.llama_get_logits_ith(context, -1)[:vocabulary]
        lib.llama_memory_seq_rm(memory, 0, len(text), -1)
        return {"logits": found}

    prefill()
    about = lib.llama_print_system_info().decode().strip()
    return f"llama-cpp-python {lib.__version__}: {about}", {
        "decode": lambda _: timed(step, STEPS),
        "prefill": lambda _: timed(prefill),
        "logits": logits,
    }


def build(name: str) -> Any:
    """The model of a run, in float32."""
    import torch

    from measure import models
    from measure.sizes import Sizes

    sizes = Sizes.load(ROOT / "site_data", name)
    return models.build(sizes, "random", dtype=torch.float32, device=torch.device("cpu"), seed=SEED)[0]


NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""llama.cpp's names for transformers' tensors of a layer (gguf, `MODEL_TENSOR`)."""


def write_gguf(name: str, path: Path) -> None:
    """The model of a run as a GGUF file in float32, without a vocabulary's texts."""
    import gguf

    model = build(name)
    config = model.config
    if config.model_type != "qwen2":
        raise SystemExit(f"{name}: this benchmark writes Qwen2 models; others order their heads differently")
    writer = gguf.GGUFWriter(str(path), "qwen2")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("none")
    for key, tensor in model.state_dict().items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        writer.add_tensor(gguf_name(key), tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_name(key: str) -> str:
    """llama.cpp's name of transformers' tensor `key`."""
    whole = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    if key in whole:
        return whole[key]
    _, _, layer, rest = key.split(".", 3)
    part, kind = rest.rsplit(".", 1)
    return f"blk.{layer}.{NAMES[part]}.{kind}"


WRITE = (
    "import sys, pathlib; from tests.bench.llama_cpp import write_gguf; "
    "write_gguf(sys.argv[1], pathlib.Path(sys.argv[2]))"
)

if __name__ == "__main__":
    main()
