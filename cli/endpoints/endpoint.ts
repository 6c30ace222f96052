/** The properties of an endpoint that the command line needs; the schemas stay in the contract. */
export interface Endpoint {
  /** Dotted, e.g. `instances.create`; those of billing begin with `billing.`. */
  name: string;
  service: 'messaging' | 'billing';
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters as `:name`. */
  path: string;
  summary: string;
  auth: 'none' | 'jwt' | 'any' | 'refresh' | 'jwt_or_cookie';
  /** Takes an Idempotency-Key. */
  keyed: boolean;
  /** Its body may be a form with the field `file`. */
  takesFile: boolean;
  answer: 'json' | 'text' | 'response';
  query: readonly Field[];
  /** Null if it takes no body. */
  body: readonly Field[] | null;
}

export interface Field {
  name: string;
  isRequired: boolean;
  isList: boolean;
  help: string;
  /** The allowed values, if they are a short list. */
  values?: readonly string[];
}
