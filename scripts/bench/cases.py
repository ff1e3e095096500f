"""Which cases are measured: the short list of `make bench`, and the whole grid."""

DIRECTIONS = ("fwd", "fwdbwd", "decode")


def case(direction, heads, kv_heads, keys, width, causal, threads, isa, **more):
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
        **more,
    }


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
    more = {"contenders": ["linear"], "peers": False}
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
                    for heads in (1, 8):
                        for width in (64, 128, 256):
                            cases += windows(direction, heads, heads, keys, width, count, isa)
                    cases += windows(direction, 9, 3, keys, 64, count, isa)
                    cases += windows(direction, 1, 1, keys, 80, count, isa)
            cases += decoding(count, isa)
        cases += curve(isa, [4096, 32768, 65536])
    return cases
