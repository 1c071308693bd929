/** Sends GraphQL requests of one user to the service. */
export interface DemoClient {
  /** @throws when the response has errors */
  ask<Data>(query: string, variables?: object): Promise<Data>;
}

export function makeDemoClient(url: string, token?: string): DemoClient {
  return {
    async ask<Data>(query: string, variables: object = {}) {
      const response = await fetch(`${url}/graphql`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ query, variables }),
      });
      const { data, errors } = (await response.json()) as {
        data?: Data;
        errors?: { message: string }[];
      };
      if (errors || data === undefined)
        throw new Error(
          errors?.map(({ message }) => message).join("; ") ?? "The response is empty",
        );
      return data;
    },
  };
}
