/** The properties of a route that the client needs at run time; the schemas stay in the contract. */
export interface RouteSpec {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters as `:name`. */
  path: string;
  /** Requires an Idempotency-Key, which the client makes when none is given. */
  keyed: boolean;
  /** `media`: JSON, or a form with the field `file`; `json` also when all its fields are optional; `none`: no body. */
  body: 'json' | 'media' | 'none';
  /** `none`: 204; `response`: returned unread, since it is neither JSON nor text. */
  answer: 'json' | 'text' | 'none' | 'response';
}

/** By dotted name, e.g. `instances.create`. */
export type RouteTable = Readonly<Record<string, RouteSpec>>;
