# One image for every part of Standby; docker-compose.yml says which command each service gives it. It runs as any user,
# needs no writable file system, and holds no key, no setting and no build tool.
FROM python:3.13.7-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PATH=/opt/venv/bin:$PATH
WORKDIR /app
RUN python -m venv /opt/venv
# Packages before sources: a change of code does not install them again.
COPY requirements.txt ./
RUN pip install --quiet --require-hashes --requirement requirements.txt
COPY pyproject.toml README.md LICENSE worker.py starter.py ./
COPY workflows ./workflows
COPY activities ./activities
COPY client ./client
COPY receiver ./receiver
COPY console ./console
COPY sandbox ./sandbox
COPY notices ./notices
# The build backend comes from the lock too, and does not stay.
COPY requirements-dev.txt ./
RUN awk '/^[a-z]/ { wanted = /^setuptools==/ } wanted' requirements-dev.txt > backend.txt \
    && pip install --quiet --require-hashes --requirement backend.txt \
    && pip install --quiet --no-deps --no-build-isolation --editable . \
    && pip uninstall --quiet --yes setuptools \
    && rm requirements.txt requirements-dev.txt backend.txt \
    && python -m compileall -q .

FROM python:3.13.7-slim-bookworm
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /app
USER 1000:1000
CMD ["python", "worker.py"]
