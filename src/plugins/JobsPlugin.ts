import { connection } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type SqlJsonField, pageOf } from "../sqlJson/sqlJsonField.ts";
import { resource } from "../schema/resource.ts";

/** `myJobs`: a connection of jobs that the caller has started. */
export const JobsPlugin: GraphileConfig.Plugin = {
  name: "JobsPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      GraphQLObjectType_fields(fields, build, { scope, fieldWithHooks }) {
        if (!scope.isRootQuery) return fields;
        const jobs = resource(build, "jobs");
        const fieldName = "myJobs";
        const isOwn = (row: SQL) => {
          const column = (name: string) => sql`${row}.${sql.identifier(name)}`;
          return sql`${sql.identifier("is_own_job")}(${column("user_id")}, ${column("api_token_id")})`;
        };
        const sqlJson: SqlJsonField = {
          ...pageOf(build, jobs),
          within: ({ alias }) => isOwn(alias),
        };
        const type = build.getOutputTypeByName(
          build.inflection.tableConnectionType(jobs.codec as never),
        );
        const field = fieldWithHooks(
          {
            fieldName,
            guard: "login",
            auditReads: "own",
            isPgFieldConnection: true,
            pgFieldResource: jobs,
          },
          () => ({
            description:
              "The jobs that the caller's actions started, newest first. A session returns all jobs of its user, including those started with API tokens. An API token returns only the jobs started with it.",
            type: type,
            extensions: { sqlJson },
            plan: () => {
              const $jobs = jobs.find();
              $jobs.where(isOwn($jobs.alias));
              return connection($jobs);
            },
          }),
        );
        return build.extend(fields, { [fieldName]: field }, "JobsPlugin: one's own jobs");
      },
    },
  },
};
