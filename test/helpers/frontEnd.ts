import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A one-page front end that starts and completes a login. */
export interface FrontEnd {
  origin: string;
  /** The service's URL; set it before a browser opens the page. */
  service: string;
  stop(): Promise<void>;
}

/** Starts a front end on a free port. Its page logs in with its own challenge and shows the user. */
export async function startFrontEnd(): Promise<FrontEnd> {
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(pageFor(made.service, made.origin));
    request.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const made: FrontEnd = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    service: "",
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return made;
}

function pageFor(service: string, origin: string): string {
  const settings = JSON.stringify({ service, returnTo: `${origin}/signed-in` });
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Front end</title></head>
<body>
<button id="login">Log in</button>
<output id="who"></output>
<script type="module">
const { service, returnTo } = ${settings};
const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

document.getElementById("login").onclick = async () => {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem("verifier", verifier);
  const challenge = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  location.href = service + "/auth/login?" + new URLSearchParams({ returnTo, challenge });
};

const code = new URLSearchParams(location.search).get("code");
if (code) {
  history.replaceState(null, "", location.pathname);
  const ask = async (query, variables, token) => {
    const headers = { "content-type": "application/json", ...(token ? { authorization: "Bearer " + token } : {}) };
    const response = await fetch(service + "/graphql", { method: "POST", headers, body: JSON.stringify({ query, variables }) });
    return response.json();
  };
  const mutation = "mutation ($code: String!, $returnTo: String!, $verifier: String) { exchangeLoginCode(code: $code, returnTo: $returnTo, verifier: $verifier) { token } }";
  const verifier = sessionStorage.getItem("verifier");
  const { data, errors } = await ask(mutation, { code, returnTo, verifier });
  const me = data ? await ask("{ me { email name isActive } }", {}, data.exchangeLoginCode.token) : { errors };
  document.getElementById("who").textContent = JSON.stringify(me.data?.me ?? me.errors[0].message);
}
</script>
</body>
</html>`;
}
