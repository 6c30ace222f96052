import type { QueryConfig } from 'pg';

type ColumnType =
  | 'uuid'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'smallint'
  | 'real'
  | 'boolean'
  | 'timestamptz'
  | 'jsonb';
type Columns = Readonly<Record<string, ColumnType>>;
type SetsOfColumns = Readonly<Record<string, Columns>>;
/** A value by column; what is undefined or missing is NULL. */
type Row<C extends Columns> = { readonly [K in keyof C]?: unknown };

/**
 * Rows in all sets together that go as a parameter each value: each combination of numbers is a prepared statement of
 * its own, and three or four save PostgreSQL no more than 2 to 4 %.
 */
const FEW = 2;

/**
 * A statement that takes sets of rows, and single values. `text` gets the SQL of each set, to stand behind `WITH name
 * AS`, and the placeholder of each value. The columns of a set have the names that are given here, quoted.
 *
 * Many rows go as one JSON text a set, which is the cheapest on our side; few as a parameter each value: without the
 * function that unpacks the text, and without a table for its rows, a statement for one row costs PostgreSQL a quarter
 * to a third less (docs/decisions/0029).
 *
 * Both ways store the same, but for what callers have to keep out: NaN and Infinity, halves of surrogate pairs, dates
 * that are invalid or past the year 9999, and what is no text in a column of text.
 */
export function statementOfRows<Sets extends SetsOfColumns, Value extends string>(options: {
  /** The name of the prepared statement, or the beginning of it. */
  name: string;
  sets: Sets;
  values: readonly Value[];
  text: (sql: Record<(keyof Sets & string) | Value, string>) => string;
}): (rows: { [S in keyof Sets]: readonly Row<Sets[S]>[] }, values: Record<Value, unknown>) => QueryConfig {
  const sets = Object.entries(options.sets).map(([name, columns]) => ({
    name,
    columns: Object.entries(columns).map(([column, type]) => ({ column, type })),
  }));
  const texts = new Map<string, string>();

  function textFor(counts: readonly number[] | null): string {
    const sql: Record<string, string> = {};
    let first = 1;
    sets.forEach(({ name, columns }, nth) => {
      const count = counts?.[nth];
      sql[name] = count === undefined ? jsonSql(columns, first) : valuesSql(columns, first, count);
      first += count === undefined ? 1 : columns.length * count;
    });
    for (const value of options.values) {
      sql[value] = `$${first}`;
      first += 1;
    }
    return options.text(sql as Record<(keyof Sets & string) | Value, string>);
  }

  return (rows, values) => {
    const parameters: unknown[] = [];
    let total = 0;
    for (const set of sets) total += rows[set.name]!.length;
    const areFew = total <= FEW;
    let { name } = options;
    for (const set of sets) {
      const given: readonly Record<string, unknown>[] = rows[set.name]!;
      if (areFew) {
        name += `-${given.length}`;
        addValues(parameters, set.columns, given);
      } else parameters.push(JSON.stringify(given));
    }
    for (const value of options.values) parameters.push(values[value]);
    let text = texts.get(name);
    if (text === undefined) {
      text = textFor(areFew ? sets.map((set) => rows[set.name]!.length) : null);
      texts.set(name, text);
    }
    return { name, text, values: parameters };
  };
}

type ColumnList = readonly { column: string; type: ColumnType }[];

function valuesSql(columns: ColumnList, first: number, count: number): string {
  if (count === 0)
    return `(SELECT ${columns.map(({ column, type }) => `NULL::${type} AS "${column}"`).join()} WHERE false)`;
  const tuples = Array.from({ length: count }, (_, nth) => {
    const from = first + nth * columns.length;
    return `(${columns.map(({ type }, at) => `$${from + at}::${type}`).join()})`;
  });
  const names = columns.map(({ column }) => `"${column}"`).join();
  // One row is put in where it is used; several are kept.
  return `${count === 1 ? 'NOT ' : ''}MATERIALIZED (SELECT * FROM (VALUES ${tuples.join()}) AS r (${names}))`;
}

function jsonSql(columns: ColumnList, first: number): string {
  const typed = columns.map(({ column, type }) => `"${column}" ${type}`).join();
  return `MATERIALIZED (SELECT * FROM json_to_recordset($${first}) AS r (${typed}))`;
}

function addValues(
  parameters: unknown[],
  columns: ColumnList,
  rows: readonly Record<string, unknown>[],
): void {
  for (const row of rows)
    for (const { column, type } of columns) {
      const value = row[column] ?? null;
      parameters.push(type === 'jsonb' && value !== null ? JSON.stringify(value) : value);
    }
}
