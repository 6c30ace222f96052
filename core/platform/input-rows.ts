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
/** A value by column; what is undefined or missing is NULL. */
type Row<C extends Columns> = { readonly [K in keyof C]?: unknown };

/**
 * A statement that takes sets of rows, and single values. `text` gets the SQL of each set, to stand behind `WITH name
 * AS`, and the placeholder of each value.
 *
 * Few rows go as a parameter each value, many as an array each column. Both are much cheaper than rows in JSON, which
 * PostgreSQL parses twice and nested JSON a third time: writing the events of 30 messages took 2.4 times the
 * instructions. And a statement for one row has no functions to set up, which is most of what it costs.
 *
 * The columns of a set have the names that are given here, quoted.
 */
export function statementOfRows<
  Sets extends Readonly<Record<string, Columns>>,
  Value extends string,
>(options: {
  /** Of the prepared statement, or its beginning. */
  name: string;
  sets: Sets;
  values: readonly Value[];
  text: (sql: Record<(keyof Sets & string) | Value, string>) => string;
}): (rows: { [S in keyof Sets]: readonly Row<Sets[S]>[] }, values: Record<Value, unknown>) => QueryConfig {
  const texts = new Map<string, string>();
  const sets = Object.entries(options.sets);

  function textFor(counts: readonly number[] | null): string {
    const sql: Record<string, string> = {};
    let first = 1;
    sets.forEach(([name, columns], nth) => {
      const count = counts?.[nth];
      sql[name] = count === undefined ? arraysSql(columns, first) : valuesSql(columns, first, count);
      first += Object.keys(columns).length * (count ?? 1);
    });
    for (const value of options.values) {
      sql[value] = `$${first}`;
      first += 1;
    }
    return options.text(sql as Record<(keyof Sets & string) | Value, string>);
  }

  return (rows, values) => {
    const counts = sets.map(([name]) => rows[name]!.length);
    const areFew = counts.reduce((sum, count) => sum + count, 0) <= FEW;
    const name = `${options.name}-${areFew ? counts.join('-') : 'many'}`;
    let text = texts.get(name);
    if (text === undefined) {
      text = textFor(areFew ? counts : null);
      texts.set(name, text);
    }
    return {
      name,
      text,
      values: [
        ...sets.flatMap(([set, columns]) => (areFew ? valuesOf : arraysOf)(columns, rows[set]!)),
        ...options.values.map((value) => values[value]),
      ],
    };
  };
}

/** Rows in all sets together that go one by one: each number of them is a prepared statement of its own. */
const FEW = 4;

function valuesSql(columns: Columns, first: number, count: number): string {
  const types = Object.values(columns);
  const names = Object.keys(columns).map((name) => `"${name}"`);
  if (count === 0)
    return `NOT MATERIALIZED (SELECT ${names.map((name, at) => `NULL::${types[at]} AS ${name}`).join()} WHERE false)`;
  const tuples = Array.from(
    { length: count },
    (_, nth) => `(${types.map((type, at) => `$${first + nth * types.length + at}::${type}`).join()})`,
  );
  return `${count === 1 ? 'NOT ' : ''}MATERIALIZED (SELECT * FROM (VALUES ${tuples.join()}) AS r (${names.join()}))`;
}

function arraysSql(columns: Columns, first: number): string {
  const arrays = Object.values(columns).map((type, at) => `$${first + at}::${type}[]`);
  const names = Object.keys(columns).map((name) => `"${name}"`);
  return `MATERIALIZED (SELECT * FROM unnest(${arrays.join()}) AS r (${names.join()}))`;
}

function valuesOf(columns: Columns, rows: readonly Record<string, unknown>[]): unknown[] {
  const entries = Object.entries(columns);
  return rows.flatMap((row) => entries.map(([name, type]) => textOf(row[name], type)));
}

function arraysOf(columns: Columns, rows: readonly Record<string, unknown>[]): unknown[] {
  return Object.entries(columns).map(
    ([name, type]) => `{${rows.map((row) => elementOf(textOf(row[name], type))).join()}}`,
  );
}

function textOf(value: unknown, type: ColumnType): string | null {
  if (value === undefined || value === null) return null;
  if (type === 'jsonb') return JSON.stringify(value);
  return value instanceof Date ? value.toISOString() : String(value);
}

/** All are quoted: what is in one can't end it. */
function elementOf(text: string | null): string {
  return text === null ? 'NULL' : `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
}
