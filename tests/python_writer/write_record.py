# SPDX-License-Identifier: BSD-3-Clause
"""Writes a run record as any trainer could, in plain Python (XXH3 from the xxhash module or from xxh128sum). It does not train:
each tensor's numbers are drawn from its name, so that every partition writes the same numbers, as exact trainers would.
usage: write_record.py FOLDER [--stages "embed_tokens,layers.0/norm,lm_head"] [--seed 1] [--narrow] [--convolutions] [--without-clipping]
(--narrow: a fault at a stage boundary; --convolutions: three of them and a head instead of a Llama; --drop NAME: no rank lists this parameter)"""
import argparse, csv, json, math, pathlib, random, shutil, struct, subprocess, time, uuid

ask = argparse.ArgumentParser()
ask.add_argument("folder", type=pathlib.Path), ask.add_argument("--narrow", action="store_true")
ask.add_argument("--stages", default="embed_tokens,layers.0,norm,lm_head"), ask.add_argument("--seed", type=int, default=1)
ask.add_argument("--convolutions", action="store_true"), ask.add_argument("--without-clipping", action="store_true"), ask.add_argument("--drop")
args = ask.parse_args()
if args.convolutions and args.stages == ask.get_default("stages"): args.stages = "conv1,conv2,conv3,head"
V, H, I, STEPS, LENGTHS, VALID, CLIP = 8, 4, 6, 2, [3, 1, 4, 3, 2], [3, 1, 4, 2, 0], 10.0
stages = [stage.split(",") for stage in args.stages.split("/")]
p, units = "model.layers.0.", ["embed_tokens", "layers.0", "norm", "lm_head"]
shapes = [("model.embed_tokens.weight", 0, (V, H))] + [(p + n + ".weight", 1, s) for n, s in [
    ("self_attn.q_proj", (H, H)), ("self_attn.k_proj", (2, H)), ("self_attn.v_proj", (2, H)), ("self_attn.o_proj", (H, H)),
    ("mlp.gate_proj", (I, H)), ("mlp.up_proj", (I, H)), ("mlp.down_proj", (H, I)), ("input_layernorm", (H,)),
    ("post_attention_layernorm", (H,))]] + [("model.norm.weight", 2, (H,)), ("lm_head.weight", 3, (V, H))]
model = {"vocab_size": V, "hidden_size": H, "intermediate_size": I, "num_hidden_layers": 1, "num_attention_heads": 2,
         "num_key_value_heads": 1, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
at_cut = lambda cut, n: (1, n, H)
if args.convolutions:
    units, model = ["conv1", "conv2", "conv3", "head"], {"kind": "convolutions", "channels": [3, 4, 5, 6]}
    shapes = [(f"conv{i + 1}.{k}", i, s) for i in range(3) for k, s in (("weight", (4 + i, 3 + i, 3, 3)), ("bias", (4 + i,)))]
    shapes += [("head.weight", 3, (10, 6))]
    at_cut = lambda cut, n: {"conv2": (n, 4, 8, 8), "conv3": (n, 5, 4, 4), "head": (n, 6)}[cut]

def xxh3(data):
    try:
        import xxhash
        return xxhash.xxh3_128_hexdigest(data)
    except ImportError:
        return subprocess.run([shutil.which("xxh128sum"), "-"], input=data, capture_output=True, check=True).stdout.decode().split()[0]

def tensor(key, shape, dtype="float32", kind="f"):
    draw, count, text = random.Random(f"{args.seed if kind == 'f' else 0} {key}"), math.prod(shape), "x".join(map(str, shape))
    numbers = [draw.uniform(-1, 1) if kind == "f" else draw.randrange(V) for _ in range(count)]
    bits = struct.pack(f"<{count}{kind}", *numbers)
    return struct.unpack(f"<{count}{kind}", bits), text, xxh3(f"{dtype}|{text}|".encode() + bits)

f32 = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
losses = [f32(v * (2 + 0.25 * (m % 2)) / sum(VALID)) for m, v in enumerate(VALID)]
data = {(s, m): tensor(f"data {s} {m}", (2, 1, n), "int64", "q")[2] for s in range(STEPS) for m, n in enumerate(LENGTHS)}
begun = time.time_ns() % 10**6  # no two runs have the same times
manifest = {"schema": "plumbline-record/2", "run_id": str(uuid.uuid4()), "role": "external", "seed": args.seed, "dtype": "float32",
    "model": model, "device": "cpu", "world_size": len(stages),
    "steps": STEPS, "data": {"source": "drawn", "microbatches": len(LENGTHS)},
    "schedule": {"name": "by hand", "chunks_per_rank": 1, "microbatches": len(LENGTHS), "digest": None, "accumulation": "ascending"},
    "stages": [{"stage": r, "rank": r, "units": u} for r, u in enumerate(stages)], "tied": [], "clip_norm": None if args.without_clipping else CLIP, "level": "full",
    "optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0}, "started": "2026-01-01T00:00:00Z"}
args.folder.mkdir(parents=True)
(args.folder / "manifest.json").write_text(json.dumps(manifest))
squares = lambda s: sum(math.sqrt(sum(x * x for x in tensor(f"gradient {s} {n}", d)[0])) ** 2 for n, _, d in shapes)
for rank, mine in enumerate(stages):
    rows, last = {t: [] for t in ("steps", "microbatches", "tensors", "boundaries", "actions", "memory")}, rank == len(stages) - 1
    for s in range(-1, STEPS):
        for kind in ("parameter",) if s < 0 else ("gradient", "parameter"):
            for name, unit, shape in shapes:
                if units[unit] in mine and name != args.drop:
                    x, text, digest = tensor(f"{kind} {s} {name}", shape)
                    rows["tensors"].append([s, kind, name, rank, "float32", text, digest, math.sqrt(sum(v * v for v in x)), max(map(abs, x)), len(x), 0, 0])
        if s < 0: continue
        norm = math.sqrt(squares(s))
        rows["steps"].append([s, sum(losses) if last else "", *(("", "") if args.without_clipping else (norm, min(1.0, CLIP / norm))), 0.1, sum(LENGTHS), sum(VALID), 0.01])
        rows["memory"].append([s] + [""] * 7), rows["actions"].append([s, 0, f"{rank}STEP", rank, "", begun + 9 * s, begun + 9 * s + rank + 1, 0])
        for m, n in enumerate(LENGTHS):
            rows["microbatches"].append([s, m, n, 1, n, VALID[m], losses[m] if last else "", data[s, m]])
            for way in ("forward", "backward"):
                crossing = lambda cut, a, b, side, peer, key="": rows["boundaries"].append(
                    [s, m, way, cut, a, b, side, peer, "float32", *tensor(f"{way} {s} {m} {cut}{key}", at_cut(cut, n))[1:], math.prod(at_cut(cut, n)) * 4])
                if len(stages) == 1:
                    for cut in units[1:]: crossing(cut, "", "", "computed", "")
                for low in (rank - 1, rank):
                    if 0 <= low < len(stages) - 1:
                        a, b = (low, low + 1) if way == "forward" else (low + 1, low)
                        narrowed = " narrowed" if args.narrow and (s, m, way) == (1, 2, "forward") else ""
                        crossing(stages[low + 1][0], a, b, *(("send", b) if rank == a else ("receive", a)), narrowed)
    columns = {"steps": "step,loss,gradient_norm,clip_coefficient,learning_rate,tokens,valid_tokens,seconds",
        "microbatches": "step,microbatch,sequence_length,batch,tokens,valid_tokens,loss,data_digest",
        "tensors": "step,kind,name,stage,dtype,shape,digest,l2,max_abs,nonzero,nan,inf",
        "boundaries": "step,microbatch,direction,cut,from_stage,to_stage,side,peer,dtype,shape,digest,bytes",
        "actions": "step,index,action,stage,microbatch,start_ns,end_ns,wait_ns",
        "memory": "step,peak_bytes,parameter_bytes,gradient_bytes,optimizer_bytes,activation_peak_bytes,buffer_bytes,process_peak_bytes"}
    (args.folder / f"rank-{rank}").mkdir()
    for table, header in columns.items():
        with open(args.folder / f"rank-{rank}" / f"{table}.csv", "w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([header.split(","), *rows[table]])
    (args.folder / f"rank-{rank}" / "exit.json").write_text(json.dumps(
        {"rank": rank, "status": "ok", "code": 0, "signal": None, "last_action": f"{rank}STEP",
         "data_digest": xxh3("".join(data.values()).encode())}))
