"""The kinds of fault, one file each, and the plan that applies them. Pure, standard library only, Python 3.9."""
