"""A help desk with queues, and a stand-in for the decision endpoint. What the agents never see the source of."""

from __future__ import annotations

import random
from typing import Any

TICKETS = {
    "billing": ("I was charged twice for one order.", "The invoice has the wrong address.", "Where is my refund?"),
    "delivery": ("My parcel is a week late.", "The parcel came open.", "Can you deliver on Saturday?"),
    "account": ("I cannot sign in.", "Please delete my data.", "My password reset never arrives."),
}
TEAM_OF = {text: team for team, texts in TICKETS.items() for text in texts}


class Desk:
    """One trial's world. What the customer wrote, the seed decides."""

    def __init__(self, task: dict[str, Any], seed: int) -> None:
        self.ticket = task["ticket"]
        self.text = random.Random(f"{seed}:ticket").choice(sorted(TEAM_OF))
        self.queues: dict[str, list[str]] = {}
        self.asked = 0
        self.tools = {"read_ticket": self.read_ticket, "ask_person": self.ask_person, "assign": self.assign}

    def read_ticket(self, ticket: str) -> str:
        """What the customer wrote."""
        self.check(ticket)
        return self.text

    def ask_person(self, ticket: str) -> str:
        """The team, as a person sees it. Costs a person's time."""
        self.check(ticket)
        self.asked += 1
        return TEAM_OF[self.text]

    def assign(self, ticket: str, queue: str) -> bool:
        """Put the ticket into a queue."""
        self.check(ticket)
        self.queues.setdefault(queue, []).append(ticket)
        return True

    def check(self, ticket: str) -> None:
        if ticket != self.ticket:
            raise ValueError(f"there is no ticket {ticket}")

    def snapshot(self) -> dict[str, Any]:
        return {"team": TEAM_OF[self.text], "queues": self.queues, "asked": self.asked}


def open_world(task: dict[str, Any], seed: int) -> Desk:
    return Desk(task, seed)


def decide(request: dict[str, Any], seed: int, occurrence: int) -> dict[str, Any]:
    """What the endpoint answers: right, and sure of it. The question is the agents' one."""
    right = TEAM_OF[request["state"]["ticket"]]
    teams = request["questions"]["team"]["criteria"]
    rest = 0.1 / (len(teams) - 1)
    answer = {
        "type": "choice",
        "choice": right,
        "probabilities": {team: 0.9 if team == right else rest for team in teams},
        "confidence": 0.85,
    }
    return {"model": request["model"], "answers": {"team": answer}, "usage": {"input_tokens": 40, "output_tokens": 0}}
