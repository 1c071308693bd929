import { Link } from "@tanstack/react-router";
import { type ReactNode, memo, useDeferredValue, useId, useState } from "react";
import { Button, Input, TextArea } from "react-aria-components";
import { webAddress } from "../../meta/addresses.ts";
import type { Entities, EntityField } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { formatWithUnit } from "../../meta/format.ts";
import { ColorDot, cellText, layoutOf, missingPermission } from "../../meta/kinds.tsx";
import { type Row, targetRow, referencedRow } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { foreignTimeZone } from "../../text/locale.ts";
import { Description } from "../../ui/Description.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useLoaded } from "../../ui/useLoaded.ts";
import type { EditorProps } from "./editorProps.ts";
import { focusField } from "./fieldEditors.ts";
import { PictureField } from "./PictureField.tsx";
import { ReferenceEditor } from "./ReferenceEditor.tsx";
import { ReferenceListEditor } from "./ReferenceListEditor.tsx";
import { dateInWords, hasSeconds } from "./values.ts";

/** A field of a form: label, editor, unit, hint and error. */
export function Editor(props: EditorProps): ReactNode {
  const { field, before } = props;
  const id = useId();
  const [isUnchosen, setUnchosen] = useState(false);
  const error = props.error ?? (isUnchosen ? enRecord.notChosen : undefined);
  const entities = useEntities();
  const { reference } = field;
  // The caller may not list the rows to choose from.
  const isClosed = reference !== null && !field.isList && !entities.get(reference.entity);
  const use = isClosed ? "NO" : props.use;
  const isHidden = isClosed && props.row && referencedRow(field, props.row)?.isVisible === false;
  const needed =
    isHidden === true || use !== props.use ? missingPermission(entities, field) : undefined;
  const isTypedByLines =
    field.isList && use !== "NO" && reference === null && field.kind !== "ENUM";
  const timeZone = use !== "NO" && field.kind === "TIME" ? foreignTimeZone() : null;
  const hint = [
    field.description,
    isTypedByLines ? enRecord.onePerLine : null,
    timeZone === null ? null : enRecord.inTimeZone(timeZone),
  ]
    .filter((text) => text !== null)
    .join(" ");
  const inWords = use === "NO" ? null : dateInWords(field, props.value);
  const describedBy = [
    error !== undefined && `${id}-error`,
    props.unit !== null && `${id}-unit`,
    before !== undefined && `${id}-changed`,
    (hint !== "" || inWords !== null) && `${id}-hint`,
  ].filter((item) => item !== false);
  return (
    <div
      className={field.widget === "markdown" ? "field field-wide" : "field"}
      data-field={field.name}
    >
      <div className="field-head">
        {use === "NO" ? (
          <span className="label" id={`${id}-label`}>
            {field.title}
          </span>
        ) : (
          <label className="label" htmlFor={id} id={`${id}-label`}>
            {field.title}
            {use === "REQUIRED" && <span aria-hidden="true"> *</span>}
          </label>
        )}
        {before !== undefined && (
          <span className="changed">
            <span id={`${id}-changed`}>
              {en.record.changed}, {en.record.was(before)}
            </span>
            <button
              type="button"
              className="link-button"
              aria-label={en.record.revert(field.title)}
              onClick={props.onRevert}
            >
              <Icon name="revert" />
            </button>
          </span>
        )}
      </div>
      {use === "NO" ? (
        <ReadOnly {...props} labelId={`${id}-label`} />
      ) : (
        <div className="with-unit">
          <Control
            {...props}
            id={id}
            describedBy={describedBy.join(" ") || undefined}
            error={error}
            onUnchosen={setUnchosen}
          />
          {props.unit !== null && (
            <span className="unit" id={`${id}-unit`}>
              {props.unit}
            </span>
          )}
        </div>
      )}
      {field.widget === "image" && <PictureField {...props} />}
      {error !== undefined && (
        // Read at once, also at a field that has the focus already.
        <p className="error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
      {needed !== undefined && (
        <p className="hint">
          {props.value === entities.metadata.me.user.id ? enRecord.otherUser(needed) : needed}
        </p>
      )}
      {(hint !== "" || inWords !== null) && (
        <p className="hint" id={`${id}-hint`}>
          {inWords !== null && <strong>{inWords}</strong>}
          {inWords !== null && hint !== "" && " · "}
          {hint !== "" && <Description text={hint} />}
        </p>
      )}
    </div>
  );
}

function ReadOnly({
  field,
  row,
  value,
  readOnlyReason,
  labelId,
  onOpenReference,
}: EditorProps & { labelId: string }): ReactNode {
  const referenced = row && !field.isList ? referencedRow(field, row) : null;
  const entities = useEntities();
  const { user } = entities.metadata.me;
  const own = value === user.id ? (user.name ?? user.email) : en.none;
  const text = row ? cellTextLong(field, row) : own;
  const pointed =
    referenced && field.reference
      ? entities.get(field.reference.entity) &&
        referenced.isVisible && { entity: field.reference.entity, id: referenced.id }
      : row && targetRow(entities, field, row);
  if (field.widget === "file" && text !== en.none)
    return (
      <p>
        <a className="button" href={text} target="_blank" rel="noopener noreferrer">
          {en.record.download}
        </a>
      </p>
    );
  if (field.widget === "markdown" && text !== en.none)
    return (
      <div
        aria-labelledby={labelId}
        aria-description={readOnlyReason}
        title={readOnlyReason}
        role="group"
      >
        <Markdown text={text} />
      </div>
    );
  const address = field.widget === "image" || field.widget === "url" ? webAddress(text) : null;
  return (
    <p
      className="read-only"
      aria-labelledby={labelId}
      aria-description={readOnlyReason}
      title={readOnlyReason}
      role="group"
    >
      {field.widget === "color" && text !== en.none && <ColorDot color={text} />}
      {address ? (
        <a href={address.href} target="_blank" rel="noopener noreferrer">
          {text}
        </a>
      ) : (
        <span className={referenced?.isVisible === false ? "dim" : undefined}>{text}</span>
      )}
      {pointed && "report" in pointed && (
        <Link
          className="link-button"
          to="/report/$report"
          params={pointed}
          search={{}}
          aria-label={en.record.open(titleOfReport(entities, pointed.report))}
        >
          <Icon name="open" />
        </Link>
      )}
      {pointed && "entity" in pointed && onOpenReference && (
        <button
          type="button"
          className="link-button"
          aria-label={en.record.open(referenced?.name ?? text)}
          onClick={() => onOpenReference(pointed.entity, pointed.id)}
        >
          <Icon name="open" />
        </button>
      )}
    </p>
  );
}

const titleOfReport = ({ metadata }: Entities, name: string): string =>
  metadata.reports.find(({ field }) => field === name)?.title ?? name;

/** Shows a value in full; lists shorten times to "2 hours ago". */
function cellTextLong(field: EntityField, row: Row): string {
  return field.kind === "REFERENCE"
    ? cellText(field, row)
    : formatWithUnit(field, row[field.name], row);
}

interface ControlProps extends EditorProps {
  id: string;
  describedBy: string | undefined;
  /** See `ReferenceEditor`. */
  onUnchosen: (isUnchosen: boolean) => void;
}

/** The editor for the field's kind and widget. */
function Control(props: ControlProps): ReactNode {
  const { field, value, id, describedBy, error, use, onChange } = props;
  const common = {
    id,
    name: field.name,
    "aria-invalid": error !== undefined,
    "aria-describedby": describedBy,
    "aria-required": use === "REQUIRED",
  };
  const text = typeof value === "string" ? value : String(value);
  if (typeof value === "boolean")
    return (
      <input
        {...common}
        type="checkbox"
        className="checkbox"
        checked={value}
        onChange={(event) => onChange(event.target.checked)}
      />
    );
  if (field.kind === "REFERENCE" && field.reference && field.isList)
    return <ReferenceListEditor {...props} reference={field.reference} />;
  if (field.kind === "REFERENCE" && field.reference)
    return <ReferenceEditor {...props} reference={field.reference} />;
  if (field.kind === "ENUM" && field.isList) return <Choices {...props} />;
  if (!field.isList && (field.kind === "ENUM" || field.kind === "BOOLEAN")) {
    const values =
      field.kind === "ENUM"
        ? field.values
        : [
            { value: "true", title: en.yes },
            { value: "false", title: en.no },
          ];
    return (
      <select
        {...common}
        className="input"
        value={text}
        onChange={(event) => onChange(event.target.value)}
      >
        {(field.isNullable || text === "") && <option value="">{en.none}</option>}
        {values.map((item) => (
          <option key={item.value} value={item.value}>
            {item.title}
          </option>
        ))}
      </select>
    );
  }
  if (field.widget === "markdown") {
    const editor = (
      <TextArea
        {...common}
        className="input"
        rows={Math.min(24, Math.max(8, text.split("\n").length))}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
    const isRead = props.row !== null && text !== "" && props.before === undefined;
    return <Written {...{ field, text, editor, isRead }} />;
  }
  if (field.isList || field.kind === "JSON" || isLong(field))
    return (
      <TextArea
        {...common}
        className={field.kind === "JSON" ? "input code" : "input"}
        rows={Math.min(12, Math.max(3, text.split("\n").length))}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  return (
    <>
      {field.widget === "color" && text !== "" && <ColorDot color={text} />}
      <Input
        {...common}
        className={layoutOf(field).isNumber ? "input number" : "input"}
        type={inputType(field)}
        inputMode={
          field.kind === "INTEGER" ? "numeric" : layoutOf(field).isNumber ? "decimal" : undefined
        }
        step={hasSeconds(text) ? 1 : undefined}
        maxLength={field.maxLength ?? undefined}
        autoComplete="off"
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </>
  );
}

const loadMarkdown = async () => (await import("../../ui/MarkdownText.tsx")).MarkdownText;

const Markdown = memo(function Markdown({ text }: { text: string }): ReactNode {
  const MarkdownText = useLoaded(loadMarkdown, true);
  return MarkdownText && <MarkdownText text={text} />;
});

interface WrittenProps {
  field: EntityField;
  text: string;
  editor: ReactNode;
  /** Whether the text is shown for reading at first. */
  isRead: boolean;
}

/** A Markdown text: for reading until the user chooses to edit it, because a text is read more often than it is changed. */
function Written({ field, text, editor, isRead }: WrittenProps): ReactNode {
  const [isEdited, setEdited] = useState(!isRead);
  return (
    <div className="written">
      {isEdited ? (
        <>
          {editor}
          <Preview text={text} />
        </>
      ) : (
        <>
          <Markdown text={text} />
          <div className="actions">
            <Button
              className="button"
              onPress={() => {
                setEdited(true);
                focusField(field.name);
              }}
            >
              {en.record.edit(field.title)}
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

/** A preview of a Markdown text, shown on request. */
function Preview({ text }: { text: string }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  // Deferred, so that rendering a long text does not delay typing.
  const shown = useDeferredValue(text);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{en.record.preview}</summary>
      {isOpen && <Markdown text={shown} />}
    </details>
  );
}

/** The editor of a list of enumeration values. */
function Choices({ field, value, describedBy, error, onChange }: ControlProps): ReactNode {
  const chosen = new Set(typeof value === "string" ? value.split("\n") : []);
  const toggle = (name: string) => {
    const next = field.values
      .map((item) => item.value)
      .filter((item) => (item === name) !== chosen.has(item));
    onChange(next.join("\n"));
  };
  return (
    <div
      role="group"
      className="choices"
      aria-label={field.title}
      aria-describedby={describedBy}
      data-invalid={error !== undefined || undefined}
    >
      {field.values.map((item) => (
        <label key={item.value} className="choice">
          <input
            type="checkbox"
            className="checkbox"
            checked={chosen.has(item.value)}
            onChange={() => toggle(item.value)}
          />
          {item.title}
        </label>
      ))}
    </div>
  );
}

/** Whether the editor of a text has several lines. That of an address has one, because an address has no line breaks. */
function isLong({ widget, maxLength, kind }: EntityField): boolean {
  if (kind !== "TEXT" || widget === "url" || widget === "email") return false;
  return widget === "long" || widget === "code" || (maxLength ?? 0) > 500;
}

function inputType({ kind, widget }: EntityField): string {
  if (kind === "DATE") return "date";
  if (kind === "TIME") return "datetime-local";
  if (kind === "CLOCK") return "time";
  if (widget === "email" || widget === "url") return widget;
  return "text";
}
