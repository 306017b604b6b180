import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import type { Loaded } from "../live/use-loaded.ts";
import { Problem } from "./problem.tsx";

interface Column<Row> {
  readonly title: string;
  readonly isNumber?: true;
  /** Whether its cells say what their rows are about. */
  readonly isHeader?: true;
  /** `name`: may be long, and wraps anywhere. `minor`: left out of a narrow window. */
  readonly class?: "message" | "minor" | "name" | "name minor";
  readonly cell: (row: Row) => ComponentChildren;
}

interface LoadedTableProps<Row> {
  readonly title: string;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  /** What the rows are. */
  readonly note: string;
  readonly loaded: Omit<Loaded<unknown>, "value">;
  readonly rows: readonly Row[] | undefined;
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** Shown if there are no rows. */
  readonly empty: string;
}

/** A section of a page with a table that is loaded by itself. */
export function LoadedTable<Row>(props: LoadedTableProps<Row>): JSX.Element {
  const { title, aside, note, loaded, rows, keyOf, columns, empty } = props;
  const { error, reload } = loaded;
  const heading = useId();
  return (
    <section aria-labelledby={heading}>
      <div class="heading below">
        <h2 id={heading}>{title}</h2>
        {aside}
      </div>
      <p class="faint">{note}</p>
      {error !== undefined && <Problem error={error} reload={reload} />}
      {rows === undefined && error === undefined && <p class="empty">Loading…</p>}
      {rows?.length === 0 && <p class="empty">{empty}</p>}
      {rows !== undefined && rows.length > 0 && (
        <div class="scroll" role="group" aria-label={title} tabIndex={0}>
          <table>
            <caption class="hidden">{title}</caption>
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column.title} scope="col" class={classOf(column)}>
                    {column.title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map((column) =>
                    column.isHeader ? (
                      <th key={column.title} scope="row" class={classOf(column)}>
                        {column.cell(row)}
                      </th>
                    ) : (
                      <td key={column.title} class={classOf(column)}>
                        {column.cell(row)}
                      </td>
                    ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function classOf<Row>(column: Column<Row>): string {
  return `${column.isNumber ? "number" : ""} ${column.class ?? ""}`.trim();
}
