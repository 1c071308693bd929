import { changeParts, smallBook } from "./wineFields.ts";

/** A kind of workbook of variable size: what grows, and the permitted maximum. */
export interface HostileBook {
  readonly name: string;
  readonly most: number;
  /** The beginning of the rejection's message; absent for a valid template. */
  readonly refused?: string;
  make(size: number): Promise<Buffer>;
}

type Change = (xml: string) => string;
type Parts = Readonly<Record<string, Change | string>>;

const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships";
const sheetPart = "xl/worksheets/sheet1.xml";
const times = (size: number, text: (index: number) => string) =>
  Array.from({ length: size }, (_, index) => text(index)).join("");
const inline = (name: string, text: string) =>
  `<c r="${name}" t="inlineStr"><is><t>${text}</t></is></c>`;

/**
 * A table template whose first row repeats; `cells` are below it, `tail` follows all cells, `parts` are added or
 * replaced.
 */
function book(
  rows: string,
  { head = "", tail = "", parts = {} }: { head?: string; tail?: string; parts?: Parts } = {},
): Promise<Buffer> {
  const sheet: Change = (xml) =>
    xml
      .replace("<sheetData>", `${head}<sheetData>`)
      .replace("</sheetData>", () => `${rows}</sheetData>${tail}`);
  const noisy = Object.entries({ [sheetPart]: sheet, ...parts }).map(([name, change]) => [
    name,
    typeof change === "function" ? (xml: string) => withNoise(change(xml)) : withNoise(change),
  ]);
  return smallBook({ S: { A1: "{{name}}" } }).then((small) =>
    changeParts(small, Object.fromEntries(noisy)),
  );
}

/** A part with a permitted compression ratio. */
function withNoise(xml: string): string {
  if (xml.length < 100_000) return `${xml}<!-- -->`;
  const noise = Buffer.alloc(Math.ceil(xml.length / 150));
  let state = 1;
  for (let index = 0; index < noise.length; index++) {
    state = (state * 48_271) % 2_147_483_647;
    noise[index] = state;
  }
  return `${xml}<!-- ${noise.toString("hex")} -->`;
}

const relationsOf = (list: string) => `<Relationships xmlns="${RELATIONS}">${list}</Relationships>`;
const relation = (id: string, type: string, target: string, mode = "") =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"${mode}/>`;
/** Rows below the first one, ten cells each. */
const rowsOf = (size: number, cell: (name: string, index: number) => string) =>
  times(Math.ceil(size / 10), (row) => {
    const cells = Array.from({ length: Math.min(10, size - row * 10) }, (_, column) =>
      cell(`${"ABCDEFGHIJ"[column] ?? ""}${row + 2}`, row * 10 + column),
    );
    return `<row r="${row + 2}">${cells.join("")}</row>`;
  });
/** A workbook with shared strings. */
const shared = (rows: string, strings: string) =>
  book(rows, {
    parts: {
      "xl/_rels/workbook.xml.rels": (xml) =>
        xml.replace(
          "</Relationships>",
          `${relation("rIdS", "sharedStrings", "sharedStrings.xml")}</Relationships>`,
        ),
      "xl/sharedStrings.xml": `<sst xmlns="${SHEET}">${strings}</sst>`,
    },
  });
/** A workbook whose sheet has relationships. */
const related = (list: string, parts: Parts = {}, tail = "") =>
  book("", { tail, parts: { "xl/worksheets/_rels/sheet1.xml.rels": relationsOf(list), ...parts } });

const formulas = (formula: (index: number) => string) => (size: number) =>
  book(rowsOf(size, (name, index) => `<c r="${name}"><f>${formula(index)}</f><v>0</v></c>`));

/** All kinds of growth in a workbook. */
export const HOSTILE_BOOKS: readonly HostileBook[] = [
  {
    name: "cells with one misspelt placeholder",
    most: 69_990,
    refused: "S!A2: There is no field nmae (did you mean `name`?)",
    make: (size) => book(rowsOf(size, (name) => inline(name, "{{nmae}}"))),
  },
  {
    name: "cells with misspelt placeholders, all different",
    most: 69_990,
    refused: "S!A2: There is no field name0 (did you mean `name`?)",
    make: (size) => book(rowsOf(size, (name, index) => inline(name, `{{name${index}}}`))),
  },
  {
    name: "cells with placeholders",
    most: 9_900,
    make: (size) => book(rowsOf(size, (name) => inline(name, "{{name}}"))),
  },
  {
    name: "cells with numbers",
    most: 120_000,
    make: (size) => book(rowsOf(size, (name) => `<c r="${name}"><v>1</v></c>`)),
  },
  {
    name: "empty rows",
    most: 290_000,
    make: (size) => book(times(size, (index) => `<row r="${index + 2}"/>`)),
  },
  {
    name: "placeholders in one cell",
    most: 4_600,
    make: (size) => book(rowsOf(1, (name) => inline(name, "{{name}}".repeat(size * 0.8)))),
  },
  {
    name: "misspelt placeholders in one cell",
    most: 4_600,
    refused: "S!A2: There is no field x",
    make: (size) => book(rowsOf(1, (name) => inline(name, "{{x}}".repeat(size)))),
  },
  {
    name: "cells that show one shared string with thousands of misspelt placeholders",
    most: 69_990,
    refused: "S!A2: There is no field x",
    make: (size) =>
      shared(
        rowsOf(size, (name) => `<c r="${name}" t="s"><v>0</v></c>`),
        `<si><t>${"{{x}}".repeat(6_000)}</t></si>`,
      ),
  },
  {
    name: "cells that show one shared string of many runs",
    most: 69_990,
    make: (size) =>
      shared(
        rowsOf(size, (name) => `<c r="${name}" t="s"><v>0</v></c>`),
        `<si>${times(size / 3, () => "<r><t>a</t></r>")}</si>`,
      ),
  },
  {
    name: "a placeholder split into many runs",
    most: 30_000,
    make: (size) =>
      shared(
        rowsOf(1, (name) => `<c r="${name}" t="s"><v>0</v></c>`),
        `<si><r><t>{{name}}</t></r>${times(size, () => "<r><t>a</t></r>")}</si>`,
      ),
  },
  {
    name: "shared strings",
    most: 140_000,
    make: (size) =>
      shared(
        "",
        times(size, (index) => `<si><t>${index}</t></si>`),
      ),
  },
  {
    name: "merged ranges beside cells with placeholders",
    most: 9_900,
    make: (size) =>
      book(
        rowsOf(size, (name) => inline(name, "{{name}}")),
        {
          tail: `<mergeCells>${times(size * 10, (index) => `<mergeCell ref="M${index + 20_000}:N${index + 20_000}"/>`)}</mergeCells>`,
        },
      ),
  },
  {
    name: "merged ranges over one another",
    most: 9_900,
    make: (size) =>
      book(
        rowsOf(size, (name) => inline(name, "{{name}}")),
        {
          tail: `<mergeCells>${times(size * 10, (index) => `<mergeCell ref="A${(index % 1_000) + 2}:XFD${1_048_576 - index}"/>`)}</mergeCells>`,
        },
      ),
  },
  {
    name: "sheets",
    most: 1_900,
    make: (size) =>
      smallBook(
        Object.fromEntries(
          Array.from({ length: size }, (_, index) => [
            `S${index}`,
            { A1: index === 0 ? "{{name}}" : 1 },
          ]),
        ),
      ),
  },
  {
    name: "sheets of one part",
    most: 100_000,
    refused: "Two sheets of the workbook are the same part",
    make: (size) =>
      book("", {
        parts: {
          "xl/workbook.xml": (xml) =>
            xml.replace(
              "</sheets>",
              `${times(size, (index) => `<sheet name="T${index}" sheetId="${index + 2}" r:id="rId1"/>`)}</sheets>`,
            ),
        },
      }),
  },
  {
    name: "defined names",
    most: 40_000,
    make: (size) =>
      book("", {
        parts: {
          "xl/workbook.xml": (xml) =>
            xml.replace(
              "</sheets>",
              `</sheets><definedNames>${times(size, (index) => `<definedName name="n${index}">S!$A$${index + 3}</definedName>`)}</definedNames>`,
            ),
        },
      }),
  },
  {
    name: "formulas",
    most: 40_000,
    make: formulas((index) => `SUM(A1,B${index + 2})*2`),
  },
  {
    name: "formulas of one shared formula",
    most: 40_000,
    make: (size) =>
      book(
        rowsOf(
          size,
          (name, index) =>
            `<c r="${name}"><f t="shared" si="0"${index === 0 ? ` ref="A2:J9999">A1+SUM(B1,C1)` : ">"}</f></c>`,
        ),
      ),
  },
  {
    name: "formulas of one long shared formula",
    most: 40_000,
    refused: "The workbook has too many or too long formulas",
    make: (size) =>
      book(
        rowsOf(
          size,
          (name, index) =>
            `<c r="${name}"><f t="shared" si="0"${index === 0 ? ` ref="A2:J9999">${"A1+".repeat(2_700)}1` : ">"}</f></c>`,
        ),
      ),
  },
  {
    name: "functions with many arguments",
    // As much as the budget for formulas permits.
    most: 90,
    make: formulas(() => `SUM(${"B2,".repeat(1_000)}B2)`),
  },
  {
    name: "formulas of quotes",
    most: 4_000,
    refused: "The workbook has too many or too long formulas",
    make: formulas(() => "'".repeat(8_190)),
  },
  {
    name: "arguments of one function",
    most: 2_700,
    make: (size) =>
      book(rowsOf(1, (name) => `<c r="${name}"><f>SUM(${"B2,".repeat(size)}B2)</f></c>`)),
  },
  {
    name: "formulas of one conditional format",
    most: 40_000,
    make: (size) =>
      book("", {
        tail: `<conditionalFormatting sqref="A5:A9"><cfRule type="expression">${times(size, () => "<formula>$C$5</formula>")}</cfRule></conditionalFormatting>`,
      }),
  },
  {
    name: "formulas of a format with a long list of ranges",
    most: 40_000,
    make: (size) =>
      book("", {
        tail: `<conditionalFormatting sqref="${"A5:A9 ".repeat(size)}"><cfRule type="expression">${times(size / 2, () => "<formula>$C$5</formula>")}</cfRule></conditionalFormatting>`,
      }),
  },
  {
    name: "formulas outside of any range",
    most: 40_000,
    make: (size) =>
      book("", {
        tail: `<extLst>${times(size, () => "<ext/><f>$C$5</f>")}</extLst>`,
      }),
  },
  {
    name: "data validations",
    most: 40_000,
    make: (size) =>
      book("", {
        tail: `<dataValidations>${times(size, (index) => `<dataValidation sqref="A${index + 5}"><formula1>$C$5</formula1></dataValidation>`)}</dataValidations>`,
      }),
  },
  {
    name: "filters that reach into the repeated rows",
    most: 40_000,
    refused: "S!",
    make: (size) =>
      book(
        rowsOf(1, (name) => inline(name, "{{name}}")),
        {
          tail: `<dataValidations>${times(size, (index) => `<dataValidation sqref="A2:B${index + 2}"/>`)}</dataValidations>`,
        },
      ),
  },
  {
    name: "hyperlinks",
    most: 60_000,
    make: (size) =>
      related(
        times(size, (index) =>
          relation(
            `r${index}`,
            "hyperlink",
            `https://wine.example/${index}`,
            ` TargetMode="External"`,
          ),
        ),
        {},
        `<hyperlinks>${times(size, (index) => `<hyperlink ref="B${index + 2}" r:id="r${index}"/>`)}</hyperlinks>`,
      ),
  },
  {
    name: "relations to one drawing",
    most: 60_000,
    make: (size) =>
      related(
        times(size, (index) => relation(`r${index}`, "drawing", "../drawings/drawing1.xml")),
        {
          "xl/drawings/drawing1.xml": `<wsDr>${times(size / 2, () => "<oneCellAnchor><from><row>9</row></from></oneCellAnchor>")}</wsDr>`,
        },
      ),
  },
  {
    name: "long targets of relations",
    most: 8_000_000,
    refused: "A relation of the workbook is longer than 2000 characters",
    make: (size) =>
      related(relation("r1", "drawing", `${"x/".repeat(size / 4)}${"a/../".repeat(size / 10)}`)),
  },
  {
    name: "boxes of comments",
    most: 60_000,
    make: (size) =>
      related(relation("r1", "vmlDrawing", "../drawings/d.vml"), {
        "xl/drawings/d.vml": times(
          size,
          () => "<v:shape><x:Anchor>1,2,3,4,5,6,7,8</x:Anchor><x:Row>5</x:Row></v:shape>",
        ),
      }),
  },
  {
    name: "unclosed comment boxes",
    most: 4_000_000,
    make: (size) =>
      related(relation("r1", "vmlDrawing", "../drawings/d.vml"), {
        "xl/drawings/d.vml": `${"<x:Row>".repeat(size / 8)}${"</aaaaaaaaaaaaaaaaaa:".repeat(size / 20)}`,
      }),
  },
  {
    name: "series of a chart",
    most: 40_000,
    make: (size) =>
      book("", {
        parts: {
          "xl/charts/chart1.xml": `<c:chart xmlns:c="c">${times(size, () => "<c:numRef><c:f>S!$B$1:$B$9</c:f><c:numCache/></c:numRef>")}</c:chart>`,
        },
      }),
  },
  {
    name: "references of one series",
    most: 40_000,
    make: (size) =>
      book("", {
        parts: {
          "xl/charts/chart1.xml": `<c:chart xmlns:c="c"><c:numRef>${times(size, () => "<c:f>S!$B$1:$B$9</c:f><c:numCache/>")}</c:numRef></c:chart>`,
        },
      }),
  },
  {
    name: "styles",
    most: 140_000,
    make: (size) =>
      book("", {
        parts: {
          "xl/styles.xml": `<styleSheet xmlns="${SHEET}"><numFmts>${times(size, (index) => `<numFmt numFmtId="${index + 200}" formatCode="0.00"/>`)}</numFmts><cellXfs>${times(size, (index) => `<xf numFmtId="${index + 200}"/>`)}</cellXfs></styleSheet>`,
        },
      }),
  },
  {
    name: "a long number format",
    most: 2_000_000,
    make: (size) =>
      book("", {
        parts: {
          "xl/_rels/workbook.xml.rels": (xml) =>
            xml.replace(
              "</Relationships>",
              `${relation("rIdT", "styles", "styles.xml")}</Relationships>`,
            ),
          "xl/styles.xml": `<styleSheet xmlns="${SHEET}"><numFmts><numFmt numFmtId="200" formatCode="${"[".repeat(size)}"/></numFmts><cellXfs><xf numFmtId="200"/></cellXfs></styleSheet>`,
        },
      }),
  },
  {
    name: "nested elements",
    most: 60,
    make: (size) =>
      book("", {
        tail: times(4_000, () => `${"<x>".repeat(size)}${"</x>".repeat(size)}`),
      }),
  },
  {
    name: "attributes with prefixes in nested elements",
    most: 7_400,
    make: (size) =>
      book("", {
        tail: `${"<x>".repeat(60)}${times(size, () => `<y ${times(200, (index) => `r:a${index}="" `)}/>`)}${"</x>".repeat(60)}`,
      }),
  },
  {
    name: "attributes of one element",
    most: 400_000,
    refused: `The part ${sheetPart} is not accepted: an element has more than 250 attributes`,
    make: (size) => book("", { tail: `<x ${times(size, (index) => `a${index}="" `)}/>` }),
  },
  {
    name: "spaces in a tag",
    most: 8_000_000,
    make: (size) =>
      book(`<row r="2"${" ".repeat(size)}ht ${" ".repeat(size)} = "1"${" ".repeat(size)}/>`),
  },
  {
    name: "character references in a text",
    most: 1_000_000,
    make: (size) => book(rowsOf(1, (name) => inline(name, "&amp;&#65;".repeat(size)))),
  },
  {
    name: "character references in an attribute",
    most: 1_000_000,
    make: (size) => book(`<row r="2" x="${"&amp;&#65;".repeat(size)}"/>`),
  },
  {
    name: "escaped characters in a text",
    most: 1_000_000,
    make: (size) => book(rowsOf(1, (name) => inline(name, "_x0041_".repeat(size)))),
  },
  {
    name: "comments and instructions",
    most: 1_000_000,
    make: (size) => book("", { tail: "<!----><?a?>".repeat(size) }),
  },
  {
    name: "character data sections",
    most: 1_000_000,
    make: (size) => book(rowsOf(1, (name) => inline(name, "<![CDATA[a]]>".repeat(size)))),
  },
  {
    name: "a long text",
    most: 30_000_000,
    make: (size) => book(rowsOf(1, (name) => inline(name, "a b".repeat(size / 3)))),
  },
  {
    name: "a long text of unclosed placeholders",
    most: 30_000_000,
    refused: "S!A2: The text is longer than 32767 characters",
    make: (size) => book(rowsOf(1, (name) => inline(name, "{{a ".repeat(size / 4)))),
  },
  {
    name: "a header with placeholders",
    most: 1_000_000,
    refused: "S: ",
    make: (size) =>
      book("", {
        tail: `<headerFooter><oddHeader>${"{{name}}".repeat(size)}</oddHeader></headerFooter>`,
      }),
  },
  {
    name: "columns with widths",
    most: 250_000,
    make: (size) =>
      book("", {
        head: `<cols>${times(size, () => `<col min="1" max="16384" width="9"/>`)}</cols>`,
      }),
  },
  {
    name: "empty parts",
    most: 1_900,
    make: (size) =>
      book("", {
        parts: Object.fromEntries(
          Array.from({ length: size }, (_, index) => [`xl/media/${index}.png`, ""]),
        ),
      }),
  },
  {
    name: "small parts of XML",
    most: 1_900,
    make: (size) =>
      book("", {
        parts: Object.fromEntries(
          Array.from({ length: size }, (_, index) => [`xl/a${index}.xml`, "<a/>"]),
        ),
      }),
  },
  {
    name: "long names of parts",
    most: 1_000,
    make: (size) =>
      book("", {
        parts: Object.fromEntries(
          Array.from({ length: 50 }, (_, index) => [
            `xl/media/${index}/${"_rels/".repeat(size)}.rel`,
            "",
          ]),
        ),
      }),
  },
];

/** Returns a kind of workbook by name. */
export function hostileBook(name: string): HostileBook {
  const found = HOSTILE_BOOKS.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no hostile workbook is named ${name}`);
  return found;
}
