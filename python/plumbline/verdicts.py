# SPDX-License-Identifier: BSD-3-Clause
"""Runs the judge and returns its verdict as an object."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from typing import Any, Sequence

CLAIMS_OF_EVERY_CASE = {"data", "loss", "gradients", "parameters", "buffers"}


@dataclass(frozen=True)
class CheckVerdict:
    name: str
    outcome: str  # holds, differs, incomplete, does_not_apply
    required: bool  # the comparison does not hold while it is incomplete
    accepted: bool  # it is incomplete, and accept_missing names it
    from_step: int | None  # of an incomplete one, the first step that was not compared; None: none was
    reason: str

    @property
    def blocks(self) -> bool:
        """Whether it keeps the comparison from holding."""
        return self.outcome == "differs" or (self.outcome == "incomplete" and self.required and not self.accepted)


@dataclass(frozen=True)
class Comparison:
    holds: bool
    checks: dict[str, CheckVerdict]
    first_divergence: dict[str, Any] | None
    verdict: dict[str, Any]  # all of verdict.json

    def __bool__(self) -> bool:
        return self.holds

    @property
    def outcome(self) -> str:
        """holds, incomplete (nothing differs, but not all that must be was compared) or differs."""
        return "holds" if self.holds else "incomplete" if self._cell()["incomplete"] else "differs"

    def __str__(self) -> str:
        shown = [check for check in self.checks.values() if check.outcome not in ("holds", "does_not_apply")]
        lines = [f"{check.name}: {check.outcome}: {check.reason}" for check in shown]
        if self.first_divergence is not None:
            lines.append("first divergence: " + self.first_divergence["words"])
        return "\n".join([self._headline(), *lines, *self._why_not_recorded()])

    def _headline(self) -> str:
        if self.outcome == "incomplete":
            claims = [check.name for check in self.checks.values() if check.blocks]
            accept = f"; or accept it with accept_missing={claims}" if set(claims) <= CLAIMS_OF_EVERY_CASE else ""
            return f"INCOMPLETE: nothing differs, but {self._missing(accepted=False)}{accept}"
        if not self.holds:
            return "DOES NOT HOLD" + self._not_recorded()
        accepted = self._missing(accepted=True)
        return "HOLDS" + (f", accepted although {accepted}" if accepted else "") + self._not_recorded()

    def _missing(self, accepted: bool) -> str:
        """The parts that were not compared, one for each reason."""
        by_reason: dict[str, list[CheckVerdict]] = {}
        for check in self.checks.values():
            if check.outcome == "incomplete" and (check.accepted if accepted else check.blocks):
                by_reason.setdefault(check.reason, []).append(check)
        parts = []
        for why, missing in by_reason.items():
            claims, steps = [check.name for check in missing], [check.from_step for check in missing]
            since = "" if None in steps else f" from step {min(steps)} on"
            parts.append(f"{', '.join(claims)} {'was' if claims == ['loss'] else 'were'} not compared{since}: {why}")
        return "; ".join(parts)

    def _cell(self) -> dict[str, Any]:
        return self.verdict["cases"][0]

    def _unseen(self) -> list[dict[str, str]]:
        """Names what the recorders could not see, in the judge's words."""
        return self.verdict["excuses"]

    def _not_recorded(self) -> str:
        kinds = list(dict.fromkeys(one["what"] for one in self._unseen()))
        return (", but " if self.holds else "; ") + f"not recorded: {', '.join(kinds)}" if kinds else ""

    def _why_not_recorded(self) -> list[str]:
        by_reason: dict[str, list[str]] = {}
        for one in self._unseen():
            by_reason.setdefault(one["why"] + (f" (torch {one['torch']})" if one["torch"] else ""), []).append(one["what"])
        return [f"not recorded: {', '.join(dict.fromkeys(kinds))} ({why})" for why, kinds in by_reason.items()]


def program_path() -> str:
    """The judge: PLUMBLINE, else the program in the package's environment, else `plumbline` on PATH. Raises FileNotFoundError."""
    installed = pathlib.Path(sysconfig.get_path("scripts")) / "plumbline"  # found also if the environment is not activated
    found = os.environ.get("PLUMBLINE") or (str(installed) if installed.is_file() else shutil.which("plumbline"))
    if found is None:
        raise FileNotFoundError("no program `plumbline` on PATH; build it (make judge) or set PLUMBLINE to it")
    return found


def compare(
    reference: str | pathlib.Path,
    candidate: str | pathlib.Path,
    *,
    calibration: str | pathlib.Path | None = None,
    page: str | pathlib.Path | None = None,
    replica: int | None = None,
    accept_missing: Sequence[str] = (),
    program: str | None = None,
) -> Comparison:
    """Judges two records; of several pipelines each replica, or only `replica`. `accept_missing`: claims (data, loss, gradients, parameters,
    buffers) that need not be compared in full for the comparison to hold. Raises ValueError with the judge's message for bad input,
    FileNotFoundError if the judge is not installed."""
    words = [program or program_path(), "compare", str(reference), str(candidate), "--json"]
    if calibration is not None:
        words += ["--calibration", str(calibration)]
    if replica is not None:
        words += ["--replica", str(replica)]
    if accept_missing:
        words += ["--accept-missing", ",".join([accept_missing] if isinstance(accept_missing, str) else accept_missing)]
    if page is not None:
        words += ["--page", str(page)]
    ended = subprocess.run(words, capture_output=True, text=True)
    if ended.returncode not in (0, 1):
        raise ValueError(ended.stderr.strip() or f"{words[0]} ended with {ended.returncode}")
    verdict = json.loads(ended.stdout)
    names = [field.name for field in dataclasses.fields(CheckVerdict)]
    checks = {one["name"]: CheckVerdict(*(one[name] for name in names)) for one in verdict["claims"] if one["case"] is not None}
    first = next((finding for finding in verdict["findings"] if finding["first"]), None)
    return Comparison(bool(verdict["cases"][0]["holds"]), checks, first, verdict)
