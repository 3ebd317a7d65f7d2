"""Tests that stand for many cases, each by its address, and the names of their cases. Data for the tables of rows."""

from __future__ import annotations

import breakdowns
import evidence

from arci.containment.groups import all_claims
from arci.isolation.conformance.suite import CHECKS

__all__ = ["BROKEN", "CASES", "CLAIM", "CONTRACT", "LEFT"]

CLAIM = "containment/test_suite.py::test_the_claim_fails"
CONTRACT = "docker/test_conformance_docker.py::test_containers_keep_the_contract"
LEFT = "docker/test_e2e_agents.py::test_what_an_agent_leaves_is_judged_by_what_is_declared"
BROKEN = "docker/test_e2e_agents.py::test_what_breaks_around_an_agent_is_never_its_fault"
CASES = {
    CLAIM: {claim.name for claim in all_claims()},
    CONTRACT: {check.name for check in CHECKS},
    LEFT: {way.name for way in evidence.WAYS},
    BROKEN: {way.name for way in breakdowns.WAYS},
}
