"""The recording, fault-injecting relay between agent and tools: a sans-io core and the recorder program around it."""
