"""Which cases are measured: the short list of `make bench`, and the whole grid."""

SDPA = ["torch-sdpa"]
ALL = [*SDPA, "torch-eager", "torch-compiled", "torch-chunked"]


def case(direction, heads, kv_heads, keys, width, causal, threads, isa, **more):
    """`peers`: which of PyTorch's take part; `contenders`: which of ours, by default all."""
    return {
        "direction": direction,
        "heads": heads,
        "kv_heads": kv_heads,
        "queries": 1 if direction == "decode" else keys,
        "keys": keys,
        "head_dim": width,
        "causal": causal,
        "threads": threads,
        "isa": isa,
        "peers": peers(direction, heads, keys, width, threads),
        **more,
    }


def peers(direction, heads, keys, width, threads):
    """Continuous attention has no kernel in PyTorch: written with operators it takes memory for all pairs, and its times differ
    little from case to case."""
    told = direction != "decode" and heads == 1 and keys in (512, 2048) and width in (64, 128)
    return ALL if told and (threads == 1 or (keys, width) == (2048, 64)) else SDPA


def label(case):
    """As text: what --only is matched against."""
    heads = f"{case['heads']}:{case['kv_heads']}" if case["heads"] != case["kv_heads"] else str(case["heads"])
    window = "causal" if case["causal"] else "full"
    lengths = f"{heads}x{case['keys']}x{case['head_dim']}"
    return f"{case['direction']} {lengths} {window} {case['threads']}t {case['isa']}"


def windows(direction, heads, kv_heads, keys, width, threads, isa, **more):
    return [case(direction, heads, kv_heads, keys, width, causal, threads, isa, **more) for causal in (False, True)]


def decoding(threads, isa):
    return [case("decode", 1, 1, 16384, 128, False, threads, isa)]


def curve(isa, lengths):
    """Further points of time per pair against length: one thread, linear alone."""
    more = {"contenders": ["linear"], "peers": []}
    return [c for keys in lengths for c in windows("fwd", 1, 1, keys, 64, 1, isa, **more)]


def short(threads, isas):
    """The list of `make bench`: under a quarter of an hour on two cores."""
    best = isas[0]
    cases = []
    for count in threads:
        for direction in ("fwd", "fwdbwd"):
            for keys, width in [(512, 64), (2048, 64), (2048, 128), (2048, 256), (2048, 80)]:
                cases += windows(direction, 1, 1, keys, width, count, best)
            cases += windows(direction, 8, 8, 512, 64, count, best)
            cases += windows(direction, 9, 3, 512, 64, count, best)
        cases += decoding(count, best)
    for isa in isas[1:]:
        for direction in ("fwd", "fwdbwd"):
            cases += windows(direction, 1, 1, 2048, 64, threads[0], isa)
        cases += decoding(threads[0], isa)
    return cases + curve(best, [4096, 8192])


def grid(threads, isas):
    """Every length, width, window and number of heads, on every instruction set: hours."""
    cases = []
    for isa in isas:
        for count in threads:
            for direction in ("fwd", "fwdbwd"):
                for keys in (512, 2048, 8192, 16384):
                    # Irregular time costs the backward pass of long problems nothing that shorter ones do not show.
                    more = {"contenders": ["softmax", "linear"]} if direction == "fwdbwd" and keys > 2048 else {}
                    for heads in (1, 8):
                        for width in (64, 128, 256):
                            cases += windows(direction, heads, heads, keys, width, count, isa, **more)
                    cases += windows(direction, 9, 3, keys, 64, count, isa, **more)
                    cases += windows(direction, 1, 1, keys, 80, count, isa, **more)
            cases += decoding(count, isa)
        cases += curve(isa, [4096, 32768, 65536])
    return cases


def record(threads, isas):
    """What docs/benchmarks.md shows: of the grid what half an hour allows, longest last."""
    cases = []
    for isa in isas:
        for count in threads:
            for direction in ("fwd", "fwdbwd"):
                for keys in (512, 2048, 8192, 16384):
                    long = direction == "fwdbwd" and keys > 2048
                    more = {"contenders": ["softmax", "linear"]} if long else {}
                    widths = (64, 128, 256, 80) if keys < 8192 or not long else (64, 128)
                    if keys == 16384:
                        widths = (64, 128) if direction == "fwd" else (64,)
                    for width in widths:
                        cases += windows(direction, 1, 1, keys, width, count, isa, **more)
                    if keys == 512:
                        for width in (64, 128, 256):
                            cases += windows(direction, 8, 8, keys, width, count, isa)
                    if keys <= 2048:
                        cases += windows(direction, 9, 3, keys, 64, count, isa)
                    if keys == 2048:
                        cases += windows(direction, 8, 8, keys, 64, count, isa)
            cases += decoding(count, isa)
        cases += curve(isa, [4096, 32768, 65536])
    return sorted(cases, key=lambda case: case["keys"] if case["direction"] != "decode" else 0)


LISTS = {"short": short, "record": record, "grid": grid}
