import pg from 'pg';

/** A statement of a batch, and who waits for its answer. */
export interface BatchedStatement {
  query: pg.QueryConfig;
  resolve(result: pg.QueryResult): void;
  reject(err: Error): void;
}

/**
 * Statements that go to PostgreSQL with one system call and one Sync, so that their answers come with one as well:
 * node-postgres ends each with a Sync of its own, and PostgreSQL sends its pending answers at each. The columns that a
 * named statement returns are asked for once a connection.
 *
 * After a statement that failed PostgreSQL skips the others up to the Sync: they fail with the same error. Each is one
 * command, as prepared statements are.
 *
 * node-postgres takes it by `client.query(batch)`, as it takes cursors.
 */
export class StatementBatch implements pg.Submittable {
  /** node-postgres replaces it, to end its timeout. */
  callback: (err?: Error) => void = () => undefined;
  /** Those that are not answered yet, in their order. */
  #waiting: Part[];

  constructor(statements: readonly BatchedStatement[], types: pg.CustomTypesConfig) {
    this.#waiting = statements.map((statement) => new Part(statement, types));
  }

  /** `name` and `text` are what node-postgres notes as prepared when PostgreSQL has parsed a statement. */
  get name(): string | undefined {
    return this.#waiting[0]?.name;
  }

  get text(): string | undefined {
    return this.#waiting[0]?.text;
  }

  submit(connection: pg.Connection): void {
    const facade = facadeOf(connection);
    connection.stream.cork();
    for (const [nth, part] of this.#waiting.entries()) {
      part.submit(facade, connection as ProtocolConnection);
      if (!part.failure) continue;
      // It can't be sent: nothing that comes after may be executed without it.
      failAll(this.#waiting.splice(nth), part.failure, connection);
      break;
    }
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription(message: RowDescription): void {
    this.#waiting[0]?.describe(message);
  }

  handleDataRow(message: unknown): void {
    this.#waiting[0]?.addRow(message);
  }

  handleCommandComplete(message: unknown, connection: pg.Connection): void {
    this.#waiting.shift()?.complete(message, connection);
  }

  handleEmptyQuery(connection: pg.Connection): void {
    this.#waiting.shift()?.complete({ text: '' }, connection);
  }

  handleReadyForQuery(): void {
    this.callback();
  }

  /** Also when the connection is lost, before or after the batch was sent. */
  handleError(err: Error, connection: pg.Connection): void {
    failAll(this.#waiting.splice(0), err, connection);
    this.callback(err);
  }
}

function failAll(parts: Part[], err: Error, connection: pg.Connection): void {
  const { parsedStatements, submittedNamedStatements } = connection as ProtocolConnection;
  for (const part of parts) {
    // Skipped, so not parsed either: the next to use it has to send its text again.
    if (part.name !== undefined && !(part.name in parsedStatements))
      delete submittedNamedStatements[part.name];
    part.fail(err);
  }
}

/** One statement that was sent: node-postgres sees a query that gets its own answer alone. */
class Part {
  readonly name: string | undefined;
  readonly text: string;
  failure: Error | undefined;
  readonly #query: ProtocolQuery;
  #shapes: Shapes | undefined;
  /** The columns of its rows; null: it returns none. */
  #shape: RowDescription | null = null;

  constructor({ query, resolve, reject }: BatchedStatement, types: pg.CustomTypesConfig) {
    this.name = query.name;
    this.text = query.text;
    this.#query = new pg.Query(
      { types, ...query, queryMode: 'extended' } as pg.QueryConfig,
      (err, result) => {
        this.failure = err;
        if (err) reject(err);
        else resolve(result as unknown as pg.QueryResult);
      },
    ) as unknown as ProtocolQuery;
  }

  submit(facade: Facade, { parsedStatements }: ProtocolConnection): void {
    this.#shapes = facade.shapes;
    const known = this.name === undefined ? undefined : facade.shapes.get(this.name);
    if (known) this.describe(known);
    const err = this.#query.submit(known === undefined ? facade.withoutSync : facade.withoutDescribe);
    if (err) this.fail(err);
    // A value that cannot be sent: node-postgres has closed the statement, and still takes it for prepared.
    else if (this.failure && this.name !== undefined) delete parsedStatements[this.name];
  }

  describe(shape: RowDescription): void {
    this.#shape = shape;
    this.#query.handleRowDescription(shape);
  }

  addRow(message: unknown): void {
    this.#query.handleDataRow(message);
  }

  complete(message: unknown, connection: pg.Connection): void {
    if (this.name !== undefined) this.#shapes?.set(this.name, this.#shape);
    this.#query.handleCommandComplete(message, connection);
    this.#query.handleReadyForQuery(connection);
  }

  fail(err: Error): void {
    // Told already when its own values were at fault.
    if (!this.failure) this.#query.handleError(err);
  }
}

/** The row descriptions of named statements on a connection: PostgreSQL refuses one whose answer has changed since. */
type Shapes = Map<string, RowDescription | null>;

interface Facade {
  shapes: Shapes;
  /** The connection for queries that would end with a Sync of their own. */
  withoutSync: pg.Connection;
  withoutDescribe: pg.Connection;
}

const facades = new WeakMap<pg.Connection, Facade>();

function facadeOf(connection: pg.Connection): Facade {
  let facade = facades.get(connection);
  if (!facade) {
    const nothing = { value: () => undefined };
    const withoutSync = Object.create(connection, { sync: nothing });
    const withoutDescribe = Object.create(withoutSync, { describe: nothing });
    facade = { shapes: new Map(), withoutSync, withoutDescribe };
    facades.set(connection, facade);
  }
  return facade;
}

interface RowDescription {
  fields: pg.FieldDef[];
}

/** Fields of a query of node-postgres that its types do not show. */
interface ProtocolQuery {
  submit(connection: pg.Connection): Error | null;
  handleRowDescription(message: RowDescription): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: pg.Connection): void;
  handleReadyForQuery(connection: pg.Connection): void;
  handleError(err: Error): void;
}

/** Named statements by what they were prepared with, and those whose Parse is on its way. */
interface ProtocolConnection extends pg.Connection {
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
}
