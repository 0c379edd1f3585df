# One broker. Settings come from OTTLA_... variables (docs/settings.md) or from options after the image's name:
#   docker run -p 9092:9092 ottla --set num.partitions=3
FROM python:3.11-slim AS build
WORKDIR /src
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
# What every request passes through becomes machine code: docs/adr/0009.
RUN python -m venv /opt/ottla && OTTLA_COMPILE=1 /opt/ottla/bin/pip install --no-cache-dir --compile .

FROM python:3.11-slim
RUN useradd --system --uid 1000 --home-dir /var/lib/ottla --create-home ottla
COPY --from=build /opt/ottla /opt/ottla
ENV PATH=/opt/ottla/bin:$PATH \
    OTTLA_LOG_DIRS=/var/lib/ottla \
    OTTLA_LISTENERS=PLAINTEXT://0.0.0.0:9092 \
    OTTLA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 \
    OTTLA_METRICS_LISTENER=0.0.0.0:9192
USER ottla
VOLUME /var/lib/ottla
EXPOSE 9092 9192 8082
# SIGTERM is what `docker stop` sends: leaders are handed over before the process ends.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://localhost:9192/health', timeout=2)"]
ENTRYPOINT ["ottla", "broker"]
