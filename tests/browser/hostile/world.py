"""A world that keeps a value, and answers as nastily as it is asked."""


class World:
    def __init__(self):
        self.kept = None
        self.tools = {"look": self.look, "keep": self.keep}

    def look(self, what: str, note: str) -> dict:
        return {what: [what, note]}

    def keep(self, value: str) -> str:
        self.kept = value
        return value

    def snapshot(self):
        return {"kept": self.kept}


def make(task, seed):
    return World()


def judge(task, final_state):
    return final_state["kept"] == "kept"
