# Holdall in a container: docker build --tag holdall .
# Volumes, users and settings: docs/how-to/docker.md

# The Node.js version of the tests, as in package.json. The digest pins the content: docs/how-to/docker.md#the-base-image
ARG NODE_IMAGE=node:26.10.0-trixie-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# Without the git history in the build context: --build-arg SOURCE_COMMIT="$(git rev-parse HEAD)"
ARG SOURCE_COMMIT
RUN npm run build
# The dependencies of the package, in the versions and with the checksums of the lockfile.
RUN node scripts/lock-package.js && npm ci --prefix package --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Holdall" \
      org.opencontainers.image.description="One HTTP API and one web UI for the files in your bucket, your repository or on your disk." \
      org.opencontainers.image.source="https://github.com/holdall-files/holdall" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.2.0"
# The service needs no package managers. It draws HEIC images by libheif in a sandbox: docs/how-to/video-thumbnails.md
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap libheif-examples libheif-plugin-libde265 libjemalloc2 \
 && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx \
 && install --directory --owner=node --group=node /data /state /cache
# Use jemalloc instead of the allocator of glibc. The linker finds it by its name on every processor. MALLOC_CONF replaces
# MALLOC_ARENA_MAX: few arenas, and free memory returns to the system after one second.
ENV LD_PRELOAD=libjemalloc.so.2 \
    MALLOC_CONF=background_thread:true,narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0 \
    HOST=0.0.0.0 \
    PORT=8080 \
    DISK_ROOT=/data \
    STATE_DIR=/state \
    CACHE_DIR=/cache
COPY --from=build /build/package /app
WORKDIR /app
# The compiled code, for the user below, who can't change it.
RUN install --directory --owner=node node_modules/.cache/holdall/code \
 && setpriv --reuid=1000 --regid=1000 --clear-groups node bin/fill-code-cache.js \
 && chown --recursive root:root node_modules/.cache
# The user "node", by its number, so that orchestrators see that it is not root.
USER 1000:1000
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
    CMD ["node", "--eval", "const { PORT, BASE_PATH, HOLDALL_BASE_PATH } = process.env; const base = (BASE_PATH || HOLDALL_BASE_PATH || '').replace(/[/]$/, ''); fetch(`http://127.0.0.1:${PORT}${base}/-/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/holdall.js"]
