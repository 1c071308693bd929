import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Button, Form } from "react-aria-components";
import { ApiError } from "../../api/errors.ts";
import { fetchReport } from "../../api/report.ts";
import { Page } from "../../frame/Page.tsx";
import { type Entity, type Report, defaultColumns } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { rowName } from "../../meta/kinds.tsx";
import { type Row, linkOf, referencedRow, targetRow } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { Description } from "../../ui/Description.tsx";
import { Failure } from "../../ui/Failure.tsx";
import { ReportRow } from "./ReportRow.tsx";
import { Unknown } from "../list/UnknownList.tsx";
import { Grid } from "../list/Grid.tsx";
import type { Rows } from "../list/useRows.ts";
import { ArgumentFields } from "../record/ArgumentFields.tsx";
import { variablesOf } from "../record/argumentValues.ts";
import { errorsByField } from "../record/errorsByField.ts";
import { focusFirstError, partialInputs } from "../record/fieldEditors.ts";
import { ActionsMenu } from "../record/ActionsMenu.tsx";
import { FormProblem } from "../record/FormProblem.tsx";
import { type FormValues, fromAddressText, toAddressText } from "../record/values.ts";

/** The page of a query with arguments: their form, and the rows. The address holds the values of the arguments. */
export function ReportPage(): ReactNode {
  const { report: name } = useParams({ from: "/report/$report" });
  const entities = useEntities();
  const report = entities.metadata.reports.find(({ field }) => field === name);
  if (!report) {
    const closed = entities.metadata.closedReports.find((one) => one.name === name);
    return <Unknown name={name} closed={closed} what={enRecord.report.unknown(name)} />;
  }
  const entity = report.entity === null ? undefined : entities.get(report.entity);
  return <ReportContent key={name} report={report} entity={entity} />;
}

interface ReportContentProps {
  report: Report;
  /** The table of the rows. */
  entity: Entity | undefined;
}

function ReportContent({ report, entity }: ReportContentProps): ReactNode {
  const search: Record<string, string | undefined> = useSearch({ from: "/report/$report" });
  const navigate = useNavigate();
  const fields = useMemo(
    () => report.arguments.flatMap((argument) => argument.fields),
    [report.arguments],
  );
  const asked = useMemo(() => {
    const values: FormValues = {};
    for (const field of fields) {
      const text = search[field.name];
      if (text !== undefined) values[field.name] = fromAddressText(field, text);
    }
    return values;
  }, [fields, search]);
  const [edited, setEdited] = useState({ asked, values: asked });
  // The address has changed, for example by Back.
  if (edited.asked !== asked) setEdited({ asked, values: asked });
  const { values } = edited;
  const [wrong, setWrong] = useState<Record<string, string>>({});

  const columns = useMemo(
    () =>
      // A report has no menu of columns, so that it shows all fields of a composite type.
      (entity
        ? defaultColumns(entity)
        : defaultColumns({ fields: report.fields, nameField: "" }, report.fields.length)
      ).map((field) => ({
        ...field,
        // The function decides the order.
        orderBy: [],
      })),
    [report, entity],
  );
  const { rows, found, error } = useReport({ report, entity, columns, asked });
  const isReady = Object.keys(found).length === 0;
  const refused =
    error instanceof ApiError
      ? errorsByField(error, { fields }, fields)
      : { byField: {}, problem: null };
  // Values of the address can be wrong as well.
  const unedited = Object.entries(found).filter(
    ([name]) => search[name] !== undefined && values[name] === asked[name],
  );
  const errors = { ...Object.fromEntries(unedited), ...refused.byField, ...wrong };
  useEffect(() => {
    focusFirstError(fields, errors);
    // Only when other messages appear.
  }, [wrong, error]);

  const show = () => {
    const unsent = { ...variablesOf(report.arguments, values).found, ...partialInputs(fields) };
    setWrong(unsent);
    if (Object.keys(unsent).length > 0) return;
    const given = fields.filter(({ name }) => (values[name] ?? "") !== "");
    const next = Object.fromEntries(
      given.map((field) => [field.name, toAddressText(field, values[field.name] ?? "")]),
    );
    const isSame =
      given.length === Object.keys(asked).length &&
      given.every(({ name }) => next[name] === search[name]);
    if (isSame) rows.refetch();
    else void navigate({ to: "/report/$report", params: { report: report.field }, search: next });
  };

  const problem = refused.problem?.message;
  const isWhole = rows.total !== undefined && !rows.isStale;
  return (
    <Page
      title={report.title}
      beside={isWhole && en.list.count(rows.total ?? 0)}
      actions={<ActionsMenu entity={report} row={null} name={null} />}
      isFilled
      status={<span role="status">{isWhole && en.list.found(rows.total ?? 0)}</span>}
    >
      <div className="report">
        <div>
          {report.description !== null && (
            <p className="hint">
              <Description text={report.description} />
            </p>
          )}
          {fields.length > 0 && (
            <Form
              className="report-form"
              validationBehavior="aria"
              onSubmit={(event) => {
                event.preventDefault();
                show();
              }}
            >
              <ArgumentFields
                fields={fields}
                values={values}
                errors={errors}
                onChange={(field, value) => {
                  setEdited({ asked, values: { ...values, [field]: value } });
                  setWrong(({ [field]: _fixed, ...rest }) => rest);
                }}
              />
              <Button className="button button-primary" type="submit">
                {enRecord.report.show}
              </Button>
            </Form>
          )}
          {problem !== undefined && <FormProblem message={problem} />}
        </div>
        <Result
          report={report}
          entity={entity}
          columns={columns}
          rows={rows}
          isReady={isReady}
          failure={error !== null && !(error instanceof ApiError) ? error : null}
        />
      </div>
    </Page>
  );
}

interface ResultProps extends ReportContentProps {
  columns: ReturnType<typeof defaultColumns>;
  rows: Rows;
  isReady: boolean;
  failure: unknown;
}

function Result({ report, entity, columns, rows, isReady, failure }: ResultProps): ReactNode {
  const entities = useEntities();
  const navigate = useNavigate();
  const [widths, setWidths] = useState<Record<string, number>>({});
  const [opened, setOpened] = useState<string | null>(null);
  if (failure !== null) return <Failure error={failure} onRetry={rows.refetch} />;
  if (!isReady) return <p className="empty dim">{enRecord.report.ask}</p>;
  if (rows.error !== null) return null;
  if (rows.total === 0)
    return (
      <div className="empty">
        <h2>{enRecord.report.nothing}</h2>
        {report.arguments.length > 0 && <p>{enRecord.report.nothingHint}</p>}
      </div>
    );
  // Rows that belong to no list open the row that their first reference refers to.
  const link = entity
    ? undefined
    : columns.find(({ kind, isList }) => kind === "REFERENCE" && !isList);
  const pointer = entity || link ? undefined : linkOf(report.fields);
  const targetOf = (row: Row) => {
    if (entity) return { entity: entity.name, id: row.id };
    const target = pointer && targetRow(entities, pointer, row);
    if (target && "entity" in target) return target;
    const referenced = link && referencedRow(link, row);
    return link?.reference && referenced?.isVisible
      ? { entity: link.reference.entity, id: referenced.id }
      : undefined;
  };
  const hasActions = report.actions.some(({ argument }) => argument !== null);
  const open = (row: Row) => {
    const target = targetOf(row);
    if (hasActions) setOpened(row.id);
    else if (target) void navigate({ to: "/$entity/$id", params: target, search: {} });
  };
  const opens = link ?? pointer;
  const onOpen = entity?.keyField == null && !opens && !hasActions ? undefined : open;
  const shown = opened === null ? undefined : rowWithId(rows, opened);
  return (
    <>
      <Grid
        label={report.title}
        columns={columns}
        widths={widths}
        nameField={entity?.nameField ?? link?.name ?? ""}
        nameOf={entity && ((row) => rowName(entity, row))}
        rows={rows}
        order={[]}
        onOrder={() => undefined}
        onRange={() => undefined}
        onWidth={(field, width) => setWidths({ ...widths, [field]: width })}
        onOpen={onOpen}
        onPreview={onOpen}
      />
      {/* A row that an action has removed closes its drawer. */}
      {shown && (
        <ReportRow report={report} row={shown} columns={columns} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

function rowWithId({ total = 0, rowAt }: Rows, id: string): Row | undefined {
  for (let index = 0; index < total; index++) if (rowAt(index)?.id === id) return rowAt(index);
  return undefined;
}

/** Fetches the rows of a report, unless an argument is missing or wrong; `found` says which. */
function useReport({
  report,
  entity,
  columns,
  asked,
}: ReportContentProps & {
  columns: ReturnType<typeof defaultColumns>;
  asked: FormValues;
}): { rows: Rows; found: Record<string, string>; error: unknown } {
  const entities = useEntities();
  const { variables, found } = variablesOf(report.arguments, asked);
  const isReady = Object.keys(found).length === 0;
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    queryKey: ["rows", "report", report.field, variables],
    queryFn: ({ signal }) => fetchReport(entities, { report, entity, columns, variables }, signal),
    enabled: isReady,
    placeholderData: keepPreviousData,
  });
  const rows: Rows = {
    total: isReady ? data?.length : undefined,
    rowAt: (index) => data?.[index],
    isLoading: isFetching,
    isStale: isPlaceholderData || error !== null,
    error,
    refetch: () => void refetch(),
  };
  return { rows, found, error };
}
