"""Results of untrusted clients' requests. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

FINDINGS_MAX = 50


@dataclass(slots=True)
class Tally:
    """`findings` are what must not be so, each with what makes it again; the first are kept."""

    requests: int = 0
    """Messages of RPCs that were answered, or that ended their call; connections, for noise."""
    calls: int = 0
    shed: int = 0
    """Calls that gRPC cancelled while they waited behind too many others: no handler saw them."""
    decided: int = 0
    """Answers of controllers that looked further than at the cluster's id."""
    by_rpc: Counter[str] = field(default_factory=Counter)
    by_status: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    findings_count: int = 0

    def find(self, what: str) -> None:
        """Something is not as it must be."""
        self.findings_count += 1
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(what)
