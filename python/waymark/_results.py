"""Answers: numbers with intervals, checks in plain words, a verdict; as text, HTML, dict and page."""

from __future__ import annotations

import html
import json
import math
import os
import tempfile
from typing import Any, Callable, NamedTuple


class Estimate(NamedTuple):
    """A number with its standard error and 95 % interval, in nats.

    >>> print(Estimate(1.0, 0.1, 0.8, 1.2))
    1.0000 +- 0.1000 (0.8000 to 1.2000)
    """

    value: float
    se: float
    lo: float
    hi: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f} +- {self.se:.4f} ({self.lo:.4f} to {self.hi:.4f})"


class Check(NamedTuple):
    """One question that an answer was asked."""

    name: str
    outcome: str
    value: float
    limit: float
    meaning: str

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}. {self.meaning}"


COLOURS = {"trust": "#1a7f37", "doubt": "#9a6700", "reject": "#cf222e", "ok": "#1a7f37", "failed": "#cf222e",
           "not known": "#57606a"}
ESTIMATES = {"kl_pq": "KL(p, q)", "kl_pq_rest": "KL(p, q) without rows that p alone has", "kl_qp": "KL(q, p)",
             "kl_qp_rest": "KL(q, p) without rows that q alone has", "mi": "I(u; v)", "shuffled": "shuffled pairs",
             "mi_calibrated": "I(u; v), calibrated", "noise_loglik": "log-likelihood of the noise",
             "direct": "log-likelihood, taking Z as 1", "log_z": "log Z"}


def finite(x: Any) -> Any:
    """As JSON has it: what is not finite is null."""
    if isinstance(x, dict):
        return {k: finite(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [finite(v) for v in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x


class Result:
    """What was found. Every key of `to_dict()` is an attribute too: `result.kl_pq`, `result.model`."""

    verdict: str  # what most results have; the others are known by their answer alone
    model: str
    bridges: list[dict[str, Any]]
    columns: list[dict[str, Any]]
    kl_pq: Estimate
    kl_qp: Estimate
    mi: Estimate

    def __init__(self, command: str, info: dict[str, Any], settings: dict[str, Any],
                 draw: Callable[[str], None] | None = None):
        self._command, self._settings, self._draw = command, settings, draw
        self._info: dict[str, Any] = {k: Estimate(*v) if k in ESTIMATES and isinstance(v, tuple) else v for k, v in info.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_draw": None}  # figures need the model itself

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._info[name]
        except KeyError:
            raise AttributeError(f"this result has no {name!r}; it has {', '.join(self._info)}") from None

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) | set(self._info))

    @property
    def checks(self) -> list[Check]:
        """The questions that the answer was asked."""
        return [Check(c["name"], c["outcome"], c["value"], c["limit"], c["meaning"]) for c in self._info["checks"]]

    @property
    def reason(self) -> str:
        """A sentence for the verdict; empty where that is trust."""
        bad = {"reject": ("failed",), "doubt": ("doubt", "not known")}.get(self.verdict, ())
        for c in self._info["checks"]:
            if c["outcome"] in bad and (c["outcome"] != "not known" or c["needed"]):
                return c["meaning"]
        return ""

    def to_dict(self) -> dict[str, Any]:
        """As the command's summary.json has it: estimates with _se and _ci95, what is not finite None."""
        out: dict[str, Any] = {"command": self._command, "units": "nats"}
        for key, value in self._info.items():
            if isinstance(value, Estimate):
                out.update({key: value.value, key + "_se": value.se, key + "_ci95": [value.lo, value.hi]})
            elif key == "checks":
                known = {"ok": True, "not known": None}
                out[key] = [{"name": c["name"], "value": c["value"], "limit": c["limit"],
                             "ok": known.get(c["outcome"], False), "outcome": c["outcome"], "meaning": c["meaning"]}
                            for c in value]
            else:
                out[key] = value
        if self.reason:
            out["reason"] = self.reason
        return finite(out)

    def report(self, path: str | os.PathLike) -> None:
        """One self-contained HTML page, as the command makes it, with its figures where gnuplot is installed; after a
        pickle without them."""
        from ._core import core

        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("config", {"command": self._command, **finite(self._settings)}),
                                  ("summary", self.to_dict())):
                with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
                    json.dump(content, f, default=str)
            if self._draw:
                self._draw(os.path.join(folder, "figures"))
            core.report(folder, os.fspath(path))

    # ---- for people ----

    def _numbers(self) -> list[tuple[str, str]]:
        found = []
        for key, words in ESTIMATES.items():
            value = self._info.get(key)
            if self._info.get(key + "_lone"):
                found.append((words, "infinite or cannot be told"))
            elif isinstance(value, Estimate) and key in ("kl_pq", "kl_qp", "mi") and \
                    self._info.get(key + "_verdict", self.verdict) == "reject":
                found.append((words, f"no answer, rejected (the fit says {value.value:.4g} nats)"))
            elif isinstance(value, Estimate) and not math.isnan(value.value):
                found.append((words, f"{value.value:.4f} nats, standard error {value.se:.4f}, "
                                     f"95 % interval {value.lo:.4f} to {value.hi:.4f}"))
            elif isinstance(value, float) and not math.isnan(value):
                error = f", standard error {self._info['se']:.4f}" if key == "log_z" else ""
                found.append((words, f"{value:.4f} nats{error}"))
        return found

    def _columns(self) -> list[tuple[str, str, str, str]]:
        columns = self._info.get("columns", [])
        if len(columns) < 2:
            return []
        columns = sorted(columns, key=lambda c: -(c["share"] if c["share"] == c["share"] else -1.0))
        return [(c["name"], c["kind"], "" if c["share"] != c["share"] else f"{round(100 * c['share'])} %",
                 f"{c['kl']:.3f}") for c in columns[:10]]

    def __repr__(self) -> str:
        lines = [f"{words} = {text}" for words, text in self._numbers()]
        bridges = len(self._info.get("bridges", []))
        if bridges:
            lines.append(f"model {self._info.get('model', '')}, {bridges} bridge{'' if bridges == 1 else 's'}".replace(
                "model , ", ""))
        for name, kind, share, kl in self._columns():
            lines.append(f"  {name:<20} {kind:<10} {share:>6} of KL, {kl} nats of its own")
        lines += [f"{c.name}: {c.outcome}. {c.meaning}" for c in self.checks if c.outcome != "ok"]
        lines.append(f"Verdict: {self.verdict}.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        e = html.escape
        colour = COLOURS[self.verdict]
        out = [f'<div><p><b style="color:{colour}">{self.verdict}</b> {e(self.reason)}</p><table>']
        out += [f"<tr><th style='text-align:left'>{e(w)}</th><td style='text-align:left'>{e(t)}</td></tr>"
                for w, t in self._numbers()]
        out.append("</table>")
        if self._columns():
            out.append("<table><tr><th>column</th><th>kind</th><th>share of KL</th><th>its own KL, nats</th></tr>")
            out += ["<tr>" + "".join(f"<td>{e(x)}</td>" for x in row) + "</tr>" for row in self._columns()]
            out.append("</table>")
        out.append(self._svg() + f"<details><summary>{len(self.checks)} checks</summary><ul>")
        out += [f"<li><b style='color:{COLOURS[c.outcome]}'>{e(c.outcome)}</b> {e(c.name)}: {e(c.meaning)}</li>"
                for c in self.checks]
        return "".join(out) + "</ul></details></div>"

    def _svg(self) -> str:
        """How many nats each bridge tells."""
        nats = [b["mean_log_ratio"] for b in self._info.get("bridges", [])]
        if len(nats) < 2 or not all(math.isfinite(x) for x in nats) or max(nats) <= 0:
            return ""
        bars = "".join(
            f'<rect x="{24 * k + 4}" y="{80 - 70 * max(0.0, x) / max(nats):.1f}" width="16" '
            f'height="{70 * max(0.0, x) / max(nats):.1f}" fill="#4878a8"><title>bridge {k}: {x:.3f} nats</title></rect>'
            for k, x in enumerate(nats))
        return (f'<figure><svg width="{24 * len(nats) + 8}" height="84" role="img">{bars}</svg>'
                "<figcaption>nats of each bridge</figcaption></figure>")
