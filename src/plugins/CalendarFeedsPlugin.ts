import { type FieldArgs, type Step, context, lambda, object } from "postgraphile/grafast";
import type { PgSelectSingleStep } from "postgraphile/@dataplan/pg";
import { extendSchema, gql } from "postgraphile/utils";
import type { RequestInfo } from "../auth/identity.ts";
import { makeCreatedSecrets } from "../auth/createdSecrets.ts";
import { hashToken, makeToken } from "../auth/tokens.ts";
import { resource } from "../schema/resource.ts";

interface Request {
  input: { name: string };
  requestContext: RequestInfo;
}

/** Creates calendar feeds, since their secrets are random bytes of this process. */
export function makeCalendarFeedsPlugin({
  publicUrl,
}: {
  /** The address at which calendar programs reach the server; known when it listens. */
  publicUrl: () => string;
}): GraphileConfig.Plugin {
  const secrets = makeCreatedSecrets();
  return extendSchema((build) => {
    const calendarFeeds = resource(build, "calendar_feeds");
    const { sideEffectWithPgClientTransaction } = build.dataplanPg;
    return {
      typeDefs: gql`
        """
        The values of a new calendar feed.
        """
        input CreateCalendarFeedInput {
          """
          The program that reads the feed, such as "Phone".
          """
          name: String!
        }

        extend type CalendarFeed {
          """
          The secret address for the calendar program. Only the response of \`createCalendarFeed\` contains it.
          """
          url: String @scope(secret: true)
        }

        extend type Mutation {
          """
          Creates a secret address from which a calendar program reads the caller's bookings and absences, and campaigns
          while the caller holds \`campaigns.read\`.
          """
          createCalendarFeed(input: CreateCalendarFeedInput!): CalendarFeed!
            @scope(guard: "session")
        }
      `,
      objects: {
        CalendarFeed: {
          plans: {
            url($feed: PgSelectSingleStep) {
              return lambda(
                secrets.get($feed),
                (secret) => secret && `${publicUrl()}/calendar/${secret}.ics`,
              );
            },
          },
        },
        Mutation: {
          plans: {
            createCalendarFeed(_$root: Step, args: FieldArgs) {
              const $id = sideEffectWithPgClientTransaction(
                calendarFeeds.executor,
                object({
                  input: args.getRaw("input") as Step<Request["input"]>,
                  requestContext: context().get("requestContext"),
                }),
                async (client, { input, requestContext }: Request) => {
                  const secret = makeToken("calendar");
                  const { rows } = await client.query<{ id: string }>({
                    text: "select create_calendar_feed($1, $2) as id",
                    values: [hashToken(secret), input.name],
                  });
                  const id = rows[0]?.id ?? "";
                  secrets.add(requestContext, id, secret);
                  return id;
                },
              );
              return calendarFeeds.get({ id: $id });
            },
          },
        },
      },
    };
  }, "CalendarFeedsPlugin");
}
