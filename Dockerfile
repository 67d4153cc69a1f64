# syntax=docker/dockerfile:1
# The service: docker build -t portcullis . Run it with --read-only --tmpfs /tmp; docs/operating.md says how.

FROM node:22-bookworm AS build
WORKDIR /build
ENV ONNXRUNTIME_NODE_INSTALL=skip PORTCULLIS_SKIP_PREPARE=1
COPY package.json package-lock.json .npmrc ./
# better-sqlite3 is compiled here, with the compilers that this image has and the last one lacks.
RUN npm ci --ignore-scripts --no-audit --no-fund && npm rebuild better-sqlite3
COPY . .
RUN node scripts/build.mjs && node scripts/image-modules.mjs .

FROM node:22-bookworm-slim
# docker build --build-arg VERSION=1.5.0 --build-arg REVISION=$(git rev-parse HEAD) --build-arg SOURCE=https://…
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Portcullis" \
  org.opencontainers.image.description="Screens text for prompt injection" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION" \
  org.opencontainers.image.source="$SOURCE" \
  org.opencontainers.image.base.name="docker.io/library/node:22-bookworm-slim"
ENV NODE_ENV=production PORTCULLIS_HOST=0.0.0.0
WORKDIR /app
COPY --from=build /build/package.json /build/LICENSE /build/NOTICE ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/models ./models
COPY --from=build /build/rules ./rules
COPY --from=build /build/dist ./dist
# Root's, so that the service can't change its own code; only /data is its own.
RUN rm -rf models/training && install -d -o node -g node -m 0700 /data
# By number, so that Kubernetes can tell that it is not root.
USER 1000
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORTCULLIS_PORT || 8080}/readyz`).then((it) => process.exit(it.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["serve"]
