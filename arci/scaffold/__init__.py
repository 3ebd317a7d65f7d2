"""What `arci init` writes: a descriptor for agents that exist, or a whole small experiment to start from."""
