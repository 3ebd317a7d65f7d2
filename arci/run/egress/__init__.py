"""The only way out: every call to a model or decision endpoint is made here, on the host, with the user's own key."""
