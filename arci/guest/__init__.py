"""What ARCI starts inside a container: worker and grader, and how user code is loaded. Never imported by the host."""
