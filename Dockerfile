# planstrip with what PostgreSQL and masks need; `compose.yaml` beside it runs both. The README's "Operation" says how.
FROM python:3.12-slim-bookworm AS build
ENV UV_PROJECT_ENVIRONMENT=/opt/planstrip UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /src
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-dev --extra postgresql --extra masks --no-install-project
COPY README.md LICENSE CHANGELOG.md ./
COPY app app
COPY templates templates
COPY static static
COPY alembic alembic
COPY fixtures/demo fixtures/demo
RUN uv sync --locked --no-dev --extra postgresql --extra masks --no-editable

FROM python:3.12-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home --home-dir /data planstrip \
    && install --directory --owner=planstrip --mode=0700 /data
COPY --from=build /opt/planstrip /opt/planstrip
# hadolint ignore=DL3064
ENV PATH=/opt/planstrip/bin:$PATH PYTHONDONTWRITEBYTECODE=1 HOME=/data XDG_DATA_HOME=/data \
    PLANSTRIP_HOST=0.0.0.0
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --start-interval=1s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('PLANSTRIP_PORT', '8765') + '/healthz', timeout=4)"]
ENTRYPOINT ["planstrip"]
CMD ["serve"]
