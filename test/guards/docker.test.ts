import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { DockerfileParser } from "dockerfile-ast";
import { parse } from "yaml";
import { z } from "zod";
import { settingGroups, settings } from "../../src/config.ts";
import { nodeFlags } from "../../src/process/heap.ts";
import type { SettingGroup } from "../../src/settings/types.ts";

const read = (name: string) => readFileSync(join(import.meta.dirname, "../..", name), "utf8");

const service = z.object({
  image: z.string().optional(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  restart: z.string(),
  entrypoint: z.array(z.string()).optional(),
  mem_limit: z.string(),
  cap_drop: z.array(z.string()),
  cap_add: z.array(z.string()).optional(),
  security_opt: z.array(z.string()),
  tmpfs: z.array(z.string()).optional(),
  logging: z.object({
    driver: z.literal("json-file"),
    options: z.object({ "max-size": z.string(), "max-file": z.string() }),
  }),
  environment: z.record(z.string(), z.string()),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  read_only: z.boolean().optional(),
});
const text = read("docker-compose.yml");
const { services, volumes } = z
  .object({ services: z.record(z.string(), service), volumes: z.record(z.string(), z.null()) })
  .parse(parse(text, { merge: true }));
const own = Object.entries(services).filter(([, { build }]) => build !== undefined);

/** The variables that compose reads from .env, and the required ones. */
const interpolated = [...text.matchAll(/\$\{(\w+)(:\?)?/g)].map(([, name = "", must]) => ({
  name,
  required: must !== undefined,
}));
const example = new Map(
  [...read(".env.example").matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [
    name,
    value,
  ]),
);
const pinned = /^[a-z0-9./-]+:\d+\.\d+(\.\d+)?(-[a-z0-9.-]+)?$/;

describe("docker-compose.yml", () => {
  it("is extended, in the page about own tables, in all services that read their folder", () => {
    const [, block = ""] = /```yaml\n(services:.*?)```/s.exec(read("docs/database.md")) ?? [];
    const override = z
      .object({ services: z.record(z.string(), z.object({ environment: z.unknown() })) })
      .parse(parse(block));
    const readers = own.filter(([, { environment }]) => "DATABASE_EXTRA_SQL_DIR" in environment);
    expect(Object.keys(override.services)).toEqual(readers.map(([name]) => name));
    for (const { environment } of Object.values(override.services))
      expect(environment).toEqual({ DATABASE_EXTRA_SQL_DIR: "/own-sql" });
  });

  it("starts the databases, their backup, the migration, the server and the worker", () => {
    expect(Object.keys(services).toSorted()).toEqual([
      "backup",
      "migrate",
      "postgres",
      "s3",
      "server",
      "typesense",
      "worker",
    ]);
    expect(Object.keys(volumes).toSorted()).toEqual(["backups", "postgres", "s3", "typesense"]);
    expect(own.map(([name, { command }]) => [name, command])).toEqual([
      ["migrate", ["node", "src/migration/migrate.ts", "--accept-newer"]],
      ["server", ["node", ...nodeFlags, "src/server.ts"]],
      ["worker", ["node", ...nodeFlags, "src/worker.ts"]],
    ]);
  });

  /** Secrets with a required format. */
  const secrets: Record<string, string> = {
    PRODUCT_SYNC_WORKFLOW_SECRET: `whsec_${"k".repeat(43)}=`,
    TYPESENSE_API_KEY: "k".repeat(16),
  };

  it.each(own)("sets only known variables with valid values for %s", (_name, { environment }) => {
    const unknown = Object.keys(environment).filter((name) => !Object.hasOwn(settings, name));
    expect(unknown).toEqual([]);
    for (const [name, value] of Object.entries(environment)) {
      const filled = value.replace(
        /\$\{(\w+):([?-])([^}]*)\}/g,
        (_all, variable: string, kind: string, rest: string) =>
          kind === "-" ? rest : example.get(variable) || (secrets[variable] ?? "filled"),
      );
      // An empty variable counts as one that is not set.
      if (filled === "") continue;
      const setting = settings[name as keyof typeof settings];
      expect({ name, ok: setting.schema.safeParse(filled).success }).toEqual({ name, ok: true });
    }
  });

  it.each([
    ["server", "server"],
    ["worker", "worker"],
    ["migrate", "migration"],
  ] as const)("passes on to %s the settings that it reads", (name, reader) => {
    const fixed = [
      // The image sets them, and the ports inside the containers are fixed.
      ["NODE_ENV", "HOST", "PORT", "METRICS_PORT", "SHUTDOWN_TIMEOUT_SECONDS"],
      // For test runs.
      ["ENABLE_E2E_TEST_MODE", "PRODUCT_SYNC_RECORDER_URL"],
      name === "server" ? ["DATABASE_OWNER_URL"] : [],
    ].flat();
    const read = settingGroups.flatMap((group: SettingGroup) =>
      Object.entries(group.settings)
        .filter(([, setting]) => (setting.usedBy ?? group.usedBy).includes(reader))
        .map(([setting]) => setting),
    );
    const passed = Object.keys(services[name]?.environment ?? {});
    // A missing one belongs to the service's environment in docker-compose.yml; then run `npm run generate`.
    expect(read.filter((setting) => !passed.includes(setting) && !fixed.includes(setting))).toEqual(
      [],
    );
  });

  it("gives server and worker only their own database logins", () => {
    const logins = own.map(([name, { environment }]) => [
      name,
      [
        ...JSON.stringify(environment).matchAll(
          /postgres:\/\/(?:\$\{OFFICE_(?:SERVER|WORKER)_LOGIN:-)?(\w+)\}?:/g,
        ),
      ].map(([, user]) => user),
    ]);
    expect(Object.fromEntries(logins)).toEqual({
      migrate: ["office_admin", "office_server", "office_worker"],
      server: ["office_server"],
      worker: ["office_worker", "office_worker"],
    });
  });

  it.each(Object.entries(services))(
    "pins the image of %s to a version, or builds it",
    (_name, { image, build }) => {
      expect(image === undefined ? build : image).toMatch(image === undefined ? /^\.$/ : pinned);
    },
  );

  it.each(Object.entries(services).filter(([name]) => name !== "migrate"))(
    "restarts %s and checks its health",
    (_name, { restart, healthcheck }) => {
      expect(restart).toBe("unless-stopped");
      expect(healthcheck.test?.[0]).toBe("CMD");
      expect(healthcheck.test?.length).toBeGreaterThan(2);
    },
  );

  it.each(Object.entries(services))("limits the memory and the log of %s", (_name, found) => {
    expect(found.mem_limit).toMatch(/^\d+[mg]$/);
    expect(found.logging.options["max-size"]).toMatch(/^\d{1,2}m$/);
    expect(Number(found.logging.options["max-file"])).toBeLessThanOrEqual(10);
  });

  it.each(Object.entries(services))(
    "drops all capabilities of %s except those that its image needs",
    (name, { cap_drop, cap_add = [], security_opt }) => {
      expect(cap_drop).toEqual(["ALL"]);
      expect(security_opt).toEqual(["no-new-privileges:true"]);
      const starting = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"];
      expect(cap_add).toEqual(["postgres", "s3"].includes(name) ? starting : []);
    },
  );

  it("has read-only file systems with temporary folders, except for the search engine and the object store", () => {
    const writable = Object.entries(services).filter(([, { read_only }]) => !read_only);
    expect(writable.map(([name]) => name).toSorted()).toEqual(["s3", "typesense"]);
    for (const { read_only, tmpfs = [] } of Object.values(services))
      if (read_only) expect(tmpfs.join()).toMatch(/^\/tmp\b/);
  });

  it("backs up the database with programs of the same version", () => {
    expect(services.backup?.image).toBe(services.postgres?.image);
    const scripts = [services.backup?.command?.[0], services.backup?.healthcheck.test?.at(-1)];
    for (const script of scripts) {
      const { status, stderr } = spawnSync("bash", ["-n"], {
        input: (script ?? "").replaceAll("$$", "$"),
        encoding: "utf8",
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    }
  });

  it("makes server and worker wait for the migration, which runs once", () => {
    expect(services.migrate?.restart).toBe("no");
    for (const name of ["server", "worker"])
      expect(services[name]?.depends_on?.migrate?.condition).toBe("service_completed_successfully");
  });

  it("contains no secret and requires passwords and keys from .env", () => {
    for (const { environment } of Object.values(services))
      for (const [name, value] of Object.entries(environment))
        // The address of another container is no secret.
        if (/PASSWORD|KEY|URL|SECRET/.test(name) && !/^http:\/\/[a-z0-9]+:\d+$/.test(value))
          expect(value).toMatch(/\$\{\w+:\?|^\$\{\w+:-\}$/);
  });
});

describe(".env.example", () => {
  it("lists exactly the variables that compose reads from .env", () => {
    const used = new Set(interpolated.map(({ name }) => name));
    expect([...example.keys()].toSorted()).toEqual([...used].toSorted());
  });

  it("contains no value for a secret", () => {
    const secrets = [...example].filter(([name]) => /PASSWORD|KEY|SECRET/.test(name));
    expect(secrets.length).toBeGreaterThan(0);
    expect(secrets.filter(([, value]) => value !== "")).toEqual([]);
  });
});

describe("Dockerfile", () => {
  const file = DockerfileParser.parse(read("Dockerfile"));
  const words = (keyword: string) =>
    file
      .getInstructions()
      .filter((one) => one.getKeyword() === keyword)
      .map((one) => one.getArgumentsContent() ?? "");

  it("contains only known instructions", () => {
    const known = "FROM WORKDIR COPY RUN ENV USER EXPOSE HEALTHCHECK ENTRYPOINT CMD".split(" ");
    const keywords = new Set(file.getInstructions().map((one) => one.getKeyword()));
    expect([...keywords].toSorted()).toEqual(known.toSorted());
  });

  it("builds in three stages on pinned images of the required Node version", () => {
    const images = file.getFROMs().map((from) => from.getImage() ?? "");
    expect(images).toHaveLength(3);
    const { devDependencies } = z
      .object({ devDependencies: z.object({ node: z.string() }) })
      .parse(JSON.parse(read("package.json")));
    const major = /\d+/.exec(devDependencies.node)?.[0];
    for (const image of images) {
      expect(image).toMatch(pinned);
      expect(image).toMatch(new RegExp(`^node:${major}\\.`));
    }
  });

  it("runs as a non-root user, in exec form, with a health check", () => {
    const users = words("USER");
    expect(users.length).toBeGreaterThan(0);
    expect(users.filter((user) => /^(root|0)(:|$)/.test(user))).toEqual([]);
    const final = file.getFROMs().at(-1)?.getRange()?.start.line ?? 0;
    const last = file
      .getInstructions()
      .filter((one) => one.getKeyword() === "USER")
      .at(-1);
    expect(last?.getRange()?.start.line).toBeGreaterThan(final);
    for (const command of file.getCMDs())
      expect(
        z.array(z.string()).safeParse(JSON.parse(command.getArgumentsContent() ?? "")).success,
      ).toBe(true);
    expect(words("HEALTHCHECK")).toHaveLength(1);
  });

  it("runs Node below an init process, so that its watchdog can kill it", () => {
    expect(words("ENTRYPOINT").map((text) => JSON.parse(text) as unknown)).toEqual([
      ["tini", "-s", "--"],
    ]);
    expect(words("RUN").join("\n")).toMatch(/apt-get install .*\btini\b/);
  });

  it("starts the server with the same flags as the npm scripts", () => {
    const command = (file: string) => ["node", ...nodeFlags, file];
    expect(words("CMD").map((text) => JSON.parse(text) as unknown)).toEqual([
      command("src/server.ts"),
    ]);
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read("package.json")));
    for (const file of ["src/server.ts", "src/worker.ts", "dev/start.ts"])
      expect(scripts[basename(file, ".ts")]).toBe(`exec ${command(file).join(" ")}`);
    expect(scripts["dev"]).toBe(`${scripts["start"]} --watch`);
  });

  it("starts every program by exec, because npm sends signals to the shell", () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read("package.json")));
    const programs = Object.values(scripts).filter((script) =>
      /^(\w+=\S+ )*(exec )?node /.test(script),
    );
    expect(programs.length).toBeGreaterThan(10);
    expect(programs.filter((script) => !/^(\w+=\S+ )*exec node /.test(script))).toEqual([]);
  });

  it("sets only variables that the configuration knows", () => {
    const names = file.getENVs().flatMap((env) => env.getProperties().map((one) => one.getName()));
    expect(names.filter((name) => !Object.hasOwn(settings, name))).toEqual([]);
  });

  it("copies only files that .dockerignore includes", () => {
    const allowed = read(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const copied = file
      .getCOPYs()
      .filter((copy) => copy.getFromFlag() === null)
      .flatMap((copy) =>
        copy
          .getArguments()
          .slice(0, -1)
          .map((one) => one.getValue()),
      );
    const isWithin = (name: string) => allowed.some((folder) => name.startsWith(`${folder}/`));
    const named = copied.filter((name) => allowed.includes(name) || !isWithin(name));
    expect([...new Set(named)].toSorted()).toEqual(allowed.toSorted());
  });

  it("copies only the console's build from the development stage into the image", () => {
    const final = file.getFROMs().at(-1)?.getRange()?.start.line ?? 0;
    const copies = file.getCOPYs().filter((copy) => (copy.getRange()?.start.line ?? 0) > final);
    const copied = copies.map((copy) => copy.getArguments()[0]?.getValue() ?? "");
    expect(copied.toSorted()).toEqual(
      ["/app/admin/dist", "/app/node_modules", "db", "package.json", "src"].toSorted(),
    );
  });
});
