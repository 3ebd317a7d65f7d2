"""From a red gate to a reproduced bug: where traces part, groups of failures, the smallest thing that still fails."""
