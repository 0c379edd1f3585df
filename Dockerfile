# One broker. Settings come from a server.properties, from OTTLA_... variables, or from options behind the image's name:
#   docker run -p 127.0.0.1:9092:9092 ottla --set num.partitions=3
#   docker run -p 127.0.0.1:9092:9092 -v ./server.properties:/etc/ottla/server.properties ottla /etc/ottla/server.properties
FROM python:3.11-slim AS build
WORKDIR /src
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
# What every request passes through becomes machine code: docs/adr/0009.
RUN python -m venv /opt/ottla && OTTLA_COMPILE=1 /opt/ottla/bin/pip install --no-cache-dir --compile .

FROM python:3.11-slim
# No home is made: it would put dot files among the data, and nothing of the broker needs one.
RUN groupadd --gid 1000 ottla \
    && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /nonexistent ottla \
    && install --directory --owner=ottla --group=ottla --mode=750 /var/lib/ottla
COPY --from=build /opt/ottla /opt/ottla
COPY docker/broker.properties /etc/ottla/defaults.properties
# Commands in the container find the broker without -b: docker exec NAME ottla topics list
ENV PATH=/opt/ottla/bin:$PATH \
    OTTLA_DEFAULTS_FILE=/etc/ottla/defaults.properties \
    OTTLA_BOOTSTRAP_SERVERS=localhost:9092
USER ottla
VOLUME /var/lib/ottla
EXPOSE 9092 9192 8082
# SIGTERM is what `docker stop` sends: leaders are handed over before the process ends.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://localhost:9192/health', timeout=2)"]
ENTRYPOINT ["ottla", "broker"]
