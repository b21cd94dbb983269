# Turnlog in a container: docs/deploy.md. One volume, /data; nothing else is written but /tmp.
#
# The base is named by a tag, so that a new build has its security fixes. For builds that are the same each time, name it
# by digest: --build-arg BASE=python:3.11-slim@sha256:… (docker buildx imagetools inspect python:3.11-slim tells it).
ARG BASE=python:3.11-slim

# ---------------------------------------------------------------- the wheel and its locked dependencies
FROM ${BASE} AS build
WORKDIR /src
RUN python -m venv /opt/turnlog
COPY requirements.txt ./
# --only-binary: a dependency without a wheel for this platform ends the build; there is no compiler here
RUN /opt/turnlog/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.txt
COPY . .
# At last what a server never reads goes: pip, and of the dependencies tests, sources of translations, headers, types,
# and zstandard's second backend.
RUN /opt/turnlog/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && /opt/turnlog/bin/pip install --no-cache-dir --no-index --no-deps /wheels/*.whl \
    && /opt/turnlog/bin/pip uninstall --yes pip setuptools \
    && find /opt/turnlog/lib -depth -type d \( -name tests -o -path '*/twisted/test' -o -path '*/autobahn/*/test' \) \
        -exec rm -r {} + \
    && find /opt/turnlog/lib -type f \
        \( -name '*.po' -o -name '*.pyi' -o -name '*.pxd' -o -name '*.h' -o -name '*.a' -o -path '*/zstandard/_cffi.*.so' \) -delete

# --------------------------------------------------------------------------------------------- the image
FROM ${BASE}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Turnlog" \
      org.opencontainers.image.description="The agent server whose log is the run itself" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"

# The base comes without bytecode, and nothing can be written later: what is compiled here need not be at every start.
# Its pip goes, as nothing is installed here any more.
RUN rm -rf /usr/local/lib/python3*/ensurepip /usr/local/lib/python3*/site-packages/* /usr/local/bin/pip* \
    && library="$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
    && python -m compileall -q -x '/(test|tests|idlelib|lib2to3|tkinter|turtledemo|site-packages|dist-packages)/' "$library" \
    && groupadd --gid 10001 turnlog \
    && useradd --uid 10001 --gid 10001 --no-log-init --no-create-home --home-dir /data --shell /usr/sbin/nologin turnlog \
    && install -d -m 0700 -o 10001 -g 10001 /data
COPY --from=build /opt/turnlog /opt/turnlog

# HOST: reached from outside the container, so logins and keys are required, and the first start prints a link, good once,
# that makes the first administrator.
ENV PATH="/opt/turnlog/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DATA_DIR=/data \
    HOST=0.0.0.0

USER 10001:10001
VOLUME /data
EXPOSE 8321
STOPSIGNAL SIGTERM
# No curl is needed; a first start makes its tables before it answers.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-IS", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('PORT') or 8321), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["turnlog"]
CMD ["serve"]
