import { generate } from "selfsigned";

/** A key and a certificate for https servers at `localhost`, trusted by clients that have the certificate. */
export async function localCertificate(): Promise<{ key: string; cert: string }> {
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] },
    ],
  });
  return { key: made.private, cert: made.cert };
}
