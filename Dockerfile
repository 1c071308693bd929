FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-bookworm-slim AS console
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY vite.config.ts tsconfig.json schema.graphql ./
COPY dev/buildConsole.ts ./dev/
COPY src/schema/rowNames.ts ./src/schema/
COPY src/text/insideSentence.ts src/text/suggest.ts ./src/text/
COPY admin ./admin
RUN node dev/buildConsole.ts

FROM node:24.21.0-bookworm-slim
# As process 1, Node could not be killed by its own watchdog: the kernel protects that process from its own container.
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY db ./db
COPY src ./src
COPY --from=console /app/admin/dist ./admin/dist
USER node
EXPOSE 4000
# A server answers at its port, a worker at the one of its metrics.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const ports = [process.env.PORT, 1 + (Number(process.env.METRICS_PORT) || 9464)]; const ask = async (port) => { if (!(await fetch('http://127.0.0.1:' + port + '/healthz')).ok) throw 0; }; Promise.any(ports.map(ask)).then(() => process.exit(0), () => process.exit(1))"]
ENTRYPOINT ["tini", "-s", "--"]
CMD ["node", "--v8-pool-size=1", "--max-semi-space-size=16", "src/server.ts"]
