import { readFileSync } from "node:fs";
import { join } from "node:path";
import { XmlDocument, XsdValidator } from "libxml2-wasm";
import { xmlRegisterFsInputProviders } from "libxml2-wasm/lib/nodejs.mjs";
import { xlsxSchemas } from "../environment.ts";

/** The published schemas (ECMA-376, transitional) by namespace. */
const schemaFiles: Readonly<Record<string, string>> = {
  "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "sml.xsd",
  "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing":
    "dml-spreadsheetDrawing.xsd",
  "http://schemas.openxmlformats.org/drawingml/2006/chart": "dml-chart.xsd",
  "http://schemas.openxmlformats.org/drawingml/2006/main": "dml-main.xsd",
  "http://schemas.openxmlformats.org/officeDocument/2006/extended-properties":
    "shared-documentPropertiesExtended.xsd",
  "http://schemas.openxmlformats.org/officeDocument/2006/custom-properties":
    "shared-documentPropertiesCustom.xsd",
};

if (xlsxSchemas === "")
  console.warn(
    "XLSX_SCHEMAS is not set: workbooks are not validated against the published schemas",
  );
else xmlRegisterFsInputProviders();

const validators = new Map<string, XsdValidator>();

function validatorOf(file: string): XsdValidator {
  const path = join(xlsxSchemas, file);
  const known =
    validators.get(file) ??
    XsdValidator.fromDoc(XmlDocument.fromBuffer(readFileSync(path), { url: path }));
  validators.set(file, known);
  return known;
}

const harmless = [
  // Excel itself writes `xml:space` on texts, which the schema's simple type does not allow.
  "{http://www.w3.org/XML/1998/namespace}space",
  // Extensions, which unaware readers ignore.
  "{http://schemas.openxmlformats.org/markup-compatibility/2006}Ignorable",
  "{http://schemas.microsoft.com/office/",
].map((name) => `attribute '${name}`);

/** Validates a package's parts against the schemas; returns nothing when they are not available. */
export function schemaProblems(parts: ReadonlyMap<string, Buffer>): string[] {
  if (xlsxSchemas === "") return [];
  const problems: string[] = [];
  for (const [name, bytes] of parts) {
    if (!/\.xml$/.test(name)) continue;
    const document = XmlDocument.fromBuffer(bytes);
    const file = schemaFiles[document.root.namespaceUri];
    try {
      if (file !== undefined) validatorOf(file).validate(document);
    } catch (error) {
      const details = (error as { details?: { message: string }[] }).details ?? [
        { message: String(error) },
      ];
      for (const { message } of details)
        if (!harmless.some((text) => message.includes(text)))
          problems.push(`${name}: ${message.trim()}`);
    } finally {
      document.dispose();
    }
  }
  return problems;
}
