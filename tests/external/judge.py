# SPDX-License-Identifier: BSD-3-Clause
"""judge.py PLUMBLINE [NAME...]: makes each pair (or those named), runs the judge on it, and exits with 1 if a verdict differs from pairs.py."""

import json
import pathlib
import subprocess
import sys
import tempfile

from pairs import PAIRS, RIGHT, WRONG, reference_of
from replicas import trained


def judged(program, one, other):
    ended = subprocess.run([program, "compare", str(one), str(other), "--json"], capture_output=True, text=True)
    verdict = json.loads(ended.stdout) if ended.returncode in (0, 1) and ended.stdout else None
    return ended.returncode, verdict, ended.stderr


def objection(pair, code, verdict, said, text):
    """What is wrong with the verdict; None if it is as expected."""
    if pair.check == "refused":
        return None if code == 2 and all(word in said for word in pair.place) else f"not refused with {pair.place}: {code}, {said}"
    if verdict is None:
        return f"no verdict: {code}, {said}"
    cell = verdict["cases"][0]
    reds = [claim["name"] for claim in verdict["claims"] if claim["case"] and claim["outcome"] == "differs"]
    if not pair.check:
        incomplete = pair.says.startswith("INCOMPLETE")
        if reds or code != incomplete or cell["holds"] == incomplete or cell["incomplete"] != incomplete:
            return f"a right pair fails, or {'complete' if incomplete else 'incomplete'}: {reds}"
        return None if pair.says in text else f"the verdict does not say {pair.says!r}"
    if code != 1 or pair.check not in reds:
        return f"{pair.check} did not fail, but {reds}"
    reason = next(claim["reason"] for claim in verdict["claims"] if claim["case"] and claim["name"] == pair.check)
    words = next((finding["words"] for finding in verdict["findings"] if finding["first"]), "")
    place = words if words and pair.check not in ("completion", "census", "conformance") else reason
    missing = [word for word in pair.place if word not in place]
    return f"{missing} not in {place!r}" if missing else None


def main():
    program, names = sys.argv[1], sys.argv[2:]
    unlike = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, pair in enumerate(PAIRS):
            if names and pair.name not in names:
                continue
            at = pathlib.Path(folder) / str(number)
            at.mkdir()
            one, other = trained(reference_of(pair), at / "one"), trained(pair.run, at / "other")
            code, verdict, said = judged(program, one, other)
            text = subprocess.run([program, "compare", "--all", str(one), str(other)], capture_output=True, text=True).stdout if pair.says or names else ""
            found = objection(pair, code, verdict, said, text)
            unlike += found is not None
            if found is not None or names:
                print(f"{'as expected' if found is None else 'NOT AS EXPECTED'}: {pair.name}: {found or ''}\n{text if names else ''}", flush=True)
    print(f"{len(RIGHT)} right pairs, {len(WRONG)} wrong ones: {'all as expected' if unlike == 0 else f'{unlike} not as expected'}")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
