# The runtime base where a registry answers. Elsewhere the same role is filled from Debian packages (base.json).
ARG BASE
FROM ${BASE}
LABEL dev.arci.kind=base
