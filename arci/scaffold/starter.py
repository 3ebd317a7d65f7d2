"""The experiment that `arci init NAME` writes: a shop, an agent that pays an order, a "simpler" retry. Text alone.

It is the one that docs/how-to/first-experiment.md tells; a test compares.
"""

from __future__ import annotations

__all__ = ["starter_files"]

_WORLD = '''\
import random


class Shop:
    """One trial's world: an order to be paid. What it costs, the seed decides."""

    def __init__(self, task, seed):
        self.price = random.Random(f"{seed}:price").randint(5, 50)
        self.charges = []
        self.tools = {"get_price": self.get_price, "list_charges": self.list_charges, "charge": self.charge}

    def get_price(self, order_id: str) -> int:
        """What the order costs."""
        return self.price

    def list_charges(self, order_id: str) -> list[int]:
        """What was charged for the order so far."""
        return self.charges

    def charge(self, order_id: str, amount: int) -> bool:
        """Charge the customer."""
        self.charges.append(amount)
        return True

    def snapshot(self):
        return {"price": self.price, "charges": self.charges}


def open_shop(task, seed):
    return Shop(task, seed)
'''

_ORACLE = """\
def is_paid_once(task, final_state):
    return final_state["charges"] == [final_state["price"]]
"""

_BEFORE = """\
from arci.agent import ToolFault


def run(task, tools, rng):
    order_id = task["order_id"]
    price = tools.call("get_price", order_id=order_id)
    while not tools.call("list_charges", order_id=order_id):
        try:
            tools.call("charge", order_id=order_id, amount=price)
        except ToolFault:
            pass  # it may have arrived all the same: look before trying again
    return {"paid": price}
"""

_AFTER = """\
from arci.agent import ToolFault


def run(task, tools, rng):
    order_id = task["order_id"]
    price = tools.call("get_price", order_id=order_id)
    while True:
        try:
            tools.call("charge", order_id=order_id, amount=price)
            return {"paid": price}
        except ToolFault:
            pass  # try again
"""

_DESCRIPTOR = """\
# Did the candidate become less reliable than the baseline? `arci try` makes one trial, `arci run` decides.
experiment_id: {name}
task: {{order_id: order-1}} # given to agent, world and oracle

toolset: world:open_shop # world/world.py
oracle: oracle:is_paid_once # world/oracle.py
baseline: {{label: before, agent: "agent:run", context: before}} # before/agent.py
candidate: {{label: after, agent: "agent:run", context: after}}

conditions:
  - id: answer-lost # the customer is charged, the agent is told that the call timed out
    fault: {{name: lost_response, tool: charge, probability: 0.5}}

n_per_arm: 50 # trials per arm and condition

isolation: {backend} # process: quick, isolates nothing; docker: every trial in fresh containers

images:
  project: {{build: {{context: world}}}} # world and oracle; the agents' folders are their own images
"""


def starter_files(name: str, backend: str) -> dict[str, str]:
    """Relative path -> text, of an experiment that runs at once. `name`: its id; `backend`: where it runs."""
    return {
        "arci.yaml": _DESCRIPTOR.format(name=name, backend=backend),
        "world/world.py": _WORLD,
        "world/oracle.py": _ORACLE,
        "before/agent.py": _BEFORE,
        "after/agent.py": _AFTER,
    }
