# What ARCI itself runs inside containers: arci-init and standard-library Python, compiled for the base's interpreter.
ARG BASE
FROM ${BASE}
LABEL dev.arci.kind=runtime
COPY arci /opt/arci
RUN ["python3", "-I", "-S", "/opt/arci/seal.py", "write"]
CMD ["/opt/arci/bin/arci-init", "hold"]
